"""The queries of the capsules as a map, and the words that each one looks for."""

from dashboard import error_boundary, url_state
from dashboard.cache import models
from dashboard.queries import inputs, view
from dashboard.widgets import capsule_picker, layout, sidebar


def main() -> None:
    layout.show_title(
        "What the capsules look for",
        "Each primary capsule has a query that attends to words. Capsules close together look for "
        "similar words.",
    )
    model = sidebar.choose_model()
    report = capsule_picker.load_report(model)
    if model is None or report is None:
        return
    query_map = models.query_map(model, *inputs.ask_map())
    capsule_picker.current_cell(report)
    view.show_map(report, query_map)
    capsule = capsule_picker.ask_capsule(report)
    url_state.publish(url_state.QUERIES)
    view.show_words(models.nearest_words(model)[capsule], capsule)
    view.show_cosines(report)


with error_boundary.shown():
    main()
