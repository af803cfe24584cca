"""The queries of the capsules as a map, and the words that each one looks for."""

from dashboard import error_boundary, url_state
from dashboard.cache import models
from dashboard.capsules import inputs, view
from dashboard.explain import view as views
from dashboard.queries import view as query_views
from dashboard.widgets import sidebar


def main() -> None:
    views.show_title(
        "What the capsules look for",
        "Each primary capsule has a query that attends to words. Near queries look for the same.",
    )
    model = sidebar.choose_model()
    report = view.report_of(model)
    if model is None or report is None:
        return
    made = models.query_map(model, *query_views.ask_map())
    inputs.chosen_cell(report)
    query_views.show_map(report, made)
    capsule = inputs.which_capsule(report)
    url_state.publish(url_state.QUERIES)
    query_views.show_words(models.pointed_words(model)[capsule], capsule)
    query_views.show_cosines(report)


with error_boundary.shown():
    main()
