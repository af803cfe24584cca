"""The text whose words a person marks: by a click, by dragging over several, or by keys."""

from collections.abc import Collection

import streamlit as st

from icaps.data.marked_words import split_text
from icaps.html import printable

MAX_WORDS = 2_000  # of a text that can be marked; more are slow to draw

# Of the words one can be reached by Tab, and the others from it by arrow keys. What is marked is
# sent when it changes, and drawn anew only for another key.
_SCRIPT = """
export default function ({ parentElement, data, setStateValue }) {
  let box = parentElement.querySelector(".markable");
  if (!box) {
    box = document.createElement("div");
    box.className = "card markable";
    parentElement.appendChild(box);
  }
  if (box.dataset.version === data.version) return; // what is drawn is newer than the data
  box.dataset.version = data.version;
  const group = document.createElement("div");
  group.className = "icaps-text";
  group.dir = "auto";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", data.label);
  const marked = new Set(data.marked);
  const words = data.words.map((word, n) => {
    const button = document.createElement("span");
    button.textContent = word;
    button.setAttribute("role", "checkbox");
    button.tabIndex = n ? -1 : 0;
    group.append(button, " ");
    return button;
  });
  const draw = () => words.forEach((word, n) => word.setAttribute("aria-checked", marked.has(n)));
  const toggle = (from, to) => {
    const range = Array.from({ length: to - from + 1 }, (_, n) => from + n);
    const all = range.every((n) => marked.has(n));
    range.forEach((n) => (all ? marked.delete(n) : marked.add(n)));
    draw();
    setStateValue("marked", [...marked].sort((a, b) => a - b));
  };
  const focus = (n) => {
    words.forEach((word, other) => { word.tabIndex = other === n ? 0 : -1; });
    words[n].focus();
  };
  const last = words.length - 1;
  const at = (event) => words.indexOf(event.target.closest?.('[role="checkbox"]'));
  let start = -1;
  group.addEventListener("pointerdown", (event) => {
    start = at(event);
    if (event.target.hasPointerCapture?.(event.pointerId)) // else a finger stays with its word
      event.target.releasePointerCapture(event.pointerId);
  });
  group.addEventListener("pointerup", (event) => {
    const end = words.indexOf(
      document.elementFromPoint(event.clientX, event.clientY)?.closest('[role="checkbox"]'));
    if (start >= 0 && end >= 0) {
      toggle(Math.min(start, end), Math.max(start, end));
      focus(end);
      getSelection().removeAllRanges();
    }
    start = -1;
  });
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  group.addEventListener("keydown", (event) => {
    const here = at(event);
    if (here < 0) return;
    if (event.key === " ") toggle(here, here);
    else if (event.key in steps) focus(Math.min(Math.max(here + steps[event.key], 0), last));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  draw();
  box.replaceChildren(group);
}
"""
_component = st.components.v2.component("icaps_word_marks", js=_SCRIPT, isolate_styles=False)


def ask(text: str, marked: Collection[int], key: str) -> list[int]:
    """Shows a text whose words can be marked; returns the numbers of the marked ones.

    Args:
        text: The text.
        marked: What is marked, which is read only when the widget appears.
        key: Of the widget, different for each text and after each change from elsewhere.
    """
    words = split_text(printable(text))
    start = sorted(marked)
    result = _component(
        key=key,
        data={"words": words, "marked": start, "version": key, "label": "Words of the text"},
        default={"marked": start},
        on_marked_change=lambda: None,
    )
    return [n for n in result.marked or [] if isinstance(n, int) and 0 <= n < len(words)]
