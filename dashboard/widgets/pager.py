"""Which page of a long list is shown."""

import streamlit as st


def ask_page(count: int, size: int, key: str) -> slice:
    """Asks for a page of `size` of the `count` items; shows no field if they fit on one page."""
    pages = max(-(-count // size), 1)
    st.session_state[key] = min(st.session_state.get(key, 1), pages)
    if pages == 1:
        return slice(0, size)
    page = st.number_input(
        f"Page of {pages:,}", 1, pages, key=key, width=180, persist_state="session"
    )
    return slice((page - 1) * size, page * size)
