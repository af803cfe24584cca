"""What a test of one text's explanation returns: its numbers, sentences and plain data.

`reason_test` computes them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeAlias

from icaps.explanation_parts import KGram
from icaps.results import Explanation, Interval

RARE = 0.05  # at most this share of sets must change a norm as much, or it may be by chance
_CHANGE = 0.001  # of a norm; a smaller one is none
LEVELS = FLIPS, MATTERS, CHANCE, UNTESTED = "flips", "matters", "chance", "untested"

# A class, or with several labels per text the predicted classes, the most probable first.
Prediction: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True)
class ReasonTest:
    """What removing the shaded words of a text changes, compared with removing other words.

    After ERASER (DeYoung et al. 2020, section 4.2), with the class norm as its p. The other sets
    have as many words of the same text: all such sets where they are few, or random ones, in runs
    of the same lengths where these have enough places.

    Attributes:
        target: The class that is explained.
        removal: "deletion", or "unk" for masking.
        words, shaded: Number of words that were read, and of those that K-grams cover.
        whole, without, alone: Norm of `target` for the whole text, without the shaded words, and
            for the shaded words alone.
        random_without, random_alone: The same for the other sets: the mean, and the interval that
            holds 90% of them.
        as_far, as_much: Number of sets whose removal lowers the norm at least as far, and of sets
            that alone retain at least as much of it.
        draws, seed: Number of sets, and the seed that drew them.
        testable: Whether at most 5% of the sets are the shaded words themselves; a text of few
            words has no other sets.
        predicted, predicted_without, predicted_alone: The class predicted for the whole text,
            without the shaded words, and for them alone; "" if no known word is left. With several
            labels per text, the classes.
        random_flips: Number of sets without which another class is predicted; with several labels
            per text, without which `target` is predicted and was not, or the reverse.
        exhaustive: Whether the sets are all sets of as many words, the shaded words included.
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
    predicted: Prediction
    predicted_without: Prediction
    predicted_alone: Prediction
    random_flips: int
    exhaustive: bool

    @property
    def comprehensiveness(self) -> float:
        """How far the norm falls without the shaded words."""
        return self.whole - self.without

    @property
    def sufficiency(self) -> float:
        """How far the norm falls for the shaded words alone."""
        return self.whole - self.alone

    @property
    def flips(self) -> bool:
        """Whether another class is predicted without the shaded words.

        With several labels per text: whether `target` is predicted, and was not, or the reverse.
        """
        return differs(self.predicted, self.predicted_without, self.target)

    @property
    def matters(self) -> bool:
        """Whether the norm falls without the words, and as far for at most 5% of the sets."""
        falls = self.comprehensiveness >= _CHANGE
        return self.testable and falls and self.as_far <= RARE * self.draws

    @property
    def decides(self) -> bool:
        """Whether the words matter, and another class is predicted without them."""
        return self.matters and self.flips

    @property
    def suffices(self) -> bool:
        """Whether at most 5% of the sets retain as much of the norm alone."""
        return self.testable and self.as_much <= RARE * self.draws

    @property
    def level(self) -> str:
        """The outcome as one of LEVELS."""
        if not self.testable:
            return UNTESTED
        if not self.matters:
            return CHANCE
        return FLIPS if self.flips else MATTERS

    def to_sentences(self) -> list[str]:
        """The outcome in sentences: what was seen, then the numbers where the text is testable."""
        if not self.testable:
            return [self._untested()]
        verb, others = (
            ("Removing", "removed") if self.removal == "deletion" else ("Masking", "masked")
        )
        more = ", more than random words do" if self.suffices else ""
        sets = "as many random words"
        if self.exhaustive:
            sets = f"each of the {self.draws:,} sets of as many words"
        other = f"{self.target} changes" if self._has_several else "another class"
        return [
            self._verdict(),
            f"{verb} the words of the K-grams ({self.shaded:,} of {self.words:,} words): "
            f"{self._change}. {verb} {sets}: {_mean_and_range(self.random_without)}, and "
            f"{other} in {self.random_flips:,} of {self.draws:,}.",
            f"The words of the K-grams alone, all others {others}: the norm of "
            f"{self.target} is {self.alone:.2f}{more}. {sets[0].upper()}{sets[1:]} alone: "
            f"{_mean_and_range(self.random_alone)}.",
        ]

    def _verdict(self) -> str:
        if not self.matters:
            falls = self.comprehensiveness >= _CHANGE
            others = f", but {self.as_far:,} of {self._sets} lower the norm as much"
            seen = self._seen[0].lower() + self._seen[1:]
            return f"Not distinguishable from random words: {seen}{others if falls else ''}."
        if self._explained_class_is_lost:
            return f"{self._seen}."
        fewer = "random words"
        if self.exhaustive:
            fewer = f"{100 * (self.draws - self.as_far) // self.draws}% of {self._sets}"
        return f"{self._seen}, more than without {fewer}; {self._class_after}."

    def _untested(self) -> str:
        if not self.shaded:
            return "No word is in a K-gram, so there is nothing to test."
        if self.words == 1:
            return "The text has one word, so there are no others to compare it with."
        if self.shaded == self.words:
            all_words = f"The K-grams cover all {self.words:,} words"
            return f"{all_words}, so there are no others to compare them with."
        seen = self._seen if self._explained_class_is_lost else f"{self._seen}; {self._class_after}"
        return f"{seen}. The {self.draws:,} sets of as many words are too few to rule out chance."

    @property
    def _has_several(self) -> bool:
        """Whether a text may have several labels."""
        return not isinstance(self.predicted, str)

    @property
    def _explained_class_is_lost(self) -> bool:
        predicted = (self.predicted,) if isinstance(self.predicted, str) else self.predicted
        return self.flips and self.target in predicted

    @property
    def _seen(self) -> str:
        """What the model does without the words."""
        without = "Without these words" if self.removal == "deletion" else "With these words masked"
        if not self._explained_class_is_lost:
            return f"{without} {self._change}"
        if self._has_several:
            return f"{without} {self.target} is no longer predicted"
        if not self.predicted_without:
            return f"{without} no known word is left"
        return f"{without} it is {self.predicted_without}, not {self.predicted}"

    @property
    def _change(self) -> str:
        """What happens to the class norm without the words."""
        if abs(self.comprehensiveness) < _CHANGE:
            return f"the norm of {self.target} stays at {self.without:.2f}"
        digits = 2 if round(self.whole, 2) != round(self.without, 2) else 3
        verb = "falls" if self.without < self.whole else "rises"
        norms = f"{self.whole:.{digits}f} to {self.without:.{digits}f}"
        return f"the norm of {self.target} {verb} from {norms}"

    @property
    def _class_after(self) -> str:
        """Whether the predicted class changes without the words."""
        if not isinstance(self.predicted, str):
            if self.flips:
                return f"{self.target} is then predicted"
            stays = "stays predicted" if self.target in self.predicted else "is still not predicted"
            return f"{self.target} {stays}"
        if not self.flips:
            return f"the class stays{'' if self.target == self.predicted else ' ' + self.predicted}"
        if not self.predicted_without:
            return "no known word is left"
        return f"it is then {self.predicted_without}, not {self.predicted}"

    @property
    def _sets(self) -> str:
        """The sets that the words are compared with."""
        which = f"all {self.draws:,}" if self.exhaustive else f"{self.draws:,} random"
        return f"{which} sets of as many words"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the values derived from the numbers."""
        derived = ["comprehensiveness", "sufficiency", "decides", "suffices"]
        derived += ["flips", "matters", "level"]
        return {
            **dataclasses.asdict(self),
            "random_without": self.random_without.to_dict("mean"),
            "random_alone": self.random_alone.to_dict("mean"),
            "predicted": _plain(self.predicted),
            "predicted_without": _plain(self.predicted_without),
            "predicted_alone": _plain(self.predicted_alone),
            **{name: getattr(self, name) for name in derived},
        }


def differs(one: Prediction, other: Prediction, target: str) -> bool:
    """Whether two predictions differ; with several labels per text, on whether `target` is one."""
    if isinstance(one, str) or isinstance(other, str):
        return one != other
    return (target in one) != (target in other)


def decided_class(explanation: Explanation) -> str:
    """The class whose loss is searched for; "" if none is predicted.

    It is the predicted class. With several labels per text it is the explained class if that is
    predicted, else the most probable of the predicted classes.
    """
    if explanation.target in explanation.given_classes and explanation.multilabel:
        return explanation.target
    return next(iter(explanation.given_classes), "")


@dataclass(frozen=True)
class Flip:
    """A smallest set of K-grams whose removal changes the predicted class.

    Attributes:
        kgrams: The set, in the order of the explanation.
        predicted: The class predicted without them; "" if no known word is left. With several
            labels per text, the classes.
        scores: Norm of each class capsule without them.
        exact: Whether every smaller set of the explanation's K-grams was tried.
    """

    kgrams: tuple[KGram, ...]
    predicted: Prediction
    scores: tuple[float, ...]
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self) | {
            "kgrams": [dataclasses.asdict(kgram) for kgram in self.kgrams],
            "predicted": _plain(self.predicted),
            "scores": list(self.scores),
        }


def _plain(prediction: Prediction) -> str | list[str]:
    """For JSON, which has lists of classes."""
    return prediction if isinstance(prediction, str) else list(prediction)


def _mean_and_range(norm: Interval) -> str:
    return f"{norm.value:.2f} on average ({norm.low:.2f} to {norm.high:.2f} in 90%)"


def flip_sentence(explanation: Explanation, flip: Flip | None) -> str:
    """The smallest set of K-grams without which the class changes, in a sentence."""
    tested = decided_class(explanation)
    if flip is None and explanation.multilabel:
        if not tested:
            return "No class is predicted, so there is none that a K-gram decides."
        return f"Whichever K-grams are removed, {tested} stays predicted."
    if flip is None:
        return f"Whichever K-grams are removed, the class stays {explanation.predicted}."
    kgrams = ", ".join(f"“{kgram.text}”" for kgram in flip.kgrams)
    outcome = "no known word is left"
    if not isinstance(flip.predicted, str):
        others = ", ".join(flip.predicted)
        outcome = f"{tested} is no longer predicted" + (f"; {others} still is" if others else "")
        if len(flip.predicted) > 1:
            outcome = f"{outcome.removesuffix('is')}are"
    elif flip.predicted:
        outcome = f"it is {flip.predicted}, not {explanation.predicted}"
    caveat = "" if flip.exact else " No smaller set was found, but not all were tried."
    return f"Without {kgrams} {outcome}.{caveat}"


def trust_text(explanation: Explanation, test: ReasonTest, flip: Flip | None) -> str:
    """The outcome of testing a reason, as lines for a terminal below those of the explanation."""
    lines = [*test.to_sentences(), flip_sentence(explanation, flip)]
    return "\n".join(f"  {line}" for line in lines)


def trust_facts(
    explanation: Explanation, test: ReasonTest | None, flip: Flip | None
) -> dict[str, Any] | None:
    """The outcome of testing a reason, as plain data; None for a blank text.

    `sentences` says in words what was seen, the other values are numbers and names.
    """
    if test is None:
        return None
    sentences = [*test.to_sentences(), flip_sentence(explanation, flip)]
    flip_facts = None if flip is None else flip.to_dict()
    return test.to_dict() | {"flip": flip_facts, "sentences": sentences}
