"""Asks how the map of queries is drawn."""

import streamlit as st

from dashboard import url_state
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import SPACES

_SPACES = {"effective": "effective queries, in one space", "queries": "queries h, as in the paper"}
_METHODS = {"tsne": "t-SNE", "pca": "PCA (linear)"}


def ask_map() -> tuple[str, str, float, int]:
    """Asks for the space, the method, the perplexity and the seed."""
    left, right = st.columns(2, gap="small")
    space = left.selectbox(
        "Space", SPACES, format_func=_SPACES.__getitem__, key="space", persist_state="session"
    )
    method = right.selectbox(
        "Method", METHODS, format_func=_METHODS.__getitem__, key="method", persist_state="session"
    )
    unused = method != "tsne"
    url_state.set_default("perplexity")
    url_state.set_default("map_seed")
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    perplexity = left.slider(
        "Perplexity",
        1.0,
        50.0,
        step=1.0,
        key="perplexity",
        disabled=unused,
        persist_state="session",
    )
    seed = right.number_input(
        "Seed", 0, 9_999, key="map_seed", disabled=unused, persist_state="session"
    )
    return space, method, perplexity, int(seed)
