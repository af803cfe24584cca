"""Warnings about a model: its result is at chance, or few capsules win nearly everything."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary
from icaps.train.result_warnings import FEW, ResultWarning


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
