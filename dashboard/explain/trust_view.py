"""Whether the reason can be trusted, on the page: each function shows one part."""

from dataclasses import replace

import streamlit as st

from dashboard import error_boundary
from dashboard.cache import data, explanations, models
from dashboard.explain import trust_inputs, view
from dashboard.explore.view import while_working
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BOUNDS
from dashboard.widgets.data_picker import as_arguments, show_preview
from dashboard.widgets.shaded_text import text_card
from icaps.config import ExplainOptions
from icaps.explore.neighbours import Nearest
from icaps.reports.render import escape, flip_line, trial_lines
from icaps.results import Explanation, Trial

_LONGEST = 600  # characters of a training text


def show_badge(model: ModelFolder, explanation: Explanation) -> None:
    """Whether the shaded words decide, with what chance does."""
    trial = explanations.trial(model, explanation)
    if trial is None:
        return
    first, *others = trial_lines(trial)
    more = "".join(f'<p class="detail">{escape(line)}</p>' for line in others)
    st.html(
        f'<div class="trust {_kind(trial)}" role="note"><p class="told">{escape(first)}</p>'
        f"{more}</div>"
    )


def show_try(model: ModelFolder, explanation: Explanation, options: ExplainOptions) -> None:
    """Words deleted, masked or kept alone; the set that flips the class; the text, changed."""
    _show_flip(model, explanation, options)
    tried = trust_inputs.which_words(explanation)
    if tried.words:
        scores = explanations.scores_after(model, explanation, tried.words, tried.action)
        view.show_change(explanation, scores, "before", tried.name)
    else:
        st.caption("Choose K-grams or words, and the scores move.")
    edited = trust_inputs.edited_text(explanation)
    if edited == explanation.text:
        st.caption("What you change is answered beside the scores of before.")
        return
    other = explanations.explain(model, edited, options)
    view.show_change(explanation, other.scores, "before", "as changed")
    if edited:
        st.html(text_card(other))


def show_similar(model: ModelFolder, text: str) -> None:
    """The training texts nearest to the text, and how near random ones are."""
    choice = trust_inputs.which_training_data(model)
    if choice is None:
        return
    if choice.preview is None or not choice.ready:
        show_preview(choice)
        return
    sample = data.training_sample(model, choice.key)
    if sample is None:
        arguments = ["explore", choice.value, *as_arguments(choice.reading)]
        about = "Reads up to 20,000 of these texts with the model, once; the result is kept."
        arguments += ["--model", str(model.path), "--like", ""]
        while_working(arguments, "Look through the training texts", about)
        return
    _show_neighbours(sample.nearest(models.load(model), text))


def _kind(trial: Trial) -> str:
    if not trial.testable:
        return "open"
    return "good" if trial.decides else "doubt"


def _show_flip(model: ModelFolder, explanation: Explanation, options: ExplainOptions) -> None:
    """Of more K-grams than are shown, those that decide between classes."""
    more = replace(options, target=None, top_capsules=BOUNDS["k1"][1], top_kgrams=3)
    wide = explanations.explain(model, explanation.text, more)
    flip = explanations.flip(model, wide)
    st.write(error_boundary.plain(flip_line(wide, flip)))
    if flip is not None:
        trust_inputs.whether_to_flip(explanation, flip)


def _show_neighbours(found: Nearest) -> None:
    rows = "".join(
        f'<tr><td dir="auto">{escape(_shortened(one.text))}<td class="name">{escape(one.label)}'
        f'<td class="n">{one.similarity:.3f}'
        for one in found.neighbours
    )
    st.html(
        '<div class="evidence"><table><caption>The training texts to which the model gives the '
        'most similar class capsules</caption><thead><tr><th>Text<th class="name">Class'
        f'<th class="n">Cosine</thead><tbody>{rows}</tbody></table></div>'
    )
    st.caption(
        f"Of {found.sampled:,} of {found.texts:,} training texts, drawn at random. Two random ones "
        f"have {found.random:.3f} on average, two of one class {found.random_alike:.3f}: class "
        "capsules say which class and how, not what a text is about."
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
