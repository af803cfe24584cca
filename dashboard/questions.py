"""What the visitor is asked: a text or many, and the settings of the explanation."""

import streamlit as st

from dashboard import batch, cached, live_text, state
from dashboard.cached import Settings
from dashboard.catalogue import ModelFolder
from dashboard.examples import EXAMPLES
from icaps.render import printable
from icaps.results import capsule_label


def ask_text() -> str:
    """One text, typed or taken from the examples; controls and the like as U+FFFD."""
    st.pills(
        "Examples",
        list(EXAMPLES),
        key="example",
        on_change=state.take_example,
        label_visibility="collapsed",
    )
    text = st.text_area(
        "Your text",
        key="text",
        height=110,
        max_chars=state.MAX_TEXT,
        on_change=state.forget_example,
        persist_state="session",
    )
    live_text.answer_while_typing("Your text")
    if not state.text_fits_link():
        st.caption(
            f"A link to this page leaves out a text of more than {state.MAX_LINK:,} characters."
        )
    return printable(text)


def ask_settings(model: ModelFolder) -> Settings:
    """The class to explain, k1, k2, and the sentences where texts are split into them."""
    classifier = cached.load(model)
    targets = [state.PREDICTED, *map(str, classifier.classes_)]
    state.choose_among("target", targets)
    sliders = {"k1": "Capsules k₁", "k2": "K-grams a capsule k₂"}
    if classifier.network_.config.hierarchical:
        sliders["sentences"] = "Sentences a capsule"
    first, *places = st.columns(1 + len(sliders), gap="medium")
    target = first.selectbox("Class to explain", targets, key="target", persist_state="session")
    for place, (key, label) in zip(places, sliders.items(), strict=True):
        place.slider(label, *state.BOUNDS[key], key=key, persist_state="session")
    chosen = None if target == state.PREDICTED else target
    return Settings(chosen, *(st.session_state[key] for key in state.BOUNDS))


def ask_muted(model: ModelFolder) -> tuple[int, ...]:
    """Which primary capsules are switched off for this text; not all of them."""
    classifier = cached.load(model)
    numbers = range(classifier.network_.config.num_capsules)
    names = classifier.capsule_names_
    muted = st.multiselect(
        "Capsules that are switched off",
        numbers,
        format_func=lambda i: capsule_label(i, names.get(i, "")),
        max_selections=max(len(numbers) - 1, 1),
        key="muted",
    )
    return tuple(sorted(muted))


def ask_texts() -> tuple[str, ...]:
    """Many texts, from a file or else from the box.

    Raises:
        DataError: The file can't be read, or there are too many.
    """
    lines = st.text_area(
        "Texts, one a line", key="lines", height=160, max_chars=1_000_000, persist_state="session"
    )
    live_text.answer_while_typing("Texts, one a line")
    file = st.file_uploader(
        f"or a file of up to {batch.MAX_TEXTS:,} texts: one a line, or a CSV with a column "
        f"named {batch.TEXT_COLUMN}",
        type=["txt", "csv"],
        key="file",
    )
    if file is None:
        return batch.from_lines(lines)
    return batch.from_file(file.name, file.getvalue())


def wants_table(texts: tuple[str, ...]) -> bool:
    """Whether the visitor asks for the answers now."""
    count = f"{len(texts):,} text{'' if len(texts) == 1 else 's'}"
    return st.button(f"Explain {count}", type="primary", disabled=not texts)
