"""The report of a comparison of classifiers: scores, agreement, reasons, size and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from icaps.baselines.base import Baseline
from icaps.classifier import ICapsClassifier
from icaps.evaluate.compare import (
    TimedPredictions,
    agreement_table,
    disagreement_table,
    disagreements,
    predict_timed,
    score_table,
)
from icaps.evaluate.comparison_texts import ComparisonTexts
from icaps.evaluate.leakage import Leak, seen_share, unfair_models
from icaps.evaluate.multilabel_compare import (
    TimedSets,
    predict_sets_timed,
    set_agreement_table,
    set_disagreement_table,
    set_disagreements,
    set_score_table,
)
from icaps.evaluate.predictions import Scorer
from icaps.evaluate.published import KINDS, published
from icaps.evaluate.shared_reasons import SharedReasons, shared_reasons


class _Tables(NamedTuple):
    """The tables of a comparison, and the number of texts with different predictions."""

    scores: pd.DataFrame
    agreements: pd.DataFrame
    disagreeing: int
    listed: pd.DataFrame


@dataclass(frozen=True)
class CompareReport:
    """A comparison of several classifiers, with one label per text or with several.

    Attributes:
        sample: The texts.
        predictions: The predictions of each classifier, in the order of the classifiers.
        sizes: See `size_table`.
        explained: Names of the two capsule networks whose explanations are compared; or empty.
        reasons: Texts with a class that both predict, those with least in common first.
        leaks: How many of the texts each classifier was trained on; None if that is unknown.
    """

    sample: ComparisonTexts
    predictions: tuple[TimedPredictions | TimedSets, ...]
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
            DataError: A classifier has other classes, or not as many labels per text as the texts.
        """
        predict = predict_sets_timed if sample.multilabel else predict_timed
        predictions = tuple(predict(name, own, sample) for name, own in classifiers.items())
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
        tables = self._tables_of_sets if self.sample.multilabel else self._tables
        scores, agreements, disagreeing, listed = tables(shown)
        facts: dict[str, Any] = {
            "data": data,
            "texts": len(self.sample.texts),
            "scores": records(scores),
            "leaks": {name: leak and leak.to_dict() for name, leak in self.leaks.items()},
            "agreements": records(agreements),
            "sizes": records(self.sizes),
            "disagreeing": disagreeing,
            "disagreements": records(listed),
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

    def _tables(self, shown: int) -> _Tables:
        own = [own for own in self.predictions if isinstance(own, TimedPredictions)]
        numbers = disagreements(own)
        return _Tables(
            score_table(own, unfair=unfair_models(self.leaks)),
            agreement_table(own),
            len(numbers),
            disagreement_table(self.sample, own, numbers[:shown]),
        )

    def _tables_of_sets(self, shown: int) -> _Tables:
        own = [own for own in self.predictions if isinstance(own, TimedSets)]
        numbers = set_disagreements(own)
        return _Tables(
            set_score_table(own, unfair=unfair_models(self.leaks)),
            set_agreement_table(own),
            len(numbers),
            set_disagreement_table(self.sample, own, numbers[:shown]),
        )


def size_table(
    predictions: Sequence[TimedPredictions | TimedSets],
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


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dicts, with None in place of NaN."""
    values = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]
