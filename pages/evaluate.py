"""How good a model is on labelled texts, and where it errs."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import evaluations
from dashboard.evaluate import inputs, view
from dashboard.explain import view as views
from dashboard.explore.view import while_working
from dashboard.widgets import data_picker, downloads, sidebar


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
    if url_state.data_was_asked():
        data_picker.take(url_state.DATASET_PLACE, st.session_state.data)
    choice = data_picker.ask(url_state.DATASET_PLACE)
    if choice is None:
        return
    part = inputs.which_part(choice)
    here = choice.ready and choice.preview is not None
    report = evaluations.evaluated(model, choice.key, part) if here else None
    if report is None:
        url_state.publish_data(choice.value, url_state.EVALUATE)
        data_picker.show_preview(choice)
        if choice.ready:
            about = "Predicts all texts once, in a process of its own."
            while_working(inputs.command(model.path, choice, part), f"Evaluate {model.name}", about)
        return
    opened, place = inputs.which_tab()
    with place:
        if opened == inputs.SCORES:
            view.show_scores(report)
            downloads.show_card(model, report, choice.value, part)
        elif opened == inputs.CONFUSION:
            view.show_confusion(model, report)
        elif opened == inputs.CALIBRATION:
            view.show_calibration(report)
        elif opened == inputs.ERRORS:
            view.show_errors(model, report)
        elif opened == inputs.TWO_MODELS:
            view.show_comparison(model, report, choice, part)
        else:
            view.show_learning(report)
    url_state.publish_data(choice.value, url_state.EVALUATE)


with error_boundary.shown():
    main()
