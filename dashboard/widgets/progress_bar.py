"""A progress bar with a name, what is done and what is left."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from icaps.html import escape


def show(name: str, detail: str, share: float | None, place: DeltaGenerator | None = None) -> None:
    """Shows the bar.

    Args:
        name: What is being done; also the name of the bar for screen readers.
        detail: Such as "1,200 of 7,600 texts, 12 s left".
        share: From 0 to 1; None if it is unknown, which is shown by a moving bar.
        place: Where it is shown; by default where it is called.
    """
    if share is None:
        state, bar = "", '<i class="moving"></i>'
    else:
        percent = 100 * min(max(share, 0.0), 1.0)
        state = f' aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent:.0f}"'
        bar = f'<i style="width:{percent:.1f}%"></i>'
    (st if place is None else place).html(
        f'<div class="job"><p><b>{escape(name)}</b><span>{escape(detail)}</span></p>'
        f'<div class="bar" role="progressbar" aria-label="{escape(name)}"{state}>{bar}</div></div>'
    )
