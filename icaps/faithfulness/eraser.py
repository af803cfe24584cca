"""ERASER: comprehensiveness and sufficiency of the words that explain a text, by ranking.

As in DeYoung et al. (2020, section 4.2), with the norm of the predicted class's capsule as p.
Comprehensiveness is the drop of the norm without the selected words, and sufficiency its drop with
them alone: a good explanation has a high comprehensiveness and a low sufficiency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from icaps.config import KGRAM_RANKINGS, ExplainOptions
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
from icaps.results import Interval
from icaps.stats import bootstrap_mean

BINS, KGRAMS = "bins", "k-grams"  # the two ways to select words by a ranking


@dataclass(frozen=True)
class RemovalEffects:
    """The effects of removing selected words of each text (texts,): means over its choices.

    Attributes:
        comprehensiveness: The class norm minus that without the chosen words.
        sufficiency: The class norm minus that with the chosen words alone.
        flips: Share of the choices without which another class wins, or no known word is left.
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
        words: BINS, the mean over the first words of PERCENTS of the text; or KGRAMS, the K-grams.
            A ranking without K-grams of its own selects as many words as the paper's K-grams
            cover, and the random one the paper's K-grams at random places.
        removal: One of `perturbation.REMOVALS`.
        effects: The effects on each text.
        agreement: (texts,), Kendall's tau-b of the word scores with those of leave-one-out; NaN
            where all words of a text have the same score. None for KGRAMS.
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
        flips.append(((without.argmax(1) != target) | ~without.any(1)).mean())
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
    """Measures each ranking of words by its bins and by its K-grams, for each removal.

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
            if name in KGRAM_RANKINGS:
                choices = covered_words(texts, replace(options, ranking=name))
            elif name == RANDOM:
                choices = random_places(paper_choices, seed)
            else:
                choices = [
                    first(order, int(chosen.sum()))
                    for order, chosen in zip(orders, paper_choices, strict=True)
                ]
            yield RankingResult(name, KGRAMS, removal, measure(texts, choices, removal))


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
        agreement: With leave-one-out; None for KGRAMS.
        gain: The comprehensiveness minus that of the paper's ranking, paired by text; None if that
            was not measured.
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
        effects = result.effects
        paper = effects_by_key.get((PAPER, result.words, result.removal))
        control = effects_by_key.get((RANDOM, result.words, result.removal))
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
    """Conclusions as sentences: the K-grams beside random words, and better rankings.

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
    if ("contribution", KGRAMS) in {(row.ranking, row.words) for row in better}:
        lines.append("`icaps explain --ranking contribution` shows the K-grams by contribution.")
    return lines


def ranking_lines(rows: Sequence[RankingRow]) -> Iterator[str]:
    """The rows as lines for a terminal."""
    titles = {
        BINS: "The first 1, 5, 10, 20 and 50% of the words, on average",
        KGRAMS: "The K-grams, or as many words",
    }
    for words, title in titles.items():
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
