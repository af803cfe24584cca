"""The text that is being labelled: large, with the model's guess, a key per class, and undo."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard import error_boundary, logs, quotas, settings
from dashboard.cache import explanations
from dashboard.example_texts import EXAMPLES
from dashboard.label import keys, training, word_marks
from dashboard.label.desk import Desk, current
from dashboard.model_registry import ModelFolder, default_model, find_models
from dashboard.widgets.shaded_text import link_to_explain
from icaps.config import ExplainOptions
from icaps.data.label_sets import names_in
from icaps.data.surrogates import replace_surrogates
from icaps.errors import ICapsError
from icaps.html import chance, escape, printable
from icaps.label.queue import Item
from icaps.reports.charts import class_colors
from icaps.results import Explanation

GUESS, MARKING = "label guess", "label marking"  # of the session state: what is shown
_MOST = 20_000  # characters of a text that no model reads

# A key that is held down is pressed once: its repetitions would label texts that nobody has read.
_NO_REPEATS = """
export default function () {
  const stop = (event) => {
    if (event.repeat && !event.target.closest?.("input, textarea, [role=group]"))
      event.stopImmediatePropagation();
  };
  window.addEventListener("keydown", stop, true);
  return () => window.removeEventListener("keydown", stop, true);
}
"""
_no_repeats = st.components.v2.component("icaps_no_repeats", js=_NO_REPEATS)


def show() -> None:
    """The text of the desk that is open, with its buttons; runs again by itself at each key."""
    with error_boundary.shown():
        _show(current())


def _show(desk: Desk) -> None:
    with error_boundary.shown():
        if not desk.ready:
            with st.spinner("Choosing the texts …"):
                desk.advance()
        else:
            desk.advance()
    if desk.problem:
        st.error(error_boundary.message(desk.problem), icon=":material/error:")
    item = desk.item
    if item is None:
        _show_end(desk)
    else:
        explanation = _explain(desk, item)
        _show_why(item)
        _show_guess(desk.model, item, explanation)
        if st.session_state.get(MARKING):
            _show_marking(desk, item)
        else:
            _show_text(item, explanation)
        if not quotas.read_only():
            _ask_class(desk, item, explanation)
    with error_boundary.shown():
        training.start_if_due(desk)
    if not quotas.read_only():
        _ask_others(desk, item)
        _no_repeats(key="label no repeats", height=0)
    if desk.note:
        st.caption(error_boundary.plain(desk.note))
    _show_progress(desk)


def show_example() -> None:
    """What a text looks like on this page, by the model that comes first."""
    models = find_models()
    if not models:
        return
    model = default_model(models)
    text = next(iter(EXAMPLES.values()))
    st.header("What labelling looks like", anchor=False)
    st.caption("Each class has a key, and the words behind the model's guess are shaded.")
    explanation = explanations.explain(model, text, ExplainOptions())
    item = Item(0, text, "The model is least sure of texts like this one, so they come first.")
    _show_why(item)
    _show_guess(model, item, explanation)
    _show_text(item, explanation)


def _show_end(desk: Desk) -> None:
    left = desk.task.progress().left
    if left:
        st.info(
            f"This order has no text left; {left:,} others are not labelled. Choose another order.",
            icon=":material/filter_list:",
        )
    else:
        st.success("All texts are labelled or skipped.", icon=":material/done_all:")


def _explain(desk: Desk, item: Item) -> Explanation | None:
    """The explanation by the model; None without one, and for the held-out part.

    A guess that is seen sways the label, which is to measure the model.
    """
    if desk.model is None or item.held_out or not st.session_state.get(GUESS, True):
        return None
    text = replace_surrogates(item.text[: settings.current().text_characters])
    try:
        return explanations.explain(desk.model, text, ExplainOptions())
    except quotas.NotAllowedError as error:  # too many requests; the text can be labelled
        st.caption(error_boundary.message(str(error)))
        return None


def _show_why(item: Item) -> None:
    label = ""
    if item.label:
        names = ", ".join(names_in(item.label)) or "none of the classes"
        label = f" <b>Its label is {escape(names)}.</b>"
    st.html(f'<p class="why">{escape(item.why)}{label}</p>')


def _show_guess(model: ModelFolder | None, item: Item, explanation: Explanation | None) -> None:
    if model is None:
        return
    if item.held_out:
        line = "The model's guess is not shown, so that it does not sway the label."
    elif explanation is None:
        return
    elif explanation.blank:
        line = "The model knows none of its words."
    else:
        probabilities = dict(zip(explanation.classes, explanation.probabilities, strict=True))
        names = explanation.predicted_classes or (explanation.predicted,)
        colors = class_colors(explanation.classes)
        guesses = ", ".join(
            f'<b style="--class: {colors[name]}">{escape(name)}</b> '
            f"{escape(chance(probabilities[name]))}"
            for name in names
        )
        none = "none of the classes; the likeliest is " * (explanation.predicted_classes == ())
        line = f"Guess of {escape(model.name)}: {none}{guesses}"
    st.html(f'<p class="guess">{line}</p>')


def _show_text(item: Item, explanation: Explanation | None) -> None:
    if explanation is None or explanation.blank:
        body = f'<div class="icaps-text" dir="auto">{escape(item.text[:_MOST])}</div>'
    else:
        body = explanation.account_html(bars=False)
    st.html(f'<div class="card to-label">{body}</div>')


def _show_marking(desk: Desk, item: Item) -> None:
    """The words without shades, which would sway what a person marks."""
    name = desk.chosen[-1] if desk.chosen else ""
    known = desk.words.get(name, frozenset())
    if not desk.task.several:
        known = frozenset().union(*desk.words.values())
    key = f"label words {item.id} {name} {desk.words_version}"
    marked = word_marks.ask(item.text, known, key)
    if frozenset(marked) != known:
        desk.mark(name, marked)
    of = f"for {printable(name)}" if name else "for its class"
    words = "1 word" if len(marked) == 1 else f"{len(marked):,} words"
    st.caption(error_boundary.plain(f"{words} marked as the reason {of}."))


def _ask_class(desk: Desk, item: Item, explanation: Explanation | None) -> None:
    """A button per class; of more classes than keys a list of the others."""
    classes = desk.task.classes
    likeliest = [] if explanation is None else [n for n, _, _ in explanation.ranked_classes]
    with_key = keys.of_classes(classes, likeliest)
    several = desk.task.several
    with st.container(horizontal=True, gap="small", key="label classes"):
        for name, key in with_key.items():
            st.button(
                error_boundary.plain(name),
                key=f"label {item.id} {name}",
                shortcut=key,
                type="primary" if name in desk.chosen else "secondary",
                on_click=_do,
                args=(Desk.toggle, item.id, name) if several else (Desk.give, item.id, [name]),
            )
        if several:
            chosen = ", ".join(desk.chosen)
            st.button(
                error_boundary.plain(f"Confirm: {chosen}" if chosen else "Confirm: none of them"),
                key=f"label confirm {item.id}",
                icon=":material/check:",
                shortcut=keys.CONFIRM,
                on_click=_do,
                args=(Desk.give, item.id, list(desk.chosen)),
            )
    others = [name for name in classes if name not in with_key]
    if others:
        st.selectbox(
            "Another class",
            others,
            index=None,
            key=f"label other {item.id} {len(desk.chosen)}",
            placeholder=f"{len(others):,} more classes: type a part of the name",
            on_change=_take_other,
            args=(item.id, f"label other {item.id} {len(desk.chosen)}", several),
        )


def _ask_others(desk: Desk, item: Item | None) -> None:
    """Undo, skip, marking of words, and the link to Explain."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="label row"):
        st.button(
            "Undo",
            key=f"label undo {None if item is None else item.id}",
            icon=":material/undo:",
            shortcut=keys.UNDO,
            type="tertiary",
            disabled=not desk.can_undo,
            on_click=_do,
            args=(Desk.undo,),
        )
        if item is None:
            return
        st.button(
            "Skip",
            key=f"label skip {item.id}",
            icon=":material/skip_next:",
            shortcut=keys.SKIP,
            type="tertiary",
            on_click=_do,
            args=(Desk.skip, item.id),
        )
        marking = bool(st.session_state.get(MARKING))
        few = len(item.text.split()) <= word_marks.MAX_WORDS
        st.button(
            "Stop marking" if marking else "Mark words",
            key="label mark",
            icon=":material/ink_highlighter:",
            shortcut=keys.MARK,
            type="tertiary",
            disabled=not (marking or few),
            help="Mark the words that show the class; they are kept as a file of words.",
            on_click=_switch_marking,
        )
        if desk.model is not None and not item.held_out:
            link_to_explain(desk.model, item.text)


def _show_progress(desk: Desk) -> None:
    """How much is labelled, in all and by class; HTML."""
    progress = desk.task.progress()
    parts = [f"<b>{progress.labelled:,}</b> of {progress.texts:,} labelled"]
    if progress.held_out_labelled < progress.held_out:
        parts.append(f"{progress.held_out_labelled:,} of {progress.held_out:,} held out")
    if progress.skipped:
        parts.append(f"{progress.skipped:,} skipped")
    if progress.given:
        parts.append(f"{progress.given:,} as given by the data")
    if progress.by_models:
        parts.append(f"{progress.by_models:,} by a model")
    most = max(progress.by_class.values(), default=0)
    colors = class_colors(list(progress.by_class))
    rows = "".join(
        f'<tr><th dir="auto" title="{escape(name)}">{escape(name)}<td class="bar">'
        f'<div style="--width: {count / max(most, 1):.1%}; background: {colors[name]}"></div>'
        f'<td class="n">{count:,}'
        for name, count in progress.by_class.items()
    )
    st.html(
        f'<p class="side-title progress">{" · ".join(parts)}</p><div class="classes counts">'
        f'<table aria-label="Labels of each class"><tbody>{rows}</tbody></table></div>'
    )


def _do(step: Callable[..., None], *arguments: Any) -> None:
    """A step of the desk; what refuses it is shown with the text."""
    desk = current()
    desk.problem = desk.note = ""
    try:
        step(desk, *arguments)
    except ICapsError as error:
        logs.user_error(error)
        desk.problem = str(error)


def _switch_marking() -> None:
    st.session_state[MARKING] = not st.session_state.get(MARKING)


def _take_other(id: int, key: str, several: bool) -> None:
    name = st.session_state.get(key)
    if name is not None:
        _do(*((Desk.toggle, id, name) if several else (Desk.give, id, [name])))
