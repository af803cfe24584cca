"""What all pages have in common: style sheet, title, tabs, and what to do without a model."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from icaps.html import SHADING_STYLE

_STYLE_FILE = Path(__file__).resolve().parents[1] / "style.css"

# Streamlit's place to drop files has a name and a role that forbids one, which screen readers
# resolve differently (axe: presentation-role-conflict).
_DROP_ROLE = """
export default function () {
  const mend = () => document.querySelectorAll('section[role="presentation"][aria-label]')
    .forEach((place) => place.setAttribute("role", "group"));
  const observer = new MutationObserver(mend);
  observer.observe(document.body, { childList: true, subtree: true });
  mend();
  return () => observer.disconnect();
}
"""
_drop_role = st.components.v2.component("icaps_drop_role", js=_DROP_ROLE)


def load_style() -> None:
    """Adds the style sheet to the page."""
    st.html(f"<style>{SHADING_STYLE}{_STYLE_FILE.read_text(encoding='utf-8')}</style>")


def correct_roles() -> None:
    """Corrects the role of places to drop files; to be called last, as it takes a line."""
    _drop_role(key="drop role", height=0)


def show_title(title: str, lead: str, wide: bool = False) -> None:
    """The title of a page and the sentence below it; a wide page uses wide screens."""
    st.title(title, anchor=False)
    st.html(f'<p class="lead{" wide" * wide}">{lead}</p>')


def master_detail(key: str, master: int = 3, detail: int = 2) -> Sequence[DeltaGenerator]:
    """Two containers beside each other on a screen of 1,200 pixels or more, else one below.

    The detail stays in sight while the master is scrolled, and scrolls on its own.

    Args:
        key: Different for each pair on a page.
        master, detail: Their shares of the width.
    """
    with st.container(key=f"master-detail-{key}"):
        return st.columns([master, detail], gap="medium")


def show_how_to_train() -> None:
    """What to do if there is no model."""
    st.subheader("There is no model yet")
    st.write("Train one on a file with a text and a label column, then reload this page:")
    st.code("python -m icaps train --data my_texts.csv --out runs/my_model", language="bash")


def open_tab(names: Sequence[str], key: str) -> tuple[str, DeltaGenerator]:
    """Shows tabs; returns the name and the container of the open one."""
    tabs = st.tabs(names, key=key, on_change="rerun")
    opened = ((name, tab) for name, tab in zip(names, tabs, strict=True) if tab.open)
    return next(opened, (names[0], tabs[0]))
