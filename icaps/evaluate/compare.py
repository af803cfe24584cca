"""Several classifiers on the same texts: paired tests, agreement, disagreements, size and speed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import log_loss

from icaps.baselines.base import Baseline
from icaps.classifier import ICapsClassifier
from icaps.data.records import class_numbers
from icaps.errors import DataError
from icaps.evaluate.predictions import Predictions, Scorer, score_texts
from icaps.evaluate.published import KINDS, published
from icaps.evaluate.scores import class_scores, score
from icaps.evaluate.shared_reasons import SharedReasons, shared_reasons
from icaps.results import Interval
from icaps.stats import Counts, Values, bootstrap, percentile_interval

_WARM_UP = 64  # texts that are predicted before the time is measured


@dataclass(frozen=True)
class PairedTest:
    """The second of two classifiers compared with the first, on the same texts.

    Attributes:
        both, only_first, only_second, neither: Texts that are predicted right by these.
        p_value: McNemar's, exact and two-sided (McNemar 1947): the probability that two equally
            good classifiers differ as much in the texts that only one of them has right.
        accuracy: That of the second minus that of the first, with a bootstrap interval in which
            both are resampled together.
        macro_f1: Likewise.
        seed: Of the resamples.
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
    """Texts with labels (texts,), which are numbers of `classes`."""

    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class TimedPredictions(Predictions):
    """The predictions of a classifier, its name, and the seconds that it took on this machine."""

    name: str = ""
    seconds: float = float("nan")

    @property
    def texts_per_second(self) -> float:
        """The speed of the classifier."""
        return len(self.labels) / self.seconds


def sample_texts(
    labelled: Iterable[tuple[str, str]],
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
) -> ComparisonTexts:
    """All texts, or a random sample of `limit` of them, in their order.

    Raises:
        DataError: There is none, or a label is none of the classes.
    """
    generator, sample = random.Random(seed), list[tuple[str, str]]()
    numbers: list[int] = []
    for number, pair in enumerate(labelled):
        if limit is None or number < limit:
            numbers.append(number)
            sample.append(pair)
        elif (place := generator.randrange(number + 1)) < limit:  # Vitter 1985, algorithm R
            numbers[place], sample[place] = number, pair
    sample = [pair for _, pair in sorted(zip(numbers, sample, strict=True))]
    if not sample:
        raise DataError("There are no texts to compare on.")
    labels = class_numbers((label for _, label in sample), classes)
    return ComparisonTexts(tuple(text for text, _ in sample), labels, tuple(classes))


def predict_timed(name: str, classifier: Scorer, given: ComparisonTexts) -> TimedPredictions:
    """The predictions of a classifier with the same classes, which may be in another order.

    Raises:
        DataError: It has other classes.
    """
    names = [str(label) for label in classifier.classes_]
    if set(names) != set(given.classes):
        raise DataError(
            f"{name} has the classes {', '.join(names)}, and not {', '.join(given.classes)}; "
            "compare models of the same classes."
        )
    score_texts(classifier, given.texts[:_WARM_UP])
    started = time.perf_counter()
    scores, factor = score_texts(classifier, given.texts)
    seconds = time.perf_counter() - started
    columns = [names.index(label) for label in given.classes]
    return TimedPredictions(
        classes=given.classes,
        labels=given.labels,
        scores=scores[:, columns],
        inverse_temperature=factor,
        name=name,
        seconds=seconds,
    )


def score_table(predictions: Sequence[TimedPredictions], seed: int = 0) -> pd.DataFrame:
    """A row per classifier, with its differences from the first.

    model; accuracy with its 95% interval from low to high (Wilson 1927); chance, the accuracy of
    the same predictions assigned to texts at random; macro_f1; log_loss, in nats; difference of the
    accuracies, from difference_low to difference_high by bootstrap; only_it and only_first, texts
    that only one of the two has right; p_value, McNemar's exact one.
    """
    rows = []
    for own in predictions:
        scores = score(own.confusion, own.classes, seed)
        row = {
            "model": own.name,
            "accuracy": scores.accuracy.value,
            "low": scores.accuracy.low,
            "high": scores.accuracy.high,
            "chance": scores.chance["accuracy"],
            "macro_f1": scores.macro["f1"].value,
            "log_loss": float(
                log_loss(own.labels, own.probabilities, labels=range(len(own.classes)))
            ),
        }
        if own is not predictions[0]:
            test = compare(predictions[0], own, seed)
            row |= {
                "difference": test.accuracy.value,
                "difference_low": test.accuracy.low,
                "difference_high": test.accuracy.high,
                "only_it": test.only_second,
                "only_first": test.only_first,
                "p_value": test.p_value,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def agreement_table(predictions: Sequence[TimedPredictions]) -> pd.DataFrame:
    """A row per pair: one, other, same (share of texts with one prediction), chance, both_wrong.

    `chance` is the share of equal predictions if each predicted its classes as often, but
    independently of the text; both_wrong are texts for which both predict the same wrong class.
    """
    rows = []
    for one, other in combinations(predictions, 2):
        same = one.predicted == other.predicted
        shares = [
            np.bincount(own.predicted, minlength=len(own.classes)) / len(own.labels)
            for own in (one, other)
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
    """Numbers of the texts for which not all classifiers predict the same class.

    Those of which the least confident classifier is the most confident come first.
    """
    predicted = np.stack([own.predicted for own in predictions])
    rows = np.flatnonzero((predicted != predicted[0]).any(0))
    lowest = np.min([own.probabilities[rows].max(1) for own in predictions], axis=0)
    return np.asarray(rows[np.argsort(-lowest, kind="stable")])


def disagreement_table(
    given: ComparisonTexts,
    predictions: Sequence[TimedPredictions],
    numbers: Sequence[int] | NDArray[np.int64],
) -> pd.DataFrame:
    """A row per text: number, class, text, and under the name of each classifier its prediction."""
    rows = np.asarray(numbers, dtype=np.int64)
    names = np.array(given.classes, dtype=object)
    columns = {own.name: _with_confidence(own, names, rows) for own in predictions}
    about = {
        "number": rows,
        "class": names[given.labels[rows]],
        "text": [given.texts[n] for n in rows.tolist()],
    }
    return pd.DataFrame(about | columns)


def size_table(
    predictions: Sequence[TimedPredictions],
    classifiers: Mapping[str, Scorer],
    folders: Mapping[str, Path],
) -> pd.DataFrame:
    """A row per classifier: model, texts_per_second, megabytes (its folder's), weights."""
    return pd.DataFrame(
        [
            {
                "model": own.name,
                "texts_per_second": own.texts_per_second,
                "megabytes": bytes_on_disk(folders[own.name]) / 1e6,
                "weights": num_weights(classifiers[own.name]),
            }
            for own in predictions
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
        given: The texts.
        predictions: Of each classifier, in their order.
        sizes: See `size_table`.
        explained: Names of the two capsule networks whose reasons are compared; or empty.
        reasons: Texts for which both predict the same class, the most different reasons first.
    """

    given: ComparisonTexts
    predictions: tuple[TimedPredictions, ...]
    sizes: pd.DataFrame
    explained: tuple[str, ...]
    reasons: tuple[SharedReasons, ...]

    @classmethod
    def make(
        cls,
        classifiers: Mapping[str, Scorer],
        folders: Mapping[str, Path],
        given: ComparisonTexts,
        explained: int,
    ) -> CompareReport:
        """Predicts with all classifiers, and explains with the first two capsule networks.

        Args:
            classifiers: By name; the others are compared with the first.
            folders: The folder of each.
            given: Labelled texts.
            explained: How many of them are explained, from the first on.

        Raises:
            DataError: A classifier has other classes.
        """
        predictions = tuple(predict_timed(name, own, given) for name, own in classifiers.items())
        networks = {n: c for n, c in classifiers.items() if isinstance(c, ICapsClassifier)}
        names = tuple(networks)[:2] if len(networks) > 1 and explained else ()
        reasons: list[SharedReasons] = []
        if names:
            one, other = (networks[name] for name in names)
            reasons = shared_reasons(one, other, given.texts[:explained])
        sizes = size_table(predictions, classifiers, folders)
        return cls(given, predictions, sizes, names, tuple(reasons))

    def to_dict(self, shown: int, data: str = "") -> dict[str, Any]:
        """Plain data for JSON, with `shown` texts of each kind.

        Published results are included if there are any for the data set `data`.
        """
        numbers = disagreements(self.predictions)
        rows = disagreement_table(self.given, self.predictions, numbers[:shown])
        facts: dict[str, Any] = {
            "data": data,
            "texts": len(self.given.texts),
            "scores": _records(score_table(self.predictions)),
            "agreements": _records(agreement_table(self.predictions)),
            "sizes": _records(self.sizes),
            "disagreeing": len(numbers),
            "disagreements": _records(rows),
        }
        if self.reasons:
            facts["reasons"] = {
                "models": self.explained,
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
    """Accuracy and macro F1 of resamples (draws, cells), (draws, 2)."""
    accuracy = drawn @ (true == predicted) / drawn.sum(1)
    return np.stack([accuracy, class_scores(drawn, true, predicted, classes)[:, 2].mean(1)], axis=1)


def _with_confidence(
    own: Predictions, names: NDArray[np.object_], rows: NDArray[np.int64]
) -> list[str]:
    """Predicted classes and their probabilities, such as "Sports 92%"."""
    confidence = own.probabilities[rows].max(1)
    return [
        f"{name} {share:.0%}"
        for name, share in zip(names[own.predicted[rows]], confidence.tolist(), strict=True)
    ]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, with None for what is not known."""
    values = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]
