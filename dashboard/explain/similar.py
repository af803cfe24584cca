"""Training texts that the model sees as most similar to the text."""

from collections.abc import Mapping

import streamlit as st

from dashboard import training_jobs
from dashboard.cache import data, models
from dashboard.model_registry import ModelFolder
from dashboard.widgets import background_task, data_picker, download_task
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import reading_arguments
from icaps.data.label_sets import shown_label
from icaps.data.text_hash import text_hash
from icaps.explore.neighbours import Nearest
from icaps.html import escape
from icaps.results import Explanation

_PLACE = "similar"  # prefix of the keys of the data picker
_MAX_CHARACTERS = 600  # of a training text


def show_similar(model: ModelFolder, explanation: Explanation) -> None:
    """The nearest training texts, with the similarity of random ones as a control."""
    choice = _ask_training_data(model)
    if choice is None:
        return
    if download_task.is_missing(choice.value):
        download_task.show(choice.value, "Similar texts are found among the training texts.")
        return
    if choice.preview is None or not choice.ready:
        data_picker.show_preview(choice)
        return
    sample = data.training_sample(model, choice.key.uncorrected)
    if sample is None:
        arguments = ["explore", choice.value, *reading_arguments(choice.key.uncorrected.reading)]
        arguments += ["--model", str(model.path), "--like", ""]
        background_task.show(
            arguments,
            "Read the training texts",
            "Reads up to 20,000 of these texts with the model, once; the result is stored.",
            f"The training texts of {model.name} are read: see Similar texts on Explain.",
        )
        return
    nearest = sample.nearest(models.load(model), explanation.text)
    _show_nearest(nearest, choice.key.corrected_labels)


def _ask_training_data(model: ModelFolder) -> Choice | None:
    """Asks for the texts that the model was trained on; preset to those of its training.

    Raises:
        DataError: What was named can't be used.
        NotAllowedError: It may not be read here.
    """
    if st.session_state.get("similar model") != model:
        st.session_state["similar model"] = model
        _preset_training_data(model)
    return data_picker.ask(_PLACE)


def _preset_training_data(model: ModelFolder) -> None:
    """Chooses the data of the training command, or that of the capsule statistics."""
    if (trained := training_jobs.data_of(model.path)) is not None:
        data_picker.take(_PLACE, *trained)
    elif (report := models.report(model)) is not None:
        data_picker.take(_PLACE, report.view.origin.source, report.view.origin.reading)


def _show_nearest(nearest: Nearest, corrected: Mapping[int, str]) -> None:
    near = nearest.neighbours
    labels = [shown_label(corrected.get(text_hash(text.text), text.label)) for text in near]
    rows = "".join(
        f'<tr><td dir="auto">{escape(_shorten(text.text))}<td class="name">{escape(label)}'
        f'<td class="n">{text.similarity:.3f}'
        for text, label in zip(near, labels, strict=True)
    )
    st.html(
        '<div class="evidence"><table><caption>The training texts with the most similar class '
        'capsules</caption><thead><tr><th>Text<th class="name">Class'
        f'<th class="n">Cosine similarity</thead><tbody>{rows}</tbody></table></div>'
    )
    sample = f"a random sample of {nearest.sampled:,} of {nearest.texts:,}"
    every = f"all {nearest.texts:,}"
    st.caption(
        f"From {sample if nearest.sampled < nearest.texts else every} training texts. The "
        f"mean cosine similarity of two random texts is {nearest.random:.3f}, of two texts of the "
        f"same class {nearest.random_alike:.3f}. Class capsules show which class a text has and "
        "how strongly, not what it is about."
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} …"
