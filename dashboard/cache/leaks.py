"""Which texts were in the training of a model, counted once per model and data."""

import time

import numpy as np
import streamlit as st

from dashboard import quotas
from dashboard.cache import evaluations
from dashboard.cache.data import BY_TEXTS, DataKey
from dashboard.cache.evaluations import Sample
from dashboard.model_registry import ModelFolder
from icaps.data.problems import Problem
from icaps.evaluate.leakage import Leak, measure_leak
from icaps.evaluate.report import EvaluationReport, MultilabelReport
from icaps.explore.index import Index
from icaps.train.text_hashes import TextHashes, load_hashes

_SECONDS = 1.5  # of reading, to count the held-out texts of a data set
_ROWS = 50_000  # of an index that are hashed; of more rows, as many at random
_MIN_SHARE = 0.5  # of the first texts that were trained on, from which data is that of the training


@st.cache_resource(max_entries=10, show_spinner=False)
def hashes(model: ModelFolder) -> TextHashes | None:
    """The hashes of a model's training texts; None if it was trained by an earlier version.

    Raises:
        CheckpointError: They are damaged.
    """
    return load_hashes(model.path)


def held_out_count(model: ModelFolder, data: DataKey) -> int:
    """How many texts of the data (its part "train") were held out of a model's training.

    Of data that takes long to read, the first texts decide whether it is that of the training.

    Raises:
        CheckpointError: The hashes are damaged.
        DataError: The data can't be read.
    """
    return _held_out_count(model, data.uncorrected)


@st.cache_data(max_entries=30, show_spinner=False)
def _held_out_count(model: ModelFolder, data: DataKey) -> int:
    quotas.request()
    known = hashes(model)
    if known is None:
        return 0
    texts, end, complete = [], time.monotonic() + _SECONDS, True
    for row in data.open("train").scan():
        if not isinstance(row, Problem):
            texts.append(row.text)
        if time.monotonic() > end:
            complete = False
            break
    leak = measure_leak(known, texts)
    if complete:
        return leak.held_out
    return len(known.held_out) if leak.share > _MIN_SHARE else 0


def _folder_of(report: EvaluationReport | MultilabelReport) -> str:
    return str(report.evaluation.folder)  # its name is a hash of the model's and the data's files


@st.cache_data(
    max_entries=20,
    show_spinner=False,
    hash_funcs={EvaluationReport: _folder_of, MultilabelReport: _folder_of},
)
def of_report(model: ModelFolder, report: EvaluationReport | MultilabelReport) -> Leak | None:
    """How many of the evaluated texts were in a model's training; None if that is not known.

    Raises:
        CheckpointError: The hashes are damaged.
    """
    known = hashes(model)
    return None if known is None else measure_leak(known, report.evaluation.texts)


@st.cache_data(max_entries=30, show_spinner=False)
def of_sample(
    model: ModelFolder, sample: Sample, classes: tuple[str, ...], multilabel: bool = False
) -> Leak | None:
    """As `of_report`, for the texts of a comparison, labelled by these classes.

    Raises:
        CheckpointError: The hashes are damaged.
        DataError: The texts can't be read, or have other classes.
    """
    known = hashes(model)
    if known is None:
        return None
    return measure_leak(known, evaluations.texts(sample, classes, multilabel).texts)


@st.cache_data(max_entries=12, show_spinner=False, hash_funcs=BY_TEXTS)
def of_rows(model: ModelFolder, index: Index) -> Leak | None:
    """As `of_report`, for the rows of a data set; of many rows, for a random sample.

    Raises:
        CheckpointError: The hashes are damaged.
    """
    quotas.request()
    known = hashes(model)
    if known is None:
        return None
    rows = np.arange(len(index))
    if len(rows) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))
    return measure_leak(known, index.text(rows))
