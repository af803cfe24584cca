"""The landing page: why does a text get its class?"""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import explanations, models
from dashboard.explain import inputs, similar, trust, view, what_if
from dashboard.widgets import (
    explain_options,
    layout,
    neutral_dialog,
    result_warnings,
    sidebar,
)


def main() -> None:
    layout.show_title(
        "Why this class?",
        "A capsule network predicts the class of a text and shows the words behind it.",
    )
    model = sidebar.choose_model()
    if model is None:
        layout.show_how_to_train()
        return
    with st.container(key="explain"):  # two columns on a wide screen, by style.css
        left, right = st.container(key="explain_text"), st.container(key="explain_reasons")
    with left:
        text = inputs.ask_text(model)
        answer = st.container()  # before the options, which a visitor needs less
        with st.container(horizontal=True, vertical_alignment="bottom", key="explain_options"):
            switch = st.container(width="content")
            options = explain_options.ask_in_row(model)
        url_state.publish(url_state.EXPLAIN)
        explanation = explanations.explain(model, text, options)
        with answer:
            view.show_prediction(explanation)
            inputs.ask_predicted_class(explanation)
        with switch:
            shading = inputs.ask_shading(explanation)
        view.show_text(explanation, shading)
        result_warnings.show_at_answer(models.warnings(model))
    with right:
        trust.show_trust(model, explanation, shading)
        view.show_glossary(explanation.multilabel)
        view.show_reasons(explanation)
        neutral_dialog.ask(model, neutral_dialog.things_of(explanation), "explain")
        if not explanation.blank:
            with view.expander("try_words") as opened, error_boundary.shown():
                if opened:
                    what_if.show_words_removed(model, explanation, options)
            with view.expander("what_if") as opened:
                if opened:
                    what_if.show_capsules_off(model, explanation, options)
            with view.expander("similar") as opened, error_boundary.shown():
                if opened:
                    similar.show_similar(model, explanation)
        view.show_downloads(model, explanation, options, url_state.link())


with error_boundary.shown():
    main()
