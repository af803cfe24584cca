"""A text box that answers as one types, which Streamlit's own does only when it is left."""

import streamlit as st

# Streamlit applies a text at Ctrl+Enter; this presses it after a pause. Never inside a composition
# (Chinese, Japanese, accents), which it would break.
_SCRIPT = """
export default function ({ data }) {
  const box = document.querySelector(`textarea[aria-label="${CSS.escape(data.label)}"]`);
  if (!box) return;
  const apply = () => box.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  let timer = setTimeout(apply, data.pause); // what was typed before this came
  const wait = (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(apply, data.pause);
  };
  for (const name of ["input", "compositionend"]) box.addEventListener(name, wait);
  return () => {
    clearTimeout(timer);
    for (const name of ["input", "compositionend"]) box.removeEventListener(name, wait);
  };
}
"""
PAUSE = 300  # milliseconds

_component = st.components.v2.component("icaps_live_text", js=_SCRIPT)


def answer_while_typing(label: str) -> None:
    """Applies the text area of this label after each pause in typing."""
    _component(key=f"live {label}", data={"label": label, "pause": PAUSE}, height=0)
