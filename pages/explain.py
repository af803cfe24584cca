"""The landing page: why does a text get its class?"""

from dashboard import (
    cached_explanations,
    evidence_views,
    guards,
    questions,
    sidebar,
    state,
    trust_views,
    views,
)


def main() -> None:
    views.show_title(
        "Why this class?",
        "A capsule network reads a text, names its class, and shows the words that decided.",
    )
    model = sidebar.choose_model()
    if model is None:
        views.how_to_train()
        return
    text = questions.ask_text()
    settings = questions.ask_settings(model)
    state.publish(state.EXPLAIN)
    explanation = cached_explanations.explain(model, text, settings)
    views.show_answer(explanation)
    trust_views.show_badge(model, explanation)
    views.show_reasons(explanation)
    if not explanation.blank:
        with views.drawer("try_words") as opened, guards.shown():
            if opened:
                trust_views.show_try(model, explanation, settings)
        with views.drawer("similar") as opened, guards.shown():
            if opened:
                trust_views.show_similar(model, text)
    with views.drawer("what_if") as opened:
        if opened:
            muted = questions.ask_muted(model)
            other = cached_explanations.explain(model, text, settings, muted)
            views.show_change(explanation, other.scores, "with all", "without them")
    evidence_views.show_exports(model, explanation, settings, state.link())


with guards.shown():
    main()
