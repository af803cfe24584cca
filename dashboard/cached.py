"""Everything that is kept between reruns and shared by sessions; no other module caches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard.catalogue import ModelFolder
from dashboard.tasks import Task
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.data.names import resolve
from icaps.data.preview import Preview
from icaps.data.preview import preview as look_at
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.estimate import Estimate, suggest_settings
from icaps.estimate import estimate as measure
from icaps.explore.index import Index, index_of, open_index
from icaps.explore.judging import Judged, judged_folder, load_judged
from icaps.explore.query import Query
from icaps.explore.repeats import Repeats, repeats_of
from icaps.explore.statistics import Coverage, vector_coverage
from icaps.explore.text_map import TextMap, map_texts, text_vectors
from icaps.interpret.global_view import load_view
from icaps.interpret.making import Text, texts_of
from icaps.interpret.queries import QueryMap, map_queries, query_vectors
from icaps.interpret.queries import pointed_words as words_at
from icaps.interpret.report import Report
from icaps.results import Explanation
from icaps.suggestion import Suggestion
from icaps.vectors import load_vectors

Rows = NDArray[np.int64]
Stamp = tuple[tuple[str, int, int], ...]


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


def preview(value: str, reading: Mapping[str, Any]) -> Preview:
    """A look at data that is on this machine, by path or name.

    Raises:
        DataError: It is no file of texts.
    """
    return _preview(value, _stamp(value), dict(reading))


def suggestion(value: str, reading: Mapping[str, Any]) -> Suggestion:
    """Settings that suit the texts.

    Raises:
        DataError: They can't be read.
    """
    return _suggestion(value, _stamp(value), dict(reading))


def estimate(
    value: str,
    reading: Mapping[str, Any],
    model: ModelConfig,
    train: TrainConfig,
    vectors: tuple[str, ...],
) -> Estimate:
    """What a training will take.

    Raises:
        DataError: The texts can't be read, or are of one class.
        VectorsError: The vectors can't be loaded.
    """
    return _estimate(value, _stamp(value), dict(reading), model, train, vectors)


def index(value: str, reading: Mapping[str, Any]) -> Index | None:
    """The index of data; None where it was not made yet.

    Raises:
        DataError: The data isn't there, or the index is damaged.
    """
    folder = index_of(resolve(value), reading)
    return None if folder is None else _index(str(folder))


@st.cache_resource
def tasks() -> dict[tuple[str, ...], Task]:
    """The commands that this server has started for its visitors, by their arguments."""
    return {}


def rows(data: Index, query: Query, among: str, mask: NDArray[np.bool_] | None) -> Rows:
    """Numbers of the rows that are found; `among` names the mask, and tells one from another."""
    return _rows(str(data.folder), query, among, mask)


def judged(data: Index, model: ModelFolder) -> Judged | None:
    """What a model says of each row; None where it was not asked yet.

    Raises:
        DataError: It is damaged.
    """
    folder = Path(_judged_folder(str(data.folder), str(model.path), model.stamp))
    found = load_judged(folder)
    if found is not None and len(found.predicted) != len(data):
        raise DataError(
            f"{folder} can't be read (it is of other rows). Delete the folder, so that it is made "
            "anew."
        )
    return found


def repeats(data: Index) -> Repeats | None:
    """What recurs in the data; None where nobody has looked."""
    return repeats_of(data)


def text_map(
    data: Index, model: ModelFolder, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    """Some rows in the plane, by the capsules that a model gives them."""
    return _text_map(str(data.folder), str(model.path), model.stamp, chosen, space, method)


def coverage(data: Index, vectors: str) -> dict[str, Coverage]:
    """Of each split's words the shares that vectors have, by a path or a name of gensim-data.

    Raises:
        VectorsError: They can't be loaded.
    """
    return _coverage(str(data.folder), vectors)


def _stamp(value: str) -> Stamp:
    """Changes when the file does, or the folder or a file right in it; empty for a name."""
    path = Path(value)
    if not path.exists():
        return ()
    states = [(part, part.stat()) for part in (path, *(path.iterdir() if path.is_dir() else ()))]
    return tuple(sorted((str(part), state.st_size, state.st_mtime_ns) for part, state in states))


@st.cache_resource(max_entries=4, show_spinner=False)
def _index(folder: str) -> Index:
    return open_index(Path(folder))


@st.cache_data(max_entries=12, show_spinner="Searching …")
def _rows(folder: str, query: Query, among: str, _mask: NDArray[np.bool_] | None) -> Rows:
    return _index(folder).find(query, _mask)


@st.cache_data(max_entries=20, show_spinner=False)
def _judged_folder(folder: str, path: str, stamp: int) -> str:
    return str(judged_folder(Path(folder), Path(path)))


@st.cache_data(max_entries=8, show_spinner="Drawing the texts …")
def _text_map(
    folder: str, path: str, stamp: int, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    texts = _index(folder).text(chosen)
    return map_texts(text_vectors(_load(path, stamp), texts, space), method)


@st.cache_data(max_entries=8, show_spinner="Loading the vectors …")
def _coverage(folder: str, vectors: str) -> dict[str, Coverage]:
    return vector_coverage(_index(folder), set(load_vectors(vectors).key_to_index))


@st.cache_data(max_entries=20, show_spinner="Reading …")
def _preview(value: str, stamp: Stamp, reading: dict[str, Any]) -> Preview:
    return look_at(resolve(value), reading)


@st.cache_data(max_entries=20, show_spinner="Measuring the texts …")
def _suggestion(value: str, stamp: Stamp, reading: dict[str, Any]) -> Suggestion:
    return suggest_settings(open_source(resolve(value), "train", **reading), seconds=0.5)


@st.cache_data(max_entries=50, show_spinner="Estimating …")
def _estimate(
    value: str,
    stamp: Stamp,
    reading: dict[str, Any],
    model: ModelConfig,
    train: TrainConfig,
    vectors: tuple[str, ...],
) -> Estimate:
    source = open_source(resolve(value), "train", **reading)
    return measure(source, model, train, vectors, seconds=1.0)


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
