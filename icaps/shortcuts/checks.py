"""Checks that a model doesn't hang on known K-grams: a JSON file, and a model held against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icaps.errors import ConfigError
from icaps.shortcuts.find import (
    INSERTED_MOST,
    KGRAM,
    MASKED_MOST,
    Candidate,
    Finding,
    effects,
    is_above,
)
from icaps.shortcuts.interventions import Effect
from icaps.shortcuts.predicted_texts import Answered

_KIND, _VERSION = "icaps shortcut checks", 1


@dataclass(frozen=True)
class Check:
    """What a model may not do.

    Attributes:
        words: A K-gram.
        label: Name of a class.
        most_masked: Share of the right predictions of the class, of texts that have the K-gram,
            that may flip when it is masked, above those that random words flip.
        most_inserted: Share of the right predictions of other classes that may flip to the class
            when it is added, likewise.
    """

    words: tuple[str, ...]
    label: str
    most_masked: float = MASKED_MOST
    most_inserted: float = INSERTED_MOST


class Outcome(NamedTuple):
    """Whether a model stands a check.

    `texts` have the K-gram; `masked`, by how it is removed, and `inserted` are None where the model
    doesn't know a word of it, and so can't hang on it.
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
            return f"{about}the model doesn't know it"
        masked = min(effect.above.value for effect in self.masked.values())
        return (
            f"{about}masked in {self.texts} texts {masked:+.1%} flips above random words (at most "
            f"{self.check.most_masked:.1%}), added {self.inserted.above.value:+.1%} (at most "
            f"{self.check.most_inserted:.1%})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; shares above the control's."""
        known = self.masked is not None and self.inserted is not None
        return {
            "words": list(self.check.words),
            "class": self.check.label,
            "holds": self.holds,
            "texts": self.texts,
            "masked": {how: effect.above.value for how, effect in (self.masked or {}).items()},
            "inserted": self.inserted.above.value if known and self.inserted else None,
        }


def checks_of(findings: Iterable[Finding]) -> list[Check]:
    """A check for each K-gram; the number of a capsule says nothing about another model."""
    return [Check(found.words, found.label) for found in findings if found.kind == KGRAM]


def dump_checks(checks: Sequence[Check]) -> str:
    """The text of a file, which `load_checks` reads and a person may edit."""
    rows = []
    for check in checks:
        row = {**asdict(check), "words": list(check.words)}
        row["class"] = row.pop("label")
        rows.append(row)
    whole = {"kind": _KIND, "version": _VERSION, "checks": rows}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def load_checks(path: str | Path) -> list[Check]:
    """The checks of a file.

    Raises:
        ConfigError: It can't be read, or is no such file; the message says where.
    """
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The checks {path} can't be read ({error}).") from error
    if not isinstance(whole, dict) or whole.get("kind") != _KIND:
        raise ConfigError(f'{path} has no checks; `icaps shortcuts --save-check` writes "{_KIND}".')
    if whole.get("version") != _VERSION:
        raise ConfigError(f"{path} is of version {whole.get('version')}; save the checks again.")
    rows = whole.get("checks")
    if not isinstance(rows, list) or not rows:
        raise ConfigError(f"{path} lists no checks; without one, any model would hold.")
    return [_check(row, f"{path}, check {number}") for number, row in enumerate(rows, start=1)]


def run_checks(texts: Answered, checks: Iterable[Check], seed: int = 0) -> list[Outcome]:
    """Holds a model against checks; one fails where its effect is surely above what is allowed.

    Args:
        texts: As the model answered them.
        checks: Each with a class of the model's.
        seed: Of the texts that are drawn, and of the random words.

    Raises:
        ConfigError: The model has no such class.
    """
    return [_run(texts, check, seed) for check in checks]


def _run(texts: Answered, check: Check, seed: int) -> Outcome:
    if check.label not in texts.classes:
        raise ConfigError(
            f"The check of “{' '.join(check.words)}” is about the class {check.label!r}; the model "
            f"has {', '.join(texts.classes)}."
        )
    if not all(word in texts.vocabulary for word in check.words):
        return Outcome(check, True, 0, None, None)
    words = tuple(texts.vocabulary.id(word) for word in check.words)
    rows = np.unique(texts.text_of[texts.places(words)])
    candidate = Candidate(words, texts.classes.index(check.label), rows)
    masked, inserted = effects(texts, candidate, seed)
    hangs = all(is_above(effect, check.most_masked) for effect in masked.values())
    holds = not (hangs or is_above(inserted, check.most_inserted))
    return Outcome(check, holds, len(rows), masked, inserted)


def _check(row: Any, where: str) -> Check:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} is no object.")
    unknown = sorted(row.keys() - {"words", "class", "most_masked", "most_inserted"})
    if unknown:
        raise ConfigError(f"{where} has the key {unknown[0]!r}, which means nothing.")
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
