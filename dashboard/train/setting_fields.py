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
    list_settings,
)

COMMON = ("epochs", "learning_rate", "batch_size", "max_words", "seed")
_CHOICES = {"activation": ACTIVATIONS, "class_weight": CLASS_WEIGHTS, "score": SCORES}
_OMITTED = ("hierarchical",)  # the launcher asks for it
_NONE = "none"  # of numbers that may be None
_MAX = 2**53 - 1  # the largest integer of a browser
_DIGITS = 100  # Python refuses integers of thousands of digits


def start_from(model: ModelConfig, train: TrainConfig) -> None:
    """Fills the fields with these settings on the next run."""
    st.session_state.setting_start = asdict(model) | asdict(train)


def ask(
    base: tuple[ModelConfig, TrainConfig],
    starts: Mapping[str, Any],
    place: str,
    notes: Mapping[str, str],
) -> dict[str, str]:
    """Asks for the settings; returns those that differ from the base, as `--set` takes them.

    Args:
        base: The settings of the preset, or the defaults.
        starts: Initial values of fields that differ from the base.
        place: The fields are reset when it changes.
        notes: By name, what to say about settings that these texts call for: they are shown beside
            the common ones.
    """
    known = asdict(base[0]) | asdict(base[1])
    begin = known | starts
    state = st.session_state
    if "setting_start" in state:  # copied from another training
        state.setting_turn = state.get("setting_turn", 0) + 1
        state.setting_given = (place, state.pop("setting_start"))
    given_place, given = state.get("setting_given", ("", {}))
    if given_place == place:
        begin |= given
    fields = [field for kind in (ModelConfig, TrainConfig) for field in list_settings(kind)]
    fields = [field for field in fields if field.name not in _OMITTED]
    where = f"{place} {state.setting_turn}" if given_place == place else place
    values: dict[str, Any] = {"hierarchical": begin["hierarchical"]}
    for field in sorted(fields, key=_rank):
        if field.name in COMMON:
            values[field.name] = _ask_one(field, begin[field.name], where)
    for field in fields:
        if field.name in notes:
            values[field.name] = _ask_one(field, begin[field.name], where)
            st.caption(error_boundary.plain(notes[field.name]))
    with st.expander("All settings", key="all_settings", on_change="rerun"):
        for field in fields:
            if field.name not in values:
                values[field.name] = _ask_one(field, begin[field.name], where)
    return {name: _written(value) for name, value in values.items() if value != known[name]}


def _rank(field: Setting) -> int:
    return COMMON.index(field.name) if field.name in COMMON else len(COMMON)


def _ask_one(field: Setting, start: Any, place: str) -> Any:
    label = field.name.replace("_", " ").capitalize()
    if field.symbol:
        label += f" ({field.symbol})"
    default = _written(field.default)
    options: dict[str, Any] = {
        "key": f"set {field.name} {place}",
        "help": f"{field.help[0].upper()}{field.help[1:]}. Default {default}.",
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
    text = st.text_input(label, value=_written(start), **options).strip()
    number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return None if text.lower() == _NONE else int(text) if number else text


def _written(value: Any) -> str:
    return _NONE if value is None else str(value).lower() if isinstance(value, bool) else str(value)
