"""Comparison of classifiers on the same texts: paired tests, agreement, size and speed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import log_loss

from icaps.baselines.base import Baseline
from icaps.classifier import ICapsClassifier
from icaps.data.class_names import class_numbers
from icaps.data.label_sets import indicator
from icaps.data.sample import Reservoir
from icaps.errors import DataError
from icaps.evaluate.leakage import Leak, seen_share
from icaps.evaluate.predictions import Predictions, Scorer, check_one_label, score_texts
from icaps.evaluate.published import KINDS, published
from icaps.evaluate.scores import class_scores, score
from icaps.evaluate.shared_reasons import SharedReasons, shared_reasons
from icaps.results import Interval
from icaps.stats import Counts, Values, bootstrap, percentile_interval

NO_TEST = "no test, as one of them was trained on these texts"  # in place of a p value
WARM_UP = 64  # texts that are predicted before the time is measured


@dataclass(frozen=True)
class PairedTest:
    """A paired comparison of two classifiers on the same texts.

    Attributes:
        both, only_first, only_second, neither: Numbers of texts that these predict right.
        p_value: From the exact two-sided test of McNemar (1947): the probability that two equally
            good classifiers differ at least as much in the texts that only one predicts right.
        accuracy: Accuracy of the second minus that of the first, with a paired bootstrap interval.
        macro_f1: The same difference of macro F1.
        seed: Seed of the resamples.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float
    accuracy: Interval
    macro_f1: Interval
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "p_value": self.p_value,
            "accuracy": self.accuracy.value,
            "accuracy_interval": self.accuracy[1:],
            "macro_f1": self.macro_f1.value,
            "macro_f1_interval": self.macro_f1[1:],
            "seed": self.seed,
        }


def compare(first: Predictions, second: Predictions, seed: int = 0) -> PairedTest:
    """Compares the predictions of two classifiers for the same texts in the same order.

    Raises:
        DataError: They have different classes, or are of texts with other labels.
    """
    if set(first.classes) != set(second.classes):
        raise DataError(
            "The two models have different classes; compare models that were trained on the same."
        )
    number = np.array([first.classes.index(name) for name in second.classes])
    if not np.array_equal(first.labels, number[second.labels]):
        raise DataError("The two models were evaluated on different texts; evaluate both anew.")
    classes, predicted = len(first.classes), number[second.predicted]
    right = first.correct, second.correct
    only = [int((one & ~other).sum()) for one, other in (right, right[::-1])]
    triples = np.stack([first.labels, first.predicted, predicted], axis=1)
    cells, counts = np.unique(triples, axis=0, return_counts=True)

    def differences(drawn: Counts) -> Values:
        return _scores(drawn, cells[:, 0], cells[:, 2], classes) - _scores(
            drawn, cells[:, 0], cells[:, 1], classes
        )

    values = differences(counts[None])[0]
    draws = bootstrap(counts, differences, seed)
    return PairedTest(
        both=int((right[0] & right[1]).sum()),
        only_first=only[0],
        only_second=only[1],
        neither=int((~right[0] & ~right[1]).sum()),
        p_value=binomtest(only[0], sum(only)).pvalue if any(only) else 1.0,
        accuracy=percentile_interval(values[0], draws[:, 0]),
        macro_f1=percentile_interval(values[1], draws[:, 1]),
        seed=seed,
    )


@dataclass(frozen=True)
class ComparisonTexts:
    """The texts of a comparison, and their labels (texts,) as numbers in `classes`.

    With several labels per text, `labels` (texts, J) says whether a text has a class.
    """

    texts: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.bool_]
    classes: tuple[str, ...]


class Timed(Protocol):
    """Predictions of a classifier with its name and its speed on this machine."""

    @property
    def name(self) -> str:
        """The name of the classifier."""

    @property
    def texts_per_second(self) -> float:
        """Predicted texts per second."""


@dataclass(frozen=True)
class TimedPredictions(Predictions):
    """The predictions of a classifier, its name, and the seconds they took on this machine."""

    name: str = ""
    seconds: float = float("nan")

    @property
    def texts_per_second(self) -> float:
        """Predicted texts per second."""
        return len(self.labels) / self.seconds


def sample_texts(
    labelled: Iterable[tuple[str, str]],
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
    multilabel: bool = False,
) -> ComparisonTexts:
    """Reads all texts, or a random sample of `limit` of them, in their order.

    Args:
        labelled: Texts with their labels.
        classes: Those of the classifiers.
        limit: None reads all.
        seed: Of the sample.
        multilabel: Whether the classifiers give a text several labels.

    Raises:
        DataError: There are no texts, or a label is none of the classes.
    """
    reservoir = Reservoir[tuple[int, str, str]](limit, seed)
    for number, (text, label) in enumerate(labelled):
        reservoir.add((number, text, label))
    if not reservoir.items:
        raise DataError("There are no texts to compare on.")
    _, texts, names = zip(*sorted(reservoir.items), strict=True)
    if multilabel:
        return ComparisonTexts(texts, indicator(names, classes), tuple(classes))
    check_one_label(names[0], classes)
    return ComparisonTexts(texts, class_numbers(names, classes), tuple(classes))


def predict_timed(name: str, classifier: Scorer, sample: ComparisonTexts) -> TimedPredictions:
    """The predictions of a classifier, whose classes may be in another order, and their time.

    Raises:
        DataError: It has other classes, or gives a text several labels.
    """
    names = check_same_kind(name, classifier, sample)
    score_texts(classifier, sample.texts[:WARM_UP])
    started = time.perf_counter()
    scores, factor = score_texts(classifier, sample.texts)
    seconds = time.perf_counter() - started
    columns = [names.index(label) for label in sample.classes]
    return TimedPredictions(
        classes=sample.classes,
        labels=sample.labels.astype(np.int64),
        scores=scores[:, columns],
        inverse_temperature=factor,
        name=name,
        seconds=seconds,
    )


def check_same_kind(name: str, classifier: Scorer, sample: ComparisonTexts) -> list[str]:
    """The classes of a classifier, if they and the number of labels per text are the sample's.

    Raises:
        DataError: They are not.
    """
    names, several = [str(label) for label in classifier.classes_], sample.labels.ndim == 2
    if classifier.multilabel_ != several:
        own, others = ("one label", "several") if several else ("several labels", "one")
        raise DataError(
            f"{name} gives a text {own}, and the first model {others}; compare models that were "
            "trained on the same data."
        )
    if set(names) != set(sample.classes):
        raise DataError(
            f"{name} has the classes {', '.join(names)}, and not {', '.join(sample.classes)}; "
            "compare models of the same classes."
        )
    return names


def unfair_models(leaks: Mapping[str, Leak | None]) -> frozenset[str]:
    """The names of the classifiers that were trained on so many of the texts that it counts."""
    return frozenset(name for name, leak in leaks.items() if leak is not None and leak.serious)


def score_table(
    predictions: Sequence[TimedPredictions], seed: int = 0, unfair: Collection[str] = ()
) -> pd.DataFrame:
    """One row per classifier: its scores, and the differences from the first.

    Columns:
        model: Name of the classifier.
        accuracy, low, high: With the 95% interval of Wilson (1927).
        chance: Accuracy of the same predictions, assigned to texts at random.
        macro_f1: Over all classes.
        log_loss: Mean log loss in nats.
        difference, difference_low, difference_high: Difference of the accuracies, with its
            bootstrap interval.
        only_it, only_first: Texts that only one of the two predicts right.
        p_value: That of McNemar's exact test; NaN if one of the two is in `unfair`, the names of
            classifiers that were trained on the texts.
    """
    rows, first, unfair = [], predictions[0].name, frozenset(unfair)
    for result in predictions:
        scores = score(result.confusion, result.classes, seed)
        row = {
            "model": result.name,
            "accuracy": scores.accuracy.value,
            "low": scores.accuracy.low,
            "high": scores.accuracy.high,
            "chance": scores.chance["accuracy"],
            "macro_f1": scores.macro["f1"].value,
            "log_loss": float(
                log_loss(result.labels, result.probabilities, labels=range(len(result.classes)))
            ),
        }
        if result is not predictions[0]:
            test = compare(predictions[0], result, seed)
            row |= {
                "difference": test.accuracy.value,
                "difference_low": test.accuracy.low,
                "difference_high": test.accuracy.high,
                "only_it": test.only_second,
                "only_first": test.only_first,
                "p_value": float("nan") if unfair & {result.name, first} else test.p_value,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def agreement_table(predictions: Sequence[TimedPredictions]) -> pd.DataFrame:
    """One row per pair of classifiers: how often they predict the same class.

    Columns:
        one, other: Names of the classifiers.
        same: Share of the texts with the same prediction.
        chance: Expected share if the two predict classes with the same frequencies as now, but
            independently of each other.
        both_wrong: Texts for which both predict the same wrong class.
    """
    rows = []
    for one, other in combinations(predictions, 2):
        same = one.predicted == other.predicted
        shares = [
            np.bincount(result.predicted, minlength=len(result.classes)) / len(result.labels)
            for result in (one, other)
        ]
        rows.append(
            {
                "one": one.name,
                "other": other.name,
                "same": float(same.mean()),
                "chance": float(shares[0] @ shares[1]),
                "both_wrong": int((same & ~one.correct).sum()),
            }
        )
    return pd.DataFrame(rows)


def disagreements(predictions: Sequence[TimedPredictions]) -> NDArray[np.int64]:
    """The numbers of the texts for which not all classifiers predict the same class.

    They are sorted by the confidence of the least confident classifier, the highest first.
    """
    predicted = np.stack([result.predicted for result in predictions])
    rows = np.flatnonzero((predicted != predicted[0]).any(0))
    lowest = np.min([result.probabilities[rows].max(1) for result in predictions], axis=0)
    return np.asarray(rows[np.argsort(-lowest, kind="stable")])


def disagreement_table(
    sample: ComparisonTexts,
    predictions: Sequence[TimedPredictions],
    numbers: Sequence[int] | NDArray[np.int64],
) -> pd.DataFrame:
    """One row per text: number, class, text, and a column of predictions per classifier."""
    rows = np.asarray(numbers, dtype=np.int64)
    names = np.array(sample.classes, dtype=object)
    columns = {result.name: _with_confidence(result, names, rows) for result in predictions}
    about = {
        "number": rows,
        "class": names[sample.labels[rows]],
        "text": [sample.texts[n] for n in rows.tolist()],
    }
    return pd.DataFrame(about | columns)


def size_table(
    predictions: Sequence[Timed],
    classifiers: Mapping[str, Scorer],
    folders: Mapping[str, Path],
) -> pd.DataFrame:
    """One row per classifier: model, texts_per_second, megabytes on disk, number of weights."""
    return pd.DataFrame(
        [
            {
                "model": result.name,
                "texts_per_second": result.texts_per_second,
                "megabytes": bytes_on_disk(folders[result.name]) / 1e6,
                "weights": num_weights(classifiers[result.name]),
            }
            for result in predictions
        ]
    )


def num_weights(classifier: Scorer) -> int:
    """The number of weights of a classifier, including frozen word vectors."""
    if isinstance(classifier, Baseline):
        return classifier.num_weights
    assert isinstance(classifier, ICapsClassifier)
    weights: dict[str, Any] = classifier.network_.state_dict()
    return sum(value.numel() for value in weights.values())


def bytes_on_disk(folder: str | Path) -> int:
    """The size of all files of a folder."""
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


@dataclass(frozen=True)
class CompareReport:
    """A comparison of several classifiers.

    Attributes:
        sample: The texts.
        predictions: The predictions of each classifier, in the order of the classifiers.
        sizes: See `size_table`.
        explained: Names of the two capsule networks whose explanations are compared; or empty.
        reasons: Texts for which both predict the same class, those with least in common first.
        leaks: How many of the texts each classifier was trained on; None if that is unknown.
    """

    sample: ComparisonTexts
    predictions: tuple[TimedPredictions, ...]
    sizes: pd.DataFrame
    explained: tuple[str, ...]
    reasons: tuple[SharedReasons, ...]
    leaks: Mapping[str, Leak | None]

    @classmethod
    def make(
        cls,
        classifiers: Mapping[str, Scorer],
        folders: Mapping[str, Path],
        sample: ComparisonTexts,
        explained: int,
    ) -> CompareReport:
        """Predicts with all classifiers, and explains with the first two capsule networks.

        Args:
            classifiers: By name; the others are compared with the first.
            folders: The folder of each classifier, by name.
            sample: The texts.
            explained: Number of texts that are explained, from the first on.

        Raises:
            DataError: A classifier has other classes.
        """
        predictions = tuple(
            predict_timed(name, classifier, sample) for name, classifier in classifiers.items()
        )
        networks = {n: c for n, c in classifiers.items() if isinstance(c, ICapsClassifier)}
        names = tuple(networks)[:2] if len(networks) > 1 and explained else ()
        reasons: list[SharedReasons] = []
        if names:
            one, other = (networks[name] for name in names)
            reasons = shared_reasons(one, other, sample.texts[:explained])
        sizes = size_table(predictions, classifiers, folders)
        leaks = {name: seen_share(folder, sample.texts) for name, folder in folders.items()}
        return cls(sample, predictions, sizes, names, tuple(reasons), leaks)

    def to_dict(self, shown: int, data: str = "") -> dict[str, Any]:
        """Plain data for JSON, with `shown` texts of each kind.

        Published results are included if there are any for the data set `data`.
        """
        numbers = disagreements(self.predictions)
        rows = disagreement_table(self.sample, self.predictions, numbers[:shown])
        facts: dict[str, Any] = {
            "data": data,
            "texts": len(self.sample.texts),
            "scores": records(score_table(self.predictions, unfair=unfair_models(self.leaks))),
            "leaks": {name: leak and leak.to_dict() for name, leak in self.leaks.items()},
            "agreements": records(agreement_table(self.predictions)),
            "sizes": records(self.sizes),
            "disagreeing": len(numbers),
            "disagreements": records(rows),
        }
        if self.reasons:
            facts["reasons"] = {
                "models": self.explained,
                "common": float(np.mean([shared.common for shared in self.reasons])),
                "random_common": float(np.mean([shared.random_common for shared in self.reasons])),
                "overlap": float(np.mean([shared.overlap for shared in self.reasons])),
                "random": float(np.mean([shared.random for shared in self.reasons])),
                "texts": [asdict(shared) for shared in self.reasons[:shown]],
            }
        known = [row for row in published() if data in row.accuracy]
        if known:
            facts["published"] = [
                {
                    "model": row.model,
                    "reference": row.reference,
                    "source": KINDS[row.kind],
                    "accuracy": row.accuracy[data],
                }
                for row in known
            ]
        return facts


def _scores(
    drawn: Counts,
    true: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    classes: int,
) -> Values:
    """Accuracy and macro F1 (draws, 2) of resamples (draws, cells)."""
    accuracy = drawn @ (true == predicted) / drawn.sum(1)
    return np.stack([accuracy, class_scores(drawn, true, predicted, classes)[:, 2].mean(1)], axis=1)


def _with_confidence(
    result: Predictions, names: NDArray[np.object_], rows: NDArray[np.int64]
) -> list[str]:
    """Predicted classes and their probabilities, such as "Sports 92%"."""
    confidence = result.probabilities[rows].max(1)
    return [
        f"{name} {share:.0%}"
        for name, share in zip(names[result.predicted[rows]], confidence.tolist(), strict=True)
    ]


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dicts, with None in place of NaN."""
    values = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]
