"""Asks which capsule and class are shown, and how."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import quotas, settings, url_state
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BY_COUNT, BY_SCORE, WORD_MEASURES
from dashboard.widgets import capsule_picker, live_text, neutral_dialog
from icaps.interpret import tables
from icaps.interpret.tables import ORDERS, column_order
from icaps.reports.global_report import GlobalReport
from icaps.train.checkpoint import MAX_NAME_LENGTH, rename_capsule

WORDS, KGRAMS = "words", "kgrams"
COUNTED = {"Words": WORDS, "K-grams": KGRAMS}  # by tab
_MEASURES = {BY_SCORE: "Share of the score", BY_COUNT: "Count"}
_ORDERS = {"class": "by class", "size": "by size", "clustered": "clustered", "number": "by number"}
_CLASS_ORDERS = {
    "class": "as in the model",
    "capsules": "along the capsules",
    "texts": "by texts",
    "name": "by name",
}
_FEW = 8  # classes, which need neither an order nor a search
BY_ROUTING, BY_CONTRIBUTION = "Routing", "Contribution"  # by which texts of a capsule are chosen
OWN_TEXT = "Text to try"  # label of the box


def ask_heatmap(report: GlobalReport) -> tuple[str, list[int]]:
    """Asks which column of `tables.cells` the heatmap shows, and the order of the capsules."""
    left, right = st.columns(2, gap="medium")
    values = list(tables.VALUES)
    if report.view.shares is None:
        values.remove(tables.SCORE_SHARE)
        if st.session_state.get("cell_value") == tables.SCORE_SHARE:
            st.session_state.cell_value = values[0]
    value = left.selectbox(
        "Cells show",
        values,
        format_func=lambda name: tables.VALUES[name],
        key="cell_value",
        persist_state="session",
    )
    order = right.selectbox(
        "Columns", ORDERS, format_func=_ORDERS.__getitem__, key="columns", persist_state="session"
    )
    return value, column_order(report.view.tally.frequency, order)


def ask_classes(report: GlobalReport, order: Sequence[int]) -> list[str]:
    """Asks for the rows of the heatmap, if there are many classes: a search, and their order.

    Args:
        report: The model's counts.
        order: The capsules from left to right.
    """
    classes = report.classes
    if len(classes) <= _FEW:
        return classes
    left, right = st.columns(2, gap="medium")
    by = right.selectbox(
        "Rows",
        url_state.CLASS_ORDERS,
        format_func=_CLASS_ORDERS.__getitem__,
        key="class_order",
        persist_state="session",
    )
    searched = left.text_input(
        "Find a class",
        key="class_search",
        placeholder=f"{len(classes)} classes",
        max_chars=url_state.MAX_PATTERN,
        persist_state="session",
    )
    frequency = report.view.tally.frequency
    places = frequency[:, list(order)].argmax(1)  # of the largest cell of each row
    keys = {
        "class": lambda j: j,
        "capsules": lambda j: (places[j], j),
        "texts": lambda j: (-frequency[j].sum(), j),
        "name": lambda j: classes[j].casefold(),
    }
    rows = [classes[j] for j in sorted(range(len(classes)), key=keys[by])]
    matching = [name for name in rows if searched.strip().casefold() in name.casefold()]
    if not matching:
        st.caption("No class has this in its name, so all are shown.")
    return matching or rows


def ask_cell(report: GlobalReport) -> tuple[int, str | None]:
    """Asks for the capsule and the class (None: all), as a click in the heatmap does."""
    left, right = st.columns(2, gap="small", vertical_alignment="bottom")
    with left:
        capsule = capsule_picker.ask_capsule(report)
    name = right.selectbox(
        "Texts of",
        [url_state.EVERY, *report.classes],
        key="cell_class",
        persist_state="session",
    )
    return capsule, capsule_picker.one_class(name)


def ask_words(
    report: GlobalReport, capsule: int, class_name: str | None, kind: str
) -> pd.DataFrame:
    """Asks which words (or K-grams) of a cell are shown; returns them, the largest first."""
    by_share = _ask_measure(report) == BY_SCORE
    largest = "largest share" if by_share else "most frequent"
    weight = st.slider(
        f"λ: from specific to this capsule (0) to {largest} (1)",
        0.0,
        1.0,
        0.6,
        0.05,
        key=f"lambda {kind}",
        persist_state="session",
        help="Relevance as in LDAvis (Sievert and Shirley 2014): λ log p(w | cell) + (1 - λ) "
        "log(p(w | cell) / p(w)). At 1 the order is that of counts, as in the paper, or of shares.",
    )
    all_words = st.toggle("Stop words and punctuation", key=f"all {kind}", persist_state="session")
    if by_share:
        items = report.words_by_share if kind == WORDS else report.kgrams_by_share
        place = report.place(capsule, class_name)
        return _largest_first(items(place, lambda_=weight, all_words=all_words, top=20))
    count = tables.words if kind == WORDS else tables.kgrams
    return _largest_first(
        count(
            report.view.tally,
            report.classifier.vocabulary_,
            report.where(capsule, class_name),
            lambda_=weight,
            all_words=all_words,
            top=20,
        )
    )


def ask_choice_of_texts(report: GlobalReport) -> str:
    """Asks by what the texts of a capsule are chosen: BY_ROUTING or BY_CONTRIBUTION."""
    if report.view.routing is None:
        return BY_CONTRIBUTION
    chosen = st.segmented_control(
        "Chosen by",
        [BY_ROUTING, BY_CONTRIBUTION],
        default=BY_ROUTING,
        key="texts_by",
        persist_state="session",
        required=True,
        help="Routing: texts of the high, middle and low third of the capsule's routing weights. "
        "Contribution: the texts that it won to which it contributes most.",
    )
    return str(chosen)


def ask_text() -> str:
    """Asks for a text of the visitor's own; at first that of Explain."""
    st.session_state.setdefault("capsule text", st.session_state.text)
    text: str = st.text_area(
        OWN_TEXT,
        key="capsule text",
        height=100,
        max_chars=settings.current().text_characters,
        placeholder="Type or paste a text to see what this capsule makes of it",
        persist_state="session",
    )
    live_text.apply_while_typing(OWN_TEXT)
    return text


def _largest_first(table: pd.DataFrame) -> pd.DataFrame:
    """The order of the bars: the largest count or share first."""
    return table.sort_values(table.columns[1], ascending=False, kind="stable", ignore_index=True)


def _ask_measure(report: GlobalReport) -> str:
    """Asks whether words are ordered by share or by count; by count if there are no shares."""
    if report.view.shares is None:
        st.caption(
            "These counts are of an older version, without shares of the score. *Count again*, "
            "below, adds them."
        )
        return BY_COUNT
    url_state.set_default("words_by")
    measure: str = st.segmented_control(
        "Order by",
        WORD_MEASURES,
        format_func=_MEASURES.__getitem__,
        key="words_by",
        persist_state="session",
        required=True,
        help="Share: what the words add to the score of the predicted class through this capsule, "
        "over all texts of the class, in points (below 0: against it). Count: how often they are "
        "in the K-gram with the most attention, in the texts that this capsule won, as in the "
        "paper.",
    )
    return measure


def ask_name(model: ModelFolder, report: GlobalReport, capsule: int) -> None:
    """Asks for a name of the capsule, which is stored with the model.

    Raises:
        CheckpointError: The name can't be written.
    """
    if quotas.read_only():
        return
    current = report.classifier.capsule_names_.get(capsule, "")
    with (
        st.popover("Rename", icon=":material/edit:", type="tertiary"),
        st.form(f"name {capsule}", border=False),
    ):
        name = st.text_input(
            f"Name of capsule {capsule}",
            current,
            max_chars=MAX_NAME_LENGTH,
            help="It replaces the number everywhere, for all who use this model. "
            "Leave it empty to remove it.",
        )
        submitted = st.form_submit_button("Save")
    if submitted and name != current:
        quotas.change("no capsule can be renamed.")
        rename_capsule(model.path, capsule, name)
        st.rerun()


def ask_neutral(
    model: ModelFolder, report: GlobalReport, capsule: int, class_name: str | None
) -> None:
    """A button that makes the capsule neutral, or a word of the cell."""
    words = tables.words(
        report.view.tally,
        report.classifier.vocabulary_,
        report.where(capsule, class_name),
        lambda_=0.6,
        all_words=False,
        top=20,
    )
    things = [neutral_dialog.capsule_name(capsule), *words["word"]]
    neutral_dialog.ask(model, things, "capsule", target=class_name)
