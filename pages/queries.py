"""The queries of the capsules as a map, and the words that each one looks for."""

from dashboard import cached_models, capsule_views, guards, query_views, sidebar, state, views
from dashboard import capsule_questions as ask


def main() -> None:
    views.show_title(
        "What the capsules look for",
        "Each primary capsule has a query that attends to words. Near queries look for the same.",
    )
    model = sidebar.choose_model()
    report = capsule_views.report_of(model)
    if model is None or report is None:
        return
    made = cached_models.query_map(model, *query_views.ask_map())
    ask.chosen_cell(report)
    query_views.show_map(report, made)
    capsule = ask.which_capsule(report)
    state.publish(state.QUERIES)
    query_views.show_words(cached_models.pointed_words(model)[capsule], capsule)
    query_views.show_cosines(report)


with guards.shown():
    main()
