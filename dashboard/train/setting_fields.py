"""Input fields for the settings of a training, in groups, with the rarely changed ones folded.

The sidebar starts the same training as the page Train without showing the fields, so their values
are read from the session state, whether they are shown or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from dashboard import error_boundary
from icaps.config import (
    ACTIVATIONS,
    CLASS_WEIGHTS,
    LOSSES,
    ROUTINGS,
    SCORES,
    ModelConfig,
    Setting,
    TrainConfig,
    format_value,
    list_settings,
)

# What makes capsules specialise in classes, where the recipe does not; see docs/specialisation.md.
SPECIALISED = {
    "purity_weight": 0.2,
    "spread_weight": 0.1,
    "ramp_share": 0.5,
    "winner_sharpness": 200.0,
}
_CHOICES = {
    "activation": ACTIVATIONS,
    "class_weight": CLASS_WEIGHTS,
    "loss": LOSSES,
    "routing": ROUTINGS,
    "score": SCORES,
}
_OMITTED = ("hierarchical",)  # the form asks for the kind of texts
_NONE = "none"  # of numbers that may be None
_MAX = 2**53 - 1  # the largest integer of a browser
_DIGITS = 100  # Python refuses integers of thousands of digits
_FIELDS = {
    field.name: field
    for kind in (ModelConfig, TrainConfig)
    for field in list_settings(kind)
    if field.name not in _OMITTED
}


def start_from(given: Mapping[str, Any]) -> None:
    """Fills the fields with these settings on the next run, and those of the base elsewhere."""
    st.session_state.setting_start = dict(given)


class SettingFields:
    """The fields of all settings.

    They show the settings of a preset or the recipe first, or those that they are filled with.

    Args:
        base: The settings of the preset or the recipe.
        place: The fields are reset when it changes, and a field when its value in the base does.
    """

    def __init__(self, base: tuple[ModelConfig, TrainConfig], place: str) -> None:
        self._base = asdict(base[0]) | asdict(base[1])
        state = st.session_state
        if "setting_start" in state:  # copied from another training
            state.setting_turn = state.get("setting_turn", 0) + 1
            state.setting_given = (place, state.pop("setting_start"))
        given_place, given = state.get("setting_given", ("", {}))
        self._given: Mapping[str, Any] = given if given_place == place else {}
        self._place = f"{place} {state.setting_turn}" if given_place == place else place

    def changed(self) -> dict[str, str]:
        """The settings that replace the base's, as `--set` takes them.

        These are the settings that the visitor has changed, or that the fields were filled with.
        """
        values = {name: self._value(field) for name, field in _FIELDS.items()}
        return {
            name: format_value(value)
            for name, value in values.items()
            if value != self._base[name] or name in self._given
        }

    def show(self, names: Sequence[str], notes: Mapping[str, str] | None = None) -> None:
        """Shows some fields in two columns.

        Args:
            names: Of the settings.
            notes: By name, what these texts call for; shown below the field.
        """
        for n in range(0, len(names), 2):
            for place, name in zip(st.columns(2), names[n : n + 2], strict=False):
                with place:
                    self._show_one(_FIELDS[name])
                    if notes and name in notes:
                        st.caption(error_boundary.plain(notes[name]))

    def show_specialised(self) -> None:
        """A switch that sets the fields by which capsules specialise in classes."""
        key = f"specialised {self._place}"
        st.session_state[key] = self._value(_FIELDS["purity_weight"]) > 0

        def fill() -> None:
            values = {"purity_weight": 0.0, "spread_weight": 0.0}
            if st.session_state[key]:
                own = self._base["purity_weight"] > 0
                values = {name: self._base[name] for name in SPECIALISED} if own else SPECIALISED
            for name, value in values.items():
                st.session_state[self._key(name)] = value

        st.toggle(
            "Give each capsule a subject of its own",
            key=key,
            on_change=fill,
            help="Recommended for explanations: each capsule is tied to one class, and all are "
            "used. Without it a few capsules may win the texts of all classes, as in the paper. It "
            "sets the weights of two more losses, which are below.",
        )

    def _key(self, name: str) -> str:
        return f"set {name} {self._place} {format_value(self._base[name])}"

    def _start(self, name: str) -> Any:
        """The value of a field that the visitor has not changed."""
        return self._given.get(name, self._base[name])

    def _value(self, field: Setting) -> Any:
        """The value of a setting; a text for what is not a number."""
        start = self._start(field.name)
        value = st.session_state.get(self._key(field.name), start)
        if not isinstance(value, str) or not _is_text_of_number(field, start):
            return value
        text = value.strip()
        number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
        return None if text.lower() == _NONE else int(text) if number else text

    def _show_one(self, field: Setting) -> None:
        label = field.name.replace("_", " ").capitalize()
        if field.symbol:
            label += f" ({field.symbol})"
        start, key = self._start(field.name), self._key(field.name)
        usual, default = format_value(self._base[field.name]), format_value(field.default)
        here = "" if usual == default else f" Here {usual}."
        as_text = _is_text_of_number(field, start)
        st.session_state.setdefault(key, format_value(start) if as_text else start)
        options: dict[str, Any] = {
            "key": key,
            "help": f"{field.help[0].upper()}{field.help[1:]}. Default {default}.{here}",
            "persist_state": "session",
        }
        if field.type is bool:
            st.checkbox(label, **options)
        elif field.name in _CHOICES:
            st.selectbox(label, _CHOICES[field.name], **options)
        elif field.type is str or as_text:
            st.text_input(label, **options)
        elif field.type is int:
            st.number_input(label, step=1, min_value=0, **options)
        else:
            step = start / 10 or 0.01
            st.number_input(label, step=step, min_value=0.0, format="%g", **options)


def _is_text_of_number(field: Setting, start: Any) -> bool:
    """Whether a whole number is entered as text, as it may be none, or too large for a browser."""
    if field.type in (bool, float, str) or field.name in _CHOICES:
        return False
    return not (field.type is int and start <= _MAX)
