"""Data, and what models say of its rows, kept between reruns and shared by sessions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import quotas, stamps
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.stamps import Stamp
from icaps.config import ModelConfig, TrainConfig
from icaps.data.preview import Preview
from icaps.data.preview import preview as look_at
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.explore.index import Index, index_of, open_index
from icaps.explore.label_issues import Judged, judged_folder, load_judged
from icaps.explore.near_duplicates import Repeats, repeats_of
from icaps.explore.neighbours import TrainingSample, load_sample, sample_home
from icaps.explore.query import Query
from icaps.explore.statistics import Coverage, vector_coverage
from icaps.explore.text_map import TextMap, map_texts, text_vectors
from icaps.text.vectors import load_vectors
from icaps.train.estimate import Estimate, suggest_settings
from icaps.train.estimate import estimate as measure
from icaps.train.recipe import Suggestion

Rows = NDArray[np.int64]


def preview(value: str, reading: Mapping[str, Any]) -> Preview:
    """A look at data that is on this machine, by path or name.

    Raises:
        DataError: It is no file of texts.
    """
    return _preview(value, stamps.of_data(value), dict(reading))


def suggestion(value: str, reading: Mapping[str, Any]) -> Suggestion:
    """Settings that suit the texts.

    Raises:
        DataError: They can't be read.
    """
    return _suggestion(value, stamps.of_data(value), dict(reading))


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
    return _estimate(value, stamps.of_data(value), dict(reading), model, train, vectors)


def index(value: str, reading: Mapping[str, Any]) -> Index | None:
    """The index of data; None where it was not made yet.

    Raises:
        DataError: The data isn't there, or the index is damaged.
    """
    folder = index_of(resolve(value), reading)
    return None if folder is None else _index(str(folder))


def rows(data: Index, query: Query, among: str, mask: NDArray[np.bool_] | None) -> Rows:
    """Numbers of the rows that are found; `among` names the mask, and tells one from another."""
    return _rows(str(data.folder), query, among, mask)


def repeats(data: Index) -> Repeats | None:
    """What recurs in the data; None where nobody has looked."""
    return repeats_of(data)


def coverage(data: Index, vectors: str) -> dict[str, Coverage]:
    """Of each split's words the shares that vectors have, by a path or a name of gensim-data.

    Raises:
        VectorsError: They can't be loaded.
    """
    return _coverage(str(data.folder), vectors)


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


def text_map(
    data: Index, model: ModelFolder, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    """Some rows in the plane, by the capsules that a model gives them."""
    return _text_map(str(data.folder), str(model.path), model.stamp, chosen, space, method)


def training_sample(
    model: ModelFolder, value: str, reading: Mapping[str, Any]
) -> TrainingSample | None:
    """The training texts as a model sees them; None where they were not looked through yet.

    Raises:
        DataError: The data isn't there, or the sample is damaged.
    """
    home = sample_home(models.fingerprint(model), resolve(value), reading)
    return load_sample(home)


@st.cache_data(max_entries=20, show_spinner="Reading …")
def _preview(value: str, stamp: Stamp, reading: dict[str, Any]) -> Preview:
    quotas.request()
    return look_at(resolve(value), reading)


@st.cache_data(max_entries=20, show_spinner="Measuring the texts …")
def _suggestion(value: str, stamp: Stamp, reading: dict[str, Any]) -> Suggestion:
    quotas.request()
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
    quotas.request()
    source = open_source(resolve(value), "train", **reading)
    return measure(source, model, train, vectors, seconds=1.0)


@st.cache_resource(max_entries=4, show_spinner=False)
def _index(folder: str) -> Index:
    return open_index(Path(folder))


@st.cache_data(max_entries=12, show_spinner="Searching …")
def _rows(folder: str, query: Query, among: str, _mask: NDArray[np.bool_] | None) -> Rows:
    quotas.request()
    return _index(folder).find(query, _mask)


@st.cache_data(max_entries=8, show_spinner="Loading the vectors …")
def _coverage(folder: str, vectors: str) -> dict[str, Coverage]:
    quotas.request()
    return vector_coverage(_index(folder), set(load_vectors(vectors).key_to_index))


@st.cache_data(max_entries=20, show_spinner=False)
def _judged_folder(folder: str, path: str, stamp: int) -> str:
    return str(judged_folder(Path(folder), Path(path)))


@st.cache_data(max_entries=8, show_spinner="Drawing the texts …")
def _text_map(
    folder: str, path: str, stamp: int, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    quotas.request()
    texts = _index(folder).text(chosen)
    return map_texts(text_vectors(models.load_from(path, stamp), texts, space), method)
