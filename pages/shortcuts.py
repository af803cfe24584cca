"""Words on which predictions depend although they are not what the class is about."""

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations, leaks
from dashboard.shortcuts import inputs, view
from dashboard.widgets import (
    data_picker,
    label_change,
    layout,
    no_data,
    result_warnings,
    sidebar,
)


def main() -> None:
    layout.show_title(
        "Shortcuts",
        "Words that a model relies on although they are not what the class is about: source tags, "
        "leftover HTML, names. Each is masked and inserted to measure its effect.",
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
    shortcuts = None
    if choice.preview is not None and choice.ready:
        split = data_picker.ask_split(choice, model)
        sample = inputs.ask_sample(choice, split, model)
        shortcuts = evaluations.shortcuts(sample, model)
        if shortcuts is None or inputs.ask_again(sample, shortcuts):
            shortcuts = inputs.ask_start(sample, model)
    if shortcuts is None:
        data_picker.show_preview(choice)
    else:
        result_warnings.show_leak(
            shortcuts.leak, sample.part, leaks.held_out_count(model, choice.key)
        )
        if not shortcuts.findings:
            view.show_nothing_found(shortcuts)
        if shortcuts.shown:
            master, detail = layout.master_detail("shortcuts", 5, 3)
            with detail:
                finding = inputs.ask_finding(shortcuts)
                view.show_effect(finding)
                view.show_actions(choice, sample.part, shortcuts, finding)
                inputs.ask_neutral(model, sample, finding)
                view.show_texts(model, choice.key, shortcuts, finding)
            with master:
                view.show_findings(shortcuts)
                view.show_files(shortcuts)
    url_state.publish_data(choice.value, url_state.SHORTCUTS)


with error_boundary.shown():
    main()
