"""Few texts: what is computed from them is shown without a button that starts it."""

import tempfile
from pathlib import Path

import streamlit as st

from dashboard import quotas
from icaps.data.cache import Artifact
from icaps.data.problems import Problem
from icaps.data.source import Source
from icaps.explore.index import Index

TEXTS = 1_000  # at most
_CHARACTERS = 1_000_000  # at most, in all texts
_CHARACTERS_PER_WORD = 6


def few(*sources: Source, times: int = 1) -> bool:
    """Whether the texts are so few that a model reads them within about two seconds.

    Args:
        *sources: The texts.
        times: How many times as many they may be, for what takes less time than a model.

    Raises:
        DataError: They can't be read.
    """
    texts = characters = 0
    for source in sources:
        for row in source.scan():
            texts += 1
            characters += 0 if isinstance(row, Problem) else len(row.text)
            if texts > times * TEXTS or characters > times * _CHARACTERS:
                return False
    return True


def few_rows(index: Index) -> bool:
    """Whether the rows of an index are so few, and what is computed from them can be stored."""
    return (
        not quotas.read_only()
        and len(index) <= TEXTS
        and int(index.words.sum()) <= _CHARACTERS // _CHARACTERS_PER_WORD
    )


def home_of(artifact: Artifact) -> Path | None:
    """A folder for a result where the cache may not be written, in a read-only app; else None."""
    return Path(_scratch().name) / artifact.home.name if quotas.read_only() else None


@st.cache_resource
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="icaps-")
