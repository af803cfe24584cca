"""The landing page: why does a text get its class?"""

from dashboard import error_boundary, url_state
from dashboard.cache import explanations, models
from dashboard.explain import inputs, similar, trust, view, what_if
from dashboard.widgets import explain_options, layout, result_warnings, sidebar


def main() -> None:
    layout.show_title(
        "Why this class?",
        "A capsule network predicts the class of a text and shows the words behind it.",
    )
    model = sidebar.choose_model()
    if model is None:
        layout.show_how_to_train()
        return
    text = inputs.ask_text()
    options = explain_options.ask(model)
    url_state.publish(url_state.EXPLAIN)
    explanation = explanations.explain(model, text, options)
    view.show_prediction(explanation)
    shading = inputs.ask_shading(explanation)
    view.show_text(explanation, shading)
    result_warnings.show_at_answer(models.warnings(model))
    trust.show_trust(model, explanation, shading)
    view.show_reasons(explanation)
    if not explanation.blank:
        with view.expander("try_words") as opened, error_boundary.shown():
            if opened:
                what_if.show_words_removed(model, explanation, options)
        with view.expander("similar") as opened, error_boundary.shown():
            if opened:
                similar.show_similar(model, explanation)
    with view.expander("what_if") as opened:
        if opened:
            what_if.show_capsules_off(model, explanation, options)
    view.show_downloads(model, explanation, options, url_state.link())


with error_boundary.shown():
    main()
