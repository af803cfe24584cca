"""Models and baselines side by side, on the same texts."""

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations, leaks, models
from dashboard.compare import baseline, inputs, reasons, view
from dashboard.url_state import COMPARE_TABS
from dashboard.widgets import data_picker, layout, result_warnings


def main() -> None:
    layout.show_title(
        "Compare",
        "Models and baselines on the same texts: which is more accurate, which is faster, and "
        "whether two with the same predictions have the same reasons.",
    )
    known = inputs.all_models()
    if not known:
        layout.show_how_to_train()
        return
    folders = inputs.ask_models(known)
    if folders:
        baseline.show_training(next(iter(folders.values())))
    choice = data_picker.ask_on_page(url_state.COMPARE_PLACE, next(iter(folders.values()), None))
    if choice is None:
        return
    url_state.publish_data(choice.value, url_state.COMPARE)
    if not choice.ready or choice.preview is None:
        data_picker.show_preview(choice)
        return
    if len(folders) < 2:
        view.show_too_few()
        return
    first = next(iter(folders.values()))
    sample = inputs.ask_sample(choice, first)
    classes = models.classes(first)
    texts = evaluations.texts(sample, classes)
    predictions = [
        evaluations.predictions(sample, model, name, classes) for name, model in folders.items()
    ]
    read = {name: leaks.of_sample(model, sample, classes) for name, model in folders.items()}
    result_warnings.show_leaks(read, sample.part, leaks.held_out_count(first, choice.key))
    name, tab = layout.open_tab(COMPARE_TABS, "compare_tab")
    with tab:
        if name == "Scores":
            view.show_scores(predictions, read)
        elif name == "Disagreements":
            view.show_disagreements(texts, predictions)
        elif name == "Speed and size":
            view.show_sizes(predictions, folders)
        elif name == "Published":
            view.show_published(sample, predictions)
        elif pair := inputs.ask_pair(folders):
            if name == "Capsules matched":
                reasons.show_matched(folders, pair)
            else:
                reasons.show_reasons(sample, folders, pair)


with error_boundary.shown():
    main()
