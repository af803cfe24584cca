"""All that a comparison came to, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from icaps.classifier import ICapsClassifier
from icaps.evaluate import comparison_tables
from icaps.evaluate.answers import Answers, Texts, ask, bytes_on_disk, num_weights
from icaps.evaluate.published import KINDS, published
from icaps.evaluate.same_reasons import Shared, shared_predictions
from icaps.evaluate.scorer import Scorer


@dataclass(frozen=True)
class CompareReport:
    """A comparison.

    Attributes:
        asked: The texts.
        answers: Of each classifier, in their order.
        sizes: A row a classifier: model, texts_per_second, megabytes, weights.
        explained: Names of the two capsule networks whose reasons are compared; else nothing.
        reasons: Texts that both predict alike, the most different reasons first.
    """

    asked: Texts
    answers: tuple[Answers, ...]
    sizes: pd.DataFrame
    explained: tuple[str, ...]
    reasons: tuple[Shared, ...]

    @classmethod
    def make(
        cls,
        scorers: Mapping[str, Scorer],
        folders: Mapping[str, Path],
        asked: Texts,
        explained: int,
    ) -> CompareReport:
        """Asks all classifiers, and the first two capsule networks for reasons of some texts.

        Args:
            scorers: By name; the first is what the others are compared with.
            folders: Where each lies.
            asked: Labelled texts.
            explained: How many of them are explained, from the first on.

        Raises:
            DataError: A classifier has other classes.
        """
        answers = tuple(ask(name, scorer, asked) for name, scorer in scorers.items())
        networks = {n: s for n, s in scorers.items() if isinstance(s, ICapsClassifier)}
        names = tuple(networks)[:2] if len(networks) > 1 and explained else ()
        texts = asked.texts[:explained]
        reasons: list[Shared] = []
        if names:
            reasons = shared_predictions(networks[names[0]], networks[names[1]], texts)
        return cls(asked, answers, sizes(answers, scorers, folders), names, tuple(reasons))

    def to_dict(self, shown: int, data: str = "") -> dict[str, Any]:
        """Plain data for JSON, with `shown` texts of each kind.

        Where `data` is a data set with published results, these are there, too.
        """
        numbers = comparison_tables.disagreeing(self.answers)
        rows = comparison_tables.disagreements(self.asked, self.answers, numbers[:shown])
        found: dict[str, Any] = {
            "data": data,
            "texts": len(self.asked.texts),
            "scores": _records(comparison_tables.scores(self.answers)),
            "agreements": _records(comparison_tables.agreements(self.answers)),
            "sizes": _records(self.sizes),
            "disagreeing": len(numbers),
            "disagreements": _records(rows),
        }
        if self.reasons:
            found["reasons"] = {
                "models": self.explained,
                "overlap": float(np.mean([shared.overlap for shared in self.reasons])),
                "random": float(np.mean([shared.random for shared in self.reasons])),
                "texts": [asdict(shared) for shared in self.reasons[:shown]],
            }
        known = [row for row in published() if data in row.accuracy]
        if known:
            found["published"] = [
                {
                    "model": row.model,
                    "reference": row.reference,
                    "source": KINDS[row.kind],
                    "accuracy": row.accuracy[data],
                }
                for row in known
            ]
        return found


def sizes(
    answers: tuple[Answers, ...], scorers: Mapping[str, Scorer], folders: Mapping[str, Path]
) -> pd.DataFrame:
    """A row a classifier: model, texts_per_second, megabytes (its folder's), weights."""
    return pd.DataFrame(
        [
            {
                "model": given.name,
                "texts_per_second": given.texts_per_second,
                "megabytes": bytes_on_disk(folders[given.name]) / 1e6,
                "weights": num_weights(scorers[given.name]),
            }
            for given in answers
        ]
    )


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows; what is not known is None."""
    values = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]
