"""What a notebook shows of a model, fitted or not."""

import copy
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.interpret.edits import neutral_words
from icaps.model_html import model_html
from icaps.trained_model import TrainedModel
from tests.several_labels import NORMS, with_thresholds
from tests.test_exports import Page

SETTINGS = ModelConfig(), TrainConfig()


def test_a_fitted_classifier_shows_its_model(classifier: ICapsClassifier) -> None:
    page = classifier._repr_mimebundle_()["text/html"]
    assert page == classifier._repr_html_()
    shown = Page(page)
    assert "An iCapsNet for short texts" in shown.text
    for name, count in classifier.metrics_["training_classes"].items():
        assert name in shown.text
        assert str(count) in shown.text
    assert f"accuracy {classifier.metrics_['validation_accuracy']:.2%}" in shown.text
    assert "On the test part" not in shown.text
    assert all(name in shown.text for name in classifier.capsule_labels_)
    assert not {"script", "link", "img"} & set(shown.tags)
    assert "url(" not in page
    assert "vscode-dark" in page
    assert "jp-theme-light" in page


def test_before_it_is_fitted_it_shows_its_parameters() -> None:
    page = ICapsClassifier(train={"epochs": 7})._repr_mimebundle_()["text/html"]
    assert "sk-" in page  # scikit-learn's own
    assert "epochs" in page
    assert make_pipeline(ICapsClassifier())._repr_html_()


def test_what_was_changed_is_shown(classifier: ICapsClassifier) -> None:
    changed = classifier.without([2]).edited([neutral_words("soup")])
    text = Page(changed._repr_html_()).text
    assert "capsule 2 (switched off)" in text
    assert "soup" in text.split("Neutral:")[1]
    several = with_thresholds(classifier, NORMS)
    assert "3 labels" in Page(several._repr_html_()).text


def test_a_model_without_the_estimator_shows_the_same(
    classifier: ICapsClassifier, model_folder: Any
) -> None:
    assert TrainedModel.load(model_folder)._repr_html_() == (
        ICapsClassifier.load(model_folder)._repr_html_()
    )


def test_scores_of_a_test_and_hostile_names() -> None:
    names = ["<script>alert(1)</script>", "B & C"]
    metrics: dict[str, Any] = {
        "training_classes": {names[0]: 1200, names[1]: 3},
        "test": {"accuracy": 0.5, "macro_f1": 0.25, "per_class": {names[1]: {"f1": 0.125}}},
    }
    page = model_html(names, 5, ["0 <b>"], SETTINGS, metrics)
    shown = Page(page)
    assert "On the test part of its data: accuracy 50.00%, macro F1 25.00%." in shown.text
    for text in ("1,200", "12.50%", "B & C", "0 <b>", names[0]):
        assert text in shown.text
    assert "script" not in shown.tags


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"test": 3, "training_classes": [1]},
        {"test": {"accuracy": "x", "per_class": {"A": 1}}, "training_classes": {"A": "many"}},
        {"validation_accuracy": None, "warnings": {"kind": 1}, "interrupted": True},
    ],
)
def test_metrics_may_hold_anything(metrics: dict[str, Any]) -> None:
    text = Page(model_html(["A", "B"], 5, ["capsule 0"], SETTINGS, metrics)).text
    assert "2 classes, 1 primary capsules" in " ".join(text.split())
    assert ("interrupted" in text) == bool(metrics.get("interrupted"))


def test_the_metrics_are_those_of_the_model(classifier: ICapsClassifier) -> None:
    tested = copy.copy(classifier)
    tested.metrics_ = classifier.metrics_ | {"test": {"accuracy": 0.875}}
    assert "accuracy 87.50%" in Page(tested._repr_html_()).text
