"""Asks for the text to explain, and how it is shaded."""

from collections.abc import Mapping

import streamlit as st

from dashboard import error_boundary, quotas, settings, url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.widgets import live_text
from icaps.html import printable
from icaps.results import Explanation


def ask_text(model: ModelFolder) -> str:
    """Asks for a text, typed or one of the model's examples; control characters become U+FFFD.

    A visitor who typed nothing starts from the first example of the model.

    Raises:
        NotAllowedError: It is too long.
    """
    examples = models.examples(model)
    _follow_model(examples)
    text = st.text_area(
        "Your text",
        key="text",
        height=110,
        max_chars=settings.current().text_characters,
        on_change=url_state.forget_example,
        persist_state="session",
        placeholder="Type or paste a text, or choose an example below.",
    )
    st.pills(
        "Examples",
        list(examples),
        format_func=error_boundary.plain,
        key="example",
        on_change=_take_example,
        args=(examples,),
        label_visibility="collapsed",
    )
    live_text.apply_while_typing("Your text")
    if not url_state.text_fits_link():
        st.caption(
            f"A link to this page leaves out a text of more than {url_state.MAX_LINK:,} characters."
        )
    quotas.text(text)
    return printable(text)


def _follow_model(examples: Mapping[str, str]) -> None:
    """Replaces an example of another model by the first of this one, and selects the shown one."""
    state = st.session_state
    if "examples shown" not in state:  # a new session, whose address may have a text
        state["examples shown"] = [] if "text" in st.query_params else [state.text]
    others = state["examples shown"]
    titles = {text: title for title, text in examples.items()}
    if state.text in others and state.text not in titles:
        state.text = next(iter(titles))
    state["examples shown"] = list(titles)
    state.example = titles.get(state.text)


def _take_example(examples: Mapping[str, str]) -> None:
    """Puts the selected example in the text box."""
    if st.session_state.example:
        st.session_state.text = examples[st.session_state.example]


def ask_predicted_class(explanation: Explanation) -> None:
    """Asks which of several predicted classes is explained; sets the target of the page."""
    names = list(explanation.given_classes)
    if len(names) < 2 and explanation.target in names:
        return
    if not names or not explanation.multilabel:
        return
    st.session_state["predicted classes"] = (
        explanation.target if explanation.target in names else None
    )
    st.pills(
        "Explain",
        names,
        format_func=error_boundary.plain,
        key="predicted classes",
        on_change=_explain_class,
        args=(explanation.predicted,),
        help="Each predicted class has an account of its own.",
    )


def _explain_class(first: str) -> None:
    """Explains the class that was picked."""
    picked = st.session_state["predicted classes"]
    st.session_state.target = url_state.PREDICTED if picked in (None, first) else picked


def ask_shading(explanation: Explanation) -> str:
    """Asks how the text is shaded: one of `url_state.SHADINGS`; not for a text without a reason."""
    if explanation.blank:
        return url_state.EVERY_WORD
    labels = {url_state.EVERY_WORD: "Every word", url_state.KGRAMS: "K-grams"}
    if explanation.target != explanation.predicted and not explanation.multilabel:
        labels[url_state.CONTRAST] = error_boundary.plain(
            f"Why {explanation.predicted} rather than {explanation.target}"
        )
    url_state.set_default("shading")
    url_state.choose_among("shading", list(labels))
    chosen = st.segmented_control(
        "Shading",
        list(labels),
        format_func=labels.__getitem__,
        key="shading",
        label_visibility="collapsed",
        persist_state="session",
    )
    return str(chosen or url_state.EVERY_WORD)
