"""Warnings about a model: its result is at chance, or one capsule wins nearly everything."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary
from icaps.train.result_warnings import ResultWarning


def show(warnings: Sequence[ResultWarning]) -> None:
    """A box per warning, with what to do; notes have the colour of information."""
    for warning in warnings:
        box, icon = (st.warning, "warning") if warning.serious else (st.info, "info")
        box(error_boundary.plain(str(warning)), icon=f":material/{icon}:")
