"""The matrix C: which capsule decides which class, and what each capsule is about."""

from dashboard import error_boundary, url_state
from dashboard.cache import models
from dashboard.capsules import inputs, view
from dashboard.model_registry import find_models
from dashboard.url_state import CAPSULE_TABS
from dashboard.widgets import capsule_picker, layout, result_warnings, sidebar


def main() -> None:
    layout.show_title(
        "What the capsules do",
        "A primary capsule “wins” a text if it sends the largest routing weight to the predicted "
        "class. Pick a cell to see what it is about.",
    )
    model = sidebar.choose_model()
    report = capsule_picker.load_report(model)
    if model is None:
        return
    if report is None:
        result_warnings.show(models.warnings(model))
        return
    result_warnings.show(report.warnings)
    view.show_facts(report)
    value, order = inputs.ask_heatmap(report)
    view.show_heatmap(report, value, order, capsule_picker.current_cell(report))
    capsule, class_name = inputs.ask_cell(model, report)
    url_state.publish(url_state.CAPSULES)
    name, tab = layout.open_tab(CAPSULE_TABS, "capsule_tab")
    with tab:
        if name in inputs.COUNTED:
            table = inputs.ask_words(report, capsule, class_name, inputs.COUNTED[name])
            view.show_words(report, table, class_name, capsule)
        elif name == "Typical texts":
            view.show_typical(model, report, capsule, class_name)
        else:
            view.show_knock_out(report, capsule, order)
    view.show_class_reasons(report)
    view.show_sparsity(report)
    others = [other for other in find_models() if other != model]
    view.show_comparison(model, report, others)


with error_boundary.shown():
    main()
