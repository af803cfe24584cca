"""Words that predictions hang on for no reason of their topic."""

import streamlit as st

from dashboard import data_picker, guards, sidebar, state, views
from dashboard import evaluate_questions as ask
from dashboard import shortcut_views as show


def main() -> None:
    views.show_title(
        "Shortcuts",
        "Words that a model leans on though they are not what the class is about: tags of sources, "
        "rests of HTML, names. Each is masked and added to see what it does.",
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
    if choice.preview is None or not choice.ready:
        state.publish_data(choice.value, state.SHORTCUTS)
        data_picker.show_preview(choice)
        return
    data = show.ask_sample(choice, ask.which_part(choice))
    kept = show.look(data, model)
    if kept is None:
        state.publish_data(choice.value, state.SHORTCUTS)
        data_picker.show_preview(choice)
        return
    show.show_findings(kept)
    if kept.found:
        finding = show.which_finding(kept)
        show.show_effect(finding)
        show.show_files(choice, kept, finding)
        show.show_texts(model, kept, finding)
    state.publish_data(choice.value, state.SHORTCUTS)


with guards.shown():
    main()
