"""Any data set, explored before and after training."""

from pathlib import Path

import streamlit as st

from dashboard import error_boundary, selection, url_state
from dashboard.cache import data, leaks
from dashboard.explore import correction_review, duplicates, inputs, rows, text_map, view
from dashboard.url_state import DATA_TABS
from dashboard.widgets import (
    background_task,
    data_picker,
    label_change,
    layout,
    result_warnings,
    sidebar,
)
from icaps.cli.request import reading_arguments


def main() -> None:
    layout.show_title(
        "Datasets",
        "What a data set holds: classes, lengths, distinctive words, duplicates, and possible "
        "label errors.",
        wide=True,
    )
    model = sidebar.choose_model()
    if model is not None:
        data_picker.start_with(url_state.DATASET_PLACE, model)
    choice = data_picker.ask_on_page(url_state.DATASET_PLACE)
    if choice is None:
        return
    url_state.publish_data(choice.value)
    inputs.ask_delete(choice)
    label_change.show_next(choice.key)
    # The index leaves bad rows out in any case, and labels are corrected when it is shown.
    given = choice.key.uncorrected.reading
    reading = {name: value for name, value in given.items() if name != "on_bad_rows"}
    arguments = ["explore", choice.value, *reading_arguments(reading)]
    available = choice.ready and choice.preview is not None
    index = data.index(choice.key) if available else None
    if index is None:
        data_picker.show_preview(choice)
        if choice.ready:
            help_text = "Reads all texts once and counts them, in its own process."
            done = f"{Path(choice.value).name} is indexed: see Datasets."
            background_task.show(arguments, "Explore these texts", help_text, done)
        return
    name, tab = layout.open_tab(DATA_TABS, "data_tabs")
    with tab:
        if name == "Overview":
            view.show_facts(index)
            view.show_classes(index)
            view.show_lengths(index, model)
        elif name == "Words":
            view.show_distinctive(index)
            view.show_vocabulary(index)
        elif name == "Repeats":
            duplicates.show_duplicates(choice, index, arguments)
        elif name == "Corrections":
            correction_review.show(choice, index)
        else:
            predictions = rows.load_predictions(index, model, arguments)
            current = data.label_issues(index)
            issues = current or data.earlier_label_issues(index)
            chosen = inputs.ask_rows(index, predictions, model, issues)
            if chosen.doubted and current is None:
                view.ask_label_issues(choice, index, again=issues is not None)
            if chosen.doubted and issues is None:
                return
            if predictions is not None and model is not None:
                result_warnings.show_leak_of_rows(leaks.of_rows(model, index), len(index))
            if chosen.doubted and issues is not None:
                view.show_doubted(index, issues, None if predictions is None else model)
            st.caption(f"{len(chosen.rows):,} of {len(index):,} rows")
            on_map = name == "Map"
            if not len(chosen.on_map if on_map else chosen.rows):
                return
            if on_map:
                text_map.show_map(choice.key, index, model, predictions, chosen.on_map)
                selected = inputs.selected(choice, index, chosen, predictions, issues)
            else:
                doubts = issues if chosen.doubted else None
                picked = rows.show_rows(choice.key, index, model, predictions, chosen, doubts)
                selected = inputs.selected(choice, index, picked, predictions, issues)
            selection.show_actions(selected, name, "datasets")


with error_boundary.shown():
    main()
