"""Many texts at once: paste them or upload a file, get a table."""

from dashboard import (
    batch,
    cached_explanations,
    cached_models,
    guards,
    questions,
    sidebar,
    state,
    views,
)


def main() -> None:
    views.show_title(
        "Many texts",
        "Paste texts or upload a file, and get their classes and reasons as a table.",
    )
    model = sidebar.choose_model()
    if model is None:
        views.how_to_train()
        return
    texts = questions.ask_texts()
    settings = questions.ask_settings(model)
    state.publish(state.MANY)
    question = (model, texts, settings)
    if questions.wants_table(texts):
        parts = cached_explanations.reasons_of_many(model, texts, settings)
        classifier = cached_models.load(model)
        classes = [str(name) for name in classifier.classes_]
        shown = views.with_progress(parts, len(texts))
        state.keep_table(question, batch.to_frame(shown, classes, classifier.calibrated))
    table = state.kept_table(question)
    if table is not None:
        views.show_table(table)


with guards.shown():
    main()
