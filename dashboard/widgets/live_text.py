"""A text box that answers as one types, which Streamlit's own does only when it is left."""

import streamlit as st

# Streamlit applies a text at Ctrl+Enter; this presses it after a pause. Never inside a composition
# (Chinese, Japanese, accents), which it would break.
_SCRIPT = """
export default function ({ data }) {
  // The box may come after this, and another in its place: so it is looked for each time.
  const place = `textarea[aria-label="${CSS.escape(data.label)}"]`;
  const apply = () => document.querySelector(place)?.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  let timer = setTimeout(apply, data.pause); // what was typed before this came
  const wait = (event) => {
    if (!event.target.matches(place)) return;
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(apply, data.pause);
  };
  for (const name of ["input", "compositionend"]) document.addEventListener(name, wait);
  return () => {
    clearTimeout(timer);
    for (const name of ["input", "compositionend"]) document.removeEventListener(name, wait);
  };
}
"""
PAUSE = 300  # milliseconds

_component = st.components.v2.component("icaps_live_text", js=_SCRIPT)


def answer_while_typing(label: str) -> None:
    """Applies the text area of this label after each pause in typing."""
    _component(key=f"live {label}", data={"label": label, "pause": PAUSE}, height=0)
