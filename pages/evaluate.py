"""How good a model is on labelled texts, and where it errs."""

import streamlit as st

from dashboard import cached_evaluations, data_picker, evidence_views, guards, sidebar, state, views
from dashboard import evaluate_questions as ask
from dashboard import evaluate_views as show
from dashboard.dataset_views import while_working


def main() -> None:
    views.show_title(
        "Evaluate",
        "How often the model is right on labelled texts, how sure it is, which texts it errs on, "
        "and the words that misled it.",
    )
    model = sidebar.choose_model()
    if model is None:
        views.how_to_train()
        return
    if state.data_was_asked():
        data_picker.take(state.DATASET_PLACE, st.session_state.data)
    choice = data_picker.ask(state.DATASET_PLACE)
    if choice is None:
        return
    part = ask.which_part(choice)
    here = choice.ready and choice.preview is not None
    report = (
        cached_evaluations.evaluated(model, choice.value, part, choice.reading) if here else None
    )
    if report is None:
        state.publish_data(choice.value, state.EVALUATE)
        data_picker.show_preview(choice)
        if choice.ready:
            about = "Predicts all texts once, in a process of its own."
            while_working(ask.command(model.path, choice, part), f"Evaluate {model.name}", about)
        return
    opened, place = ask.which_tab()
    with place:
        if opened == ask.SCORES:
            show.show_scores(report)
            evidence_views.show_card(model, report, choice.value, part)
        elif opened == ask.CONFUSION:
            show.show_confusion(model, report)
        elif opened == ask.CALIBRATION:
            show.show_calibration(report)
        elif opened == ask.ERRORS:
            show.show_errors(model, report)
        elif opened == ask.TWO_MODELS:
            show.show_comparison(model, report, choice, part)
        else:
            show.show_learning(report)
    state.publish_data(choice.value, state.EVALUATE)


with guards.shown():
    main()
