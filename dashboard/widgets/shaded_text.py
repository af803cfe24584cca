"""Texts with their K-grams shaded: one in a card with its legend, or several below each other."""

from collections.abc import Callable, Sequence

import streamlit as st

from dashboard import error_boundary, nav, settings
from dashboard.cache import explanations
from dashboard.model_registry import ModelFolder
from dashboard.url_state import MAX_LINK
from icaps.config import ExplainOptions
from icaps.html import MAX_LEVEL, printable
from icaps.results import Explanation


def show_cards(
    model: ModelFolder,
    texts: Sequence[str],
    describe: Callable[[int, Explanation], str],
    link: bool = True,
) -> None:
    """A card for each text, with the K-grams of the explanations shaded.

    Args:
        describe: From the number of a text in `texts` and its explanation to the line above it.
        link: Whether each text has a link to Explain.
    """
    cut = [text[: settings.current().text_characters] for text in texts]
    for n, explanation in enumerate(explanations.explain_many(model, cut, ExplainOptions())):
        st.caption(error_boundary.plain(describe(n, explanation)))
        st.html(text_card(explanation))
        if link:
            link_to_explain(model, texts[n])


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
    """The shaded text in a card, with a legend if there is something to explain; HTML."""
    legend = legend_row(explanation) if explanation.kgrams else ""
    return f'<div class="card">{explanation.shaded_html()}{legend}</div>'


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
        f'<p class="legend icaps-text">Number of K-grams covering the word {marks}'
        '<span class="hint">Hover, tap or tab to a shaded word for details.</span></p>'
    )
