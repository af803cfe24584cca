"""Many texts at once: paste them or choose a file, get a table."""

import streamlit as st

from dashboard import error_boundary
from dashboard.cache import explanations, models
from dashboard.many import inputs, table, view
from dashboard.widgets import explain_options, layout, sidebar


def main() -> None:
    layout.show_title(
        "Many texts",
        "Paste texts or choose a file to get their predicted classes and their reasons as a table.",
    )
    model = sidebar.choose_model()
    if model is None:
        layout.show_how_to_train()
        return
    texts = inputs.ask_texts(model)
    options = explain_options.ask(model)
    inputs.publish(texts)
    request = (model, texts.texts, options)
    new = st.session_state.get("table", (None,))[0] != request
    if inputs.ask_start(texts.texts) or (new and inputs.are_examples(model, texts)):
        parts = explanations.reasons_of_many(model, texts.texts, options)
        classifier = models.load(model)
        classes = [str(name) for name in classifier.classes_]
        shown = view.with_progress(parts, len(texts.texts))
        explained = table.explain(shown, classes, classifier.calibrated)
        st.session_state.table = request, explained
    shown_request, explained = st.session_state.get("table", (None, None))
    if shown_request == request:
        view.show_classes(explained)
        number = view.show_table(explained, texts, model, models.named(model))
        if number is not None:
            view.show_text(model, texts.texts[number], options)


with error_boundary.shown():
    main()
