"""The routing picture: from an explanation to a Plotly figure."""

import html
import unicodedata
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.explain.charts import drawn_classes
from dashboard.widgets.chart_card import plotly_text
from icaps.explanation_parts import KGram
from icaps.html import chance
from icaps.reports.charts import ACCENT, GREY, class_colors, shorten
from icaps.results import Explanation

MAX_KGRAMS = 16  # more lines could not be distinguished
HOVER = 120  # characters


def routing_chart(explanation: Explanation, ink: str) -> go.Figure:
    """K-grams to primary capsules to classes, as in the paper's figure of the capsule network.

    The thickness of a line is its attention alpha or routing beta, which is shown on hover.
    """
    colors = class_colors(explanation.classes)
    kgrams, classes = drawn_kgrams(explanation), drawn_classes(explanation)
    texts = {(kgram.start, kgram.end): kgram.text for kgram in kgrams}
    drawn = {kgram.capsule for kgram in kgrams}
    reasons = [reason for reason in explanation.capsules if reason.capsule in drawn]
    rows = max(len(texts), len(reasons), len(classes))
    left = _spread(list(texts), rows)
    middle = _spread([reason.capsule for reason in reasons], rows)
    right = _spread(classes, rows)
    strongest = max((kgram.attention for kgram in kgrams), default=1.0)
    lines = [
        _curve(
            (0.0, left[kgram.start, kgram.end]),
            (1.0, middle[kgram.capsule]),
            8 * kgram.attention / strongest,
            ACCENT,
            f"“{plotly_text(kgram.text, HOVER)}” → {plotly_text(kgram.capsule_label, HOVER)}"
            f"<br>α {kgram.attention:.4f}",
        )
        for kgram in kgrams
    ]
    lines += [
        _curve(
            (1.0, middle[reason.capsule]),
            (2.0, right[name]),
            12 * routing,
            colors[name],
            f"{plotly_text(reason.label, HOVER)} → {plotly_text(name, HOVER)}<br>β {routing:.4f}",
        )
        for reason in reasons
        for name, routing in zip(explanation.classes, reason.routing, strict=True)
        if name in right
    ]
    names = [shorten(text) for text in texts.values()]
    capsules = [shorten(reason.label) for reason in reasons]
    chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    ends = [f"{shorten(name)} {chance(chances[name])}" for name in classes]
    nodes = [
        _nodes(0.0, left.values(), names, ACCENT, "middle left"),
        _nodes(1.0, middle.values(), capsules, GREY, "top center"),
        _nodes(2.0, right.values(), ends, [colors[name] for name in classes], "middle right"),
    ]
    layout = _picture_layout(rows, ink) | {"margin": _margins(names, ends)}
    return go.Figure(lines + nodes, layout)


def drawn_kgrams(explanation: Explanation) -> tuple[KGram, ...]:
    """The K-grams that the picture shows: the ones with the largest weights."""
    return explanation.kgrams[:MAX_KGRAMS]


def _spread(nodes: Sequence[Hashable], rows: int) -> dict[Any, float]:
    """A height for each node, spaced evenly from the top."""
    return {node: rows - (n + 0.5) * rows / len(nodes) for n, node in enumerate(nodes)}


def _curve(
    start: tuple[float, float], end: tuple[float, float], width: float, color: str, hover: str
) -> go.Scatter:
    """An S-shaped line, horizontal at both ends."""
    steps = [n / 16 for n in range(17)]
    return go.Scatter(
        x=[start[0] + (end[0] - start[0]) * t for t in steps],
        y=[start[1] + (end[1] - start[1]) * t * t * (3 - 2 * t) for t in steps],
        mode="lines",
        line={"width": max(width, 0.6), "color": color},
        opacity=0.6,
        text=hover,
        hoverinfo="text",
    )


def _nodes(
    x: float, heights: Collection[float], labels: list[str], color: str | list[str], position: str
) -> go.Scatter:
    return go.Scatter(
        x=[x] * len(heights),
        y=list(heights),
        mode="markers+text",
        text=[html.escape(label, quote=False) for label in labels],
        textposition=position,
        marker={"size": 11, "color": color},
        hoverinfo="skip",
        cliponaxis=False,
    )


def _margins(left: list[str], right: list[str]) -> dict[str, int]:
    """Pixels for the labels on both sides, and for the titles above."""
    widths = [max(map(_columns, [*labels, "K-grams"])) for labels in (left, right)]
    return {"l": 16 + 7 * widths[0], "r": 16 + 7 * widths[1], "t": 30, "b": 10}


def _columns(label: str) -> int:
    """Width of a label in letters; an ideograph counts as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in label)


def _picture_layout(rows: int, ink: str) -> dict:
    hidden = {"visible": False, "fixedrange": True}
    return {
        "height": 80 + 42 * rows,
        "font": {"color": ink, "size": 13},
        "annotations": [
            {
                "text": title,
                "x": x,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": anchor,
                "showarrow": False,
                "font": {"color": GREY},
                "xshift": shift,
            }
            for x, anchor, shift, title in (
                (0, "right", -7, "K-grams"),
                (1, "center", 0, "primary capsules"),
                (2, "left", 7, "classes"),
            )
        ],
        "xaxis": {**hidden, "range": [0, 2]},
        "yaxis": {**hidden, "range": [0, rows + 0.25]},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }
