"""Models and baselines side by side, on the same texts."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations
from dashboard.cache import models as cached_models
from dashboard.compare import inputs, view
from dashboard.explain import view as views
from dashboard.widgets import data_picker


def main() -> None:
    views.show_title(
        "Compare",
        "Models and baselines on the same texts: who is right, who is faster, and whether two that "
        "agree do so for the same reasons.",
    )
    known = inputs.choices()
    if not known:
        views.how_to_train()
        return
    models = inputs.which_models(known)
    choice = inputs.which_data()
    if choice is None:
        return
    url_state.publish_data(choice.value, url_state.COMPARE)
    if not choice.ready or choice.preview is None:
        data_picker.show_preview(choice)
        return
    left, right = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
    with right:
        inputs.train_baseline(choice)
    if len(models) < 2:
        view.too_few()
        return
    with left:
        data = inputs.how_many(choice)
    classes = cached_models.classes(next(iter(models.values())))
    asked = evaluations.texts(data, classes)
    answers = [evaluations.answers(data, model, name, classes) for name, model in models.items()]
    scores, disagreements, reasons, matched, sizes, published = view.tabs()
    if scores.open:
        with scores:
            view.show_scores(answers)
    if disagreements.open:
        with disagreements:
            view.show_disagreements(asked, answers)
    if reasons.open:
        with reasons:
            if pair := inputs.which_pair(models):
                view.show_reasons(data, models, pair)
    if matched.open:
        with matched:
            if pair := inputs.which_pair(models):
                view.show_matched(models, pair)
    if sizes.open:
        with sizes:
            view.show_sizes(answers, models)
    if published.open:
        with published:
            view.show_published(data, answers)


with error_boundary.shown():
    main()
