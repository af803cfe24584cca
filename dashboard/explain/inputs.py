"""Asks for the text to explain, and how it is shaded."""

import streamlit as st

from dashboard import error_boundary, quotas, settings, url_state
from dashboard.example_texts import EXAMPLES
from dashboard.widgets import live_text
from icaps.html import printable
from icaps.results import Explanation


def ask_text() -> str:
    """Asks for a text, typed or one of the examples; control characters become U+FFFD.

    Raises:
        NotAllowedError: It is too long.
    """
    text = st.text_area(
        "Your text",
        key="text",
        height=110,
        max_chars=settings.current().text_characters,
        on_change=url_state.forget_example,
        persist_state="session",
        placeholder="Type or paste a text, or choose an example below.",
    )
    st.pills(
        "Examples",
        list(EXAMPLES),
        key="example",
        on_change=url_state.take_example,
        label_visibility="collapsed",
    )
    live_text.apply_while_typing("Your text")
    if not url_state.text_fits_link():
        st.caption(
            f"A link to this page leaves out a text of more than {url_state.MAX_LINK:,} characters."
        )
    quotas.text(text)
    return printable(text)


def ask_shading(explanation: Explanation) -> str:
    """Asks how the text is shaded: one of `url_state.SHADINGS`; not for a text without a reason."""
    if explanation.blank:
        return url_state.EVERY_WORD
    labels = {url_state.EVERY_WORD: "Every word", url_state.KGRAMS: "K-grams"}
    if explanation.target != explanation.predicted:
        labels[url_state.CONTRAST] = error_boundary.plain(
            f"Why {explanation.predicted} rather than {explanation.target}"
        )
    url_state.set_default("shading")
    url_state.choose_among("shading", list(labels))
    chosen = st.segmented_control(
        "Shading",
        list(labels),
        format_func=labels.__getitem__,
        key="shading",
        label_visibility="collapsed",
        persist_state="session",
    )
    return str(chosen or url_state.EVERY_WORD)
