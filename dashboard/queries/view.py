"""The queries on the page: the map, what it can be trusted for, and what each one looks for."""

import pandas as pd
import streamlit as st

from dashboard import url_state
from dashboard.widgets import chart_card
from icaps.interpret import tables
from icaps.interpret.projection import METHODS, NEIGHBOURS
from icaps.interpret.queries import SPACES, QueryMap, cosines, query_vectors
from icaps.reports import charts
from icaps.reports.global_report import Report

_SPACES = {"effective": "effective queries, in one space", "queries": "queries h, as in the paper"}
_METHODS = {"tsne": "t-SNE", "pca": "PCA, which is linear"}


def ask_map() -> tuple[str, str, float, int]:
    """Which space, by which method, with what perplexity and seed."""
    first, second = st.columns(2, gap="medium")
    third, fourth = st.columns(2, gap="medium", vertical_alignment="bottom")
    space = first.selectbox(
        "Space", SPACES, format_func=_SPACES.__getitem__, key="space", persist_state="session"
    )
    method = second.selectbox(
        "Method", METHODS, format_func=_METHODS.__getitem__, key="method", persist_state="session"
    )
    off = method != "tsne"
    url_state.begin("perplexity")
    url_state.begin("map_seed")
    perplexity = third.slider(
        "Perplexity",
        1.0,
        50.0,
        step=1.0,
        key="perplexity",
        disabled=off,
        persist_state="session",
    )
    seed = fourth.number_input(
        "Seed", 0, 9_999, key="map_seed", disabled=off, persist_state="session"
    )
    return space, method, perplexity, int(seed)


def show_map(report: Report, made: QueryMap) -> None:
    """The map with its score; a click picks a capsule."""
    points = tables.query_points(made, report.labelled_capsules)
    chosen = st.session_state.capsule
    chart_card.show(
        lambda ink: charts.query_map(points, report.classes, chosen, ink),
        points,
        "queries",
        "The queries in the plane, coloured by the class they serve",
        key="query map",
        on_select=lambda: url_state.pick("query map"),
        selection_mode=charts.SELECTED,
    )
    st.caption(f"{_score(made)} {_settings(made)} Grey capsules never win; large ones win most.")


def show_words(words: list[tuple[str, float]], capsule: int) -> None:
    """The words of the vocabulary that a query points to."""
    st.subheader("Words that its query points to", anchor=False)
    st.caption(
        "Of all words of the vocabulary those whose region the query scores highest, each in a "
        "text of its own. No data is needed for this, so a dead capsule has such words as well."
    )
    table = pd.DataFrame(words, columns=["word", "relevance"])
    table.insert(1, "count", table["relevance"].round(2))
    chart_card.show(
        lambda ink: charts.word_bars(table, charts.ACCENT, ink),
        table[["word", "relevance"]].rename(columns={"relevance": "score"}),
        f"pointed words of capsule {capsule}",
        f"Words with the highest scores: {', '.join(table['word'][:8])}",
    )


def show_cosines(report: Report) -> None:
    """Which other queries are like the chosen one."""
    with st.expander("Cosines of the queries", icon=":material/compare:"):
        st.write("Of the effective queries: 1 is the same direction, 0 has nothing in common.")
        values = cosines(query_vectors(report.classifier.network_, "effective"))
        table = pd.DataFrame(values.round(3), columns=[str(i) for i in range(len(values))])
        st.dataframe(table, width="stretch")


def _score(made: QueryMap) -> str:
    if made.preservation is None:
        return "There are too few queries for a score."
    return (
        f"Trustworthiness {made.preservation:.2f} for {NEIGHBOURS} neighbours (1: neighbours here "
        f"are neighbours there; points dealt out at random: {made.shuffled:.2f})."
    )


def _settings(made: QueryMap) -> str:
    if made.perplexity is None:
        return "Its two directions are those of largest variance."
    return f"Perplexity {made.perplexity:g}, seed {made.seed}, from a PCA start."
