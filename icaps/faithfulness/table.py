"""The corpus-level table of faithfulness: means over texts with intervals, and what they tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from icaps.faithfulness.eraser import BINS, KGRAMS, Measured
from icaps.faithfulness.sanity import Randomised
from icaps.faithfulness.stability import Overlap
from icaps.results import Interval
from icaps.stats import bootstrap_mean

PAPER, CONTROL = "routing", "random"  # the paper's ranking; what it has to do better than


@dataclass(frozen=True)
class Row:
    """A ranking under one removal, over BINS or for KGRAMS; see `faithfulness.Measured`.

    Attributes:
        comprehensiveness, sufficiency, flips, covered: Means with intervals.
        agreement: With leave-one-out; None for KGRAMS.
        gain: The comprehensiveness less that of the paper's ranking, text by text; None where that
            was not measured.
        control: The comprehensiveness of the random words; None where they were not measured.
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


def make_rows(measured: Sequence[Measured], seed: int = 0) -> list[Row]:
    """A row for each measurement; `seed` is that of the intervals."""
    effects = {(one.ranking, one.words, one.removal): one.effect for one in measured}
    rows = []
    for one in measured:
        effect = one.effect
        paper = effects.get((PAPER, one.words, one.removal))
        control = effects.get((CONTROL, one.words, one.removal))
        gain = None if paper is None else effect.comprehensiveness - paper.comprehensiveness
        rows.append(
            Row(
                one.ranking,
                one.words,
                one.removal,
                bootstrap_mean(effect.comprehensiveness, seed),
                bootstrap_mean(effect.sufficiency, seed),
                bootstrap_mean(effect.flips, seed),
                bootstrap_mean(effect.covered, seed),
                None if one.agreement is None else bootstrap_mean(one.agreement, seed),
                None if gain is None else bootstrap_mean(gain, seed),
                None if control is None else bootstrap_mean(control.comprehensiveness, seed),
                None if control is None else bootstrap_mean(control.sufficiency, seed),
            )
        )
    return rows


def verdicts(rows: Sequence[Row]) -> list[str]:
    """In sentences: the K-grams beside the control, and which rankings do better than the paper's.

    Better is a comprehensiveness whose interval of differences from the paper's is above zero.
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


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines for a terminal, a row each; an interval is in brackets."""
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


def stability_table(overlaps: Sequence[Overlap]) -> Iterator[str]:
    """Lines for a terminal on how alike explanations are, a comparison each."""
    yield "Words in the K-grams of both over those of either:"
    yield f"{'changed':<9}{'capsules by':<14}{'texts':<7}{'overlap':<24}{'random':<24}same class"
    for row in overlaps:
        yield (
            f"{row.of:<9}{row.ranking:<14}{row.texts:<7}{_number(row.jaccard):<24}"
            f"{_number(row.random):<24}{row.same_class:.1%}"
        )


def sanity_table(rows: Sequence[Randomised]) -> Iterator[str]:
    """Lines for a terminal on word scores with random layers, a ranking each."""
    yield "Rank correlation of the words' scores with those of random weights:"
    yield f"{'ranking':<21}{'correlation':<26}{'random order':<26}random layers"
    for row in rows:
        yield (
            f"{row.ranking:<21}{_number(row.correlation):<26}{_number(row.random):<26}"
            f"{', '.join(row.layers)}"
        )


def _line(row: Row) -> str:
    agreement = "" if row.agreement is None else f"{row.agreement.value:.2f}"
    line = f"{row.ranking:<21}{row.removal:<9}{_number(row.comprehensiveness):<24}"
    line += f"{_number(row.sufficiency):<24}{_share(row.flips):<21}{row.covered.value:<7.0%}"
    return f"{line}{agreement}".rstrip()


def _number(found: Interval) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _share(found: Interval) -> str:
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def _beside_control(row: Row) -> str:
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
