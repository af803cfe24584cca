"""The pages, their order and titles."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

_FOLDER = Path(__file__).resolve().parents[1] / "pages"
_PAGES = {
    "explain": ("Explain", ":material/format_ink_highlighter:"),
    "many": ("Many texts", ":material/table_rows:"),
    "capsules": ("Capsules", ":material/grid_on:"),
    "queries": ("Queries", ":material/scatter_plot:"),
    "evaluate": ("Evaluate", ":material/target:"),
    "shortcuts": ("Shortcuts", ":material/alt_route:"),
    "compare": ("Compare", ":material/compare_arrows:"),
    "datasets": ("Datasets", ":material/dataset:"),
    "label": ("Label", ":material/new_label:"),
    "train": ("Train", ":material/model_training:"),
}


def build(*, hidden: bool) -> StreamlitPage:
    """Builds the navigation, which may be hidden, and returns the selected page."""
    pages = [page(name) for name in _PAGES]
    return st.navigation(pages, position="hidden" if hidden else "sidebar")


def name_of(page: StreamlitPage) -> str:
    """The name of the page's file."""
    return page.url_path or next(iter(_PAGES))


def page(name: str) -> StreamlitPage:
    """The page with this file name, for navigation and links."""
    title, icon = _PAGES[name]
    return st.Page(
        _FOLDER / f"{name}.py", title=title, icon=icon, url_path=name, default=name == "explain"
    )
