"""Models and baselines with what they have learnt, kept between reruns and shared by sessions."""

from pathlib import Path

import streamlit as st

from dashboard import quotas
from dashboard.model_registry import ModelFolder
from icaps.baselines.folder import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.evaluate.answers import num_weights
from icaps.evaluate.scorer import Scorer
from icaps.interpret.build_global_view import Text, texts_of
from icaps.interpret.global_view import load_view, weights_fingerprint
from icaps.interpret.queries import QueryMap, map_queries, query_vectors
from icaps.interpret.queries import pointed_words as words_at
from icaps.reports.global_report import Report
from icaps.reports.naming import ModelName, model_name
from icaps.train.checkpoint_files import BASELINE


def load(model: ModelFolder) -> ICapsClassifier:
    """The classifier of a folder, read once until the folder changes.

    Raises:
        CheckpointError: The folder is damaged.
    """
    return load_from(str(model.path), model.stamp)


def classes(model: ModelFolder) -> tuple[str, ...]:
    """The classes of a model or a baseline."""
    return tuple(map(str, scorer_from(str(model.path), model.stamp).classes_))


def weights(model: ModelFolder) -> int:
    """How many numbers a model or a baseline holds."""
    return num_weights(scorer_from(str(model.path), model.stamp))


def fingerprint(model: ModelFolder) -> str:
    """Tells the weights of a model from all others."""
    return _fingerprint(str(model.path), model.stamp)


def named(model: ModelFolder) -> ModelName:
    """Which model it is, as files that are shared tell it."""
    return _named(str(model.path), model.stamp)


def report(model: ModelFolder) -> Report | None:
    """What a model has learnt; None where it was not interpreted yet.

    Raises:
        CheckpointError: What is there is damaged.
    """
    return report_from(str(model.path), model.stamp)


def query_map(
    model: ModelFolder, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    """The queries of a model in the plane."""
    return _query_map(str(model.path), model.stamp, space, method, perplexity, seed)


def pointed_words(model: ModelFolder) -> list[list[tuple[str, float]]]:
    """Of each capsule the words that its query points to."""
    return _pointed_words(str(model.path), model.stamp)


def typical_texts(model: ModelFolder) -> dict[int, Text]:
    """The typical texts of all cells, by number.

    Raises:
        DataError: The data is not on this machine, or has changed.
    """
    return _typical_texts(str(model.path), model.stamp)


@st.cache_resource(max_entries=3, show_spinner="Loading the model …")
def load_from(path: str, stamp: int) -> ICapsClassifier:
    """As `load`, by what a cached function takes for its key."""
    return ICapsClassifier.load(path, device="cpu", keeps_table=not quotas.read_only())


def scorer_from(path: str, stamp: int) -> Scorer:
    """A model or a baseline, by what a cached function takes for its key."""
    is_baseline = (Path(path) / BASELINE).is_file()
    return _baseline(path, stamp) if is_baseline else load_from(path, stamp)


@st.cache_resource(max_entries=6, show_spinner=False)
def report_from(path: str, stamp: int) -> Report | None:
    """As `report`, by what a cached function takes for its key."""
    classifier = load_from(path, stamp)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(path, *shape)
    return None if view is None else Report(classifier, view)


@st.cache_data(max_entries=20, show_spinner=False)
def _fingerprint(path: str, stamp: int) -> str:
    return weights_fingerprint(path)


@st.cache_data(max_entries=20, show_spinner=False)
def _named(path: str, stamp: int) -> ModelName:
    return model_name(path)


@st.cache_resource(max_entries=5, show_spinner="Loading the baseline …")
def _baseline(path: str, stamp: int) -> Scorer:
    return load_baseline(path)


@st.cache_data(max_entries=20, show_spinner="Drawing the queries …")
def _query_map(
    path: str, stamp: int, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    quotas.request()
    vectors = query_vectors(load_from(path, stamp).network_, space)
    return map_queries(vectors, space, method, seed, perplexity)


@st.cache_data(max_entries=6, show_spinner=False)
def _pointed_words(path: str, stamp: int) -> list[list[tuple[str, float]]]:
    classifier = load_from(path, stamp)
    return words_at(classifier.network_, classifier.vocabulary_, top=15)


@st.cache_data(max_entries=6, show_spinner="Looking for the texts …")
def _typical_texts(path: str, stamp: int) -> dict[int, Text]:
    view = report_from(path, stamp).view
    numbers = {text.number for texts in view.tally.typical.values() for text in texts}
    return texts_of(view.origin, numbers)
