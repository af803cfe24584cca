"""The findings of a search for shortcuts as a table, and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from icaps.shortcuts.find import Finding
from icaps.shortcuts.interventions import Effect
from icaps.shortcuts.predicted_texts import PredictedTexts

COLUMNS = (
    "finding",
    "class",
    "why",
    "texts",
    "tied",
    "share per text",
    "share",
    "hang on it",
    "flips masked",
    "random masked",
    "flips added",
    "random added",
)


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row per finding.

    "share per text" and "share" are what it adds to the score of the class (`Finding.share`), "hang
    on it" is `Finding.lost`. The others are shares from 0 to 1 as in `Effect`; those of masking are
    means over the removals.
    """
    rows = [
        {
            "finding": finding.name,
            "class": finding.label,
            "why": "; ".join(sign.reason for sign in finding.signs),
            "texts": len(finding.rows),
            "tied": finding.tied,
            "share per text": finding.share.mean,
            "share": finding.share.total,
            "hang on it": round(finding.lost, 1),
            "flips masked": _mean(finding, "flips"),
            "random masked": _mean(finding, "control"),
            "flips added": None if finding.inserted is None else finding.inserted.flips,
            "random added": None if finding.inserted is None else finding.inserted.control,
        }
        for finding in findings
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def findings_lines(texts: PredictedTexts, findings: Sequence[Finding], seed: int) -> Iterator[str]:
    """The findings as lines for a terminal, the worst first."""
    yield (
        f"{len(texts):,} texts (seed {seed}), {texts.right.mean():.1%} right; "
        f"{len(findings)} possible shortcut{'' if len(findings) == 1 else 's'}"
    )
    for number, finding in enumerate(findings, start=1):
        quoted = finding.name if finding.capsule is not None else f"“{finding.name}”"
        weak = " (weak sign)" if finding.weak else ""
        yield f"{number}. {quoted} for {finding.label}{weak}: " + "; ".join(
            sign.reason for sign in finding.signs
        )
        yield (
            f"   in {len(finding.rows):,} texts, of which {finding.tied:.1%} get the class; "
            f"{finding.lost:.1f} right predictions depend on it above random words"
        )
        share = finding.share
        yield (
            f"   adds {share.mean:+.3f} to the score of {finding.label} per text, "
            f"{share.total:+.2f} in the {share.texts:,} texts that get it"
        )
        effects = dict(finding.masked)
        if finding.inserted is not None:
            effects["added to others"] = finding.inserted
        for how, effect in effects.items():
            yield f"   {how}: {_line(effect)}"


def _line(effect: Effect) -> str:
    low, high = effect.above.low, effect.above.high
    return (
        f"{effect.flips:.1%} of {effect.texts} flip, {effect.control:.1%} by chance "
        f"({100 * effect.above.value:+.1f}, {100 * low:+.1f} to {100 * high:+.1f})"
    )


def _mean(finding: Finding, name: str) -> float:
    values = [getattr(effect, name) for effect in finding.masked.values()]
    return float(sum(values) / len(values))
