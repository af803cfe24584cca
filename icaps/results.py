"""What leaves the library: frozen results, free of tensors, ready for JSON, a page or a terminal.

Offsets are code points into the text as it was given: `text[start:end]` is what is shown.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

RARE = 0.05  # share of random choices below which something is no chance


class Interval(NamedTuple):
    """A value and the ends of its interval, of 95% confidence unless stated otherwise."""

    value: float
    low: float
    high: float

    def to_dict(self, name: str = "value") -> dict[str, float | None]:
        """Plain data for JSON, with the value under `name`; NaN becomes None."""
        numbers = {name: self.value, "low": self.low, "high": self.high}
        return {key: None if math.isnan(number) else number for key, number in numbers.items()}


@dataclass(frozen=True)
class KGram:
    """The K words around one position that a capsule attends to (section 2.6).

    `routing` is beta_ij of the capsule for the target class, `attention` alpha^i_n of the position
    in the middle, `sentence_attention` rho^i_m of the sentence, whose number (from 0) is
    `sentence`; for a model that doesn't split texts they are 1 and 0. `capsule_name` is what a user
    called the capsule, empty when nothing. `contribution` is what the capsule adds to the target
    class, beta_ij (u_j|i . cc_j) / |cc_j|.
    """

    text: str
    start: int
    end: int
    capsule: int
    routing: float
    attention: float
    sentence: int = 0
    sentence_attention: float = 1.0
    capsule_name: str = ""
    contribution: float = 0.0

    @property
    def capsule_label(self) -> str:
        """The capsule as it is shown."""
        return capsule_label(self.capsule, self.capsule_name)


def capsule_label(capsule: int, name: str = "") -> str:
    """A capsule as it is shown: by its name where it has one, and always by its number."""
    return f"{name} (capsule {capsule})" if name else f"capsule {capsule}"


class WordCount(NamedTuple):  # of which a text has many
    """A word's place, and how many K-grams of the explanation lie over it."""

    start: int
    end: int
    count: int  # type: ignore[assignment]  # nobody counts in this tuple


@dataclass(frozen=True)
class SentenceWeight:
    """A sentence's place, and its share of the attention of the capsules that are shown.

    `weight` is the mean of rho^i_m over these capsules, weighted by beta_ij; the weights of a text
    add up to 1.
    """

    start: int
    end: int
    weight: float


@dataclass(frozen=True)
class CapsuleReason:
    """One of the most routed primary capsules, with the name that a user gave it.

    beta_i1..beta_iJ, alpha^i_1..alpha^i_N and rho^i_1..rho^i_M.
    """

    capsule: int
    routing: tuple[float, ...]
    attention: tuple[float, ...]
    sentence_attention: tuple[float, ...] = (1.0,)
    name: str = ""

    @property
    def label(self) -> str:
        """The capsule as it is shown."""
        return capsule_label(self.capsule, self.name)


@dataclass(frozen=True)
class Explanation:
    """Why a text is, or is not, called `target` (section 2.6).

    Attributes:
        text: As it was given.
        classes: Names, in the order of labels.
        predicted: The class with the largest norm; the first one for a blank text.
        target: The class that is explained.
        scores: Norm of each class capsule, in the order of `classes`, from 0 to below 1.
        probabilities: The same, calibrated; they add up to 1.
        margin: Norm of `target` less the largest norm of another class; below 0 when another wins.
        kernel_size: K.
        kgrams: The k1 x k2 K-grams, first capsule first, then most attended position.
        words: Every word that was read, with its number of K-grams.
        sentences: Every sentence that was read, with its weight; empty for a model that doesn't
            split texts.
        capsules: The first k1 capsules, in the order of `kgrams`.
        unknown_share: Share of the words read that the vocabulary lacks.
        truncated: Whether words past the model's limit were left out.
        blank: Whether no word at all is known; scores are then 0 for every class.
        ranking: Which capsules come first: "routing", by beta_ij, or "contribution".
    """

    text: str
    classes: tuple[str, ...]
    predicted: str
    target: str
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    margin: float
    kernel_size: int
    kgrams: tuple[KGram, ...]
    words: tuple[WordCount, ...]
    sentences: tuple[SentenceWeight, ...]
    capsules: tuple[CapsuleReason, ...]
    unknown_share: float
    truncated: bool
    blank: bool
    ranking: str = "routing"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `scores` and `probabilities` as objects from class to number."""
        values = dict(vars(self))  # asdict copies each number, which takes longer than explaining
        values["classes"] = list(self.classes)
        for name in ("scores", "probabilities"):
            values[name] = dict(zip(self.classes, values[name], strict=True))
        values["words"] = [word._asdict() for word in self.words]
        for name in ("kgrams", "sentences", "capsules"):
            values[name] = [dict(vars(part)) for part in values[name]]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, perhaps by way of JSON."""
        parts: dict[str, Any] = {
            "classes": tuple(values["classes"]),
            "kgrams": tuple(KGram(**part) for part in values["kgrams"]),
            "words": tuple(WordCount(**part) for part in values["words"]),
            "sentences": tuple(SentenceWeight(**part) for part in values["sentences"]),
            "capsules": tuple(
                CapsuleReason(**{name: _frozen(value) for name, value in part.items()})
                for part in values["capsules"]
            ),
        }
        for name in ("scores", "probabilities"):
            parts[name] = tuple(values[name][label] for label in values["classes"])
        return cls(**{**values, **parts})

    def to_html(self) -> str:
        """A page of its own, without scripts or outside files; the text is escaped."""
        from icaps.reports.render import explanation_page

        return explanation_page(self)

    def to_text(self) -> str:
        """A few lines for a terminal: the verdict, then each K-gram with its weights."""
        from icaps.reports.render import explanation_text

        return explanation_text(self)


@dataclass(frozen=True)
class Trial:
    """What the shaded words of a text do to the class that is explained, and what chance does.

    After ERASER (DeYoung et al. 2020, section 4.2), with the class norm as its p. Chance is as many
    words, in runs as long, at random places of the same text.

    Attributes:
        target: The class that is explained.
        removal: "deletion", or "unk": words are masked.
        words, shaded: How many were read, and how many of them lie under K-grams.
        whole, without, alone: Norm of `target` for the whole text, without the shaded words, and
            for these alone.
        random_without, random_alone: The same for random words: the mean over the draws, and the
            interval that holds nine of ten of them.
        as_far, as_much: How many random choices drop the norm as far as the shaded words do, and
            keep as much of it alone.
        draws, seed: How many random choices, and of which seed.
        testable: Whether chance differs from the reason: fewer than one in twenty draws chose the
            very same words, which in a short text is often so.
    """

    target: str
    removal: str
    words: int
    shaded: int
    whole: float
    without: float
    alone: float
    random_without: Interval
    random_alone: Interval
    as_far: int
    as_much: int
    draws: int
    seed: int
    testable: bool

    @property
    def comprehensiveness(self) -> float:
        """By how much the norm falls without the shaded words."""
        return self.whole - self.without

    @property
    def sufficiency(self) -> float:
        """By how much it falls with the shaded words alone."""
        return self.whole - self.alone

    @property
    def decides(self) -> bool:
        """Whether fewer than one in twenty random choices drop the norm as far."""
        return self.testable and self.as_far < RARE * self.draws

    @property
    def suffices(self) -> bool:
        """Whether fewer than one in twenty random choices keep as much of the norm alone."""
        return self.testable and self.as_much < RARE * self.draws

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with what follows from the numbers."""
        derived = ("comprehensiveness", "sufficiency", "decides", "suffices")
        return {
            **dataclasses.asdict(self),
            "random_without": self.random_without.to_dict("mean"),
            "random_alone": self.random_alone.to_dict("mean"),
            **{name: getattr(self, name) for name in derived},
        }


@dataclass(frozen=True)
class Flip:
    """A smallest set of K-grams without which a text gets another class.

    Attributes:
        kgrams: As many as are needed, in the order of the explanation.
        predicted: The class that wins then; empty where no known word is left.
        scores: Norm of each class capsule then.
        exact: Whether every smaller set of the explanation's K-grams was tried.
    """

    kgrams: tuple[KGram, ...]
    predicted: str
    scores: tuple[float, ...]
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self) | {
            "kgrams": [dataclasses.asdict(kgram) for kgram in self.kgrams],
            "scores": list(self.scores),
        }


def _frozen(value: Any) -> Any:
    """JSON has lists where results have tuples."""
    return tuple(value) if isinstance(value, list) else value


def trust_facts(trial: Trial | None, flip: Flip | None) -> dict[str, Any] | None:
    """What came of trying a reason, as plain data; None for a blank text."""
    if trial is None:
        return None
    return trial.to_dict() | {"flip": None if flip is None else flip.to_dict()}
