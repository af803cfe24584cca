"""Cached predictions and explanations of single texts.

Entries with a visitor's text expire after an hour.
"""

from collections.abc import Iterator, Sequence

import streamlit as st

from dashboard import quotas
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from icaps.config import ExplainOptions
from icaps.faithfulness.reason_results import Flip, ReasonTest
from icaps.faithfulness.reason_test import flipping_set, scores_after, try_reasons
from icaps.interpret.local import Reasons
from icaps.results import Explanation

_HOUR = 3600  # seconds


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def explain(
    model: ModelFolder, text: str, options: ExplainOptions, muted: tuple[int, ...] = ()
) -> Explanation:
    """Explains one text, with the capsules in `muted` switched off.

    Raises:
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    classifier = models.load(model).without(muted)
    (explanation,) = classifier.explain([text], options)
    return explanation


def explain_many(
    model: ModelFolder, texts: Sequence[str], options: ExplainOptions
) -> Iterator[Explanation]:
    """Explains texts one by one, without a cache.

    Raises:
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    return models.load(model).explain(texts, options)


def reasons_of_many(
    model: ModelFolder, texts: Sequence[str], options: ExplainOptions
) -> Iterator[Reasons]:
    """As `explain_many`, in batches of columns.

    Raises:
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    return models.load(model).reasons(texts, options)


@st.cache_data(max_entries=50, ttl=_HOUR, show_spinner=False)
def through_capsules(model: ModelFolder, texts: tuple[str, ...]) -> list[Explanation]:
    """Explanations of texts in which all capsules are listed, each with a K-gram.

    Raises:
        NotAllowedError: The visitor exceeds the rate limit.
    """
    number = models.load(model).network_.config.num_capsules
    return list(explain_many(model, texts, ExplainOptions(top_capsules=number, top_kgrams=1)))


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def reason_test(model: ModelFolder, explanation: Explanation) -> ReasonTest | None:
    """The test of an explanation against random words; None for a blank text."""
    (result,) = try_reasons(models.load(model), [explanation])
    return result


def norms_after(
    model: ModelFolder, explanation: Explanation, words: Sequence[int], action: str
) -> tuple[float, ...]:
    """Class norms of a text after an action on some of its words, one of `reason_test.ACTIONS`.

    Raises:
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    return scores_after(models.load(model), explanation, words, action)


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def flip(model: ModelFolder, explanation: Explanation) -> Flip | None:
    """The smallest set of an explanation's K-grams whose removal changes the prediction."""
    quotas.request()
    return flipping_set(models.load(model), explanation)
