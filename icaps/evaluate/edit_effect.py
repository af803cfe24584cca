"""The effect of edits on labelled texts: accuracy before and after, and predictions that change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.evaluate.predictions import predict_chunks
from icaps.interpret.edits import Edit
from icaps.results import Interval
from icaps.stats import wilson

_NEAR = 25  # ranks of frequency within which a control word is drawn


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            name: value.to_dict() if isinstance(value, Interval) else value
            for name, value in vars(self).items()
        }

    def lines(self) -> Iterator[str]:
        """The effect as lines for a terminal."""
        for name, texts in (("", self.texts), ("concerned_", self.concerned)):
            before, after = (getattr(self, f"{name}{when}") for when in ("before", "after"))
            where = "with them" if name else "in all"
            yield f"{texts:,} texts {where}: accuracy {before:.2%} before, {after:.2%} after"
        yield (
            f"{self.flips:,} predictions change; with random words or capsules in their place "
            f"{self.control:,}"
        )


def measure_edits(
    before: ICapsClassifier,
    after: ICapsClassifier,
    labelled: Iterable[tuple[str, str]],
    seed: int = 0,
) -> EditEffect:
    """Compares a model with and without edits on a stream of labelled texts.

    Args:
        before: The model as it was.
        after: The same with more edits.
        labelled: Pairs of a text and the name of its class.
        seed: Of the control.

    Raises:
        DataError: A label is none of the classes.
    """
    old = set(before.edits_)
    new = [edit for edit in after.edits_ if edit not in old]
    control = before.edited([*before.edits_, *_control(after, new, seed)])
    rows = [np.zeros((0, 4), dtype=bool)]  # concerned, right before, right after, control changes
    flips = 0
    for chunk in predict_chunks(before, labelled):
        norms, edited, other = (
            chunk.scores if model is before else model.class_norms(chunk.texts)
            for model in (before, after, control)
        )
        first, second, third = (scores.argmax(1) for scores in (norms, edited, other))
        concerned = ~np.isclose(norms, edited, rtol=0, atol=1e-6).all(1)
        columns = concerned, first == chunk.labels, second == chunk.labels, first != third
        rows.append(np.stack(columns, axis=1))
        flips += int((first != second).sum())
    concerned, right, right_after, changes = np.concatenate(rows).T
    return EditEffect(
        texts=len(concerned),
        concerned=int(concerned.sum()),
        before=_share(right),
        after=_share(right_after),
        concerned_before=_share(right[concerned]),
        concerned_after=_share(right_after[concerned]),
        rest_before=_share(right[~concerned]),
        rest_after=_share(right_after[~concerned]),
        flips=flips,
        control=int(changes.sum()),
    )


def _share(right: NDArray[np.bool_]) -> Interval:
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
