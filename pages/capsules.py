"""The matrix C: which capsule decides which class, and what each capsule is about."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import models
from dashboard.capsules import inputs, view
from dashboard.model_registry import ModelFolder, find_models
from dashboard.url_state import CAPSULE_TABS
from dashboard.widgets import capsule_card, capsule_picker, layout, result_warnings, sidebar
from icaps.reports.global_report import GlobalReport


def main() -> None:
    layout.show_title(
        "What the capsules do",
        "A primary capsule “wins” a text if it sends the largest routing weight to the predicted "
        "class. Pick a cell to see what it is about.",
        wide=True,
    )
    model = sidebar.choose_model()
    report = capsule_picker.load_report(model)
    if model is None:
        return
    if report is None:
        result_warnings.show(models.warnings(model))
        return
    result_warnings.show(report.warnings)
    result_warnings.show_leak_of_rows(report.leak)
    view.show_facts(report)
    matrix, card = layout.master_detail("capsules", 5, 4)
    with matrix:
        chart = st.container()  # before what it is asked by
        value, order = inputs.ask_heatmap(report)
        classes = inputs.ask_classes(report, order)
        with chart:
            view.show_heatmap(report, value, order, classes, capsule_picker.current_cell(report))
    with card:
        show_card(model, report, order)
    url_state.publish(url_state.CAPSULES)
    view.show_class_reasons(report)
    view.show_sparsity(report)
    others = [other for other in find_models() if other != model]
    view.show_comparison(model, report, others)
    capsule_picker.ask_to_recount(model, report)


def show_card(model: ModelFolder, report: GlobalReport, order: Sequence[int]) -> None:
    """All about one capsule."""
    capsule, class_name = inputs.ask_cell(report)
    with st.container(horizontal=True, vertical_alignment="top", horizontal_alignment="distribute"):
        capsule_card.show_headline(report, capsule)
        inputs.ask_name(model, report, capsule)
        inputs.ask_neutral(model, report, capsule, class_name)
    capsule_card.show_histogram(report, capsule, class_name)
    name, tab = layout.open_tab(CAPSULE_TABS, "capsule_tab")
    with tab:
        if name in inputs.COUNTED:
            table = inputs.ask_words(report, capsule, class_name, inputs.COUNTED[name])
            view.show_words(report, table, class_name, capsule)
        elif name == "Typical texts":
            by = inputs.ask_choice_of_texts(report)
            view.show_texts(model, report, capsule, class_name, by)
        elif name == "Your text":
            view.show_own_text(model, report, capsule, inputs.ask_text())
        else:
            view.show_knock_out(report, capsule, order)


with error_boundary.shown():
    main()
