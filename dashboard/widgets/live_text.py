"""A text area that applies its text while the visitor types, and not only when it loses focus."""

import streamlit as st

# Streamlit applies a text on Ctrl+Enter; this script sends it after a pause. Never during the
# composition of a character (Chinese, Japanese, accents), which it would interrupt.
_SCRIPT = """
export default function ({ data }) {
  // The text area may be created after this, or replaced, so it is looked up each time.
  const place = `textarea[aria-label="${CSS.escape(data.label)}"]`;
  const apply = () => document.querySelector(place)?.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  let timer = setTimeout(apply, data.pause); // for what was typed before this loaded
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
PAUSE = 180  # milliseconds

_component = st.components.v2.component("icaps_live_text", js=_SCRIPT)


def apply_while_typing(label: str) -> None:
    """Applies the text area with this label after each pause in typing."""
    _component(key=f"live {label}", data={"label": label, "pause": PAUSE}, height=0)
