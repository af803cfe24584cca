"""What all pages have in common: style sheet, title, tabs, and what to do without a model."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import nav, url_state
from icaps.html import SHADING_STYLE

_STYLE_FILE = Path(__file__).resolve().parents[1] / "style.css"

# Four things that Streamlit lacks:
# - Its place to drop files has a name and a role that forbids one, which screen readers resolve
#   differently (axe: presentation-role-conflict).
# - Its message about a server that has stopped names a script that is not this app.
# - A page adds its state to its address as a second entry of the browser's history, so that the
#   first press of Back would lead to the same page. The entry replaces the first one if it has
#   all its parameters.
# - Dialogs and popovers are outside the element whose color scheme is that of the theme.
_CORRECTIONS = """
function correctHistory() {
  if (window.icapsHistory) return;
  window.icapsHistory = true;
  const push = history.pushState.bind(history);
  let fresh = !location.search; // the page has not added its state to its address yet
  window.addEventListener("popstate", () => { fresh = false; });
  history.pushState = (state, title, address) => {
    const to = new URL(address ?? "", location.href);
    const page = to.pathname === location.pathname;
    const added = new URLSearchParams(to.search);
    const kept = [...new URLSearchParams(location.search)]
      .every(([name, value]) => added.get(name) === value);
    if (page && fresh && kept) history.replaceState(state, title, address);
    else push(state, title, address);
    fresh = !page;
  };
}
function correctScheme() {
  const app = document.querySelector(".stApp");
  if (app) document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
}
function correctPage() {
  document.querySelectorAll('section[role="presentation"][aria-label]')
    .forEach((place) => place.setAttribute("role", "group"));
  document.querySelectorAll('[role="dialog"] code').forEach((code) => {
    if (code.textContent.includes("yourscript.py")) code.textContent = "make run";
  });
}
export default function () {
  correctHistory();
  const mend = correctPage;
  const observer = new MutationObserver(mend);
  observer.observe(document.body, { childList: true, subtree: true });
  mend();
  const themes = new MutationObserver(correctScheme);
  const app = document.querySelector(".stApp");
  if (app) themes.observe(app, { attributeFilter: ["class"] });
  correctScheme();
  return () => { observer.disconnect(); themes.disconnect(); };
}
"""
_corrections = st.components.v2.component("icaps_corrections", js=_CORRECTIONS)


def load_style() -> None:
    """Adds the style sheet to the page."""
    st.html(f"<style>{SHADING_STYLE}{_STYLE_FILE.read_text(encoding='utf-8')}</style>")


def correct_streamlit() -> None:
    """Corrects roles, a message, the browser's history and the colours of dialogs.

    To be called last: it takes a line.
    """
    _corrections(key="corrections", height=0)


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
    st.header("There is no model yet")
    st.write("Train one on your labelled texts: a file with a text and its class in each row.")
    st.page_link(
        nav.page("train"),
        label="New training",
        icon=":material/model_training:",
        query_params={"train_view": url_state.NEW_TRAINING},
    )


def open_tab(names: Sequence[str], key: str) -> tuple[str, DeltaGenerator]:
    """Shows tabs; returns the name and the container of the open one."""
    tabs = st.tabs(names, key=key, on_change="rerun")
    opened = ((name, tab) for name, tab in zip(names, tabs, strict=True) if tab.open)
    return next(opened, (names[0], tabs[0]))
