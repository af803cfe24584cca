"""Everything that is kept between reruns and shared by sessions; no other module caches."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import streamlit as st

from dashboard.catalogue import ModelFolder
from icaps.classifier import ICapsClassifier
from icaps.interpret.global_view import load_view
from icaps.interpret.making import Text, texts_of
from icaps.interpret.queries import QueryMap, map_queries, query_vectors
from icaps.interpret.queries import pointed_words as words_at
from icaps.interpret.report import Report
from icaps.results import Explanation


class Settings(NamedTuple):
    """How to explain: the class, None for the predicted one, and how many of what."""

    target: str | None
    top_capsules: int
    top_kgrams: int
    top_sentences: int


def load(model: ModelFolder) -> ICapsClassifier:
    """The classifier of a folder, read once until the folder changes.

    Raises:
        CheckpointError: The folder is damaged.
    """
    return _load(str(model.path), model.stamp)


def explain(
    model: ModelFolder, text: str, settings: Settings, muted: tuple[int, ...] = ()
) -> Explanation:
    """Explains one text, with capsules switched off; the same question is answered from memory."""
    return _explain(str(model.path), model.stamp, text, settings, muted)


def explain_many(
    model: ModelFolder, texts: Sequence[str], settings: Settings
) -> Iterator[Explanation]:
    """Explains texts one by one, without keeping the answers."""
    return load(model).explain(texts, **settings._asdict())


def report(model: ModelFolder) -> Report | None:
    """What a model has learnt; None where it was not interpreted yet.

    Raises:
        CheckpointError: What is there is damaged.
    """
    return _report(str(model.path), model.stamp)


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
def _load(path: str, stamp: int) -> ICapsClassifier:
    return ICapsClassifier.load(path, device="cpu")


@st.cache_data(max_entries=200, show_spinner=False)
def _explain(
    path: str, stamp: int, text: str, settings: Settings, muted: tuple[int, ...]
) -> Explanation:
    classifier = _load(path, stamp).without(muted)
    (explanation,) = classifier.explain([text], **settings._asdict())
    return explanation


@st.cache_resource(max_entries=6, show_spinner=False)
def _report(path: str, stamp: int) -> Report | None:
    classifier = _load(path, stamp)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(path, *shape)
    return None if view is None else Report(classifier, view)


@st.cache_data(max_entries=20, show_spinner="Drawing the queries …")
def _query_map(
    path: str, stamp: int, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    vectors = query_vectors(_load(path, stamp).network_, space)
    return map_queries(vectors, space, method, seed, perplexity)


@st.cache_data(max_entries=6, show_spinner=False)
def _pointed_words(path: str, stamp: int) -> list[list[tuple[str, float]]]:
    classifier = _load(path, stamp)
    return words_at(classifier.network_, classifier.vocabulary_, top=15)


@st.cache_data(max_entries=6, show_spinner="Looking for the texts …")
def _typical_texts(path: str, stamp: int) -> dict[int, Text]:
    view = _report(path, stamp).view
    numbers = {text.number for texts in view.tally.typical.values() for text in texts}
    return texts_of(view.origin, numbers)
