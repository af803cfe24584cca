"""The landing page: why does a text get its class?"""

from dashboard import error_boundary, url_state
from dashboard.cache import explanations
from dashboard.explain import inputs, trust_view, view
from dashboard.widgets import downloads, sidebar


def main() -> None:
    view.show_title(
        "Why this class?",
        "A capsule network reads a text, names its class, and shows the words that decided.",
    )
    model = sidebar.choose_model()
    if model is None:
        view.how_to_train()
        return
    text = inputs.ask_text()
    settings = inputs.ask_settings(model)
    url_state.publish(url_state.EXPLAIN)
    explanation = explanations.explain(model, text, settings)
    view.show_answer(explanation)
    trust_view.show_badge(model, explanation)
    view.show_reasons(explanation)
    if not explanation.blank:
        with view.drawer("try_words") as opened, error_boundary.shown():
            if opened:
                trust_view.show_try(model, explanation, settings)
        with view.drawer("similar") as opened, error_boundary.shown():
            if opened:
                trust_view.show_similar(model, text)
    with view.drawer("what_if") as opened:
        if opened:
            muted = inputs.ask_muted(model)
            other = explanations.explain(model, text, settings, muted)
            view.show_change(explanation, other.scores, "with all", "without them")
    downloads.show_exports(model, explanation, settings, url_state.link())


with error_boundary.shown():
    main()
