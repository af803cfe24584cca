"""Asks for the text to explain."""

import streamlit as st

from dashboard import quotas, settings, url_state
from dashboard.example_texts import EXAMPLES
from dashboard.widgets import live_text
from icaps.html import printable


def ask_text() -> str:
    """Asks for a text, typed or one of the examples; control characters become U+FFFD.

    Raises:
        NotAllowedError: It is too long.
    """
    st.pills(
        "Examples",
        list(EXAMPLES),
        key="example",
        on_change=url_state.take_example,
        label_visibility="collapsed",
    )
    text = st.text_area(
        "Your text",
        key="text",
        height=110,
        max_chars=settings.current().text_characters,
        on_change=url_state.forget_example,
        persist_state="session",
    )
    live_text.apply_while_typing("Your text")
    if not url_state.text_fits_link():
        st.caption(
            f"A link to this page leaves out a text of more than {url_state.MAX_LINK:,} characters."
        )
    quotas.text(text)
    return printable(text)
