"""The matrix C: which capsule decides which class, and what each capsule is about."""

from dashboard import capsule_questions as ask
from dashboard import capsule_views, guards, sidebar, state, views
from dashboard.catalogue import find_models


def main() -> None:
    views.show_title(
        "What the capsules do",
        "Each primary capsule wins texts: those whose predicted class it gets the largest routing "
        "weight for. Pick a cell to see what it is about.",
    )
    model = sidebar.choose_model()
    report = capsule_views.report_of(model)
    if model is None or report is None:
        return
    capsule_views.show_facts(report)
    value, order = ask.how_to_draw(report)
    chosen = ask.chosen_cell(report)
    capsule_views.show_heatmap(report, value, order, chosen)
    capsule, class_name = ask.which_cell(model, report)
    state.publish(state.CAPSULES)
    words, kgrams, texts, off = capsule_views.tabs()
    with words:
        if words.open:
            table = ask.which_words(report, capsule, class_name, ask.WORDS)
            capsule_views.show_words(report, table, class_name, capsule)
    with kgrams:
        if kgrams.open:
            table = ask.which_words(report, capsule, class_name, ask.KGRAMS)
            capsule_views.show_words(report, table, class_name, capsule)
    with texts:
        if texts.open:
            capsule_views.show_typical(model, report, capsule, class_name)
    with off:
        if off.open:
            capsule_views.show_knock_out(report, capsule, order)
    capsule_views.show_sparsity(report)
    others = [other for other in find_models() if other != model]
    capsule_views.show_comparison(model, report, others)


with guards.shown():
    main()
