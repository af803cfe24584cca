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
from icaps.word_account import legend_html, with_shared_scale


def show_cards(
    model: ModelFolder,
    texts: Sequence[str],
    describe: Callable[[int, Explanation], str],
    shares_of: Callable[[int, Explanation], dict[str, str]] | None = None,
    link: bool = True,
    below: Callable[[int, Explanation], None] | None = None,
) -> None:
    """A legend, and a card for each text with its words or its K-grams shaded.

    Args:
        model: The model that explains them.
        texts: The texts.
        describe: From the number of a text in `texts` and its explanation to the line above it.
        shares_of: From the same to options of `Explanation.word_account`, for which words are
            shaded; None shades the K-grams.
        link: Whether each text has a link to Explain.
        below: Shows controls for a text below it, from the same as `describe`.
    """
    cut = [text[: settings.current().text_characters] for text in texts]
    read = list(explanations.explain_many(model, cut, ExplainOptions()))
    options = None if shares_of is None else [shares_of(n, one) for n, one in enumerate(read)]
    legend, cards = cards_of(read, options)
    st.html(legend)
    for n, (explanation, card) in enumerate(zip(read, cards, strict=True)):
        st.caption(error_boundary.plain(describe(n, explanation)))
        st.html(card)
        with st.container(horizontal=True, vertical_alignment="center"):
            if link:
                link_to_explain(model, texts[n])
            if below is not None:
                below(n, explanation)


def cards_of(
    read: Sequence[Explanation], options: Sequence[dict[str, str]] | None
) -> tuple[str, list[str]]:
    """One legend for explanations, and a card without legend for each; HTML.

    Args:
        read: The explanations.
        options: Of `Explanation.word_account` for each, whose words are shaded with one scale; None
            shades the K-grams.
    """
    accounts = {}
    if options is not None:
        found = {n: one.word_account(**options[n]) for n, one in enumerate(read) if not one.blank}
        accounts = {n: account for n, account in found.items() if account is not None}
        shared = with_shared_scale(list(accounts.values()))
        accounts = dict(zip(accounts, shared, strict=True))
    with_kgrams = [one for n, one in enumerate(read) if n not in accounts and one.kgrams]
    legend = legend_html(list(accounts.values())) + (
        legend_row(*with_kgrams) if with_kgrams else ""
    )
    bodies = [
        accounts[n].to_html(legend=False) if n in accounts else _covered_kgrams(one)
        for n, one in enumerate(read)
    ]
    return f'<div class="legends">{legend}</div>', [f'<div class="card">{b}</div>' for b in bodies]


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
    return f'<div class="card">{_covered_kgrams(explanation)}{_legend(explanation)}</div>'


def _covered_kgrams(explanation: Explanation) -> str:
    account = explanation.word_account()
    covered = ""
    if account is not None and explanation.kgrams:
        mask = np.array([word.count > 0 for word in explanation.words])
        first, *rest = map(escape, account.summary(mask))
        covered = f'<p class="icaps-covered"><span>{first}</span> {" ".join(rest)}</p>'
    return f"{covered}{explanation.shaded_html()}"


def account_card(explanation: Explanation, **options: Any) -> str:
    """The text with the share of each word in a card, with bars from the bias to the score; HTML.

    Args:
        explanation: The explanation of the text.
        **options: Of `Explanation.account_html`.
    """
    return f'<div class="card">{explanation.account_html(**options)}</div>'


def _legend(explanation: Explanation) -> str:
    return legend_row(explanation) if explanation.kgrams else ""


def _notes(explained: Sequence[Explanation]) -> str:
    """What marks unknown words and words that were not read, if there are any; HTML."""
    notes = ""
    if any(not word.known for one in explained for word in one.words):
        notes += ' <span class="unknown">unknown word</span>'
    if any(one.truncated for one in explained):
        notes += ' <span class="icaps-unread">not read</span>'
    return notes


def legend_row(*explained: Explanation) -> str:
    """What each shade means in explanations: how many K-grams cover the word; HTML."""
    counts = [word.count for explanation in explained for word in explanation.words]
    highest, more = min(max(counts), MAX_LEVEL), max(counts) > MAX_LEVEL
    labels = [str(level) for level in range(1, highest + 1)]
    if more:
        labels[-1] += " or more"
    marks = "".join(
        f'<mark class="l{level}">{label}</mark>' for level, label in enumerate(labels, start=1)
    )
    return (
        '<p class="legend icaps-text">Number of K-grams covering the word '
        f"{marks}{_notes(explained)}"
        '<span class="hint">Hover, tap or tab to a shaded word for details.</span></p>'
    )
