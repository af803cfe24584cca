"""Cached models and baselines, and what is computed from a model alone."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dashboard import quotas, training_jobs
from dashboard.model_registry import ModelFolder
from icaps.baselines.storage import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError
from icaps.evaluate.compare import num_weights
from icaps.evaluate.predictions import Scorer
from icaps.interpret import queries
from icaps.interpret.global_view import LabelledText, load_view, read_counted_texts
from icaps.interpret.queries import QueryMap
from icaps.reports.files import ModelName, model_name
from icaps.reports.global_report import GlobalReport
from icaps.runs.folder import RunFolder
from icaps.train.checkpoint_files import BASELINE, weights_fingerprint
from icaps.train.result_warnings import CHANCE, COLLAPSE, FEW, METRIC, ResultWarning, warnings_of


@st.cache_resource(max_entries=3, show_spinner="Loading the model …")
def load(model: ModelFolder) -> ICapsClassifier:
    """The classifier of a folder.

    Raises:
        CheckpointError: The folder is damaged.
    """
    return ICapsClassifier.load(model.path, device="cpu")


@st.cache_resource(max_entries=5, show_spinner="Loading the baseline …")
def _load_baseline(model: ModelFolder) -> Scorer:
    return load_baseline(model.path)


def scorer(model: ModelFolder) -> Scorer:
    """The model or baseline of a folder."""
    return _load_baseline(model) if (model.path / BASELINE).is_file() else load(model)


def classes(model: ModelFolder) -> tuple[str, ...]:
    """The class names of a model or a baseline."""
    return tuple(map(str, scorer(model).classes_))


def weights(model: ModelFolder) -> int:
    """The number of parameters of a model or a baseline."""
    return num_weights(scorer(model))


@st.cache_data(max_entries=20, show_spinner=False)
def fingerprint(model: ModelFolder) -> str:
    """A hash of the model's weights."""
    return weights_fingerprint(model.path)


@st.cache_data(max_entries=20, show_spinner=False)
def named(model: ModelFolder) -> ModelName:
    """The model's name and hash, as written to exported files."""
    return model_name(str(model.path))


@st.cache_resource(max_entries=6, show_spinner=False)
def report(model: ModelFolder) -> GlobalReport | None:
    """The global view of a model; None if it was not computed yet.

    Raises:
        CheckpointError: The stored view is damaged.
    """
    classifier = load(model)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(model.path, *shape)
    return None if view is None else GlobalReport(classifier, view)


def warnings(model: ModelFolder) -> Sequence[ResultWarning]:
    """What its training warned of, and what its capsules show if it was trained before they were.

    Capsules are judged by the global view, else by the validation texts after the last epoch.
    """
    metrics = load(model).metrics_
    stored = warnings_of(metrics)
    if {warning.kind for warning in stored} & {CHANCE, COLLAPSE, FEW}:
        return stored
    try:
        counted = report(model)
    except CheckpointError:  # damaged counts, which other pages show
        return stored
    if counted is None:
        about_capsules = training_jobs.capsule_warning_of(RunFolder(model.path))
        return stored if about_capsules is None else [*stored, about_capsules]
    if METRIC not in metrics:
        return counted.warnings
    return [*stored, *(warning for warning in counted.warnings if warning.kind in (COLLAPSE, FEW))]


@st.cache_data(max_entries=20, show_spinner="Projecting the queries …")
def query_map(
    model: ModelFolder, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    """The queries of a model's capsules, projected to two dimensions."""
    quotas.request()
    vectors = queries.query_vectors(load(model).network_, space)
    return queries.map_queries(vectors, space, method, seed, perplexity)


@st.cache_data(max_entries=6, show_spinner=False)
def nearest_words(model: ModelFolder) -> list[list[tuple[str, float]]]:
    """For each capsule the words that are nearest to its query."""
    classifier = load(model)
    return queries.nearest_words(classifier.network_, classifier.vocabulary_, top=15)


@st.cache_data(max_entries=6, show_spinner="Reading the texts …")
def typical_texts(model: ModelFolder) -> dict[int, LabelledText]:
    """The typical texts of all cells of the global view, by row number.

    Raises:
        DataError: The data is not on this machine, or has changed.
    """
    view = report(model).view
    trained = training_jobs.data_of(model.path)
    place = None
    if trained is not None and Path(trained[0]).name == Path(view.origin.source).name:
        place = trained[0]  # a view has no absolute path, but the training's command has
    numbers = {text.number for texts in view.tally.typical.values() for text in texts}
    return read_counted_texts(view.origin, numbers, place, model.path)
