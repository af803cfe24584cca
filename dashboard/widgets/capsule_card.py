"""What a capsule is: its share of the texts, its main class, and a histogram of its routing."""

import streamlit as st

from dashboard.widgets import chart_card
from icaps.html import escape, percent
from icaps.reports import charts
from icaps.reports.global_report import GlobalReport

_STATES = {
    "alive": "",
    "rare": "It wins fewer than 1% of the texts (rare).",
    "dead": "It wins no text (dead): what it adds to the scores is small.",
}


def show_headline(report: GlobalReport, capsule: int) -> None:
    """The name of a capsule, and what it does, in two sentences."""
    row = report.labelled_capsules.set_index("capsule").loc[capsule]
    label, served = row["label"], report.served_classes[capsule]
    color = color_of(report, capsule)
    share = percent(row["wins"] / max(report.view.tally.predictions, 1), 1)
    counted = "predicted classes" if report.multilabel else "texts"
    lines = [f"Wins <span>{share}</span> of the {counted} ({row['wins']:,})"]
    if row["wins"]:
        lines[0] += f", {percent(row['purity'], 0)} of them <span>{escape(served)}</span>."
    else:
        lines[0] += f"; it is routed to <span>{escape(served)}</span> most."
    if row["score_share"] == row["score_share"]:
        lines.append(f"It adds {percent(row['score_share'], 1)} of all scores.")
    lines.append(_STATES[row["state"]])
    if row["neutral"]:
        lines.append("It serves all classes alike (class-neutral).")
    if row["duplicates"]:
        lines.append(f"Much like capsule {escape(row['duplicates'].replace(' ', ', '))}.")
    st.html(
        f'<div class="capsule-head" style="--class: {color}">'
        f'<p class="capsule-name">{escape(label)}</p>'
        f"<p>{' '.join(filter(None, lines))}</p></div>"
    )


def show_histogram(report: GlobalReport, capsule: int, class_name: str | None) -> None:
    """How much the capsule is routed to a class, or to the one that it serves most, by text."""
    bins = report.routing_bins(capsule, class_name)
    name = class_name or report.served_classes[capsule]
    if report.view.routing is None:
        return
    if bins.empty:
        st.caption(f"No text is predicted as {escape(name)}, so there is no histogram.")
        return
    texts = int(bins["texts"].sum())
    st.html(
        f'<p class="chart-title">Routing to {escape(name)} <span>over the {texts:,} texts that are '
        "predicted as it; lighter bars are its low and middle third</span></p>"
    )
    chart_card.show(
        lambda ink: charts.routing_histogram(bins, color_of(report, capsule), ink),
        bins,
        f"routing of capsule {capsule}",
        f"Routing weights of the capsule in {texts:,} texts, from {bins['low'].min():.2f} to "
        f"{bins['high'].max():.2f}",
    )


def color_of(report: GlobalReport, capsule: int) -> str:
    """The colour of the class that the capsule serves; grey if it never wins."""
    main = report.capsules["main_class"][capsule]
    return charts.class_colors(report.classes).get(main, charts.GREY)
