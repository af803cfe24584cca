"""The queries of the capsules as a map, and the words that each one looks for."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import models
from dashboard.queries import inputs, view
from dashboard.widgets import capsule_card, capsule_picker, layout, result_warnings, sidebar


def main() -> None:
    layout.show_title(
        "What the capsules look for",
        "Each primary capsule has a query that attends to words. Capsules close together look for "
        "similar words.",
        wide=True,
    )
    model = sidebar.choose_model()
    report = capsule_picker.load_report(model)
    if model is None or report is None:
        return
    result_warnings.show(report.warnings)
    master, card = layout.master_detail("queries", 1, 1)
    with master:
        chart = st.container()  # before what it is asked by
        query_map = models.query_map(model, *inputs.ask_map())
        capsule_picker.current_cell(report)
        with chart:
            view.show_map(report, query_map)
    with card:
        capsule = capsule_picker.ask_capsule(report)
        capsule_card.show_headline(report, capsule)
        view.show_link(model, capsule)
        capsule_card.show_histogram(report, capsule, None)
        words = models.nearest_words(model)[capsule]
        view.show_words(words, capsule, capsule_card.color_of(report, capsule))
    url_state.publish(url_state.QUERIES)
    view.show_cosines(report)


with error_boundary.shown():
    main()
