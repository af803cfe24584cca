"""Which capsule is shown, and the statistics of all capsules over labelled texts."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dashboard import url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.widgets import layout
from icaps.interpret.tables import column_order
from icaps.reports.global_report import GlobalReport


def load_report(model: ModelFolder | None) -> GlobalReport | None:
    """The capsule statistics of a model; if there are none, the page shows what to do.

    Raises:
        CheckpointError: The statistics are damaged.
    """
    if model is None:
        layout.show_how_to_train()
        return None
    report = models.report(model)
    if report is None:
        st.subheader("No capsule statistics for this model yet", anchor=False)
        st.write("Compute them over labelled texts, then reload this page:")
        show_interpret_command(model.path)
    return report


def show_interpret_command(*paths: Path) -> None:
    """The commands that compute the capsule statistics of models."""
    lines = [f"python -m icaps interpret --model {path} --data my_texts.csv" for path in paths]
    st.code("\n".join(lines), language="bash")


def current_cell(report: GlobalReport) -> tuple[str | None, int]:
    """The chosen class (None: all) and capsule; at first the capsule that wins most texts."""
    url_state.choose_among("cell_class", [url_state.EVERY, *report.classes])
    url_state.choose_among("capsule", _by_wins(report))
    return one_class(st.session_state.cell_class), st.session_state.capsule


def ask_capsule(report: GlobalReport) -> int:
    """Asks for a capsule."""
    numbers = _by_wins(report)
    url_state.choose_among("capsule", numbers)
    # Set again, so that the browser shows the present label of a capsule that was renamed.
    st.session_state.capsule = st.session_state.capsule
    labels = dict(zip(numbers, report.labelled_capsules["label"][numbers], strict=True))
    capsule: int = st.selectbox(
        "Capsule", numbers, format_func=labels.__getitem__, key="capsule", persist_state="session"
    )
    return capsule


def one_class(name: str) -> str | None:
    """The class of a name among classes and EVERY; None for all classes."""
    return None if name == url_state.EVERY else name


def _by_wins(report: GlobalReport) -> Sequence[int]:
    return column_order(report.view.tally.frequency, "size")
