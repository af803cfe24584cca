"""Models in MLflow: as pyfunc without pickles, and by MLflow's own flavour for scikit-learn."""

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import DataError
from icaps.service.mlflow_model import MLflowModel, log_model
from icaps.train.tracking import MLflowCallback
from tests.conftest import MODEL, TRAIN, make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = ["Bread and onion soup.", "Prune the rose in the shade.", ""]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.chdir(tmp_path)


def test_a_logged_model_predicts_and_explains(classifier: ICapsClassifier, tmp_path: Path) -> None:
    with mlflow.start_run():
        info = log_model(classifier, "small", metadata={"by": "Ada"})
    files = [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert "model.safetensors" in files
    assert not [name for name in files if name.endswith((".pkl", ".pickle"))]
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert loaded.metadata.metadata == {"by": "Ada"}
    labels = classifier.predict(TEXTS).tolist()
    assert loaded.predict(TEXTS) == labels
    assert loaded.predict(pd.DataFrame({"text": TEXTS})) == labels
    explanations = loaded.predict(TEXTS, params={"explain": True})
    for given, own in zip(explanations, classifier.explain(TEXTS), strict=True):
        assert given["predicted"] == own.predicted
        assert [word["share"] for word in given["words"]] == pytest.approx(
            [word.share for word in own.words], abs=1e-5
        )


def test_several_labels(classifier: ICapsClassifier) -> None:
    several = with_thresholds(classifier, NORMS)
    texts = mixed_texts()
    with mlflow.start_run():
        info = log_model(several, "several")
    labels = mlflow.pyfunc.load_model(info.model_uri).predict(texts)
    assert labels == [list(labels) for labels in several.predict_labels(texts)]
    assert {len(row) for row in labels} == {0, 1, 2}


def test_a_frame_of_several_columns_is_refused(classifier: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="one column of texts, not 2"):
        MLflowModel(classifier).predict(pd.DataFrame({"a": TEXTS, "b": TEXTS}))


def test_mlflows_flavour_for_scikit_learn() -> None:
    callback = MLflowCallback()
    classifier = ICapsClassifier(MODEL, TRAIN, device="cpu", callbacks=[callback])
    with mlflow.start_run():
        classifier.fit(*make_texts(120, seed=5))
        info = mlflow.sklearn.log_model(
            classifier,
            name="small",
            serialization_format="cloudpickle",
            pip_requirements=["icaps"],
        )
    loaded = mlflow.sklearn.load_model(info.model_uri)
    assert isinstance(loaded, ICapsClassifier)
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    texts = [explanation.to_text() for explanation in loaded.explain(TEXTS)]
    assert texts == [explanation.to_text() for explanation in classifier.explain(TEXTS)]
    served = mlflow.pyfunc.load_model(info.model_uri).predict(TEXTS)
    np.testing.assert_array_equal(served, classifier.predict(TEXTS))
