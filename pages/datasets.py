"""Any data set, explored with the eyes before and after training."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.address import DATA_TABS
from dashboard.cache import data as cached_data
from dashboard.explain import view
from dashboard.explore import inputs, rows
from dashboard.explore import view as show
from dashboard.widgets import data_picker, sidebar


def main() -> None:
    view.show_title(
        "Datasets",
        "What a data set holds: classes, lengths, telling words, texts that recur, and labels that "
        "a model doubts.",
    )
    model = sidebar.choose_model()
    if url_state.data_was_asked():
        data_picker.take(url_state.DATASET_PLACE, st.session_state.data)
    choice = data_picker.ask(url_state.DATASET_PLACE)
    if choice is None:
        return
    url_state.publish_data(choice.value)
    inputs.whether_to_delete(choice)
    # Exploring leaves bad rows out in any case.
    reading = {name: value for name, value in choice.reading.items() if name != "on_bad_rows"}
    arguments = ["explore", choice.value, *data_picker.as_arguments(reading)]
    here = choice.ready and choice.preview is not None
    data = cached_data.index(choice.key) if here else None
    if data is None:
        data_picker.show_preview(choice)
        if choice.ready:
            about = "Reads all texts once and counts them, in a process of its own."
            show.while_working(arguments, "Explore these texts", about)
        return
    opened, place = show.tabs(DATA_TABS)
    with place:
        if opened == "Overview":
            show.show_facts(data)
            show.show_classes(data)
            show.show_lengths(data)
        elif opened == "Words":
            show.show_telling(data)
            show.show_vocabulary(data)
        elif opened == "Repeats":
            show.show_repeats(data, arguments)
        else:
            rows.show(data, model, arguments, as_map=opened == "Map")


with error_boundary.shown():
    main()
