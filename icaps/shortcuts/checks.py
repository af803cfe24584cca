"""Regression checks that a model does not depend on known K-grams: stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from icaps.data.plain_json import parse_json
from icaps.errors import ConfigError
from icaps.shortcuts.candidates import Candidate
from icaps.shortcuts.find import (
    INSERTED_MOST,
    KGRAM,
    MASKED_MOST,
    Finding,
    is_above,
    measure_effects,
)
from icaps.shortcuts.interventions import Effect
from icaps.shortcuts.predicted_texts import PredictedTexts
from icaps.text.batch import UNK

_KIND, _VERSION = "icaps shortcut checks", 1


@dataclass(frozen=True)
class Check:
    """The largest dependence of a model on a K-gram, above that on random words, that passes.

    Attributes:
        words: The K-gram.
        label: Name of a class.
        most_masked: Largest share of the right predictions of the class, among texts with the
            K-gram, that may flip when it is masked.
        most_inserted: Largest share of the right predictions of other classes that may flip to
            the class when it is added.
    """

    words: tuple[str, ...]
    label: str
    most_masked: float = MASKED_MOST
    most_inserted: float = INSERTED_MOST


class CheckResult(NamedTuple):
    """The result of a check of a model.

    Attributes:
        check: The check.
        holds: Whether it passes.
        texts: Number of texts with the K-gram.
        masked: Effect of masking it, by removal; None if a word of the K-gram is not in the model's
            vocabulary, so that no prediction can depend on it.
        inserted: Effect of adding it; None likewise.
    """

    check: Check
    holds: bool
    texts: int
    masked: dict[str, Effect] | None
    inserted: Effect | None

    def to_text(self) -> str:
        """A line for a terminal."""
        about = f"{'holds' if self.holds else 'FAILS'}  “{' '.join(self.check.words)}” for "
        about += f"{self.check.label}: "
        if self.masked is None or self.inserted is None:
            return f"{about}the model does not know it"
        masked = min(effect.above.value for effect in self.masked.values())
        return (
            f"{about}masked in {self.texts} texts {masked:+.1%} flips above random words (at most "
            f"{self.check.most_masked:.1%}), added {self.inserted.above.value:+.1%} (at most "
            f"{self.check.most_inserted:.1%})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; shares are those above the control's."""
        known = self.masked is not None and self.inserted is not None
        return {
            "words": list(self.check.words),
            "class": self.check.label,
            "holds": self.holds,
            "texts": self.texts,
            "masked": {how: effect.above.value for how, effect in (self.masked or {}).items()},
            "inserted": self.inserted.above.value if known and self.inserted else None,
        }


def make_checks(findings: Iterable[Finding]) -> list[Check]:
    """One check per K-gram; capsules are left out, as their numbers differ between models."""
    return [Check(finding.words, finding.label) for finding in findings if finding.kind == KGRAM]


def dump_checks(checks: Sequence[Check]) -> str:
    """The content of a JSON file that `load_checks` reads and a person may edit."""
    rows = []
    for check in checks:
        row = {**asdict(check), "words": list(check.words)}
        row["class"] = row.pop("label")
        rows.append(row)
    content = {"kind": _KIND, "version": _VERSION, "checks": rows}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def load_checks(path: str | Path) -> list[Check]:
    """The checks of a file.

    Raises:
        ConfigError: It cannot be read, or is not such a file; the message says where.
    """
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The checks {path} cannot be read ({error}).") from error
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise ConfigError(f'{path} has no checks; `icaps shortcuts --save-check` writes "{_KIND}".')
    if content.get("version") != _VERSION:
        raise ConfigError(f"{path} is of version {content.get('version')}; save the checks again.")
    rows = content.get("checks")
    if not isinstance(rows, list) or not rows:
        raise ConfigError(f"{path} lists no checks; without one, any model would pass.")
    return [_check(row, f"{path}, check {number}") for number, row in enumerate(rows, start=1)]


def run_checks(texts: PredictedTexts, checks: Iterable[Check], seed: int = 0) -> list[CheckResult]:
    """Runs checks on a model. A check fails if the effect is significantly above its limit.

    Args:
        texts: Labelled texts and the model's predictions.
        checks: Checks of classes of the model.
        seed: Seed of the sample of texts, and of the random words.

    Raises:
        ConfigError: The model has no such class.
    """
    return [_run(texts, check, seed) for check in checks]


def _run(texts: PredictedTexts, check: Check, seed: int) -> CheckResult:
    if check.label not in texts.classes:
        raise ConfigError(
            f"The check of “{' '.join(check.words)}” is about the class {check.label!r}; the model "
            f"has {', '.join(texts.classes)}."
        )
    words = tuple(texts.vocabulary.id(word) for word in check.words)
    if UNK in words:
        return CheckResult(check, True, 0, None, None)
    rows = texts.rows_with(words)
    candidate = Candidate(words, texts.classes.index(check.label), rows)
    masked, inserted = measure_effects(texts, candidate, seed)
    depends = all(is_above(effect, check.most_masked) for effect in masked.values())
    holds = not (depends or is_above(inserted, check.most_inserted))
    return CheckResult(check, holds, len(rows), masked, inserted)


def _check(row: Any, where: str) -> Check:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} is not an object.")
    unknown = sorted(row.keys() - {"words", "class", "most_masked", "most_inserted"})
    if unknown:
        raise ConfigError(f"{where} has the unknown key {unknown[0]!r}.")
    words, label = row.get("words"), row.get("class")
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise ConfigError(f'{where} needs "words", a list of the words of a K-gram.')
    if not isinstance(label, str):
        raise ConfigError(f'{where} needs "class", the name of a class.')
    shares = {
        name: _share(row[name], f"{where}: {name}")
        for name in ("most_masked", "most_inserted")
        if name in row
    }
    return Check(tuple(words), label, **shares)


def _share(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{where} is {value!r}; it must be a share from 0 to 1.")
    return float(value)
