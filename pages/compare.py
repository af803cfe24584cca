"""Models and baselines side by side, on the same texts."""

import streamlit as st

from dashboard import cached_answers, data_picker, guards, state, views
from dashboard import compare_questions as ask
from dashboard import compare_views as show


def main() -> None:
    views.show_title(
        "Compare",
        "Models and baselines on the same texts: who is right, who is faster, and whether two that "
        "agree do so for the same reasons.",
    )
    known = ask.choices()
    if not known:
        views.how_to_train()
        return
    models = ask.which_models(known)
    choice = ask.which_data()
    if choice is None:
        return
    state.publish_data(choice.value, state.COMPARE)
    if not choice.ready or choice.preview is None:
        data_picker.show_preview(choice)
        return
    left, right = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
    with right:
        ask.train_baseline(choice)
    if len(models) < 2:
        show.too_few()
        return
    with left:
        data = ask.how_many(choice)
    first = next(iter(models.values()))
    asked = cached_answers.sampled(data, first)
    answers = [cached_answers.answers(data, model, name, first) for name, model in models.items()]
    scores, disagreements, reasons, matched, sizes, published = show.tabs()
    if scores.open:
        with scores:
            show.show_scores(answers)
    if disagreements.open:
        with disagreements:
            show.show_disagreements(asked, answers)
    if reasons.open:
        with reasons:
            if pair := ask.which_pair(models):
                show.show_reasons(data, models, pair)
    if matched.open:
        with matched:
            if pair := ask.which_pair(models):
                show.show_matched(models, pair)
    if sizes.open:
        with sizes:
            show.show_sizes(answers, models)
    if published.open:
        with published:
            show.show_published(data, answers)


with guards.shown():
    main()
