"""What leaves the library: frozen results, free of tensors, ready for JSON, a page or a terminal.

Offsets are code points into the text as it was given: `text[start:end]` is what is shown.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from icaps import html

RARE = 0.05  # share of random choices below which something is no chance


class Interval(NamedTuple):
    """A value and the ends of its interval, of 95% confidence unless stated otherwise."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """The value and its interval, with `spec` for each number: "0.121 [0.100, 0.142]"."""
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

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

    @property
    def summary(self) -> str:
        """The K-gram with its capsule and weights in one line."""
        return (
            f"“{self.text}” · {self.capsule_label} · β {self.routing:.2f} · α {self.attention:.2f}"
        )


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

    @property
    def verdict(self) -> str:
        """The prediction in a sentence, and the class that is explained where it is another."""
        if not self.words:
            return "There are no words to read, so no class has a case."
        if self.blank:
            return "The model knows none of the words, so no class has a case."
        scores = dict(zip(self.classes, self.scores, strict=True))
        sentence = f"{self.predicted} ({scores[self.predicted]:.2f})"
        if self.target != self.predicted:
            sentence += f"; shown is what speaks for {self.target} ({scores[self.target]:.2f})"
        return sentence + "."

    @property
    def notices(self) -> list[str]:
        """What a reader must know before trusting the explanation, a sentence each."""
        lines = []
        if self.truncated:
            read = self.words[-1].end
            lines.append(
                f"Only the first {len(self.words):,} words ({read:,} of {len(self.text):,} "
                "characters) were read."
            )
        if self.unknown_share > 0 and not self.blank:  # the verdict says it of a blank text
            lines.append(f"{self.unknown_share:.0%} of the words are unknown to the model.")
        return lines

    def to_text(self) -> str:
        """Lines for a terminal: the verdict, then each K-gram with its weights.

        K-grams are quoted as JSON, so that each stays on its line.
        """
        lines = [self.verdict, *self.notices]
        for kgram in self.kgrams:
            parts = ["", json.dumps(kgram.text, ensure_ascii=False), kgram.capsule_label]
            if self.ranking == "contribution":
                parts.append(f"contribution {kgram.contribution:.3f}")
            parts += [f"routing {kgram.routing:.3f}", f"attention {kgram.attention:.3f}"]
            if self.sentences:
                parts.append(f"sentence {kgram.sentence + 1} ({kgram.sentence_attention:.3f})")
            lines.append("  ".join(parts))
        return "\n".join(lines)

    def to_html(self) -> str:
        """A page of its own, without scripts or outside files; the text is escaped."""
        return html.render_html("explanation.html.j2", explanation=self)

    def shaded_html(self) -> str:
        """The text as an HTML fragment, darker where K-grams overlap.

        The page needs `html.SHADING_STYLE`. The sentences of a long text are on lines of their own,
        each with a bar as long as its weight.
        """
        return html.shaded_text(
            self.text,
            words=[(word.start, word.end) for word in self.words if word.count],
            marks=[html.Mark(kgram.start, kgram.end, kgram.summary) for kgram in self.kgrams],
            rows=self.sentence_rows(),
        )

    def sentence_rows(self) -> list[html.Row]:
        """The lines of the shaded text; empty for a model that does not split texts."""
        return html.sentence_rows(
            len(self.text),
            sentences=[(sentence.start, sentence.weight) for sentence in self.sentences],
            chosen={kgram.sentence for kgram in self.kgrams},
        )

    def evidence_html(self) -> str:
        """The K-grams with their capsules and weights, as an HTML table."""
        return html.render_html("evidence.html.j2", explanation=self)


@dataclass(frozen=True)
class ReasonTest:
    """The effect of a text's shaded words on the explained class, beside that of random words.

    After ERASER (DeYoung et al. 2020, section 4.2), with the class norm as its p. Random words are
    as many, in runs of the same lengths, at random places of the same text.

    Attributes:
        target: The class that is explained.
        removal: "deletion", or "unk": words are masked.
        words, shaded: Number of words that were read, and of those under K-grams.
        whole, without, alone: Norm of `target` for the whole text, without the shaded words, and
            for these alone.
        random_without, random_alone: The same for random words: the mean over the draws, and the
            interval that holds nine of ten of them.
        as_far, as_much: Number of random choices that lower the norm as far as the shaded words,
            and that keep as much of it alone.
        draws, seed: Number of random choices, and their seed.
        testable: Whether random words differ from the shaded ones: fewer than one in twenty draws
            chose exactly the same words. In a short text that is often not the case.
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

    def to_sentences(self) -> list[str]:
        """The outcome in sentences: the verdict, then the numbers where the text is testable."""
        verb, others = (
            ("Removing", "removed") if self.removal == "deletion" else ("Masking", "masked")
        )
        if not self.testable:
            return [self._verdict()]
        return [
            self._verdict(),
            f"{verb} the shaded words ({self.shaded:,} of {self.words:,} words) {self._change()}; "
            f"{verb.lower()} as many random words: {_nine_of_ten(self.random_without)}.",
            f"The shaded words alone, all others {others}: {self.alone:.2f}; as many random words "
            f"alone: {_nine_of_ten(self.random_alone)}.",
        ]

    def _verdict(self) -> str:
        if not self.testable:
            return (
                "This text is too short to try the reason: beside the shaded words "
                f"({self.shaded:,} of {self.words:,}) chance has too few others to choose."
            )
        if self.decides and self.suffices:
            return (
                "The shaded words decide: they matter more than random words, and are enough alone."
            )
        if self.decides:
            return "The shaded words decide, but alone they are worth no more than random words."
        share = (
            f"{self.as_far} of {self.draws} random choices of words change {self.target} as much"
        )
        if self.suffices:
            return f"The shaded words are enough alone, but others say the same: {share}."
        return f"This reason is no better than chance: {share}."

    def _change(self) -> str:
        """What removing the shaded words does to the class norm."""
        if round(self.whole, 2) == round(self.without, 2):
            return f"leaves {self.target} at {self.without:.2f}"
        verb = "drops" if self.without < self.whole else "raises"
        return f"{verb} {self.target} from {self.whole:.2f} to {self.without:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the values derived from the numbers."""
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


def _nine_of_ten(norm: Interval) -> str:
    return f"{norm.value:.2f} ({norm.low:.2f} to {norm.high:.2f} in nine of ten draws)"


def flip_sentence(explanation: Explanation, flip: Flip | None) -> str:
    """The smallest set of K-grams without which the class changes, in a sentence."""
    if flip is None:
        return f"Whichever of the K-grams are removed, it stays {explanation.predicted}."
    kgrams = ", ".join(f"“{kgram.text}”" for kgram in flip.kgrams)
    outcome = (
        f"it is {flip.predicted}, not {explanation.predicted}"
        if flip.predicted
        else "no known word is left"
    )
    caveat = "" if flip.exact else " No smaller set was found, but not all were tried."
    return f"Without {kgrams} {outcome}.{caveat}"


def trust_text(explanation: Explanation, test: ReasonTest, flip: Flip | None) -> str:
    """The outcome of testing a reason, as lines for a terminal below those of the explanation."""
    lines = [*test.to_sentences(), flip_sentence(explanation, flip)]
    return "\n".join(f"  {line}" for line in lines)


def trust_facts(test: ReasonTest | None, flip: Flip | None) -> dict[str, Any] | None:
    """The outcome of testing a reason, as plain data; None for a blank text."""
    if test is None:
        return None
    return test.to_dict() | {"flip": None if flip is None else flip.to_dict()}
