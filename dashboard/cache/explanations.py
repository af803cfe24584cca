"""What a model says of a text, and why, kept between reruns and shared by sessions."""

from collections.abc import Iterator, Sequence

import streamlit as st

from dashboard import quotas
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from icaps.config import ExplainOptions
from icaps.faithfulness.reason_test import flipping_set, try_reasons
from icaps.faithfulness.reason_test import scores_after as words_tried
from icaps.interpret.reasons import Reasons
from icaps.results import Explanation, Flip, Trial

_HOUR = 3600  # seconds that a visitor's text is kept


def explain(
    model: ModelFolder, text: str, options: ExplainOptions, muted: tuple[int, ...] = ()
) -> Explanation:
    """Explains one text, with capsules switched off; the same question is answered from memory."""
    return _explain(str(model.path), model.stamp, text, options, muted)


def explain_many(
    model: ModelFolder, texts: Sequence[str], options: ExplainOptions
) -> Iterator[Explanation]:
    """Explains texts one by one, without keeping the answers.

    Raises:
        NotAllowedError: The visitor asks too often.
    """
    quotas.request()
    return models.load(model).explain(texts, options)


def reasons_of_many(
    model: ModelFolder, texts: Sequence[str], options: ExplainOptions
) -> Iterator[Reasons]:
    """As `explain_many`, as columns, some texts at a time.

    Raises:
        NotAllowedError: The visitor asks too often.
    """
    quotas.request()
    return models.load(model).reasons(texts, options)


def trial(model: ModelFolder, explanation: Explanation) -> Trial | None:
    """The reason of a text tried against chance; None for a blank text."""
    return _trial(str(model.path), model.stamp, explanation)


def scores_after(
    model: ModelFolder, explanation: Explanation, words: Sequence[int], action: str
) -> tuple[float, ...]:
    """Class norms of a text when something is done to some of its words: see `interpret.trial`.

    Raises:
        NotAllowedError: The visitor asks too often.
    """
    quotas.request()
    return words_tried(models.load(model), explanation, words, action)


def flip(model: ModelFolder, explanation: Explanation) -> Flip | None:
    """The smallest set of an explanation's K-grams without which another class wins."""
    return _flip(str(model.path), model.stamp, explanation)


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def _explain(
    path: str, stamp: int, text: str, options: ExplainOptions, muted: tuple[int, ...]
) -> Explanation:
    quotas.request()
    classifier = models.load_from(path, stamp).without(muted)
    (explanation,) = classifier.explain([text], options)
    return explanation


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def _trial(path: str, stamp: int, explanation: Explanation) -> Trial | None:
    (found,) = try_reasons(models.load_from(path, stamp), [explanation])
    return found


@st.cache_data(max_entries=50, ttl=_HOUR, show_spinner="Removing K-grams …")
def _flip(path: str, stamp: int, explanation: Explanation) -> Flip | None:
    quotas.request()
    return flipping_set(models.load_from(path, stamp), explanation)
