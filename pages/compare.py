"""Models and baselines side by side, on the same texts."""

from collections.abc import Mapping

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations, leaks, models
from dashboard.cache.evaluations import Sample
from dashboard.compare import baseline, inputs, reasons, several_labels, view
from dashboard.model_registry import ModelFolder
from dashboard.url_state import COMPARE_TABS
from dashboard.widgets import data_picker, layout, no_data, result_warnings


def main() -> None:
    layout.show_title(
        "Compare",
        "Models and baselines on the same texts: which is more accurate, which is faster, and "
        "whether two with the same predictions have the same reasons.",
        wide=True,
    )
    known = inputs.all_models()
    if not known:
        layout.show_how_to_train()
        return
    left, right = st.columns(2, gap="large")
    with left:
        folders = inputs.ask_models(known)
    first = next(iter(folders.values()), None)
    with right:
        choice = data_picker.ask_on_page(url_state.COMPARE_PLACE, first)
    if choice is not None:
        url_state.publish_data(choice.value, url_state.COMPARE)
        if not choice.ready or choice.preview is None:
            data_picker.show_preview(choice)
        elif len(folders) < 2:
            view.show_too_few()
        else:
            with left:
                sample = inputs.ask_sample(choice, next(iter(folders.values())))
            show_comparison(folders, sample)
    elif first is not None:
        no_data.show(first)
    if first is not None:
        baseline.show_training(first)


def show_comparison(folders: Mapping[str, ModelFolder], sample: Sample) -> None:
    """What the models, of which the first is the reference, predict for the texts of a sample."""
    first = next(iter(folders.values()))
    classes, several = models.classes(first), models.scorer(first).multilabel_
    texts = evaluations.texts(sample, classes, several)
    predict = evaluations.predicted_sets if several else evaluations.predictions
    predictions = [predict(sample, model, name, classes) for name, model in folders.items()]
    read = {
        name: leaks.of_sample(model, sample, classes, several) for name, model in folders.items()
    }
    result_warnings.show_leaks(read, sample.part, leaks.held_out_count(first, sample.data))
    tabs = several_labels.TABS if several else COMPARE_TABS
    if st.session_state.get("compare_tab") not in (None, *tabs):  # of models of one label
        st.session_state.compare_tab = tabs[0]
    name, tab = layout.open_tab(tabs, "compare_tab")
    with tab:
        if several and name == several_labels.SCORES:
            several_labels.show_scores(predictions, read)
        elif several and name == several_labels.DISAGREEMENTS:
            several_labels.show_disagreements(texts, predictions)
        elif name == "Scores":
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
                reasons.show_reasons(sample, texts, folders, pair)


with error_boundary.shown():
    main()
