"""Everything that is kept between reruns and shared by sessions; no other module caches."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import streamlit as st

from dashboard.catalogue import ModelFolder
from icaps.classifier import ICapsClassifier
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


def explain(model: ModelFolder, text: str, settings: Settings) -> Explanation:
    """Explains one text; the same question is answered from memory."""
    return _explain(str(model.path), model.stamp, text, settings)


def explain_many(
    model: ModelFolder, texts: Sequence[str], settings: Settings
) -> Iterator[Explanation]:
    """Explains texts one by one, without keeping the answers."""
    return load(model).explain(texts, **settings._asdict())


@st.cache_resource(max_entries=3, show_spinner="Loading the model …")
def _load(path: str, stamp: int) -> ICapsClassifier:
    return ICapsClassifier.load(path, device="cpu")


@st.cache_data(max_entries=200, show_spinner=False)
def _explain(path: str, stamp: int, text: str, settings: Settings) -> Explanation:
    (explanation,) = _load(path, stamp).explain([text], **settings._asdict())
    return explanation
