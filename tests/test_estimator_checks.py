"""scikit-learn's own checks of an estimator.

They feed rows of numbers, and stop at once before an estimator that takes text alone. So each row
is turned into a text of number words first, and all checks run but those listed with a reason.
"""

from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig

NOT_FOR_TEXT = {
    "check_parameters_default_constructible": "defaults are frozen dataclasses; it wants builtins",
    "check_do_not_raise_errors_in_init_or_set_params": "an invalid setting raises where it is set",
    "check_set_params": "sets numbers for whole configurations, which have settings of their own",
    "check_methods_subset_invariance": "compares to 1e-7; float32 differs by 2e-7 in a batch",
}


class RowsAsTexts(ICapsClassifier):
    """A classifier of rows: column j with the value v becomes j words, one a size of v."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None) -> "RowsAsTexts":
        if y is None:
            return super().fit([], y)
        shape = np.asarray(y).shape
        several = len(shape) == 2 and shape[1] > 1
        X, y = validate_data(self, X, y, dtype=None, multi_output=several)
        super().fit(self._texts(X), y)
        return self

    def class_norms(self, X: Any) -> Any:
        check_is_fitted(self)
        return super().class_norms(self._texts(validate_data(self, X, reset=False, dtype=None)))

    @staticmethod
    def _texts(rows: Any) -> list[str]:
        rows = np.asarray(rows, dtype=float)
        return [" ".join(f"c{j}v{round(v)}" for j, v in enumerate(row)) for row in rows]


@parametrize_with_checks(
    [
        RowsAsTexts(
            ModelConfig(fixed_dim=0, trained_dim=4, region_dim=8, query_dim=4, class_dim=4),
            TrainConfig(
                min_frequency=0, epochs=15, learning_rate=0.05, batch_size=32, average_decay=0.5
            ),
            device="cpu",
        )
    ],
    expected_failed_checks=lambda _: NOT_FOR_TEXT,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
