"""ERASER: comprehensiveness and sufficiency of the words that explain a text, by ranking.

As in DeYoung et al. (2020, section 4.2), with the norm of the predicted class's capsule as p.
Comprehensiveness is the drop of the norm without the selected words, and sufficiency its drop with
them alone: a good explanation has a high comprehensiveness and a low sufficiency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from icaps.config import ACCOUNT, CONTRIBUTION, KGRAM_RANKINGS, ExplainOptions
from icaps.faithfulness.attributions.registry import (
    ATTRIBUTIONS,
    LEAVE_ONE_OUT,
    PAPER,
    RANDOM,
    check_rankings,
    score_words,
)
from icaps.faithfulness.choices import Choices, bins, covered_words, first, random_places
from icaps.faithfulness.perturbation import REMOVALS, class_norms_per_batch, remove
from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import predicted_sets
from icaps.results import Interval
from icaps.stats import bootstrap_mean

# The ways to select words by a ranking; see `RankingResult.words`.
BINS, KGRAMS, AS_MANY = "bins", "k-grams", "as many words"


@dataclass(frozen=True)
class RemovalEffects:
    """The effects of removing selected words of each text (texts,): means over its choices.

    Attributes:
        comprehensiveness: The class norm minus that without the chosen words.
        sufficiency: The class norm minus that with the chosen words alone.
        flips: Share of the choices without which the class is not predicted: another one wins, or
            it is below its threshold, or no known word is left.
        covered: Share of the text's words that are selected.
    """

    comprehensiveness: NDArray[np.float64]
    sufficiency: NDArray[np.float64]
    flips: NDArray[np.float64]
    covered: NDArray[np.float64]


@dataclass(frozen=True)
class RankingResult:
    """The effects of removing the first words of a ranking, for one removal.

    Attributes:
        ranking: One of `registry.RANKINGS`.
        words: BINS, the mean over the first words of PERCENTS of the text; KGRAMS, the K-grams; or
            AS_MANY, as many words as the paper's K-grams cover, by a ranking that has K-grams of
            its own. KGRAMS of a ranking without K-grams are as many words, too, and those of the
            random one the paper's K-grams at random places.
        removal: One of `perturbation.REMOVALS`.
        effects: The effects on each text.
        agreement: (texts,), Kendall's tau-b of the word scores with those of leave-one-out; NaN
            where all words of a text have the same score. None but for BINS.
    """

    ranking: str
    words: str
    removal: str
    effects: RemovalEffects
    agreement: NDArray[np.float64] | None = None


def measure(texts: ExplainedTexts, choices: Sequence[Choices], removal: str) -> RemovalEffects:
    """The effects of each text's choices of words.

    Args:
        texts: The texts with their explained classes.
        choices: At least one choice per text.
        removal: "deletion" or "unk".
    """
    variants = (
        remove(reading.tokens, np.concatenate([~chosen, chosen]), removal)
        for reading, chosen in zip(texts.readings, choices, strict=True)
    )
    norms = class_norms_per_batch(texts.network, variants, texts.muted)
    comprehensiveness, sufficiency, flips = [], [], []
    for (reading, target), variant_norms in zip(texts, norms, strict=True):
        whole = float(reading.activity.class_norms[0, target])
        without, alone = np.split(variant_norms.astype(float), 2)  # (choices, J) each
        comprehensiveness.append(whole - without[:, target].mean())
        sufficiency.append(whole - alone[:, target].mean())
        flips.append((~predicted_sets(texts.network, without)[:, target]).mean())
    return RemovalEffects(
        comprehensiveness=np.array(comprehensiveness, float),
        sufficiency=np.array(sufficiency, float),
        flips=np.array(flips, float),
        covered=np.array([chosen.mean() for chosen in choices], float),
    )


def measure_rankings(
    texts: ExplainedTexts,
    rankings: Sequence[str],
    removals: Sequence[str] = REMOVALS,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    seed: int = 0,
    on_ranking: Callable[[str, str], None] = lambda ranking, removal: None,
) -> Iterator[RankingResult]:
    """Measures each ranking of words by its bins and its K-grams or as many words, per removal.

    Args:
        texts: The texts with their explained classes.
        rankings: Some of `registry.RANKINGS`.
        removals: Some of `perturbation.REMOVALS`.
        options: The numbers of K-grams; its ranking and target are not used.
        seed: Seed of everything random.
        on_ranking: Called with the ranking and removal that are measured next.

    Raises:
        ConfigError: A ranking or removal is unknown, or a package is missing.
    """
    check_rankings(rankings)
    paper_choices = covered_words(texts, replace(options, ranking=PAPER))
    scores: dict[str, list[NDArray[np.floating]]] = {}
    for removal in removals:
        scores[LEAVE_ONE_OUT] = list(score_words(LEAVE_ONE_OUT, texts, removal, seed))
        for name in rankings:
            on_ranking(name, removal)
            if name != LEAVE_ONE_OUT and (ATTRIBUTIONS[name].removes_words or name not in scores):
                scores[name] = list(score_words(name, texts, removal, seed))
            orders = scores[name]
            agreement = np.array(
                [
                    _agreement(order, leave_one_out[0])
                    for order, leave_one_out in zip(orders, scores[LEAVE_ONE_OUT], strict=True)
                ]
            )
            effects = measure(texts, [bins(order) for order in orders], removal)
            yield RankingResult(name, BINS, removal, effects, agreement)
            as_many = [
                first(order, int(chosen.sum()))
                for order, chosen in zip(orders, paper_choices, strict=True)
            ]
            by_words = {KGRAMS: as_many}
            if name == RANDOM:
                by_words = {KGRAMS: random_places(paper_choices, seed)}
            elif name == PAPER:
                by_words = {KGRAMS: paper_choices}
            elif name in KGRAM_RANKINGS:
                kgrams = covered_words(texts, replace(options, ranking=name))
                by_words = {KGRAMS: kgrams, AS_MANY: as_many}
            for words, choices in by_words.items():
                yield RankingResult(name, words, removal, measure(texts, choices, removal))


def _agreement(orders: NDArray[np.floating], leave_one_out: NDArray[np.floating]) -> float:
    """The mean of Kendall's tau-b of each order (orders, words) with leave-one-out (words,)."""
    if len(leave_one_out) < 2:
        return float("nan")
    return float(np.mean([kendalltau(scores, leave_one_out).statistic for scores in orders]))


@dataclass(frozen=True)
class RankingRow:
    """A row of the table of rankings: the means of a `RankingResult` with intervals.

    Attributes:
        comprehensiveness, sufficiency, flips, covered: See `RemovalEffects`.
        agreement: With leave-one-out; None but for BINS.
        gain: The comprehensiveness minus that of the paper's ranking, paired by text; None if that
            was not measured. For AS_MANY it is that of the paper's K-grams, as is the control.
        control: The comprehensiveness of random words; None if they were not measured.
        control_sufficiency: Their sufficiency.
    """

    ranking: str
    words: str
    removal: str
    comprehensiveness: Interval
    sufficiency: Interval
    flips: Interval
    covered: Interval
    agreement: Interval | None
    gain: Interval | None
    control: Interval | None
    control_sufficiency: Interval | None


def make_rows(results: Sequence[RankingResult], seed: int = 0) -> list[RankingRow]:
    """One row per result; `seed` is that of the bootstrap."""

    def mean(values: NDArray[np.float64] | None) -> Interval | None:
        return None if values is None else bootstrap_mean(values, seed)

    effects_by_key = {
        (result.ranking, result.words, result.removal): result.effects for result in results
    }
    rows = []
    for result in results:
        effects, words = result.effects, BINS if result.words == BINS else KGRAMS
        paper = effects_by_key.get((PAPER, words, result.removal))
        control = effects_by_key.get((RANDOM, words, result.removal))
        gain = None if paper is None else effects.comprehensiveness - paper.comprehensiveness
        rows.append(
            RankingRow(
                ranking=result.ranking,
                words=result.words,
                removal=result.removal,
                comprehensiveness=bootstrap_mean(effects.comprehensiveness, seed),
                sufficiency=bootstrap_mean(effects.sufficiency, seed),
                flips=bootstrap_mean(effects.flips, seed),
                covered=bootstrap_mean(effects.covered, seed),
                agreement=mean(result.agreement),
                gain=mean(gain),
                control=mean(control.comprehensiveness if control else None),
                control_sufficiency=mean(control.sufficiency if control else None),
            )
        )
    return rows


def verdicts(rows: Sequence[RankingRow]) -> list[str]:
    """Conclusions as sentences: the K-grams beside random words, better rankings, the account.

    A ranking is better than the paper's if the interval of the difference in comprehensiveness is
    above zero.
    """
    lines = []
    for row in rows:
        if row.ranking == PAPER and row.words == KGRAMS and row.control is not None:
            lines.append(f"By {row.removal} the K-grams have {_beside_control(row)}.")
    better = [row for row in rows if row.gain is not None and row.gain.low > 0]
    for removal in dict.fromkeys(row.removal for row in better):
        for words, what in ((BINS, "the first words"), (KGRAMS, "the K-grams, or as many words,")):
            names = [row.ranking for row in better if (row.removal, row.words) == (removal, words)]
            if names:
                lines.append(
                    f"By {removal} {what} by {', '.join(names)} are more comprehensive than those "
                    f"by the paper's {PAPER}."
                )
    by_key = {(row.ranking, row.words, row.removal): row for row in rows}
    for removal in dict.fromkeys(row.removal for row in rows):
        lines += _account_verdicts(by_key, removal)
    for name in (CONTRIBUTION, ACCOUNT):
        if (name, KGRAMS) in {(row.ranking, row.words) for row in better}:
            lines.append(f"`icaps explain --ranking {name}` shows the K-grams by {name}.")
    return lines


def _account_verdicts(
    rows: Mapping[tuple[str, str, str], RankingRow], removal: str
) -> Iterator[str]:
    """The account beside the best ranking of the first words, and its K-grams beside the paper's.

    Args:
        rows: By ranking, words and removal.
        removal: One of `perturbation.REMOVALS`.
    """
    if (account := rows.get((ACCOUNT, BINS, removal))) is not None:
        rivals = [
            row
            for (name, words, how), row in rows.items()
            if (words, how) == (BINS, removal) and not name.startswith(ACCOUNT)
        ]
        best = max(rivals, key=lambda row: row.comprehensiveness.value, default=None)
        if best is not None and best.comprehensiveness.value > 0:
            share = account.comprehensiveness.value / best.comprehensiveness.value
            yield (
                f"By {removal} the first words by {ACCOUNT} have {share:.2f} times the "
                f"comprehensiveness of those by {best.ranking}, the highest other ranking."
            )
    kgrams, paper = (rows.get((name, KGRAMS, removal)) for name in (ACCOUNT, PAPER))
    if kgrams is not None and paper is not None and paper.comprehensiveness.value > 0:
        times = kgrams.comprehensiveness.value / paper.comprehensiveness.value
        yield (
            f"By {removal} the K-grams by {ACCOUNT} have {times:.1f} times the comprehensiveness "
            f"of the paper's, with {kgrams.covered.value:.0%} of the words in place of "
            f"{paper.covered.value:.0%}."
        )


def ranking_lines(rows: Sequence[RankingRow]) -> Iterator[str]:
    """The rows as lines for a terminal."""
    titles = {
        BINS: "The first 1, 5, 10, 20 and 50% of the words, on average",
        KGRAMS: "The K-grams; for a ranking without K-grams as many words as the paper's cover",
        AS_MANY: "As many words as the paper's K-grams cover, by rankings with other K-grams",
    }
    measured = {row.words for row in rows}
    for words, title in titles.items():
        if words not in measured:
            continue
        yield f"{title}:"
        yield (
            f"{'ranking':<21}{'removal':<9}{'comprehensiveness':<24}{'sufficiency':<24}"
            + (f"{'flips':<21}{'words':<7}" + ("agreement" if words == BINS else "")).rstrip()
        )
        for row in rows:
            if row.words == words:
                yield _line(row)


def _line(row: RankingRow) -> str:
    agreement = "" if row.agreement is None else f"{row.agreement.value:.2f}"
    line = f"{row.ranking:<21}{row.removal:<9}{f'{row.comprehensiveness:.3f}':<24}"
    line += f"{f'{row.sufficiency:.3f}':<24}{f'{row.flips:.1%}':<21}{row.covered.value:<7.0%}"
    return f"{line}{agreement}".rstrip()


def _beside_control(row: RankingRow) -> str:
    assert row.control is not None
    assert row.control_sufficiency is not None
    comprehensiveness = f"comprehensiveness {row.comprehensiveness.value:.3f}"
    if row.control.value > 0:
        times = row.comprehensiveness.value / row.control.value
        comprehensiveness += f", {times:.1f} times that of random places"
    return (
        f"{comprehensiveness} ({row.control.value:.3f}), and sufficiency "
        f"{row.sufficiency.value:.3f} beside {row.control_sufficiency.value:.3f}"
    )
