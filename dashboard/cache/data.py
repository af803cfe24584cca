"""Cached views of data sets: previews, estimates, searches, and what a model predicts for rows."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import file_access, quotas
from dashboard.cache import at_once, models
from dashboard.model_registry import ModelFolder
from icaps.config import ModelConfig, TrainConfig
from icaps.data.cache import Artifact
from icaps.data.fingerprint import (
    content_options,
    corrections_state,
    existing_parts,
    named_fingerprint,
)
from icaps.data.label_file import load_corrections
from icaps.data.label_sets import names_in
from icaps.data.preview import Preview, preview
from icaps.data.problems import Problem
from icaps.data.resolve import resolve
from icaps.data.source import Source, open_source
from icaps.data.unlabelled import TextRows, open_unlabelled
from icaps.errors import DataError
from icaps.explore.corrected_index import (
    CorrectedIndex,
    make_text_hashes,
    text_hashes_artifact,
    without_corrected,
)
from icaps.explore.index import Index, index_artifact, make_index
from icaps.explore.label_issues import LabelIssues, label_issues_artifact
from icaps.explore.neighbours import (
    TrainingSample,
    directions,
    make_sample,
    most_similar,
    sample_artifact,
)
from icaps.explore.predicted_rows import (
    RowPredictions,
    predict_rows,
    row_predictions,
    with_labels_of,
)
from icaps.explore.search import Query, search
from icaps.explore.statistics import Coverage
from icaps.explore.text_projection import SAMPLE, text_vectors
from icaps.text.vector_files import load_vectors
from icaps.train.estimate import Estimate, estimate, suggest_settings
from icaps.train.recipe import Recipe
from icaps.train.self_training import MAX_TEXTS

Rows = NDArray[np.int64]
_COUNTING_SECONDS = 1.5


def _key_of(index: Index) -> str:
    return index.key


def _folder_of(index: Index) -> str:
    return str(index.folder)  # its name is a hash of the data's files


_KINDS: tuple[type, ...] = (Index, CorrectedIndex)
BY_LABELS = dict.fromkeys(_KINDS, _key_of)  # how a cached function knows an index
BY_TEXTS = dict.fromkeys(_KINDS, _folder_of)  # the same of one that does not use its labels


@dataclass(frozen=True)
class DataKey:
    """Data as cached functions take it.

    Attributes:
        value: A path or a name, as `--data` takes it.
        options: Options of `open_source`, as pairs.
        fingerprint: The fingerprint of its files; empty for data that is not downloaded yet.
        corrections: The state of the file of corrections among the options; empty without one.
    """

    value: str
    options: tuple[tuple[str, Any], ...]
    fingerprint: str
    corrections: str = ""

    @property
    def reading(self) -> dict[str, Any]:
        """The options of `open_source`."""
        return dict(self.options)

    def read_with(self, reading: Mapping[str, Any]) -> "DataKey":
        """The same data, read with these options of `open_source`."""
        options = ((name, tuple(x) if isinstance(x, list) else x) for name, x in reading.items())
        return replace(self, options=tuple(options), corrections=corrections_state(reading))

    @property
    def uncorrected(self) -> "DataKey":
        """The same data with the labels that it has."""
        return self.read_with({name: x for name, x in self.options if name != "corrections"})

    @property
    def corrected_labels(self) -> Mapping[int, str]:
        """The corrected labels of texts by the hashes of the texts; empty without corrections.

        Raises:
            DataError: Their file can't be read.
        """
        file = self.reading.get("corrections")
        return _corrected_labels(file, self.corrections) if file else {}

    def open(self, part: str) -> Source:
        """One part of the data.

        Raises:
            DataError: It can't be read.
        """
        return open_source(resolve(self.value), part, **self.reading)


def key_of(value: str, reading: Mapping[str, Any]) -> DataKey:
    """The key of data in its present state.

    Raises:
        DataError: The data can't be read.
    """
    fingerprint = named_fingerprint(value) if file_access.exists(Path(value)) else ""
    return DataKey(value, (), fingerprint).read_with(reading)


@st.cache_data(max_entries=20, show_spinner="Reading …")
def first_rows(data: DataKey) -> Preview:
    """The first rows of data on this machine.

    Raises:
        DataError: It is not a file of texts.
    """
    quotas.request()
    return preview(resolve(data.value), data.reading)


@st.cache_data(max_entries=10, show_spinner=False)
def _corrected_labels(file: str, state: str) -> dict[int, str]:
    return load_corrections(file)


def first_classes(value: str) -> tuple[str, ...]:
    """The classes in the first rows of a file; none if it cannot be read without options."""
    try:
        return _first_classes(key_of(value, {}))
    except DataError:  # which is shown where it is chosen
        return ()


@st.cache_data(max_entries=200, show_spinner=False)
def _first_classes(data: DataKey) -> tuple[str, ...]:
    rows = preview(resolve(data.value), data.reading).rows
    return tuple(dict.fromkeys(name for _, label in rows for name in names_in(label)))


@st.cache_data(max_entries=20, show_spinner="Reading …")
def first_unlabelled(data: DataKey) -> list[str]:
    """The first texts of data on this machine, read with options of `open_unlabelled`.

    Raises:
        DataError: It has no texts.
    """
    quotas.request()
    return list(islice(open_unlabelled(resolve(data.value), **data.reading), 3))


@st.cache_data(max_entries=20, show_spinner="Counting the texts …")
def unlabelled_count(data: DataKey) -> int:
    """The number of texts without labels that a training uses, counted for a short time at most.

    Of more texts than can be counted in the time, the training is taken to use as many as it may.

    Raises:
        DataError: It has no texts.
    """
    quotas.request()
    end = time.monotonic() + _COUNTING_SECONDS
    for n, _ in enumerate(open_unlabelled(resolve(data.value), **data.reading), start=1):
        if n == MAX_TEXTS or time.monotonic() > end:
            return MAX_TEXTS
    return n


@st.cache_data(max_entries=4, show_spinner="Reading …")
def text_rows(data: DataKey, limit: int) -> TextRows:
    """The first texts of data on this machine with all columns, without a use of its classes.

    Raises:
        DataError: It has no texts, or its text column is unclear.
    """
    quotas.request()
    return open_unlabelled(resolve(data.value), **data.reading).first_rows(limit)


@st.cache_data(max_entries=20, show_spinner="Measuring the texts …")
def recipe(data: DataKey) -> Recipe:
    """The settings that a training on these texts chooses, from a sample if there are many.

    Raises:
        DataError: They can't be read.
    """
    quotas.request()
    return suggest_settings(data.open("train"), seconds=0.5)


@st.cache_data(max_entries=20, show_spinner="Counting the classes …")
def class_counts(data: DataKey) -> dict[str, int]:
    """The number of training texts per class.

    It is empty if they are too many to count in the time, as the first texts of a file that is
    sorted by class do not show how frequent the classes are.

    Raises:
        DataError: They can't be read.
    """
    quotas.request()
    counts, end = Counter[str](), time.monotonic() + _COUNTING_SECONDS
    for row in data.open("train").scan():
        if not isinstance(row, Problem):
            counts.update(names_in(row.label))
        if time.monotonic() > end:
            return {}
    return dict(counts)


@st.cache_data(max_entries=50, show_spinner="Estimating …")
def training_estimate(
    data: DataKey, model: ModelConfig, train: TrainConfig, vectors: tuple[str, ...]
) -> Estimate:
    """The time and memory that a training needs.

    Raises:
        DataError: The texts can't be read, or have only one class.
        VectorsError: The vectors can't be loaded.
    """
    quotas.request()
    return estimate(data.open("train"), model, train, vectors or None, seconds=1.0)


def index(data: DataKey) -> Index | None:
    """The index of data; None if it was not built yet and the texts are many.

    Raises:
        DataError: The data does not exist or can't be read, or the index is damaged.
    """
    given = _given_index(data.uncorrected)
    if given is None or not data.corrections:
        return given
    return _corrected_index(given, data)


@st.cache_resource(
    max_entries=4,
    show_spinner="Correcting labels …",
    hash_funcs=BY_LABELS,
)
def _corrected_index(given: Index, data: DataKey) -> CorrectedIndex:
    return CorrectedIndex(given, text_hashes(given), data.corrected_labels, data.corrections)


def text_hashes(data: Index) -> NDArray[np.uint64]:
    """The hashes by which corrected texts are recognised, (rows,).

    Raises:
        DataError: They can't be stored.
    """
    return _text_hashes(data.given)


@st.cache_resource(max_entries=4, show_spinner="Reading the texts …", hash_funcs=BY_LABELS)
def _text_hashes(data: Index) -> NDArray[np.uint64]:
    return make_text_hashes(data, at_once.home_of(text_hashes_artifact(data)))


def _given_index(data: DataKey) -> Index | None:
    place = resolve(data.value)
    artifact = index_artifact(place, data.reading)
    if artifact.exists:
        return _index(artifact.home, artifact)
    options = content_options(data.reading) | {"on_bad_rows": "skip"}
    sources = (open_source(place, part, **options) for part in existing_parts(place))
    if at_once.few(*sources, times=5):  # as many are counted in that time
        return _new_index(artifact.home, place, data.reading, artifact)
    return None


@st.cache_resource(max_entries=4, show_spinner="Reading the texts …")
def _new_index(
    home: Path, place: Path, reading: Mapping[str, Any], _artifact: Artifact[Index]
) -> Index:
    quotas.request()
    return make_index(place, reading, home=at_once.home_of(_artifact))


@st.cache_resource(max_entries=4, show_spinner=False)
def _index(home: Path, _artifact: Artifact[Index]) -> Index:
    index = _artifact.load()
    assert index is not None
    return index


@st.cache_data(max_entries=12, show_spinner="Searching …", hash_funcs=BY_LABELS)
def rows(data: Index, query: Query, among: str, _mask: NDArray[np.bool_] | None) -> Rows:
    """Numbers of the matching rows; `among` is a name for the mask, unique for its values."""
    quotas.request()
    return search(data, query, _mask)


@st.cache_data(max_entries=8, show_spinner="Loading the vectors …", hash_funcs=BY_TEXTS)
def coverage(data: Index, vectors: str) -> dict[str, Coverage]:
    """For each split the share of its words with a vector, from a path or a gensim-data name.

    Raises:
        VectorsError: The vectors can't be loaded.
    """
    quotas.request()
    return data.vector_coverage(set(load_vectors(vectors).key_to_index))


def row_predictions_of(data: Index, model: ModelFolder) -> RowPredictions | None:
    """What a model predicts for each row; None if it was not computed yet and they are many.

    Raises:
        DataError: The stored predictions are damaged, or the rows have several labels and the model
            gives a text one.
    """
    artifact = row_predictions(models.load(model), models.fingerprint(model), data.given)
    if artifact.exists:
        predictions = _row_predictions(artifact.home, model, artifact)
    elif at_once.few_rows(data):
        quotas.request()
        with st.spinner("Predicting the rows …"):
            predictions = predict_rows(models.load(model), models.fingerprint(model), data.given)
    else:
        return None
    return predictions if data.given is data else with_labels_of(predictions, data)


def label_issues(data: Index) -> LabelIssues | None:
    """The rows whose label is doubted by models that did not see it; None if not computed yet.

    Raises:
        DataError: What is stored is damaged.
    """
    artifact = label_issues_artifact(data)
    return _label_issues(artifact.home, artifact) if artifact.exists else None


def earlier_label_issues(data: Index) -> LabelIssues | None:
    """The same of the labels before all corrections, without the rows that were corrected since.

    None if they were not computed, or no label is corrected.

    Raises:
        DataError: What is stored is damaged.
    """
    issues = label_issues(data.given) if isinstance(data, CorrectedIndex) else None
    return issues and without_corrected(issues, data)


@st.cache_resource(max_entries=4, show_spinner=False)
def _label_issues(home: Path, _artifact: Artifact[LabelIssues]) -> LabelIssues:
    issues = _artifact.load()
    assert issues is not None
    return issues


@st.cache_resource(max_entries=4, show_spinner=False)
def _row_predictions(
    home: Path, model: ModelFolder, _artifact: Artifact[RowPredictions]
) -> RowPredictions:
    predictions = _artifact.load()
    assert predictions is not None
    return predictions


def random_rows(count: int) -> Rows:
    """The numbers of a random sample of `count` rows, in rising order; of all if they are few."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, SAMPLE, replace=False))


@st.cache_resource(max_entries=4, show_spinner="Reading the texts …", hash_funcs=BY_TEXTS)
def row_directions(data: Index, model: ModelFolder) -> NDArray[np.float32]:
    """The directions of the class capsules of `random_rows`, (sample, d)."""
    quotas.request()
    texts = data.text(random_rows(len(data)))
    return directions(text_vectors(models.load(model), texts))


def similar_rows(data: Index, model: ModelFolder, row: int, count: int) -> list[tuple[int, float]]:
    """The rows of a sample that are most similar to a row, and the cosines of their capsules."""
    (own,) = directions(text_vectors(models.load(model), data.text([row])))
    near, cosines = most_similar(row_directions(data, model), own, count + 1)
    numbers = random_rows(len(data))[near].tolist()
    pairs = zip(numbers, cosines.tolist(), strict=True)
    return [(number, cosine) for number, cosine in pairs if number != row][:count]


def training_sample(model: ModelFolder, data: DataKey) -> TrainingSample | None:
    """The training texts as a model sees them; None if not computed yet and they are many.

    Raises:
        DataError: The data does not exist, or the sample is damaged.
    """
    weights, place = models.fingerprint(model), resolve(data.value)
    sample = sample_artifact(weights, place, data.reading).load()
    if sample is None and not quotas.read_only() and at_once.few(data.open("train")):
        quotas.request()
        with st.spinner("Reading the training texts …"):
            sample = make_sample(models.load(model), weights, place, data.reading)
    return sample
