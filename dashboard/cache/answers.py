"""Models and baselines on the same texts, kept between reruns and shared by sessions."""

from typing import Any, NamedTuple

import streamlit as st

from dashboard import quotas, stamps
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.stamps import Stamp
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.evaluate.answers import Answers, Texts, ask, read_texts
from icaps.evaluate.same_reasons import Shared, shared_predictions


class Sampled(NamedTuple):
    """Which texts of labelled data are asked: of a part of it, at most so many."""

    value: str
    reading: dict[str, Any]
    part: str
    limit: int


def sampled(data: Sampled, model: ModelFolder) -> Texts:
    """The texts, labelled by the classes of a model.

    Raises:
        DataError: They can't be read, or are of other classes.
    """
    return _sampled(data, stamps.of_data(data.value), models.classes(model))


def answers(data: Sampled, model: ModelFolder, name: str, asked_by: ModelFolder) -> Answers:
    """What a model or a baseline, shown as `name`, says of `sampled(data, asked_by)`.

    Raises:
        DataError: It has other classes.
    """
    first = models.classes(asked_by)
    return _answers(data, stamps.of_data(data.value), str(model.path), model.stamp, name, first)


def shared(data: Sampled, one: ModelFolder, other: ModelFolder, limit: int) -> list[Shared]:
    """Of the first `limit` of `sampled(data, one)` those that both predict alike."""
    folders = str(one.path), one.stamp, str(other.path), other.stamp
    return _shared(data, stamps.of_data(data.value), models.classes(one), *folders, limit)


@st.cache_data(max_entries=3, show_spinner="Reading the texts …")
def _sampled(data: Sampled, stamp: Stamp, classes: tuple[str, ...]) -> Texts:
    quotas.request()
    source = open_source(resolve(data.value), data.part, **data.reading)
    return read_texts(source.pairs(), classes, data.limit)


@st.cache_data(max_entries=20, show_spinner="Asking the models …")
def _answers(
    data: Sampled,
    data_stamp: Stamp,
    path: str,
    stamp: int,
    name: str,
    classes: tuple[str, ...],
) -> Answers:
    quotas.request()
    return ask(name, models.scorer_from(path, stamp), _sampled(data, data_stamp, classes))


@st.cache_data(max_entries=6, show_spinner="Explaining …")
def _shared(
    data: Sampled,
    data_stamp: Stamp,
    classes: tuple[str, ...],
    path: str,
    stamp: int,
    other_path: str,
    other_stamp: int,
    limit: int,
) -> list[Shared]:
    quotas.request()
    texts = _sampled(data, data_stamp, classes).texts[:limit]
    one = models.load_from(path, stamp)
    other = models.load_from(other_path, other_stamp)
    return shared_predictions(one, other, texts)
