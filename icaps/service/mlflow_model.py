"""A trained model as a model of MLflow: the files of its checkpoint, of which none is unpickled.

    >>> from icaps.service.mlflow_model import log_model
    >>> info = log_model(classifier, "news")
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(["A text."], params={"explain": True})

`mlflow.sklearn.log_model` works as well, with `serialization_format="cloudpickle"`: its file is
larger, and who loads it runs what it contains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from icaps.errors import DataError
from icaps.trained_model import TrainedModel

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo

REQUIREMENTS = ("icaps",)


class MLflowModel:
    """What `mlflow.pyfunc.load_model` and `mlflow models serve` call."""

    def __init__(self, model: TrainedModel) -> None:
        self.model = model

    def predict(
        self,
        model_input: pd.DataFrame | pd.Series[str] | Sequence[str],
        params: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """The labels of texts, or their explanations.

        Args:
            model_input: Texts, or a frame with one column.
            params: `explain`: whether explanations are returned, as `Explanation.to_dict` has them.

        Returns:
            Per text its label, a list of labels for a model of several labels, or its explanation.

        Raises:
            DataError: The frame has several columns, or a text is no string.
        """
        texts = _texts(model_input)
        if (params or {}).get("explain"):
            return [explanation.to_dict() for explanation in self.model.explain(texts)]
        if self.model.multilabel_:
            return [list(labels) for labels in self.model.predict_labels(texts)]
        labels: list[Any] = self.model.predict(texts).tolist()
        return labels


def log_model(model: TrainedModel, name: str, **options: Any) -> ModelInfo:
    """Logs a model to the active run of MLflow, or to a new one.

    Args:
        model: A fitted or loaded model.
        name: Of the model in MLflow.
        **options: Of `mlflow.pyfunc.log_model`, such as `registered_model_name`. By default
            `pip_requirements` is icaps alone.

    Raises:
        ImportError: MLflow is not installed.
        CheckpointError: The model cannot be written.
    """
    import mlflow
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    signature = ModelSignature(
        inputs=Schema([ColSpec(DataType.string)]),
        params=ParamSchema([ParamSpec("explain", DataType.boolean, False)]),
    )
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        model.save(folder)
        info: ModelInfo = mlflow.pyfunc.log_model(
            name=name,
            loader_module=__name__,
            data_path=str(folder),
            signature=signature,
            **{"pip_requirements": list(REQUIREMENTS), **options},
        )
    return info


def _load_pyfunc(data_path: str) -> MLflowModel:
    """What MLflow calls, by this name, with the folder of the checkpoint."""
    return MLflowModel(TrainedModel.load(data_path))


def _texts(model_input: pd.DataFrame | pd.Series[str] | Sequence[str]) -> list[str]:
    if not isinstance(model_input, pd.DataFrame):
        return list(model_input)
    if model_input.shape[1] != 1:
        raise DataError(f"Give a frame with one column of texts, not {model_input.shape[1]}.")
    texts: list[str] = model_input.iloc[:, 0].tolist()
    return texts
