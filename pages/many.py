"""Many texts at once: paste them or upload a file, get a table."""

from dashboard import error_boundary, url_state
from dashboard.cache import explanations, models
from dashboard.explain import inputs, view
from dashboard.many import table as batch
from dashboard.widgets import sidebar


def main() -> None:
    view.show_title(
        "Many texts",
        "Paste texts or upload a file, and get their classes and reasons as a table.",
    )
    model = sidebar.choose_model()
    if model is None:
        view.how_to_train()
        return
    texts = inputs.ask_texts()
    settings = inputs.ask_settings(model)
    url_state.publish(url_state.MANY)
    question = (model, texts, settings)
    if inputs.wants_table(texts):
        parts = explanations.reasons_of_many(model, texts, settings)
        classifier = models.load(model)
        classes = [str(name) for name in classifier.classes_]
        shown = view.with_progress(parts, len(texts))
        url_state.keep_table(question, batch.to_frame(shown, classes, classifier.calibrated))
    table = url_state.kept_table(question)
    if table is not None:
        view.show_table(table)


with error_boundary.shown():
    main()
