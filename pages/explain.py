"""The landing page: why does a text get its class?"""

from dashboard import cached, guards, questions, sidebar, state, views


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
    explanation = cached.explain(model, text, settings)
    views.show_answer(explanation)
    views.show_reasons(explanation)
    with views.what_if() as opened:
        if opened:
            muted = questions.ask_muted(model)
            views.show_without(explanation, cached.explain(model, text, settings, muted))
    views.show_exports(explanation, state.link())


with guards.shown():
    main()
