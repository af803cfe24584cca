"""What the visitor is asked: a text or many, and the settings of the explanation."""

import streamlit as st

from dashboard import quotas, settings, url_state
from dashboard.cache import models
from dashboard.explain.examples import EXAMPLES
from dashboard.many import table
from dashboard.model_registry import ModelFolder
from dashboard.widgets import live_text
from icaps.config import CAPSULE_RANKINGS, ExplainOptions
from icaps.reports.render import printable
from icaps.results import capsule_label

_RANKINGS = {"routing": "the paper's routing", "contribution": "contribution"}
# icaps faithfulness --model checkpoints/ag_news --data ag_news --removal deletion --limit 1000
_MEASURED = (
    "Contribution is what a capsule adds to the class. Over 1,000 test texts of AG's News its "
    "single words rank better than those by the paper's routing: without the first ones the class "
    "norm falls by 0.121, without the paper's by 0.079, without random ones by 0.013. The K-grams "
    "do alike: 0.119, 0.119 and 0.010."
)


def ask_text() -> str:
    """One text, typed or taken from the examples; controls and the like as U+FFFD.

    Raises:
        NotAllowedError: It is too long.
    """
    st.pills(
        "Examples",
        list(EXAMPLES),
        key="example",
        on_change=url_state.take_example,
        label_visibility="collapsed",
    )
    text = st.text_area(
        "Your text",
        key="text",
        height=110,
        max_chars=settings.current().text_characters,
        on_change=url_state.forget_example,
        persist_state="session",
    )
    live_text.answer_while_typing("Your text")
    if not url_state.text_fits_link():
        st.caption(
            f"A link to this page leaves out a text of more than {url_state.MAX_LINK:,} characters."
        )
    quotas.text(text)
    return printable(text)


def ask_settings(model: ModelFolder) -> ExplainOptions:
    """The class to explain, k1, k2, the sentences where texts are split, and the ranking."""
    classifier = models.load(model)
    targets = [url_state.PREDICTED, *map(str, classifier.classes_)]
    url_state.choose_among("target", targets)
    sliders = {"k1": "Capsules k₁", "k2": "K-grams a capsule k₂"}
    if classifier.network_.config.hierarchical:
        sliders["sentences"] = "Sentences a capsule"
    url_state.choose_among("ranking", CAPSULE_RANKINGS)
    first, *places, last = st.columns(2 + len(sliders), gap="medium")
    target = first.selectbox("Class to explain", targets, key="target", persist_state="session")
    for place, (key, label) in zip(places, sliders.items(), strict=True):
        place.slider(label, *url_state.BOUNDS[key], key=key, persist_state="session")
    ranking = last.selectbox(
        "Capsules ranked by",
        CAPSULE_RANKINGS,
        format_func=_RANKINGS.__getitem__,
        key="ranking",
        persist_state="session",
        help=_MEASURED,
    )
    chosen = None if target == url_state.PREDICTED else target
    return ExplainOptions(chosen, *(st.session_state[key] for key in url_state.BOUNDS), ranking)


def ask_muted(model: ModelFolder) -> tuple[int, ...]:
    """Which primary capsules are switched off for this text; not all of them."""
    classifier = models.load(model)
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
        f"or a file of up to {settings.current().table_rows:,} texts: one a line, or a CSV with a "
        f"column named {table.TEXT_COLUMN}",
        type=["txt", "csv"],
        key="file",
        max_upload_size=quotas.upload_mb(),
    )
    if file is None:
        return table.from_lines(lines)
    return table.from_file(file.name, file.getvalue())


def wants_table(texts: tuple[str, ...]) -> bool:
    """Whether the visitor asks for the answers now."""
    count = f"{len(texts):,} text{'' if len(texts) == 1 else 's'}"
    return st.button(f"Explain {count}", type="primary", disabled=not texts)
