"""An input field per setting of a training: the common ones first, the others collapsed."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from dashboard import error_boundary
from icaps.config import (
    ACTIVATIONS,
    CLASS_WEIGHTS,
    SCORES,
    ModelConfig,
    Setting,
    TrainConfig,
    format_value,
    list_settings,
)

COMMON = ("epochs", "learning_rate", "batch_size", "max_words", "seed")
_CHOICES = {"activation": ACTIVATIONS, "class_weight": CLASS_WEIGHTS, "score": SCORES}
_OMITTED = ("hierarchical",)  # the launcher asks for it
_NONE = "none"  # of numbers that may be None
_MAX = 2**53 - 1  # the largest integer of a browser
_DIGITS = 100  # Python refuses integers of thousands of digits


def start_from(given: Mapping[str, Any]) -> None:
    """Fills the fields with these settings on the next run, and those of the base elsewhere."""
    st.session_state.setting_start = dict(given)


def ask(
    base: tuple[ModelConfig, TrainConfig], place: str, notes: Mapping[str, str]
) -> dict[str, str]:
    """Asks for the settings; returns those that replace the base's, as `--set` takes them.

    These are the settings that the visitor has changed, or that the fields were filled with.

    Args:
        base: The settings of the preset or the recipe, which the fields show first.
        place: The fields are reset when it changes, and a field when its value in the base does.
        notes: By name, what to say about settings that these texts call for: they are shown beside
            the common ones.
    """
    known = asdict(base[0]) | asdict(base[1])
    state = st.session_state
    if "setting_start" in state:  # copied from another training
        state.setting_turn = state.get("setting_turn", 0) + 1
        state.setting_given = (place, state.pop("setting_start"))
    given_place, given = state.get("setting_given", ("", {}))
    if given_place != place:
        given = {}
    fields = [field for kind in (ModelConfig, TrainConfig) for field in list_settings(kind)]
    fields = [field for field in fields if field.name not in _OMITTED]
    where = f"{place} {state.setting_turn}" if given_place == place else place
    values: dict[str, Any] = {}

    def ask_one(field: Setting) -> None:
        usual = known[field.name]
        values[field.name] = _ask_one(field, given.get(field.name, usual), usual, where)

    for field in sorted(fields, key=_rank):
        if field.name in COMMON:
            ask_one(field)
    for field in fields:
        if field.name in notes:
            ask_one(field)
            st.caption(error_boundary.plain(notes[field.name]))
    with st.expander("All settings", key="all_settings", on_change="rerun"):
        for field in fields:
            if field.name not in values:
                ask_one(field)
    return {
        name: format_value(value)
        for name, value in values.items()
        if value != known[name] or name in given
    }


def _rank(field: Setting) -> int:
    return COMMON.index(field.name) if field.name in COMMON else len(COMMON)


def _ask_one(field: Setting, start: Any, usual: Any, place: str) -> Any:
    label = field.name.replace("_", " ").capitalize()
    if field.symbol:
        label += f" ({field.symbol})"
    usual, default = format_value(usual), format_value(field.default)
    here = "" if usual == default else f" Here {usual}."
    options: dict[str, Any] = {
        "key": f"set {field.name} {place} {usual}",
        "help": f"{field.help[0].upper()}{field.help[1:]}. Default {default}.{here}",
        "persist_state": "session",
    }
    if field.type is bool:
        return st.checkbox(label, value=start, **options)
    if field.name in _CHOICES:
        choices = _CHOICES[field.name]
        return st.selectbox(label, choices, index=choices.index(start), **options)
    if field.type is int and start <= _MAX:
        return st.number_input(label, value=start, step=1, min_value=0, **options)
    if field.type is float:
        step = start / 10 or 0.01
        return st.number_input(label, value=start, step=step, min_value=0.0, format="%g", **options)
    if field.type is str:
        return st.text_input(label, value=start, **options)
    text = st.text_input(label, value=format_value(start), **options).strip()
    number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return None if text.lower() == _NONE else int(text) if number else text
