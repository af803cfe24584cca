"""The report of an evaluation: as JSON, as lines for a terminal, and as a table of all texts."""

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

from icaps.classifier import ICapsClassifier
from icaps.data.saved_slices import Slice
from icaps.errors import DataError
from icaps.evaluate.evaluation import Evaluation
from icaps.evaluate.misleading import add_misled_by
from icaps.evaluate.predictions import Predictions
from icaps.evaluate.reliability import Reliability, measure_reliability
from icaps.evaluate.scores import Scores, score
from icaps.evaluate.selective import Selection, coverage_curve
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
from icaps.results import Interval

_BLOCK = 1_000  # texts of the table in memory at a time


@dataclass(frozen=True)
class EvaluationReport:
    """Scores, reliability, coverage and slices of an evaluation, each computed on first use."""

    evaluation: Evaluation

    @property
    def predictions(self) -> Predictions:
        """The evaluated predictions."""
        return self.evaluation.predictions

    @cached_property
    def scores(self) -> Scores:
        """See `scores.score`."""
        return score(self.predictions.confusion, self.predictions.classes)

    @cached_property
    def reliability(self) -> Reliability:
        """See `reliability.measure_reliability`."""
        return measure_reliability(self.predictions.confidence, self.predictions.correct)

    @cached_property
    def coverage(self) -> list[Selection]:
        """See `selective.coverage_curve`."""
        return coverage_curve(self.predictions.confidence, self.predictions.correct)

    @cached_property
    def slices(self) -> list[SliceScore]:
        """The scores of slices by text length and by the share of unknown words."""
        return [
            *self._scored(LENGTH, by_length(self.evaluation.words)),
            *self._scored(UNKNOWN, by_unknown(self.evaluation.unknown)),
        ]

    def saved_slices(self, saved: Iterable[Slice]) -> list[SliceScore]:
        """The scores of the texts in saved slices.

        Raises:
            DataError: A slice can't be read.
        """
        return list(self._scored(SAVED, by_saved(self.evaluation.texts, saved)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: scores, calibration and accuracy by coverage."""
        return {
            **self.scores.to_dict(),
            "blank": int(self.predictions.blank.sum()),
            "left_out": dict(self.evaluation.problems.counts),
            "corrected": self.evaluation.corrected,
            "calibration": self.reliability.to_dict(),
            "rejection": [selection.to_dict() for selection in self.coverage],
        }

    def to_text(self) -> str:
        """The scores as lines for a terminal: of all texts, then a line per class."""
        scores, reliability = self.scores, self.reliability
        chance, error = scores.chance, reliability.error
        lines = [
            f"{scores.plain['n']} texts, accuracy {_percent(scores.accuracy)}, macro F1 "
            f"{_percent(scores.macro['f1'])}",
            f"the same predictions in random order: accuracy {chance['accuracy']:.2%}, macro F1 "
            f"{chance['macro_f1']:.2%}",
            f"calibration error {_percent(error)}; a perfect model's {reliability.perfect:.2%}",
        ]
        if self.evaluation.corrected:
            lines.append(f"{self.evaluation.corrected:,} labels are corrected")
        lines += [
            f"{name}: precision {_percent(own['precision'])}, recall {_percent(own['recall'])}, "
            f"F1 {_percent(own['f1'])} of {scores.plain['per_class'][name]['support']}"
            for name, own in scores.per_class.items()
        ]
        return "\n".join(lines)

    def table(self, rows: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
        """One row per text, by number: text, class, prediction, probabilities, words."""
        own, numbers = self.predictions, np.asarray(rows, np.int64)
        names = np.array(own.classes, dtype=object)
        labels, predicted = own.labels[numbers], own.predicted[numbers]
        return pd.DataFrame(
            {
                "text number": numbers,
                "text": self.evaluation.texts.take(numbers),
                "class": names[labels],
                "predicted": np.where(own.blank[numbers], "", names[predicted]),
                "right": own.correct[numbers],
                "probability": np.round(own.confidence[numbers], 4),
                "probability of class": np.round(
                    own.probabilities_of(numbers)[np.arange(len(numbers)), labels], 4
                ),
                "words": self.evaluation.words[numbers],
                "unknown words": np.round(self.evaluation.unknown[numbers].astype(float), 4),
            }
        )

    def tables(self) -> Iterator[pd.DataFrame]:
        """The table of all texts, in blocks of rows."""
        count = len(self.predictions.labels)
        for start in range(0, count, _BLOCK):
            yield self.table(range(start, min(start + _BLOCK, count)))

    def write_csv(self, path: str | Path, classifier: ICapsClassifier | None = None) -> None:
        """Writes the table of all texts.

        Args:
            path: The file.
            classifier: The one that was evaluated: then there is a column of the words that misled
                (`misleading.add_misled_by`).

        Raises:
            DataError: The file can't be written.
        """
        try:
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                for n, table in enumerate(self.tables()):
                    if classifier is not None:
                        table = add_misled_by(classifier, table)
                    # Quoted, as a text may hold line ends of any kind.
                    table.to_csv(file, index=False, header=not n, quoting=csv.QUOTE_NONNUMERIC)
        except OSError as error:
            raise DataError(f"{path} can't be written ({error}); name another file.") from error

    def to_json(self, saved: Iterable[Slice] = ()) -> str:
        """`to_dict` with all slices, as JSON.

        Raises:
            DataError: A slice can't be read.
        """
        parts = [*self.slices, *self.saved_slices(saved)]
        return json.dumps({**self.to_dict(), "slices": [part.to_dict() for part in parts]})

    def _scored(self, kind: str, masks: dict[str, Mask]) -> Iterator[SliceScore]:
        correct = self.predictions.correct
        return (score_slice(kind, name, correct, mask) for name, mask in masks.items())


def _percent(share: Interval) -> str:
    """A share in percent with its interval, such as "92.16% (91.53 to 92.74)"."""
    return f"{share.value:.2%} ({100 * share.low:.2f} to {100 * share.high:.2f})"
