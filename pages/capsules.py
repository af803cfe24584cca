"""The matrix C: which capsule decides which class, and what each capsule is about."""

from dashboard import error_boundary, url_state
from dashboard.capsules import inputs, view
from dashboard.explain import view as views
from dashboard.model_registry import find_models
from dashboard.widgets import sidebar


def main() -> None:
    views.show_title(
        "What the capsules do",
        "Each primary capsule wins texts: those whose predicted class it gets the largest routing "
        "weight for. Pick a cell to see what it is about.",
    )
    model = sidebar.choose_model()
    report = view.report_of(model)
    if model is None or report is None:
        return
    view.show_facts(report)
    value, order = inputs.how_to_draw(report)
    chosen = inputs.chosen_cell(report)
    view.show_heatmap(report, value, order, chosen)
    capsule, class_name = inputs.which_cell(model, report)
    url_state.publish(url_state.CAPSULES)
    words, kgrams, texts, off = view.tabs()
    with words:
        if words.open:
            table = inputs.which_words(report, capsule, class_name, inputs.WORDS)
            view.show_words(report, table, class_name, capsule)
    with kgrams:
        if kgrams.open:
            table = inputs.which_words(report, capsule, class_name, inputs.KGRAMS)
            view.show_words(report, table, class_name, capsule)
    with texts:
        if texts.open:
            view.show_typical(model, report, capsule, class_name)
    with off:
        if off.open:
            view.show_knock_out(report, capsule, order)
    view.show_sparsity(report)
    others = [other for other in find_models() if other != model]
    view.show_comparison(model, report, others)


with error_boundary.shown():
    main()
