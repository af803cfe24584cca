"""How good a model is on labelled texts, and where it is wrong."""

from pathlib import Path

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations, leaks
from dashboard.evaluate import comparison, inputs, several_labels, view
from dashboard.model_registry import ModelFolder
from dashboard.widgets import (
    background_task,
    data_picker,
    label_change,
    layout,
    no_data,
    result_warnings,
    sidebar,
)
from icaps.evaluate.report import EvaluationReport, MultilabelReport


def main() -> None:
    layout.show_title(
        "Evaluate",
        "How often the model is right on labelled texts, how confident it is, which texts it gets "
        "wrong, and the words that misled it.",
        wide=True,
    )
    model = sidebar.choose_model()
    if model is None:
        layout.show_how_to_train()
        return
    choice = data_picker.ask_on_page(url_state.DATASET_PLACE, model)
    if choice is None:
        no_data.show(model)
        return
    label_change.show_next(choice.key)
    split = data_picker.ask_split(choice, model)
    available = choice.ready and choice.preview is not None
    report = evaluations.evaluated(model, choice.key, split) if available else None
    if report is None:
        url_state.publish_data(choice.value, url_state.EVALUATE)
        data_picker.show_preview(choice)
        if choice.ready:
            background_task.show(
                inputs.command(model.path, choice, split),
                f"Evaluate {model.name}",
                "Predicts all texts once, in its own process.",
                f"{model.name} is evaluated on {Path(choice.value).name}: see Evaluate.",
                primary=True,
            )
        return
    result_warnings.show_leak(leaks.of_report(model, report), split)
    several = isinstance(report, MultilabelReport)
    name, tab = inputs.open_tab(inputs.TABS_OF_SETS if several else inputs.TABS)
    with tab:
        show_tab(name, model, report, choice, split)
    url_state.publish_data(choice.value, url_state.EVALUATE)


def show_tab(
    name: str,
    model: ModelFolder,
    report: EvaluationReport | MultilabelReport,
    choice: data_picker.Choice,
    split: str,
) -> None:
    """The open tab of the page, which depends on the number of labels per text."""
    if name == inputs.TWO_MODELS:
        comparison.show_second_model(model, report, choice, split)
    elif name == inputs.LEARNING:
        comparison.show_learning_curve(report)
    elif isinstance(report, MultilabelReport):
        if name == inputs.SCORES:
            several_labels.show_scores(report)
            view.show_model_card(model, report, choice.key, split)
        elif name == inputs.CLASSES:
            several_labels.show_classes(report)
        elif name == inputs.CALIBRATION:
            several_labels.show_calibration(report)
        else:
            several_labels.show_errors(model, report, choice, split)
    else:
        if name == inputs.SCORES:
            view.show_scores(report)
            view.show_model_card(model, report, choice.key, split)
        elif name == inputs.CONFUSION:
            view.show_confusion(model, report, choice, split)
        elif name == inputs.CALIBRATION:
            view.show_calibration(report)
        else:
            view.show_errors(model, report, choice, split)


with error_boundary.shown():
    main()
