"""All that is told of a judgement: for JSON, for a terminal, and as a table of all texts."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.errors import DataError
from icaps.evaluate.cache import Evaluated
from icaps.evaluate.calibration import Calibration, calibrate
from icaps.evaluate.predictions import Predictions
from icaps.evaluate.scores import Scores, score
from icaps.evaluate.selective import Kept, rejection_curve
from icaps.evaluate.slices import (
    LENGTH,
    SAVED,
    UNKNOWN,
    Mask,
    SliceScore,
    by_length,
    by_saved,
    by_unknown,
    score_slice,
)
from icaps.explore.saved_slices import Slice
from icaps.results import Interval

_BLOCK = 1_000  # texts of the table that are held at once


@dataclass(frozen=True)
class EvaluationReport:
    """What follows from a judgement, each part computed when it is first asked for."""

    evaluated: Evaluated

    @property
    def predictions(self) -> Predictions:
        """The judgement."""
        return self.evaluated.predictions

    @cached_property
    def scores(self) -> Scores:
        """See `scores.score`."""
        return score(self.predictions.confusion, self.predictions.classes)

    @cached_property
    def calibration(self) -> Calibration:
        """See `calibration.calibrate`."""
        return calibrate(self.predictions.confidence, self.predictions.correct)

    @cached_property
    def rejection(self) -> list[Kept]:
        """See `rejection.rejection_curve`."""
        return rejection_curve(self.predictions.confidence, self.predictions.correct)

    @cached_property
    def slices(self) -> list[SliceScore]:
        """Texts of similar length, and of similar shares of unknown words."""
        return [
            *self._scored(LENGTH, by_length(self.predictions.words)),
            *self._scored(UNKNOWN, by_unknown(self.predictions.unknown)),
        ]

    def saved_slices(self, kept: Iterable[Slice]) -> list[SliceScore]:
        """The texts that are in saved slices.

        Raises:
            DataError: A slice can't be read.
        """
        return list(self._scored(SAVED, by_saved(self.evaluated.texts, kept)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: scores, calibration and the curve of rejection."""
        return {
            **self.scores.to_dict(),
            "blank": int(self.predictions.blank.sum()),
            "left_out": dict(self.evaluated.problems.counts),
            "calibration": self.calibration.to_dict(),
            "rejection": [kept.to_dict() for kept in self.rejection],
        }

    def to_text(self) -> str:
        """Lines for a terminal: all texts, then a line a class."""
        scores, calibration = self.scores, self.calibration
        chance, error = scores.chance, calibration.error
        lines = [
            f"{scores.plain['n']} texts, accuracy {percent(scores.accuracy)}, macro F1 "
            f"{percent(scores.macro['f1'])}",
            f"the same answers dealt out at random: accuracy {chance['accuracy']:.2%}, macro F1 "
            f"{chance['macro_f1']:.2%}",
            f"calibration error {percent(error)}; a perfect model's {calibration.perfect:.2%}",
        ]
        lines += [
            f"{name}: precision {percent(own['precision'])}, recall {percent(own['recall'])}, "
            f"F1 {percent(own['f1'])} of {scores.plain['per_class'][name]['support']}"
            for name, own in scores.per_class.items()
        ]
        return "\n".join(lines)

    def table(self, rows: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
        """A row a text, by their numbers: what it is, and what the model says of it."""
        told, numbers = self.predictions, np.asarray(rows, np.int64)
        names = np.array(told.classes, dtype=object)
        labels, predicted = told.labels[numbers], told.predicted[numbers]
        return pd.DataFrame(
            {
                "text number": numbers,
                "text": self.evaluated.texts.take(numbers),
                "class": names[labels],
                "predicted": np.where(told.blank[numbers], "", names[predicted]),
                "right": told.correct[numbers],
                "probability": np.round(told.confidence[numbers], 4),
                "probability of class": np.round(told.probabilities[numbers, labels], 4),
                "words": told.words[numbers],
                "unknown words": np.round(told.unknown[numbers].astype(float), 4),
            }
        )

    def tables(self) -> Iterator[pd.DataFrame]:
        """`table` of all texts, some at a time."""
        count = len(self.predictions.labels)
        for start in range(0, count, _BLOCK):
            yield self.table(range(start, min(start + _BLOCK, count)))

    def write_csv(self, path: str | Path) -> None:
        """Writes the table of all texts.

        Raises:
            DataError: The file can't be written.
        """
        try:
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                for n, table in enumerate(self.tables()):
                    # Quoted, a text may hold line ends of any kind.
                    table.to_csv(file, index=False, header=not n, quoting=csv.QUOTE_NONNUMERIC)
        except OSError as error:
            raise DataError(f"{path} can't be written ({error}); name another file.") from error

    def to_json(self, saved: Iterable[Slice] = ()) -> str:
        """`to_dict` with all slices, as a text.

        Raises:
            DataError: A slice can't be read.
        """
        parts = [*self.slices, *self.saved_slices(saved)]
        return json.dumps({**self.to_dict(), "slices": [part.to_dict() for part in parts]})

    def _scored(self, kind: str, masks: dict[str, Mask]) -> Iterator[SliceScore]:
        correct = self.predictions.correct
        return (score_slice(kind, name, correct, mask) for name, mask in masks.items())


def percent(score_: Interval) -> str:
    """A share with its interval, such as "92.16% (91.53 to 92.74)"."""
    return f"{score_.value:.2%} ({100 * score_.low:.2f} to {100 * score_.high:.2f})"
