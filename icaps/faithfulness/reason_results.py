"""What a test of one text's explanation returns: its numbers, sentences and plain data.

`reason_test` computes them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from icaps.results import Explanation, Interval, KGram

RARE = 0.05  # a share of random draws below this is taken as significant


@dataclass(frozen=True)
class ReasonTest:
    """What removing the shaded words of a text changes, compared with removing random words.

    After ERASER (DeYoung et al. 2020, section 4.2), with the class norm as its p. The random words
    are equally many, in runs of the same lengths, at random positions of the same text.

    Attributes:
        target: The class that is explained.
        removal: "deletion", or "unk" for masking.
        words, shaded: Number of words that were read, and of those that K-grams cover.
        whole, without, alone: Norm of `target` for the whole text, without the shaded words, and
            for the shaded words alone.
        random_without, random_alone: The same for random words: the mean over the draws, and the
            interval that holds 90% of them.
        as_far, as_much: Number of draws whose removal lowers the norm at least as far, and of
            draws that alone retain at least as much of it.
        draws, seed: Number of draws, and their seed.
        testable: Whether fewer than 5% of the draws are the shaded words themselves; in a short
            text often more are.
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
        """How far the norm falls without the shaded words."""
        return self.whole - self.without

    @property
    def sufficiency(self) -> float:
        """How far the norm falls for the shaded words alone."""
        return self.whole - self.alone

    @property
    def decides(self) -> bool:
        """Whether fewer than 5% of the draws lower the norm as far."""
        return self.testable and self.as_far < RARE * self.draws

    @property
    def suffices(self) -> bool:
        """Whether fewer than 5% of the draws retain as much of the norm alone."""
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
            f"{verb.lower()} as many random words: {_norm_and_range(self.random_without)}.",
            f"The shaded words alone, all others {others}: {self.alone:.2f}; as many random words "
            f"alone: {_norm_and_range(self.random_alone)}.",
        ]

    def _verdict(self) -> str:
        if not self.testable:
            return (
                "Too few words to test this explanation against random words: "
                f"{self.shaded:,} of {self.words:,} words are shaded."
            )
        if self.decides:
            matter = "The shaded words matter more than random words"
            if self.suffices:
                return f"{matter}, and are enough on their own."
            return f"{matter}, but on their own they are not clearly better."
        others = f"{self.as_far} of {self.draws} random word sets change {self.target} as much"
        if self.suffices:
            return f"The shaded words are enough on their own, but {others} when removed."
        return f"Not distinguishable from chance: {others}."

    def _change(self) -> str:
        """What removing the shaded words does to the class norm."""
        if round(self.whole, 2) == round(self.without, 2):
            return f"leaves {self.target} at {self.without:.2f}"
        verb = "lowers" if self.without < self.whole else "raises"
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
    """A smallest set of K-grams whose removal changes the predicted class.

    Attributes:
        kgrams: The set, in the order of the explanation.
        predicted: The class predicted without them; "" if no known word is left.
        scores: Norm of each class capsule without them.
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


def _norm_and_range(norm: Interval) -> str:
    return f"{norm.value:.2f} ({norm.low:.2f} to {norm.high:.2f} in 90% of draws)"


def flip_sentence(explanation: Explanation, flip: Flip | None) -> str:
    """The smallest set of K-grams without which the class changes, in a sentence."""
    if flip is None:
        return f"Whichever K-grams are removed, the class stays {explanation.predicted}."
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
