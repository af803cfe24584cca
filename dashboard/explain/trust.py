"""The trust box: what the model does without the words of the K-grams, and without others."""

import streamlit as st

from dashboard.cache import explanations
from dashboard.model_registry import ModelFolder
from dashboard.url_state import KGRAMS
from icaps.faithfulness.reason_results import (
    CHANCE,
    FLIPS,
    MATTERS,
    UNTESTED,
    decided_class,
    flip_sentence,
)
from icaps.html import escape
from icaps.results import Explanation

STYLES = {FLIPS: "good", MATTERS: "partly", CHANCE: "doubt", UNTESTED: "open"}  # in style.css


def show_trust(model: ModelFolder, explanation: Explanation, shading: str) -> None:
    """The verdict and its numbers; nothing for a blank text.

    Args:
        model: The model.
        explanation: The explanation whose K-grams are tested.
        shading: One of `url_state.SHADINGS`, how the text above is shaded.
    """
    reason_test = explanations.reason_test(model, explanation)
    if reason_test is None:
        return
    verdict, *numbers = reason_test.to_sentences()
    names_words = reason_test.level == FLIPS
    if explanation.multilabel:  # the words are those of the class that is lost
        names_words &= decided_class(explanation) == explanation.target
    if names_words and (flip := explanations.flip(model, explanation)) is not None:
        verdict = flip_sentence(explanation, flip)
    if shading != KGRAMS:
        numbers.append("These words are those that are shaded under “K-grams”.")
    details = "".join(f'<p class="detail">{escape(line)}</p>' for line in numbers)
    st.html(
        f'<div class="trust {STYLES[reason_test.level]}" role="note">'
        f'<p class="verdict-line">{escape(verdict)}</p>{details}</div>'
    )
