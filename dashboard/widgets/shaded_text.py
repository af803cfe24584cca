"""Texts with their words or K-grams shaded: one in a card, or several below each other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from dashboard import error_boundary, nav, settings, url_state
from dashboard.cache import explanations
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BY_KGRAMS, BY_SHARE, MAX_LINK
from icaps.config import ExplainOptions
from icaps.html import MAX_LEVEL, escape, printable
from icaps.results import Explanation


def show_cards(
    model: ModelFolder,
    texts: Sequence[str],
    describe: Callable[[int, Explanation], str],
    link: bool = True,
    card: Callable[[int, Explanation], str] | None = None,
) -> None:
    """A card for each text, with the K-grams of the explanations shaded.

    Args:
        describe: From the number of a text in `texts` and its explanation to the line above it.
        link: Whether each text has a link to Explain.
        card: From the same to the card, as HTML; `text_card` if None.
    """
    cut = [text[: settings.current().text_characters] for text in texts]
    for n, explanation in enumerate(explanations.explain_many(model, cut, ExplainOptions())):
        st.caption(error_boundary.plain(describe(n, explanation)))
        st.html(text_card(explanation) if card is None else card(n, explanation))
        if link:
            link_to_explain(model, texts[n])


def ask_shading() -> str:
    """Asks what is shaded in the cards of texts: BY_SHARE or BY_KGRAMS."""
    url_state.set_default("shaded")
    chosen = st.segmented_control(
        "Shaded",
        [BY_SHARE, BY_KGRAMS],
        key="shaded",
        persist_state="session",
        help="Every word by what it adds, or the K-grams of the most routed capsules.",
    )
    return str(chosen or BY_SHARE)


def link_to_explain(model: ModelFolder, text: str) -> None:
    """A link that opens the text on the page Explain."""
    if len(text) > MAX_LINK:
        st.caption("This text is too long for a link; copy it to Explain.")
        return
    st.page_link(
        nav.page("explain"),
        label="Open in Explain",
        icon=":material/format_ink_highlighter:",
        query_params={"text": printable(text), "model": model.name},
    )


def text_card(explanation: Explanation) -> str:
    """The text with its K-grams shaded in a card, with a legend if there are any; HTML."""
    return f'<div class="card">{explanation.shaded_html()}{_legend(explanation)}</div>'


def kgram_card(explanation: Explanation) -> str:
    """As `text_card`, with a sentence on how much of the score the shaded words carry."""
    account = explanation.word_account()
    covered = ""
    if account is not None and explanation.kgrams:
        mask = np.array([word.count > 0 for word in explanation.words])
        first, *rest = map(escape, account.summary(mask))
        covered = f'<p class="icaps-covered"><span>{first}</span> {" ".join(rest)}</p>'
    card = f"{covered}{explanation.shaded_html()}{_legend(explanation)}"
    return f'<div class="card">{card}</div>'


def account_card(explanation: Explanation, **options: Any) -> str:
    """The text with the share of each word in a card, with bars from the bias to the score; HTML.

    Args:
        explanation: The explanation of the text.
        **options: Of `Explanation.account_html`.
    """
    return f'<div class="card">{explanation.account_html(**options)}</div>'


def _legend(explanation: Explanation) -> str:
    return legend_row(explanation) if explanation.kgrams else ""


def _notes(explanation: Explanation) -> str:
    """What marks unknown words and words that were not read, if there are any; HTML."""
    notes = ""
    if any(not word.known for word in explanation.words):
        notes += ' <span class="unknown">unknown word</span>'
    if explanation.truncated:
        notes += ' <span class="icaps-unread">not read</span>'
    return notes


def legend_row(explanation: Explanation) -> str:
    """What each shade means: how many K-grams cover the word; HTML."""
    highest = max(min(word.count, MAX_LEVEL) for word in explanation.words)
    more = any(word.count > MAX_LEVEL for word in explanation.words)
    labels = [str(level) for level in range(1, highest + 1)]
    if more:
        labels[-1] += " or more"
    marks = "".join(
        f'<mark class="l{level}">{label}</mark>' for level, label in enumerate(labels, start=1)
    )
    return (
        '<p class="legend icaps-text">Number of K-grams covering the word '
        f"{marks}{_notes(explanation)}"
        '<span class="hint">Hover, tap or tab to a shaded word for details.</span></p>'
    )
