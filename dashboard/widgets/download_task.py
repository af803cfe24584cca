"""A button that downloads a data set with a name, with a bar."""

import streamlit as st

from dashboard import settings
from dashboard.widgets import background_task
from icaps.data.catalog import DATASETS
from icaps.data.resolve import locate


def is_missing(name: str) -> bool:
    """Whether this is a data set with a name that is not on this machine."""
    return name in DATASETS and locate(name) is None


def show(name: str, why: str) -> None:
    """The button, or while the data set is downloaded its progress.

    Args:
        name: A data set of the catalog.
        why: What the texts are needed for, as a sentence.
    """
    rows = DATASETS[name].rows
    st.caption(f"{why} Not downloaded yet: {sum(rows.values()):,} texts.")
    if settings.current().downloads:
        help_text = (
            "From the Hugging Face Hub, or where it was published. It is checked and stored."
        )
        background_task.show(
            ["data", "fetch", name], f"Download {name}", help_text, f"{name} is downloaded."
        )
    else:
        st.caption("This server downloads nothing; its operator can put the files there.")
