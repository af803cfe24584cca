"""Cached models and baselines, and what is computed from a model alone."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st

from dashboard import quotas, training_jobs
from dashboard.example_texts import EXAMPLES
from dashboard.model_registry import ModelFolder
from icaps.baselines.storage import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.data import news_sample
from icaps.data.catalog import DATASETS
from icaps.data.source import open_source
from icaps.data.uploads import uploads
from icaps.errors import CheckpointError, DataError
from icaps.evaluate.compare_report import num_weights
from icaps.evaluate.predictions import Scorer
from icaps.interpret import queries
from icaps.interpret.global_view import (
    LabelledText,
    load_view,
    locate_counted,
    read_counted_texts,
)
from icaps.interpret.queries import QueryMap
from icaps.interpret.routing_spread import spread_of
from icaps.reports.files import ModelName, model_name
from icaps.reports.global_report import GlobalReport
from icaps.runs.folder import RunFolder
from icaps.train.checkpoint_files import BASELINE, weights_fingerprint
from icaps.train.examples import load_examples
from icaps.train.result_warnings import CHANCE, COLLAPSE, FEW, METRIC, ResultWarning, warnings_of


class RoutedExcerpt(NamedTuple):
    """A text or a part of it: its number in its data, the routing of a capsule, and its class."""

    number: int
    routing: float
    text: str
    label: str


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


@st.cache_data(max_entries=20, show_spinner=False)
def examples(model: ModelFolder) -> dict[str, str]:
    """Texts to start from, by title: the model's own, or news if it has none.

    A model that is being trained has the text that its training watches.
    """
    if own := dict(load_examples(model.path)):
        return own
    watched = training_jobs.watched_text(model.path)
    return {"Watched text": watched} if watched.strip() else EXAMPLES


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
    """The texts of the global view that its capsules and cells are shown by, by row number.

    Raises:
        DataError: The data is not on this machine, or has changed.
    """
    view = report(model).view
    numbers = {text.number for texts in view.tally.typical.values() for text in texts}
    if view.routing is not None:
        numbers |= {number for some in view.routing.numbers.values() for number in some}
    *others, last = _places(model, view.origin.source)
    for place in others:
        with suppress(DataError):  # another file of that name
            return read_counted_texts(view.origin, numbers, place, model.path)
    return read_counted_texts(view.origin, numbers, last, model.path)


def counted_data(model: ModelFolder, source: str) -> str | None:
    """The data that a view was counted over, as `--data` takes it; None if it is not here."""
    first = _places(model, source)[0]
    if first is not None or source in DATASETS:
        return first or source
    with suppress(DataError):
        return str(locate_counted(source))
    return None


def _places(model: ModelFolder, source: str) -> list[str | None]:
    """Where counted data may be, as a view has no absolute path; None is where its name leads."""
    name = Path(source).name
    trained = training_jobs.data_of(model.path)
    places: list[str | None] = [str(one.path) for one in uploads() if one.name == name]
    if trained is not None and Path(trained[0]).name == name:
        places.insert(0, trained[0])
    return [*places, None]


@st.cache_data(max_entries=6, show_spinner="Reading the texts …")
def sample_texts(model: ModelFolder) -> dict[int, dict[str, list[RoutedExcerpt]]]:
    """Texts of high, middle and low routing by capsule, among those that come with the package.

    Empty if the classes of the model are others.
    """
    classifier = load(model)
    classes = list(map(str, classifier.classes_))
    if sorted(classes) != sorted(news_sample.CLASSES):
        return {}
    quotas.request()
    labelled = list(open_source(news_sample.FILE, "test").pairs())
    served = report(model).served_classes
    spread = spread_of(classifier.network_, classifier.vocabulary_, classes, labelled)
    routing = spread.of_classes(np.array([classes.index(name) for name in served]))
    return {
        capsule: {
            level: [RoutedExcerpt(*text, *labelled[text.number]) for text in some]
            for level, some in levels.items()
        }
        for capsule, levels in enumerate(routing.levels)
    }
