"""Label issues: rows whose label is probably wrong, by models that did not see it.

Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels", JAIR 70
(2021), which the library cleanlab implements as well. A linear model is trained on four fifths of
the rows and predicts the rest, five times. A row is confidently of a class if its probability is at
least the mean probability of that class over the rows with its label; it is an issue if it is
confidently of another class than its label.

explored/KEY/label-issues-1/ready/facts.json, given.npy, suggested.npy, probability.npy, rows.npy
             label-issues-1-LABELS/...   of corrected labels
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.baselines.linear import fit_linear
from icaps.data.cache import Artifact
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.explore.index import Index

FOLDS = 5
_MAX_FITTED = 100_000  # rows that a fold is fitted to at most, drawn at random
_HELD_OUT = 0.1  # share of these by which the strength and the temperature are chosen
_MIN_ROWS = 20
_BLOCK = 65_536  # rows whose probabilities are in memory at a time
_BATCH = 4_096  # texts that are predicted at a time
_NONE = -1  # no confident class
_FOLDER, _FACTS = "label-issues-1", "facts.json"  # 1: the version
_COLUMNS = ("given", "suggested", "probability", "rows")

Probabilities = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LabelIssues:
    """The label issues of a data set.

    Attributes:
        rows: (n,), numbers of the rows whose label is probably wrong, the surest first: by the
            probability of the suggested class minus that of the label.
        given: (all rows,), the probability of each row's label; NaN for rows without words.
        suggested: (all rows,), the code of the class that is suggested for each row; that of the
            label if there is no reason for another.
        probability: (all rows,), the probability of the suggested class.
        joint: (J, J), the estimated number of rows by label (rows) and true class (columns).
        accuracy: Share of the rows whose label is the most probable class.
    """

    rows: NDArray[np.int64]
    given: NDArray[np.float32]
    suggested: NDArray[np.int32]
    probability: NDArray[np.float32]
    joint: NDArray[np.float64]
    accuracy: float

    @property
    def estimate(self) -> float:
        """The estimated number of rows with a wrong label: the joint's sum off its diagonal."""
        return float(self.joint.sum() - np.trace(self.joint))


def label_issues_artifact(index: Index) -> Artifact[LabelIssues]:
    """The cache entry of the label issues of a data set, beside its index.

    Corrected labels have one of their own.
    """
    folder = _FOLDER
    if index.labels_name:
        folder += f"-{hashlib.sha256(index.labels_name.encode()).hexdigest()[:16]}"
    return Artifact(index.folder.parent / folder, lambda folder: _read(folder, index))


def find_label_issues(index: Index, progress: ProgressReporter = SILENT) -> LabelIssues:
    """Finds the label issues of a data set, unless they are cached.

    Memory holds the TF-IDF features of at most 100,000 rows; the probabilities are in a temporary
    file.

    Args:
        index: The index of the data set; rows of all its splits are used.
        progress: Receives a line per fold, and the number of rows that were predicted.

    Raises:
        DataError: There are too few rows or classes, no words, texts may have several labels, or
            the cache can't be written.
    """

    def fill(folder: Path) -> None:
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            shape = len(index), len(index.classes)
            probabilities = np.memmap(file, np.float32, "w+", shape=shape)
            known = cross_validate(index, probabilities, progress)
            _write(folder, confident_issues(probabilities, index.labels, known))

    return label_issues_artifact(index).make(fill, progress)


def cross_validate(
    index: Index, probabilities: Probabilities, progress: ProgressReporter = SILENT
) -> NDArray[np.bool_]:
    """Fills in the probabilities (rows, J) of each row by a model that was not trained on it.

    Rows with equal texts are in one fold, as a model that saw one of them knows the others' label.

    Args:
        index: The index of the data set.
        probabilities: (rows, J), changed in place.
        progress: See `find_label_issues`.

    Returns:
        A mask (rows,) of the rows that have words; the others have no probabilities.

    Raises:
        DataError: There are too few rows or classes, no words, or texts may have several labels.
    """
    if index.multilabel:
        raise DataError(
            "Label errors are looked for in data with one label per text, and these texts may have "
            "several."
        )
    known: NDArray[np.bool_] = index.words > 0
    if known.sum() < _MIN_ROWS or len(np.unique(index.labels[known])) < 2:
        raise DataError(_too_few(int(known.sum())))
    folds = np.fromiter((text_hash(text) % FOLDS for text in index.texts), np.int8, len(index))
    rng = np.random.default_rng(0)
    progress.expect_texts(int(known.sum()))
    for fold in range(FOLDS):
        tested = np.flatnonzero(known & (folds == fold))
        fitted = rng.permutation(np.flatnonzero(known & (folds != fold)))[:_MAX_FITTED]
        progress.say(f"fold {fold + 1} of {FOLDS}: fitting a linear model to {len(fitted):,} rows")
        _predict_fold(index.text, index.labels, fitted, tested, probabilities, progress)
    return known


def doubted_labels(
    texts: Sequence[str], labels: NDArray[np.integer[Any]], classes: int
) -> LabelIssues:
    """The label issues of texts in memory: as `find_label_issues`, without an index or a cache.

    Args:
        texts: The texts.
        labels: (texts,), class numbers.
        classes: J, the number of classes.

    Raises:
        DataError: There are too few texts or classes, or no words.
    """
    if len(texts) < _MIN_ROWS or len(np.unique(labels)) < 2:
        raise DataError(_too_few(len(texts)))
    folds = np.array([text_hash(text) % FOLDS for text in texts])
    rng = np.random.default_rng(0)
    probabilities = np.zeros((len(texts), classes))
    for fold in range(FOLDS):
        tested, fitted = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(tested) and len(fitted):
            _predict_fold(
                lambda rows: [texts[n] for n in rows.tolist()],
                labels,
                rng.permutation(fitted),
                tested,
                probabilities,
            )
    return confident_issues(probabilities, labels)


def _too_few(rows: int) -> str:
    return (
        f"{rows} rows with words are too few to doubt a label; give at least {_MIN_ROWS}, of two "
        "classes."
    )


def _predict_fold(
    texts: Callable[[NDArray[np.int64]], list[str]],
    labels: NDArray[np.integer[Any]],
    fitted: NDArray[np.int64],
    tested: NDArray[np.int64],
    probabilities: Probabilities,
    progress: ProgressReporter = SILENT,
) -> None:
    """Fits a linear model to some rows, in random order, and predicts the tested ones.

    Args:
        texts: Reads the texts of some rows.
        labels: (all rows,), class numbers.
        fitted, tested: Numbers of rows.
        probabilities: (all rows, J), changed in place.
        progress: Receives the number of rows that were predicted.
    """
    held_out, training = np.split(fitted, [max(1, round(_HELD_OUT * len(fitted)))])
    classes, numbers = np.unique(labels[training], return_inverse=True)
    if len(classes) == 1:
        probabilities[np.ix_(tested, classes)] = 1
        return
    held_out = held_out[np.isin(labels[held_out], classes)]
    if not len(held_out):
        held_out = training
    model = fit_linear(
        classes,
        (_streamed(texts, training), numbers),
        (texts(held_out), np.searchsorted(classes, labels[held_out])),
        seed=0,
        say=lambda _: None,
    )
    for start in range(0, len(tested), _BATCH):
        batch = tested[start : start + _BATCH]
        probabilities[np.ix_(batch, classes)] = model.predict_proba(texts(batch))
        progress.on_texts(len(batch))


def _streamed(
    texts: Callable[[NDArray[np.int64]], list[str]], rows: NDArray[np.int64]
) -> Iterator[str]:
    for start in range(0, len(rows), _BATCH):
        yield from texts(rows[start : start + _BATCH])


def confident_issues(
    probabilities: Probabilities,
    labels: NDArray[np.integer[Any]],
    known: NDArray[np.bool_] | None = None,
) -> LabelIssues:
    """The label issues by out-of-sample probabilities: confident learning.

    Args:
        probabilities: (rows, J), by models that did not see the labels.
        labels: (rows,), class numbers.
        known: (rows,), whether a row has probabilities; by default all have.
    """
    known = np.ones(len(labels), dtype=bool) if known is None else known
    bounds = confidence_bounds(probabilities, labels, known)
    count = len(bounds)
    counts = np.zeros((count, count))
    given, likeliest = np.full(len(labels), np.nan, np.float32), np.zeros(len(labels), np.int32)
    suggested, probability = labels.astype(np.int32), np.full(len(labels), np.nan, np.float32)
    doubted = np.zeros(len(labels), dtype=bool)
    for rows in _blocks(known):
        block, own = np.asarray(probabilities[rows]), labels[rows]
        places = np.arange(len(rows))
        given[rows], likeliest[rows] = block[places, own], block.argmax(1)
        confident = confident_classes(block, bounds)
        sure = confident != _NONE
        np.add.at(counts, (own[sure], confident[sure]), 1)
        suggested[rows] = np.where(sure, confident, own)
        probability[rows] = block[places, suggested[rows]]
        doubted[rows] = sure & (confident != own)
    rows = np.flatnonzero(doubted)
    margin = probability[rows] - given[rows]
    return LabelIssues(
        rows=rows[np.argsort(-margin, kind="stable")],
        given=given,
        suggested=suggested,
        probability=probability,
        joint=calibrated_joint(counts, np.bincount(labels[known], minlength=count)),
        accuracy=float((likeliest[known] == labels[known]).mean()),
    )


def confidence_bounds(
    probabilities: Probabilities, labels: NDArray[np.integer[Any]], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The mean probability of each class over the rows with its label (J,); infinite without any.

    Equation 2 of the paper.
    """
    count = probabilities.shape[1]
    sums, rows_of = np.zeros(count), np.zeros(count)
    for rows in _blocks(known):
        own = labels[rows]
        given = np.asarray(probabilities[rows], np.float64)[np.arange(len(rows)), own]
        sums += np.bincount(own, given, minlength=count)
        rows_of += np.bincount(own, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rows_of > 0, sums / rows_of, np.inf)


def confident_classes(
    probabilities: Probabilities, bounds: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The class (rows,) with the largest probability among those that reach their bound; -1: none.

    Equation 1 of the paper.
    """
    reached = np.where(probabilities >= bounds, probabilities, -1.0)
    return np.where(reached.max(1) >= 0, reached.argmax(1), _NONE)


def calibrated_joint(
    counts: NDArray[np.float64], rows_of: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """The confident joint (J, J), scaled so that each row adds up to the rows with that label.

    Equation 3 of the paper, times the number of rows. A label without a confident row is taken as
    right.
    """
    totals = counts.sum(1, keepdims=True)
    shares = np.divide(counts, totals, out=np.eye(len(counts)), where=totals > 0)
    return np.asarray(shares * rows_of[:, None])


def issue_table(index: Index, issues: LabelIssues, rows: NDArray[np.int64]) -> pd.DataFrame:
    """A row per row of the data: its place, its label and the suggested one, their probabilities.

    Args:
        index: The index of the data set.
        issues: Its label issues.
        rows: (n,), numbers of rows.
    """
    names = np.array(index.classes, dtype=object)
    return pd.DataFrame(
        {
            "row": rows,
            "split": [index.splits[code] for code in index.split[rows]],
            "line": index.lines[rows],
            "label": names[index.labels[rows]],
            "probability_of_label": issues.given[rows].astype(float),
            "suggested": names[issues.suggested[rows]],
            "probability_of_suggested": issues.probability[rows].astype(float),
            "text": index.text(rows),
        }
    )


def _blocks(known: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """The numbers of the known rows, some at a time."""
    rows = np.flatnonzero(known)
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))


def _write(folder: Path, issues: LabelIssues) -> None:
    for name in _COLUMNS:
        np.save(folder / f"{name}.npy", getattr(issues, name))
    facts = {"joint": issues.joint.tolist(), "accuracy": issues.accuracy}
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _read(folder: Path, index: Index) -> LabelIssues:
    facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    columns = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _COLUMNS}
    if {len(columns[name]) for name in _COLUMNS[:3]} != {len(index)}:
        raise ValueError("it has another number of rows")
    return LabelIssues(**columns, joint=np.array(facts["joint"]), accuracy=facts["accuracy"])
