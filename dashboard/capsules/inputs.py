"""What the visitor is asked about capsules: which, and how they are shown."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import quotas, url_state
from dashboard.model_registry import ModelFolder
from icaps.interpret import tables
from icaps.interpret.tables import ORDERS, column_order
from icaps.reports.global_report import Report
from icaps.train.checkpoint import MAX_NAME, rename_capsule

WORDS, KGRAMS = "words", "kgrams"
_ORDERS = {"class": "by class", "size": "by size", "clustered": "clustered", "number": "by number"}


def how_to_draw(report: Report) -> tuple[str, list[int]]:
    """The column of `tables.cells` that the heatmap shows, and its capsules from left to right."""
    what, how = st.columns(2, gap="medium")
    value = what.selectbox(
        "Cells show",
        list(tables.VALUES),
        format_func=lambda name: tables.VALUES[name],
        key="cell_value",
        persist_state="session",
    )
    order = how.selectbox(
        "Columns", ORDERS, format_func=_ORDERS.__getitem__, key="columns", persist_state="session"
    )
    return value, column_order(report.view.tally.frequency, order)


def chosen_cell(report: Report) -> tuple[str | None, int]:
    """The class, None for all, and capsule that were picked, or else that which wins most."""
    url_state.choose_among("cell_class", [url_state.EVERY, *report.classes])
    url_state.choose_among("capsule", _by_wins(report))
    return _one_class(st.session_state.cell_class), st.session_state.capsule


def which_capsule(report: Report) -> int:
    """Asks for the capsule."""
    numbers = _by_wins(report)
    url_state.choose_among("capsule", numbers)
    # Set anew, the browser takes the label of now, which a renamed capsule has changed.
    st.session_state.capsule = st.session_state.capsule
    labels = dict(zip(numbers, report.labelled_capsules["label"][numbers], strict=True))
    capsule: int = st.selectbox(
        "Capsule", numbers, format_func=labels.__getitem__, key="capsule", persist_state="session"
    )
    return capsule


def which_cell(model: ModelFolder, report: Report) -> tuple[int, str | None]:
    """Asks for the capsule and the class, None for all; a click in the heatmap does the same.

    Raises:
        CheckpointError: The capsule's new name can't be written.
    """
    left, middle, right = st.columns([5, 4, 2], gap="medium", vertical_alignment="bottom")
    with left:
        capsule = which_capsule(report)
    with right:
        if not quotas.read_only():
            _new_name(model, report, capsule)
    name = middle.selectbox(
        "Texts of",
        [url_state.EVERY, *report.classes],
        key="cell_class",
        persist_state="session",
    )
    return capsule, _one_class(name)


def which_words(report: Report, capsule: int, class_name: str | None, kind: str) -> pd.DataFrame:
    """The words or K-grams of a cell, as the visitor wants them weighed."""
    slide, switch = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    weight = slide.slider(
        "λ: from the capsule's own to the most frequent",
        0.0,
        1.0,
        0.6,
        0.05,
        key=f"lambda {kind}",
        persist_state="session",
        help="Relevance as in LDAvis (Sievert and Shirley 2014): λ log p(w | cell) + (1 - λ) "
        "log(p(w | cell) / p(w)). At 1 the order is that of counts, as in the paper.",
    )
    all_words = switch.toggle(
        "Stop words and punctuation", key=f"all {kind}", persist_state="session"
    )
    options = {"lambda_": weight, "all_words": all_words, "top": 20}
    tally = report.view.tally
    where = report.where(capsule, class_name)
    make = tables.words if kind == WORDS else tables.kgrams
    return make(tally, report.classifier.vocabulary_, where, **options)


def _new_name(model: ModelFolder, report: Report, capsule: int) -> None:
    """Offers to rename the capsule; the name is kept with the model."""
    known = report.classifier.capsule_names_.get(capsule, "")
    with (
        st.popover("Rename", icon=":material/edit:", type="tertiary"),
        st.form(f"name {capsule}", border=False),
    ):
        name = st.text_input(
            f"Name of capsule {capsule}",
            known,
            max_chars=MAX_NAME,
            help="It stands for the number everywhere, for all who use this model. "
            "Leave it empty to take it away.",
        )
        wanted = st.form_submit_button("Keep")
    if wanted and name != known:
        quotas.change("no capsule can be renamed.")
        rename_capsule(model.path, capsule, name)
        st.rerun()


def _one_class(name: str) -> str | None:
    return None if name == url_state.EVERY else name


def _by_wins(report: Report) -> Sequence[int]:
    return column_order(report.view.tally.frequency, "size")
