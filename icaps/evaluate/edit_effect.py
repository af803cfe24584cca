"""The effect of edits on labelled texts: accuracy before and after, and predictions that change.

Other repairs of the same model, such as one that was trained on masked texts, are measured beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import indicator
from icaps.errors import DataError
from icaps.inference import CHUNK, predicted_sets
from icaps.interpret.edits import Edit
from icaps.results import Interval
from icaps.stats import wilson
from icaps.text.sentences import encode

BEFORE, NEUTRAL, CONTROL = "before", "neutral", "random"  # names of rows
_NEAR = 25  # ranks of frequency within which a control word is drawn

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RepairRow:
    """One model on the texts.

    Attributes:
        name: BEFORE, NEUTRAL, CONTROL, or as the model was given.
        accuracy: On all texts; with several labels per text, of all labels of a text.
        concerned, rest: On the texts concerned, and on the others.
        flips: Number of predictions that differ from those before.
        depend: Share of the texts concerned whose prediction changes if the words are deleted; None
            if no word is neutral.
    """

    name: str
    accuracy: Interval
    concerned: Interval
    rest: Interval
    flips: int
    depend: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            name: value.to_dict() if isinstance(value, Interval) else value
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class EditEffect:
    """What edits change; the control has as many random words of like frequency, or capsules.

    Attributes:
        texts: Number of texts.
        concerned: Of them, those whose class norms the edits change.
        before, after: Accuracy on all texts.
        concerned_before, concerned_after: Accuracy on the texts concerned.
        rest_before, rest_after: Accuracy on the others.
        flips: Number of predictions that change.
        control: Number of predictions that change with the control.
        rows: BEFORE, NEUTRAL, the other repairs and CONTROL.
        flipped: Numbers of the texts whose prediction changes, of at most CHUNK.
    """

    texts: int
    concerned: int
    before: Interval
    after: Interval
    concerned_before: Interval
    concerned_after: Interval
    rest_before: Interval
    rest_after: Interval
    flips: int
    control: int
    rows: tuple[RepairRow, ...] = ()
    flipped: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without the numbers of texts."""
        values = {
            name: value.to_dict() if isinstance(value, Interval) else value
            for name, value in vars(self).items()
            if name != "flipped"
        }
        return values | {"rows": [row.to_dict() for row in self.rows]}

    def lines(self) -> Iterator[str]:
        """The effect as lines for a terminal."""
        before, after = self.before, self.after
        yield f"{self.texts:,} texts in all: accuracy {before:.2%} before, {after:.2%} after"
        if not self.concerned:
            yield "none of them is concerned, so nothing changes"
            return
        yield (
            f"{self.concerned:,} texts with them: accuracy {self.concerned_before:.2%} before, "
            f"{self.concerned_after:.2%} after"
        )
        yield (
            f"{self.flips:,} predictions change; with random words or capsules in their place "
            f"{self.control:,}"
        )

    def table(self) -> Iterator[str]:
        """The rows as lines for a terminal: models beside each other."""
        width = max(len(row.name) for row in self.rows) + 2
        yield f"{'':<{width}}accuracy  with them  without    flips  depend on them"
        for row in self.rows:
            numbers = (row.accuracy, row.concerned, row.rest)
            cells = "".join(f"{_percent(number, 2):<11}" for number in numbers)
            depend = "–" if row.depend is None else _percent(row.depend, 1)
            yield f"{row.name:<{width}}{cells}{row.flips:<7,}{depend}".rstrip()


@dataclass
class _Side:
    """A model, and what it predicts of the texts so far (texts,) each."""

    name: str
    model: ICapsClassifier
    right: list[Mask]
    flips: list[Mask]
    depend: list[Mask]


def measure_edits(
    before: ICapsClassifier,
    after: ICapsClassifier,
    labelled: Iterable[tuple[str, str]],
    seed: int = 0,
    beside: Mapping[str, ICapsClassifier] = MappingProxyType({}),
) -> EditEffect:
    """Compares a model with and without edits on a stream of labelled texts.

    Args:
        before: The model as it was.
        after: The same with more edits.
        labelled: Pairs of a text and the name of its class, or its set of labels.
        seed: Of the control.
        beside: Other models of the same classes, by name.

    Raises:
        DataError: A label is none of the classes, or a model has others.
    """
    old = set(before.edits_)
    new = [edit for edit in after.edits_ if edit not in old]
    control = before.edited([*before.edits_, *_control(after, new, seed)])
    models = {BEFORE: before, NEUTRAL: after, **beside, CONTROL: control}
    sides = [_Side(name, model, [], [], []) for name, model in models.items()]
    classes = [str(name) for name in before.classes_]
    assert not {BEFORE, NEUTRAL, CONTROL} & set(beside), "names of rows"
    words_only = [edit for edit in new if edit.words]
    concerned: list[Mask] = [np.zeros(0, bool)]
    stream = iter(labelled)
    while chunk := list(islice(stream, CHUNK)):
        texts = [text for text, _ in chunk]
        labels = indicator([label for _, label in chunk], classes)  # (n, J)
        norms, edited = before.class_norms(texts), after.class_norms(texts)
        concerned.append(np.asarray(~np.isclose(norms, edited, rtol=0, atol=1e-6).all(axis=1)))
        with_words = np.flatnonzero(concerned[-1]) if words_only else np.zeros(0, int)
        shortened = without_words(before, words_only, [texts[n] for n in with_words])
        whole = _predicted(before, norms)
        known = {BEFORE: whole, NEUTRAL: _predicted(after, edited)}
        for side in sides:
            predicted = known.get(side.name)
            if predicted is None:
                predicted = _of_classes(side, texts, classes)
            side.right.append((predicted == labels).all(1))
            side.flips.append((predicted != whole).any(1))
            less = _of_classes(side, shortened, classes)
            side.depend.append((less != predicted[with_words]).any(1))
    mask = np.concatenate(concerned)
    rows = tuple(_row(side, mask, bool(words_only)) for side in sides)
    flips = np.concatenate([np.zeros(0, bool), *sides[1].flips])
    return EditEffect(
        texts=len(mask),
        concerned=int(mask.sum()),
        before=rows[0].accuracy,
        after=rows[1].accuracy,
        concerned_before=rows[0].concerned,
        concerned_after=rows[1].concerned,
        rest_before=rows[0].rest,
        rest_after=rows[1].rest,
        flips=rows[1].flips,
        control=rows[-1].flips,
        rows=rows,
        flipped=tuple(np.flatnonzero(flips)[:CHUNK].tolist()),
    )


def without_words(
    classifier: ICapsClassifier, edits: Sequence[Edit], texts: Sequence[str]
) -> list[str]:
    """The texts without the words and K-grams of edits, as a model finds them in the texts."""
    tokens = encode(classifier.vocabulary_, texts, classifier.network_.config)
    assert tokens.spans is not None
    covered = np.zeros(len(tokens.ids), dtype=bool)
    for edit in edits:
        covered |= tokens.covered(tuple(map(classifier.vocabulary_.id, edit.words)))
    shortened, offsets = [], tokens.word_offsets
    for n, text in enumerate(texts):
        part = slice(offsets[n], offsets[n + 1])
        for start, end in tokens.spans[part][covered[part]][::-1].tolist():
            text = text[:start] + text[end:]
        shortened.append(text)
    return shortened


def _predicted(model: ICapsClassifier, norms: NDArray[np.floating[Any]]) -> Mask:
    """The predicted classes of texts (n, J); one for each text unless it may have several."""
    if model.multilabel_:
        return predicted_sets(model.network_, norms)
    return np.asarray(norms.argmax(1)[:, None] == np.arange(norms.shape[1]))


def _of_classes(side: _Side, texts: Sequence[str], classes: Sequence[str]) -> Mask:
    """What a model predicts of texts, in the order of these classes (n, J)."""
    names = [str(name) for name in side.model.classes_]
    if sorted(names) != sorted(classes):
        raise DataError(f"{side.name} has other classes: {', '.join(names[:20])}.")
    predicted = _predicted(side.model, side.model.class_norms(texts))
    return predicted[:, [names.index(name) for name in classes]]


def _row(side: _Side, concerned: Mask, of_words: bool) -> RepairRow:
    right, flips, depend = (
        np.concatenate([np.zeros(0, bool), *column])
        for column in (side.right, side.flips, side.depend)
    )
    return RepairRow(
        name=side.name,
        accuracy=_share(right),
        concerned=_share(right[concerned]),
        rest=_share(right[~concerned]),
        flips=int(flips.sum()),
        depend=_share(depend) if of_words else None,
    )


def _percent(share: Interval, digits: int) -> str:
    """A share of texts in percent; a dash of no texts."""
    return "–" if math.isnan(share.value) else f"{share.value:.{digits}%}"


def _share(right: Mask) -> Interval:
    return wilson(int(right.sum()), len(right))


def _control(model: ICapsClassifier, edits: Sequence[Edit], seed: int) -> list[Edit]:
    """As many edits of random words of like frequency, or of random capsules."""
    random = np.random.default_rng(seed)
    vocabulary, capsules = model.vocabulary_, model.network_.config.num_capsules
    controls = []
    for n, edit in enumerate(edits):
        name = f"control {n} {seed}"
        if edit.capsule is not None:
            others = [i for i in range(capsules) if i != edit.capsule]
            controls.append(replace(edit, name=name, capsule=int(random.choice(others))))
            continue
        words = []
        for word in edit.words:
            place = vocabulary.id(word)  # most frequent first
            first = max(2, place - _NEAR)  # after `<pad>` and `<unk>`
            last = min(max(first + 2, place + _NEAR + 1), len(vocabulary))
            near = [other for other in range(first, last) if other != place]
            words.append(vocabulary.words[int(random.choice(near))])
        controls.append(replace(edit, name=name, words=tuple(words)))
    return controls
