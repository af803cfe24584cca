"""Shows the map of queries, its trustworthiness, and the words that each query looks for."""

import pandas as pd
import streamlit as st

from dashboard import nav, url_state
from dashboard.model_registry import ModelFolder
from dashboard.widgets import chart_card
from icaps.html import escape
from icaps.interpret import tables
from icaps.interpret.projection import NEIGHBOURS
from icaps.interpret.queries import QueryMap, cosines, query_vectors
from icaps.reports import charts
from icaps.reports.global_report import GlobalReport


def show_map(report: GlobalReport, query_map: QueryMap) -> None:
    """The map with its trustworthiness; a click picks a capsule."""
    points = tables.query_points(query_map, report.labelled_capsules)
    capsule = st.session_state.capsule
    chart_card.show(
        lambda ink: charts.query_map(points, report.classes, capsule, ink, has_legend=False),
        points,
        "queries",
        "The queries on a plane, coloured by the class they serve",
        key="query map",
        on_select=lambda: url_state.pick_capsule("query map"),
        selection_mode=charts.SELECTED,
    )
    st.html(_legend(report, points))
    st.caption(
        f"{_trustworthiness(query_map)} {_settings(query_map)} Grey capsules never win (dead); "
        "larger ones win more texts. Names are shown where there is room, and on hover."
    )


def show_link(model: ModelFolder, capsule: int) -> None:
    """A link to the capsule on the page Capsules."""
    st.page_link(
        nav.page("capsules"),
        label="Its words, texts and what happens without it",
        icon=":material/grid_on:",
        query_params={"model": model.name, "capsule": str(capsule)},
    )


def show_words(words: list[tuple[str, float]], capsule: int, color: str) -> None:
    """The words of the vocabulary with the highest attention scores of a query."""
    st.html('<p class="chart-title">Words that its query attends to</p>')
    st.caption(
        "The words of the vocabulary whose regions have the highest score with the query, each "
        "word taken as a text. This needs no data, so dead capsules have such words as well."
    )
    table = pd.DataFrame(words, columns=["word", "score"])
    chart_card.show(
        lambda ink: charts.word_bars(table, color, ink),
        table,
        f"pointed words of capsule {capsule}",
        f"Words with the highest scores: {', '.join(table['word'][:8])}",
    )


def show_cosines(report: GlobalReport) -> None:
    """The cosine similarities of all queries."""
    with st.expander("Cosine similarities of the queries", icon=":material/compare:"):
        st.write("Of the effective queries: 1 is the same direction, 0 is orthogonal.")
        values = cosines(query_vectors(report.classifier.network_, "effective"))
        table = pd.DataFrame(values.round(3), columns=[str(i) for i in range(len(values))])
        st.dataframe(table, width="stretch")


def _trustworthiness(query_map: QueryMap) -> str:
    if query_map.preservation is None:
        return "There are too few queries to compute the trustworthiness."
    return (
        f"Trustworthiness {query_map.preservation:.2f} "
        f"({_neighbours(query_map.preservation)}; {NEIGHBOURS} of each capsule were compared; "
        f"with shuffled points it is {query_map.shuffled:.2f})."
    )


def _legend(report: GlobalReport, points: pd.DataFrame) -> str:
    """The colours of the classes that a capsule serves, as a paragraph that wraps; HTML."""
    served, colors = set(points["main_class"]), charts.class_colors(report.classes)
    names = "".join(
        f'<span style="--class: {colors[name]}">{escape(name)}</span>'
        for name in report.classes
        if name in served
    )
    return f'<p class="class-legend">{names}</p>'


def _neighbours(score: float) -> str:
    """What a trustworthiness means."""
    if score >= 0.95:
        return "neighbours on the map are neighbours in the model's space"
    if score >= 0.8:
        return "most neighbours on the map are neighbours in the model's space"
    return "many neighbours on the map are not neighbours in the model's space"


def _settings(query_map: QueryMap) -> str:
    if query_map.perplexity is None:
        return "The axes are the two directions of largest variance."
    return f"Perplexity {query_map.perplexity:g}, seed {query_map.seed}, initialized by PCA."
