"""Shortcuts that models take, kept between reruns and shared by sessions."""

import math
from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from dashboard import quotas, stamps
from dashboard.cache import models
from dashboard.cache.answers import Sampled
from dashboard.model_registry import ModelFolder
from icaps.data.resolve import resolve
from icaps.data.sample import draw_sample
from icaps.data.source import open_source
from icaps.shortcuts.find import Finding, find_shortcuts
from icaps.shortcuts.predicted_texts import Answered, answer

_SHORTCUTS = 4  # models and data whose shortcuts are kept


class Shortcuts(NamedTuple):
    """Texts with names of classes, what a model says of those it knows, and its shortcuts."""

    labelled: list[tuple[str, str]]
    texts: Answered
    found: list[Finding]


def kept(data: Sampled, model: ModelFolder) -> Shortcuts | None:
    """The shortcuts of a model, on a random sample; None where they were not looked for."""
    return _known().get(_key(data, model))


def find(data: Sampled, model: ModelFolder, on_measured: Callable[[int, int], None]) -> Shortcuts:
    """Looks for the shortcuts of a model, and keeps them; see `interpret.shortcuts`.

    Raises:
        DataError: The texts can't be read, are of other classes, or have no word that it knows.
        NotAllowedError: The visitor asks too often.
    """
    quotas.request()
    source = open_source(resolve(data.value), data.part, **data.reading)
    labelled = draw_sample(source, data.limit, math.inf).pairs()
    texts = answer(models.load(model), labelled)
    made = Shortcuts(labelled, texts, find_shortcuts(texts, on_measured=on_measured))
    known = _known()
    known[_key(data, model)] = made
    for key in list(known)[:-_SHORTCUTS]:
        del known[key]
    return made


@st.cache_resource
def _known() -> dict[str, Shortcuts]:
    """By hand, since a cached function can't move a bar on the page while it works."""
    return {}


def _key(data: Sampled, model: ModelFolder) -> str:
    return repr((*data, stamps.of_data(data.value), str(model.path), model.stamp))
