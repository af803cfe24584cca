"""The report of an evaluation: as JSON, as lines for a terminal, and as a table of all texts."""

from __future__ import annotations

import csv
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set
from icaps.data.saved_slices import Slice
from icaps.errors import DataError
from icaps.evaluate.compare import PairedTest, compare
from icaps.evaluate.evaluation import AnyEvaluation, Evaluation, MultilabelEvaluation
from icaps.evaluate.misleading import add_misled_by
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.evaluate.multilabel_compare import MultilabelTest, compare_multilabel
from icaps.evaluate.multilabel_scores import (
    AVERAGE_PRECISION,
    HAMMING_LOSS,
    MACRO_F1,
    MICRO_F1,
    SUBSET_ACCURACY,
    MultilabelScores,
    score_multilabel,
)
from icaps.evaluate.predictions import Predictions
from icaps.evaluate.reliability import Reliability, calibration_error, measure_reliability
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


class Report(ABC):
    """What the reports of all evaluations have: slices, a table of all texts, and files."""

    evaluation: AnyEvaluation

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

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without slices."""

    @abstractmethod
    def to_text(self) -> str:
        """The scores as lines for a terminal."""

    @abstractmethod
    def table(self, rows: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
        """One row per text, by number."""

    def tables(self) -> Iterator[pd.DataFrame]:
        """The table of all texts, in blocks of rows."""
        count = len(self.evaluation.texts)
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

    def _corrected_lines(self) -> list[str]:
        corrected = self.evaluation.corrected
        return [f"{corrected:,} labels are corrected"] if corrected else []

    def _scored(self, kind: str, masks: dict[str, Mask]) -> Iterator[SliceScore]:
        correct = self.evaluation.predictions.correct
        return (score_slice(kind, name, correct, mask) for name, mask in masks.items())


@dataclass(frozen=True)
class EvaluationReport(Report):
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
        lines += self._corrected_lines()
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


@dataclass(frozen=True)
class MultilabelReport(Report):
    """Scores and slices of an evaluation with several labels per text, computed on first use.

    A text is right in slices if its predicted classes are its labels, all of them.
    """

    evaluation: MultilabelEvaluation

    @property
    def predictions(self) -> MultilabelPredictions:
        """The evaluated predictions."""
        return self.evaluation.predictions

    @cached_property
    def scores(self) -> MultilabelScores:
        """See `multilabel_scores.score_multilabel`."""
        return score_multilabel(self.predictions)

    @cached_property
    def calibration_errors(self) -> list[float]:
        """The calibration error of each class's probabilities (J,); see `Reliability.error`."""
        own = self.predictions
        return [
            calibration_error(own.probabilities[:, j], own.labels[:, j])
            for j in range(len(own.classes))
        ]

    @cached_property
    def set_reliability(self) -> Reliability:
        """The reliability of `MultilabelPredictions.confidence`."""
        return measure_reliability(self.predictions.confidence, self.predictions.correct)

    @cached_property
    def coverage(self) -> list[Selection]:
        """See `selective.coverage_curve`; a text is right if all its labels are."""
        return coverage_curve(self.predictions.confidence, self.predictions.correct)

    def reliability(self, number: int) -> Reliability:
        """The calibration of the probabilities of one class; see `measure_reliability`."""
        own = self.predictions
        chances = np.asarray(own.probabilities[:, number], dtype=float)
        return measure_reliability(chances, own.labels[:, number])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: scores, calibration error by class, and accuracy by coverage."""
        errors, own = self.calibration_errors, self.predictions
        blank = 0 if own.blank is None else int(own.blank.sum())
        return {
            **self.scores.to_dict(),
            "blank": blank,
            "left_out": dict(self.evaluation.problems.counts),
            "corrected": self.evaluation.corrected,
            "calibration": {
                "error": float(np.mean(errors)),
                "per_class": dict(zip(own.classes, errors, strict=True)),
            },
            "rejection": [selection.to_dict() for selection in self.coverage],
        }

    def to_text(self) -> str:
        """The scores as lines for a terminal: of all texts, then a line per class."""
        scores, chance, overall = self.scores, self.scores.chance, self.scores.overall
        ranking = AVERAGE_PRECISION
        lines = [
            f"{scores.plain['n']} texts, micro F1 {_percent(overall[MICRO_F1])}, macro F1 "
            f"{_percent(overall[MACRO_F1])}, average precision {_percent(overall[ranking])}",
            f"all labels right (subset accuracy) {_percent(overall[SUBSET_ACCURACY])}, Hamming "
            f"loss {_percent(overall[HAMMING_LOSS])}",
            f"the same predictions in random order: micro F1 {chance[MICRO_F1]:.2%}, macro F1 "
            f"{chance[MACRO_F1]:.2%}, average precision {chance[ranking]:.2%}, subset accuracy "
            f"{chance[SUBSET_ACCURACY]:.2%}, Hamming loss {chance[HAMMING_LOSS]:.2%}",
            f"calibration error, mean over the classes: {np.mean(self.calibration_errors):.2%}",
        ]
        lines += self._corrected_lines()
        lines += [
            f"{name}: precision {_percent(own.precision)}, recall {_percent(own.recall)}, F1 "
            f"{_percent(own.f1)}, average precision {_percent(own.average_precision)} of "
            f"{own.texts}, predicted from {own.threshold:.1%}"
            for name, own in scores.per_class.items()
        ]
        return "\n".join(lines)

    def table(self, rows: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
        """One row per text, by number: text, sets of classes, probabilities, words.

        Sets of classes are lists, as in files of data: `["a", "b"]`.
        """
        own, numbers = self.predictions, np.asarray(rows, np.int64)
        labels, predicted = np.asarray(own.labels[numbers]), own.predicted_of(numbers)
        probabilities = np.round(own.probabilities[numbers], 4)
        sets = {
            "classes": labels,
            "predicted": predicted,
            "missed": labels & ~predicted,
            "extra": predicted & ~labels,
        }
        return pd.DataFrame(
            {
                "text number": numbers,
                "text": self.evaluation.texts.take(numbers),
                **{
                    name: [format_label_set(own.names(row)) for row in values]
                    for name, values in sets.items()
                },
                "right": own.correct[numbers],
                "words": self.evaluation.words[numbers],
                "unknown words": np.round(self.evaluation.unknown[numbers].astype(float), 4),
                **{
                    f"probability of {name}": probabilities[:, j]
                    for j, name in enumerate(own.classes)
                },
            }
        )


def make_report(evaluation: AnyEvaluation) -> EvaluationReport | MultilabelReport:
    """The report of an evaluation, by the number of labels per text."""
    if isinstance(evaluation, MultilabelEvaluation):
        return MultilabelReport(evaluation)
    return EvaluationReport(evaluation)


def compare_evaluations(first: AnyEvaluation, second: AnyEvaluation) -> PairedTest | MultilabelTest:
    """Two classifiers compared on the same texts.

    Raises:
        DataError: Only one of them has several labels per text, they have different classes, or
            they were evaluated on different texts.
    """
    if isinstance(first, Evaluation) and isinstance(second, Evaluation):
        return compare(first.predictions, second.predictions)
    if isinstance(first, Evaluation) or isinstance(second, Evaluation):
        raise DataError(
            "One of the two models gives a text several labels, and the other gives it one; "
            "compare models that were trained on the same data."
        )
    return compare_multilabel(first.predictions, second.predictions)


def _percent(share: Interval) -> str:
    """A share in percent with its interval, such as "92.16% (91.53 to 92.74)"."""
    if math.isnan(share.value):
        return "unknown"
    return f"{share.value:.2%} ({100 * share.low:.2f} to {100 * share.high:.2f})"
