"""Which capsule is shown, and the statistics of all capsules over labelled texts."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dashboard import training_jobs, url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.widgets import background_task, data_picker, layout
from icaps.cli.request import option, reading_arguments
from icaps.interpret.tables import column_order
from icaps.reports.global_report import GlobalReport

_PLACE = "counted"  # of the data that a model without statistics is counted over


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
        st.write(
            "They are counted over labelled texts, best over texts that it was not trained on."
        )
        _ask_to_count(model)
    return report


def _ask_to_count(model: ModelFolder) -> None:
    """Asks for labelled texts, at first those of the training, and a button that counts over them.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    if st.session_state.get("counted model") != model.path:
        st.session_state["counted model"] = model.path
        if (trained := training_jobs.data_of(model.path)) is not None:
            data_picker.take(_PLACE, *trained)
    choice = data_picker.ask(_PLACE, model)
    if choice is None:
        return
    split = data_picker.ask_split(choice, model)
    data_picker.show_preview(choice)
    if choice.ready:
        arguments = ["interpret", *option("model", str(model.path)), *option("data", choice.value)]
        arguments += [*option("part", split), *reading_arguments(choice.reading)]
        background_task.show(
            arguments,
            f"Count what the capsules of {model.name} do",
            "Reads all texts once, in its own process, and stores the counts with the model.",
        )


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
