"""Words that predictions hang on for no reason of their topic."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.evaluate import inputs
from dashboard.explain import view
from dashboard.shortcuts import view as show
from dashboard.widgets import data_picker, sidebar


def main() -> None:
    view.show_title(
        "Shortcuts",
        "Words that a model leans on though they are not what the class is about: tags of sources, "
        "rests of HTML, names. Each is masked and added to see what it does.",
    )
    model = sidebar.choose_model()
    if model is None:
        view.how_to_train()
        return
    if url_state.data_was_asked():
        data_picker.take(url_state.DATASET_PLACE, st.session_state.data)
    choice = data_picker.ask(url_state.DATASET_PLACE)
    if choice is None:
        return
    if choice.preview is None or not choice.ready:
        url_state.publish_data(choice.value, url_state.SHORTCUTS)
        data_picker.show_preview(choice)
        return
    data = show.ask_sample(choice, inputs.which_part(choice))
    kept = show.look(data, model)
    if kept is None:
        url_state.publish_data(choice.value, url_state.SHORTCUTS)
        data_picker.show_preview(choice)
        return
    show.show_findings(kept)
    if kept.found:
        finding = show.which_finding(kept)
        show.show_effect(finding)
        show.show_files(choice, kept, finding)
        show.show_texts(model, kept, finding)
    url_state.publish_data(choice.value, url_state.SHORTCUTS)


with error_boundary.shown():
    main()
