"""The choice of the model in the sidebar, with facts about it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import streamlit as st

from dashboard import url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder, default_model, find_models
from icaps.classifier import ICapsClassifier
from icaps.html import escape
from icaps.portable import onnx_export
from icaps.portable.live_page import live_page
from icaps.portable.packed_network import obstacle
from icaps.text.vocabulary import Vocabulary


def choose_model() -> ModelFolder | None:
    """Asks for a model and shows its facts; None if there is no model.

    Raises:
        CheckpointError: The chosen model is damaged; others can still be chosen.
    """
    folders = {model.name: model for model in find_models()}
    if not folders:
        return None
    url_state.choose_among("model", list(folders), "model", default_model(folders.values()).name)
    with st.sidebar:
        st.html('<p class="side-title">Model</p>')
        name = st.selectbox(
            "Model",
            list(folders),
            key="model",
            label_visibility="collapsed",
            persist_state="session",
        )
        model = folders[name]
        classifier = models.load(model)
        with st.popover(
            _short(classifier), type="tertiary", icon=":material/info:", key="model_facts"
        ):
            st.html(_facts(model, classifier))
            _offer_live_page(model, classifier)
            _offer_onnx(model, classifier)
    url_state.publish_weights(name, models.fingerprint(model))
    return model


def _short(classifier: ICapsClassifier) -> str:
    """The number of classes and the accuracy, in one line."""
    classes = len(classifier.classes_)
    scores = _scores(classifier.metrics_)
    name = next((name for name in ("Accuracy", "Macro F1") if name in scores), None)
    if name is None:
        return f"{classes} classes"
    on = "test" if "test texts" in scores[name] else "validation"
    on += " macro F1" if name == "Macro F1" else ""
    return f"{classes} classes, {on} {scores[name].split(' ')[0]}"


def _offer_live_page(model: ModelFolder, classifier: ICapsClassifier) -> None:
    """A button for the model as one HTML file that explains texts without this app."""
    if reason := obstacle(classifier):
        st.caption(reason)
        return
    st.download_button(
        "The model as a page",
        lambda: live_page(classifier, model.path),
        f"{model.path.name}.html",
        "text/html",
        help="One HTML file that explains texts by itself: it opens from a disk and needs neither "
        "a network nor this app.",
        icon=":material/html:",
        on_click="ignore",
        key="live_page",
    )


def _offer_onnx(model: ModelFolder, classifier: ICapsClassifier) -> None:
    """A button for the model as ONNX, if the package that writes it is installed."""
    if find_spec("onnx") is None or onnx_export.obstacle(classifier):
        return
    st.download_button(
        "The model as ONNX",
        lambda: onnx_export.onnx_archive(classifier),
        f"{model.path.name}_onnx.zip",
        "application/zip",
        help="A folder that icaps.OnnxClassifier reads to predict and explain without torch.",
        icon=":material/folder_zip:",
        on_click="ignore",
        key="onnx",
    )


def _facts(model: ModelFolder, classifier: ICapsClassifier) -> str:
    rows = {
        "Origin": "Shipped with the app" if model.shipped else "Your own",
        "Classes": ", ".join(map(str, classifier.classes_)),
        **_scores(classifier.metrics_),
        **_edits(classifier),
        "Vocabulary": _vocabulary(classifier.vocabulary_),
        "Size": f"{model.bytes_on_disk / 1e6:.1f} MB",
    }
    cells = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
    return f'<dl class="facts">{cells}</dl>'


def _edits(classifier: ICapsClassifier) -> dict[str, str]:
    """What was made neutral in the model, if anything."""
    edits = classifier.edits_
    return {"Edits": "; ".join(map(str, edits))} if edits else {}


def _vocabulary(vocabulary: Vocabulary) -> str:
    trained = f"{vocabulary.trained_words:,} words"
    if not vocabulary.vector_words:
        return trained
    return f"{trained} of the training texts, {vocabulary.vector_words:,} more by their vectors"


def _scores(metrics: Mapping[str, Any]) -> dict[str, str]:
    """The number of training texts, and the accuracy: on test texts if that was measured.

    With several labels per text it is macro F1. Metrics are free-form, so what has another form is
    left out.
    """
    rows = {}
    match metrics:
        case {"training_texts": int(texts)}:
            rows["Trained on"] = f"{texts:,} texts"
    match metrics:
        case {"test": {"micro_f1": float(), "macro_f1": float(f1), "n": int(texts)}}:
            rows["Macro F1"] = f"{f1:.1%} of {texts:,} test texts"
        case {"test": {"accuracy": float(accuracy), "n": int(texts)}}:
            rows["Accuracy"] = f"{accuracy:.1%} of {texts:,} test texts"
        case {"validation_accuracy": float(accuracy)}:
            rows["Accuracy"] = f"{accuracy:.1%} of the validation texts"
    return rows
