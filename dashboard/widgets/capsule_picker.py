"""Which capsule is shown, and the statistics of all capsules over labelled texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, nav, training_jobs, url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.widgets import background_task, data_picker, layout
from icaps.cli.request import option, reading_arguments
from icaps.interpret.tables import column_order
from icaps.reports.global_report import GlobalReport

_WAITING, _COUNTED = "waiting for counts", "just counted"  # the paths of models
_NEXT = (
    ("capsules", "Capsules", ":material/grid_on:"),
    ("queries", "Queries", ":material/scatter_plot:"),
    ("explain", "Explain a text", ":material/format_ink_highlighter:"),
    ("evaluate", "Evaluate", ":material/target:"),
)
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
        st.header("No capsule statistics for this model yet", anchor=False)
        st.write(
            "They are counted over labelled texts, best over texts that it was not trained on."
        )
        _ask_to_count(model, report, training_jobs.data_of(model.path))
    elif st.session_state.get(_WAITING, _counts_of(model, report)) != _counts_of(model, report):
        waited_for, *_ = st.session_state.pop(_WAITING)
        if waited_for != model.path:
            return report
        st.session_state[_COUNTED] = model.path
    if report is not None and st.session_state.get(_COUNTED) == model.path:
        _show_next_steps(model)
    return report


def ask_to_recount(model: ModelFolder, report: GlobalReport) -> None:
    """Asks for other texts to count over; for counts of an older version, the same again."""
    title = "Count again, over other texts" if report.view.complete else "Count again"
    with st.expander(title, icon=":material/refresh:", key="recount", on_change="rerun") as box:
        if not box.open:
            return
        origin = report.view.origin
        if not report.view.complete:
            st.write(
                "These counts are of an older version. Counting again adds histograms of routing, "
                "texts of high, middle and low routing, and shares of the scores."
            )
        data = models.counted_data(model, origin.source)
        _ask_to_count(model, report, None if data is None else (data, origin.reading))


def _counts_of(model: ModelFolder, report: GlobalReport | None) -> tuple[Path, str, bool]:
    """What tells the counts of a model from others."""
    if report is None:
        return model.path, "", False
    return model.path, report.view.origin.content, report.view.complete


def _show_next_steps(model: ModelFolder) -> None:
    """What can be done now that the capsules are counted."""
    with st.container(horizontal=True, border=True, vertical_alignment="center", key="counted"):
        st.markdown("**Counted.** Next:")
        for page, label, icon in _NEXT:
            st.page_link(nav.page(page), label=label, icon=icon, query_params={"model": model.name})
        if st.button("Close", icon=":material/close:", type="tertiary", key="close counted"):
            del st.session_state[_COUNTED]
            st.rerun()


def _ask_to_count(
    model: ModelFolder, report: GlobalReport | None, preset: tuple[str, Mapping[str, Any]] | None
) -> None:
    """Asks for labelled texts, and a button that counts over them.

    Args:
        model: The model.
        report: Its present counts.
        preset: The data that is chosen at first, and options of `open_source`.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    st.session_state[_WAITING] = _counts_of(model, report)
    if st.session_state.get("counted model") != model.path:
        st.session_state["counted model"] = model.path
        if preset is not None:
            data_picker.take(_PLACE, *preset)
    choice = data_picker.ask(_PLACE, model)
    if choice is None:
        return
    split = data_picker.ask_split(choice, model)
    data_picker.show_preview(choice)
    if choice.ready:
        arguments = ["interpret", *option("model", str(model.path)), *option("data", choice.value)]
        arguments += [*option("part", split), *reading_arguments(choice.reading)]
        excerpts = st.checkbox(
            "Keep excerpts of a few texts with the model",
            value=True,
            key="keep excerpts",
            help="Up to nine per capsule, of 300 characters at most: texts of high, middle and low "
            "routing, for all who can see the model. None of a data set that can be downloaded.",
            persist_state="session",
        )
        arguments += [] if excerpts else ["--no-texts"]
        background_task.show(
            arguments,
            f"Count what the capsules of {model.name} do",
            "Reads all texts, in its own process, and stores the counts with the model.",
            f"The capsules of {model.name} are counted: see Capsules and Queries.",
            primary=True,
        )


def link_to_count(*others: ModelFolder) -> None:
    """Links to the page where the capsules of these models are counted."""
    for model in others:
        st.page_link(
            nav.page("capsules"),
            label=f"Count the capsules of {error_boundary.plain(model.name)}",
            icon=":material/grid_on:",
            query_params={"model": model.name},
        )


def current_cell(report: GlobalReport) -> tuple[str | None, int]:
    """The chosen class (None: all) and capsule; at first the capsule that wins most texts."""
    url_state.choose_among("cell_class", [url_state.EVERY, *report.classes], "class")
    url_state.choose_among("capsule", _by_wins(report), "capsule")
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
