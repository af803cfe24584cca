"""A data set on the page: each function shows one part."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from dashboard import error_boundary, nav, settings, tasks
from dashboard import file_access as places
from dashboard import quotas as limits
from dashboard.cache import data as cached_data
from dashboard.cache import explanations
from dashboard.explore import charts as figures
from dashboard.model_registry import ModelFolder
from dashboard.quotas import NotAllowedError
from dashboard.url_state import MAX_LINK
from dashboard.widgets import chart_card
from dashboard.widgets.shaded_text import text_card
from icaps.config import PRESETS, ExplainOptions
from icaps.errors import VectorsError
from icaps.explore.index import Index
from icaps.explore.label_issues import BLANK, Judged
from icaps.explore.near_duplicates import Pairs, repeats_of
from icaps.explore.statistics import SENTENCE_TEXTS
from icaps.reports import charts
from icaps.reports.files import to_csv
from icaps.reports.render import printable

POLL = 1.0  # seconds between two looks at a task
_CUT = 400  # characters of a text in a table
_DOWNLOAD = ":material/download:"
_PAIRS = 100  # shown; the file has more
_KEPT: dict[str, Any] = {"persist_state": "session"}  # also while another part is open
_OPTIONS = ExplainOptions()


def while_working(arguments: Sequence[str], label: str, about: str) -> None:
    """A button for work that takes its time, and how that goes."""
    key = tuple(arguments)
    task = tasks.started().get(key)
    if task is not None and task.running:
        st.fragment(_watch, run_every=POLL)(key, label)
        return
    if task is not None and task.failed:
        st.error(
            error_boundary.plain(task.last_line.removeprefix("icaps: ")), icon=":material/error:"
        )
    if limits.read_only():
        st.info(limits.READ_ONLY.format("this was not done beforehand."))
        return
    shown, about = error_boundary.plain(label), error_boundary.plain(about)
    if st.button(shown, icon=":material/play_arrow:", help=about, key=f"task {label}"):
        tasks.start(key)
        st.rerun()


def tabs(names: Sequence[str]) -> tuple[str, DeltaGenerator]:
    """The parts of the page: the one that is open, and its place."""
    places = st.tabs(names, key="data_tabs", on_change="rerun")
    return next(
        (pair for pair in zip(names, places, strict=True) if pair[1].open), (names[0], places[0])
    )


def show_facts(data: Index) -> None:
    """How much there is."""
    facts = data.facts
    bad = sum(sum(split.bad_rows.values()) for split in facts.splits)
    rows = [("Texts", f"{facts.rows:,}"), ("Classes", f"{len(facts.classes):,}")]
    rows += [(f"In {split.name}", f"{split.rows:,}") for split in facts.splits]
    rows += [("Different words", f"{facts.different_words:,}"), ("Bad rows", f"{bad:,}")]
    with st.container(horizontal=True, gap="medium"):
        for label, value in rows:
            st.metric(label, value, width=130)
    for split in facts.splits:
        for kind, count in split.bad_rows.items():
            st.warning(error_boundary.plain(f"{split.name}: {count:,} rows left out: {kind}."))


def show_classes(data: Index) -> None:
    """How many texts each class has."""
    table = figures.class_table(data.facts)

    def draw(ink: str) -> alt.Chart:
        return figures.class_bars(table, ink)

    chart_card.show(draw, table, "classes", "How many texts each class has")


def show_lengths(data: Index) -> None:
    """How long texts are, and where a network of a preset stops to read them."""
    names = list(PRESETS)
    st.session_state.setdefault("marked preset", figures.fitting_preset(data.facts))
    name = st.selectbox("Marked are N and M of", names, key="marked preset", **_KEPT)
    preset = PRESETS[name]
    limits = {"words": (preset.model.max_words, "N")}
    if preset.model.hierarchical:  # its N is of a sentence
        limits = {"words": (None, "N"), "sentences": (preset.model.max_sentences, "M")}
    for unit in ("words", "sentences"):
        lengths = {split.name: getattr(split, unit) for split in data.facts.splits}
        table = figures.length_table(lengths)
        if table.empty:
            continue
        limit, symbol = limits.get(unit, (None, ""))

        def draw(ink: str, table=table, unit=unit, limit=limit, symbol=symbol) -> alt.LayerChart:
            return figures.length_bars(table, unit, limit, symbol, ink)

        chart_card.show(draw, table, f"{unit}-a-text", f"How many {unit} texts have")
        if limit is not None:
            part = next(iter(lengths.values()))
            cut = figures.cut_share(part, limit)
            st.caption(f"{symbol} = {limit:,} {unit} cuts {cut:.1%} of the texts.")
    if any(split.sampled < split.rows for split in data.facts.splits):
        st.caption(f"Sentences are those of the first {SENTENCE_TEXTS:,} texts of a split.")


def show_telling(data: Index) -> None:
    """The words that tell a class from the others."""
    name = st.selectbox(
        "Words that tell a class from the others", data.classes, key="telling", **_KEPT
    )
    words = data.telling(name)
    if not words:
        st.caption("No word is more frequent in this class than in the others.")
        return
    table = pd.DataFrame(words, columns=["word", "count", "in other classes", "z"])
    table["word"] = table["word"].map(printable)
    color = charts.class_colors(data.classes)[name]

    def draw(ink: str) -> alt.LayerChart:
        return charts.word_bars(table.head(20), color, ink)

    chart_card.show(draw, table, "telling-words", f"Words that tell {name} from the other classes")
    st.caption(
        "By the z-score of the log-odds ratio with an informative Dirichlet prior (Monroe, "
        f"Colaresi and Quinn 2008), among the {data.facts.telling_of:,} most frequent words; bars "
        "are counts in the class."
    )


def show_vocabulary(data: Index) -> None:
    """How the vocabulary grows, and what a least frequency F leaves of it."""
    growth = figures.growth_table(data.facts)

    def draw(ink: str) -> alt.Chart:
        return figures.growth_line(growth, ink)

    left, right = st.columns(2, gap="medium")
    with left:
        chart_card.show(draw, growth, "vocabulary", "How the vocabulary grows with the texts")
    with right:
        table = figures.cut_table(data.facts)
        shares = {
            name: st.column_config.NumberColumn(format="percent") for name in table.columns[2:]
        }
        st.dataframe(table, width="stretch", hide_index=True, column_config=shares)
        st.caption(
            "F: words seen more than F times in the first split are kept. Covered is the share of "
            "running words that are kept."
        )
    vectors = st.text_input(
        "Word vectors, to see what they cover",
        key="covered vectors",
        placeholder="a file, or a name of gensim-data",
        **_KEPT,
    )
    if vectors:
        try:
            places.check_vectors(vectors)
            found = cached_data.coverage(data, vectors)
        except (NotAllowedError, VectorsError) as error:
            st.error(error_boundary.plain(str(error)), icon=":material/error:")
            return
        rows = [(split, *shares) for split, shares in found.items()]
        covered = pd.DataFrame(rows, columns=["split", "different words", "running words"])
        percent = st.column_config.NumberColumn(format="percent")
        config = {"different words": percent, "running words": percent}
        st.dataframe(covered, width="stretch", hide_index=True, column_config=config)


def row_table(
    data: Index, rows: NDArray[np.int64], texts: Sequence[str], judged: Judged | None
) -> pd.DataFrame:
    """A row a text: its number, split and line, class, words, and what a model says of it."""
    table = pd.DataFrame(
        {
            "row": rows,
            "text": [printable(text[:_CUT]) for text in texts],
            "class": [data.classes[code] for code in data.labels[rows]],
            "words": data.words[rows],
            "split": [data.splits[code] for code in data.split[rows]],
            "line": data.lines[rows],
        }
    )
    if judged is not None:
        predicted = judged.predicted[rows]
        names = ["" if code == BLANK else judged.classes[code] for code in predicted.tolist()]
        table.insert(3, "predicted", names)
        table.insert(4, "probability", np.round(judged.probability[rows].astype(float), 3))
    return table


def show_rows(table: pd.DataFrame, count: int) -> None:
    """A page of the rows that were found, and the file of it."""
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        column_config={"text": st.column_config.TextColumn(width="large")},
    )
    st.download_button(
        f"CSV of these {len(table)} of {count:,}",
        to_csv(table),
        "rows.csv",
        "text/csv",
        icon=_DOWNLOAD,
        on_click="ignore",
        key="save rows",
    )


def show_shaded(model: ModelFolder, texts: Sequence[str], labels: Sequence[str]) -> None:
    """The texts with the K-grams shaded that decided."""
    shown = [text[: settings.current().text_characters] for text in texts]
    for explanation, label in zip(
        explanations.explain_many(model, shown, _OPTIONS), labels, strict=True
    ):
        verdict = "" if explanation.blank else f", predicted {explanation.predicted}"
        st.caption(error_boundary.plain(f"Class {label}{verdict}"))
        st.html(text_card(explanation))


def open_in_explain(model: ModelFolder, text: str) -> None:
    """The way to the whole explanation of a text."""
    if len(text) > MAX_LINK:
        st.caption("This text is too long for a link; copy it to Explain.")
        return
    st.page_link(
        nav.page("explain"),
        label="Open in Explain",
        icon=":material/format_ink_highlighter:",
        query_params={"text": printable(text), "model": model.name},
    )


def show_repeats(data: Index, arguments: Sequence[str]) -> None:
    """Texts that recur, in numbers and pairs; they are looked for when that is asked."""
    repeats = repeats_of(data)
    if repeats is None:
        about = "Compares all texts with each other: the same, nearly the same, test and training."
        while_working([*arguments, "--repeats"], "Look for texts that recur", about)
        return
    tables = {f"same text twice in {name}": pairs for name, pairs in repeats.duplicates.items()}
    tables |= {f"nearly the same in {name}": pairs for name, pairs in repeats.near.items()}
    if len(data.splits) > 1:
        tables |= {
            "test texts that are training texts": repeats.leaks,
            "test texts nearly so": repeats.near_leaks,
        }
    summary = pd.DataFrame(
        [(name, pairs.total, pairs.differing) for name, pairs in tables.items()],
        columns=["what recurs", "pairs", "of different classes"],
    )
    st.dataframe(summary, width="stretch", hide_index=True)
    st.caption("Nearly the same: half of their words' shingles or more in common (Jaccard 0.8).")
    if not repeats.complete:
        st.warning("There are more near pairs than could be kept; these are a part of them.")
    name = st.selectbox("Pairs of", list(tables), key="repeats of", **_KEPT)
    pairs = tables[name]
    if not len(pairs.first):
        st.caption("There is none.")
        return
    table = _pair_table(data, pairs)
    st.dataframe(table.head(_PAIRS), width="stretch", hide_index=True)
    st.download_button(
        f"CSV of {len(table):,} pairs",
        to_csv(table),
        "repeats.csv",
        "text/csv",
        icon=_DOWNLOAD,
        on_click="ignore",
        key="save repeats",
    )


def _pair_table(data: Index, pairs: Pairs) -> pd.DataFrame:
    sides = {}
    for side, rows in (("first", pairs.first), ("second", pairs.second)):
        texts = data.text(rows)
        sides[f"{side} row"] = rows
        sides[f"{side} class"] = [data.classes[code] for code in data.labels[rows]]
        sides[f"{side} text"] = [printable(text[:_CUT]) for text in texts]
    return pd.DataFrame({"similarity": np.round(pairs.similarity, 3), **sides})


def _watch(key: tuple[str, ...], label: str) -> None:
    """What a task says, until it ends."""
    task = tasks.started().get(key)
    if task is None or not task.running:
        st.rerun()
    st.info(error_boundary.plain(task.last_line or f"{label} …"), icon=":material/hourglass_top:")
    if st.button("Stop", key=f"stop {label}"):
        task.stop()
        st.rerun()
