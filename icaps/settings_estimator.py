"""Parameters of an estimator whose settings are objects: single ones are parameters, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from icaps.config import ModelConfig, ModelSettings, TrainConfig, TrainSettings, check_settings

if TYPE_CHECKING:
    from typing_extensions import Self


class SettingsEstimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator with the parameters `model` and `train`.

    Each is a whole configuration, single settings, or None; a single one can be read and set as
    `model__NAME` or `train__NAME`, as in a grid search.
    """

    model: ModelSettings
    train: TrainSettings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` each setting as `model__NAME` or `train__NAME`.

        Settings that the recipe chooses are not among them; they can be set none the less.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for part in ("model", "train"):
                for name, value in _single_settings(params[part]).items():
                    params[f"{part}__{name}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Sets parameters or single settings; raises ConfigError if a value is out of range."""
        kinds: dict[str, Any] = {"model": ModelConfig, "train": TrainConfig}
        known = [*self.get_params(deep=False)]
        for part, kind in kinds.items():
            known += [f"{part}__{field.name}" for field in dataclasses.fields(kind)]
        for name in params:
            if name not in known:
                raise ValueError(f"There is no parameter {name!r}; there are {', '.join(known)}.")
        whole = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**whole)
        for part, kind in kinds.items():
            prefix = f"{part}__"
            settings = {
                name.removeprefix(prefix): value.item() if isinstance(value, np.generic) else value
                for name, value in params.items()
                if name.startswith(prefix)
            }
            before = getattr(self, part)
            if isinstance(before, kind):
                setattr(self, part, dataclasses.replace(before, **settings))
            elif settings:
                settings = {**(before or {}), **settings}
                check_settings(kind, settings)
                setattr(self, part, settings)
        return self


def _single_settings(settings: ModelSettings | TrainSettings) -> dict[str, Any]:
    """The given settings by name."""
    if isinstance(settings, ModelConfig | TrainConfig):
        return dataclasses.asdict(settings)
    return dict(settings) if isinstance(settings, Mapping) else {}
