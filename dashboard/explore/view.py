"""Shows an overview of a data set, its distinctive words and its vocabulary."""

from pathlib import Path

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import error_boundary, file_access
from dashboard.cache import data, models
from dashboard.explore import charts
from dashboard.model_registry import ModelFolder
from dashboard.quotas import NotAllowedError
from dashboard.widgets import background_task, chart_card
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import reading_arguments
from icaps.config import PRESETS
from icaps.errors import VectorsError
from icaps.explore.corrected_index import CorrectedIndex
from icaps.explore.index import Index
from icaps.explore.label_issues import LabelIssues
from icaps.explore.statistics import SENTENCE_TEXTS
from icaps.html import printable
from icaps.reports.charts import class_colors, word_bars


def show_facts(index: Index) -> None:
    """The numbers of texts, classes, words and bad rows."""
    facts = index.facts
    bad = sum(sum(split.bad_rows.values()) for split in facts.splits)
    metrics = [("Texts", f"{facts.rows:,}"), ("Classes", f"{len(facts.classes):,}")]
    if len(facts.splits) > 1:
        metrics += [(f"In {split.name}", f"{split.rows:,}") for split in facts.splits]
    if index.multilabel:
        counts = [split.labels for split in facts.splits]
        total = sum(n * texts for part in counts for n, texts in zip(*part, strict=True))
        metrics.append(("Labels per text", f"{total / max(facts.rows, 1):.2f}"))
    metrics += [("Different words", f"{facts.different_words:,}"), ("Bad rows", f"{bad:,}")]
    with st.container(horizontal=True, gap="medium"):
        for label, value in metrics:
            st.metric(label, value, width=130)
    for shown, split in zip(facts.split_names, facts.splits, strict=True):
        without = dict(zip(*split.labels, strict=True)).get(0, 0)
        if without:
            share = without / split.rows
            st.caption(f"{shown}: {without:,} texts ({share:.1%}) are of no class.")
        for kind, count in split.bad_rows.items():
            st.warning(error_boundary.plain(f"{shown}: {count:,} rows left out: {kind}."))


def show_classes(index: Index) -> None:
    """The number of texts per class."""
    table = charts.class_table(index.facts)
    chart_card.show(
        lambda ink: charts.class_bars(table, ink), table, "classes", "Number of texts per class"
    )
    if index.multilabel:
        st.caption("A text with several labels counts in each of its classes.")
    if len(index.classes) > charts.MOST_CLASSES:
        st.caption(
            f"The {charts.MOST_CLASSES} largest of {len(index.classes):,} classes; the table has "
            "all, and can be searched."
        )


def show_lengths(index: Index, model: ModelFolder | None) -> None:
    """The lengths of texts, and where the selected model or a preset cuts them."""
    settings = {name: preset.model for name, preset in PRESETS.items()}
    if model is not None:
        own = f"{model.name} (the selected model)"
        settings = {own: models.load(model).network_.config, **settings}
    state = st.session_state
    if state.get("marked preset") not in settings:
        first = next(iter(settings)) if model is not None else charts.fitting_preset(index.facts)
        state["marked preset"] = first
    name = st.selectbox(
        "Mark the cut-off of", list(settings), key="marked preset", persist_state="session"
    )
    config = settings[name]
    cuts = {"words": (config.max_words, "N"), "sentences": (None, "M")}
    if config.hierarchical:  # its N is the number of words of a sentence
        cuts = {"words": (None, "N"), "sentences": (config.max_sentences, "M")}
    for unit, (limit, symbol) in cuts.items():
        _show_lengths_in(index, unit, limit, symbol)
    if any(split.sampled < split.rows for split in index.facts.splits):
        st.caption(f"Sentences are counted in the first {SENTENCE_TEXTS:,} texts of a split.")


def show_distinctive(index: Index) -> None:
    """The words that distinguish a class from the others, or from the texts without it."""
    others = "texts without it" if index.multilabel else "other classes"
    name = st.selectbox(
        "Distinctive words of", index.classes, key="telling", persist_state="session"
    )
    words = index.distinctive_words(name)
    if not words:
        st.caption(f"No word is more frequent in this class than in {others}.")
        return
    table = pd.DataFrame(words, columns=["word", "count", f"in {others}", "z"])
    table["word"] = table["word"].map(printable)
    color = class_colors(index.classes)[name]
    chart_card.show(
        lambda ink: word_bars(table[["word", "z"]].head(20), color, ink),
        table,
        "telling-words",
        f"Words that distinguish {name} from "
        + ("the texts without it" if index.multilabel else "the other classes"),
    )
    st.caption(
        "Ranked by the z-score of the log-odds ratio with an informative Dirichlet prior (Monroe, "
        f"Colaresi and Quinn 2008), among the {index.facts.distinctive_of:,} most frequent words. "
        "The table has the counts."
    )


def show_vocabulary(index: Index) -> None:
    """How the vocabulary grows, and how many words a minimum frequency F leaves."""
    growth = charts.growth_table(index.facts)
    left, right = st.columns(2, gap="medium")
    with left:
        chart_card.show(
            lambda ink: charts.growth_line(growth, ink),
            growth,
            "vocabulary",
            "Size of the vocabulary by the number of words read",
        )
    with right:
        cuts = charts.cut_table(index.facts)
        _show_shares(cuts, list(cuts.columns[2:]))
        st.caption(
            "F: words seen more than F times in the first split are in the vocabulary. Covered: "
            "the share of running words that are in it."
        )
    _show_coverage(index)


def _show_lengths_in(index: Index, unit: str, limit: int | None, symbol: str) -> None:
    """The histogram of lengths in words or sentences."""
    facts = index.facts
    parts = (getattr(split, unit) for split in facts.splits)
    lengths = dict(zip(facts.split_names, parts, strict=True))
    table = charts.length_table(lengths)
    if table.empty:
        return

    def draw(ink: str) -> alt.LayerChart:
        return charts.length_bars(table, unit, limit, symbol, ink)

    chart_card.show(draw, table, f"{unit}-a-text", f"Number of {unit} per text")
    if limit is not None:
        share = charts.cut_share(next(iter(lengths.values())), limit)
        st.caption(f"{symbol} = {limit:,} {unit} truncates {share:.1%} of the texts.")


def _show_coverage(index: Index) -> None:
    """Asks for word vectors; shows the share of the words that have one."""
    vectors = st.text_input(
        "Word vectors, to see their coverage",
        key="covered vectors",
        placeholder="a file, or a name of gensim-data",
        persist_state="session",
    )
    if not vectors:
        return
    try:
        file_access.check_vectors(vectors)
        coverage = data.coverage(index, vectors)
    except (NotAllowedError, VectorsError) as error:
        st.error(error_boundary.plain(str(error)), icon=":material/error:")
        return
    columns = ["different words", "running words"]
    rows = [(split, *shares) for split, shares in coverage.items()]
    _show_shares(pd.DataFrame(rows, columns=["split", *columns]), columns)


def _show_shares(table: pd.DataFrame, columns: list[str]) -> None:
    """A table of which some columns are shares, shown in percent."""
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table, width="stretch", hide_index=True, column_config=dict.fromkeys(columns, percent)
    )


def ask_label_issues(choice: Choice, index: Index, again: bool) -> None:
    """Searches for label issues, which were found `again` or not yet with other labels."""
    if again and isinstance(index, CorrectedIndex):
        count = int(index.corrected.sum())
        st.info(
            f"These doubts are of before the {count:,} corrected label{'' if count == 1 else 's'}. "
            "Models that learn from the corrected ones may doubt others.",
            icon=":material/history:",
        )
    name = Path(choice.value).name
    reading = {name: value for name, value in choice.key.reading.items() if name != "on_bad_rows"}
    background_task.show(
        ["data", "issues", choice.value, *reading_arguments(reading)],
        "Search again" if again else "Look for label errors",
        "Five linear models, each fitted to four fifths of the rows, predict the rest.",
        f"The labels of {name} are checked: see Datasets.",
    )


def show_doubted(index: Index, issues: LabelIssues, model: ModelFolder | None) -> None:
    """How many labels are doubted, how many are wrong by the estimate, and by which models.

    Rows that the `model` predicts as another class than their label come first, if it is given.
    """
    first = "The surest come first."
    if model is not None:
        first = f"Those that {model.name} contradicts, too, come first."
    words = (
        f"{len(issues.rows):,} of {len(index):,} labels are doubted by linear models that did not "
        f"see them and predict {issues.accuracy:.0%} of all labels; by this estimate about "
        f"{issues.estimate:,.0f} are wrong. {first} Some doubts are mistakes of the models: look "
        "before you change a label."
    )
    st.caption(error_boundary.plain(words))
