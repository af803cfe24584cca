"""Warnings about a model and its scores: results at chance, few capsules, texts of the training."""

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import error_boundary
from icaps.evaluate.leakage import Leak, percent
from icaps.train.parts import HELD_OUT
from icaps.train.result_warnings import FEW, ResultWarning

_UNKNOWN = (
    "Whether this model was trained on these texts is not known, as an earlier version trained it."
)
_HELD_OUT = (
    "No weight was fitted to these {:,} texts, but the epoch was chosen and the probabilities were "
    "calibrated by them. Texts that no training has read are a stricter test."
)


def show(warnings: Sequence[ResultWarning]) -> None:
    """A box per warning, with what to do; notes have the colour of information."""
    for warning in warnings:
        box, icon = (st.warning, "warning") if warning.serious else (st.info, "info")
        box(error_boundary.plain(str(warning)), icon=f":material/{icon}:")


def show_at_answer(warnings: Sequence[ResultWarning]) -> None:
    """As `show` beside the explanation of a text: of the notes only that about capsules, small."""
    show([warning for warning in warnings if warning.serious])
    for warning in warnings:
        if warning.kind == FEW:
            st.caption(error_boundary.plain(str(warning)))


def show_leak(leak: Leak | None, split: str, held_out: int = 0) -> None:
    """Above scores: how many of the texts the model was trained on, and a button to others.

    Args:
        leak: The count of the texts that are scored; None if it is not known.
        split: Their split, as `data_picker.ask_split` returned it.
        held_out: How many held-out texts the button switches to; by default those of `leak`.
    """
    if leak is None:
        st.caption(_UNKNOWN)
    elif leak.serious:
        st.warning(str(leak), icon=":material/warning:")
        _ask_held_out(held_out or leak.held_out)
    elif split == HELD_OUT:
        st.caption(_HELD_OUT.format(leak.texts))
    elif leak.training:
        st.caption(str(leak))


def show_leak_of_rows(leak: Leak | None, rows: int = 0) -> None:
    """As `show_leak`, without a button, beside results of single texts.

    Args:
        leak: The count of all of them, or of some drawn at random.
        rows: How many they are; 0 if all were counted.
    """
    if leak is not None and leak.serious:
        drawn = "" if leak.texts >= rows else f" Counted in {leak.texts:,} rows drawn at random."
        st.warning(f"{leak.statement}{drawn}", icon=":material/warning:")


def show_leaks(leaks: Mapping[str, Leak | None], split: str, held_out: int) -> None:
    """As `show_leak`, for models that are compared, by their names; `held_out` is of the first."""
    shares = {name: leak for name, leak in leaks.items() if leak is not None and leak.serious}
    if shares:
        told = ", ".join(f"{name} ({percent(leak.share)})" for name, leak in shares.items())
        were = "was" if len(shares) == 1 else "were"
        st.warning(
            error_boundary.plain(
                f"Not a fair comparison: {told} {were} trained on these very texts. The share of "
                "the texts is in brackets."
            ),
            icon=":material/warning:",
        )
        if split != HELD_OUT:
            _ask_held_out(held_out)
    elif split == HELD_OUT:
        st.caption(_HELD_OUT.format(max(leak.texts for leak in leaks.values() if leak is not None)))
    unknown = [name for name, leak in leaks.items() if leak is None]
    if unknown:
        st.caption(
            error_boundary.plain(
                f"Whether {' and '.join(unknown)} saw these texts in training is not known, as an "
                "earlier version trained it."
            )
        )


def _ask_held_out(count: int) -> None:
    """A button that switches to the texts that were held out, if there are any."""
    if count:
        st.button(
            f"Use the held-out {count:,}",
            icon=":material/swap_horiz:",
            key="use held out",
            on_click=_use_held_out,
        )


def _use_held_out() -> None:
    st.session_state.part = HELD_OUT
