"""Charts of a data set: from its facts to tables, and to Altair or Plotly charts."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.widgets.chart_card import plotly_text
from icaps.config import PRESETS
from icaps.explore.cluster_labels import ClusterLabel
from icaps.explore.statistics import Facts, Lengths
from icaps.reports.charts import ACCENT, GREY, INK, class_colors

BINS = 50
MOST_CLASSES = 40  # in the chart; the table has all
_SPLITS = (ACCENT, GREY)
_POINT = ("row", "x", "y", "class", "predicted", "text")
_LABEL_GROUND = ("rgba(255,255,255,0.8)", "rgba(17,24,29,0.8)")  # on a light and a dark page


def class_table(facts: Facts) -> pd.DataFrame:
    """A row per class and split: class, split, texts, share of the split."""
    return pd.DataFrame(
        [
            (name, shown, rows, rows / max(split.rows, 1))
            for shown, split in zip(facts.split_names, facts.splits, strict=True)
            for name, rows in zip(facts.classes, split.class_rows, strict=True)
        ],
        columns=["class", "split", "texts", "share"],
    )


def class_bars(table: pd.DataFrame, ink: str) -> alt.Chart:
    """A bar per class and split: its share of the texts, for the largest classes."""
    sizes = table.groupby("class")["texts"].sum().sort_values(ascending=False)
    shown = table[table["class"].isin(sizes.index[:MOST_CLASSES])]
    splits = list(dict.fromkeys(table["split"]))
    rows = min(len(sizes), MOST_CLASSES) * len(splits)
    of = "split" if len(splits) > 1 else "texts"
    return (
        alt.Chart(shown)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y(
                "class:N",
                sort=list(sizes.index[:MOST_CLASSES]),
                title=None,
                axis=alt.Axis(
                    labelLimit=150, labelOverlap=False, ticks=False, domain=False, labelColor=ink
                ),
            ),
            yOffset=alt.YOffset("split:N", sort=splits),
            x=alt.X("share:Q", title=f"share of the {of}", axis=alt.Axis(format="%", tickCount=5)),
            color=_split_color(splits),
            tooltip=[
                alt.Tooltip("class:N", title="Class"),
                alt.Tooltip("split:N", title="Split"),
                alt.Tooltip("texts:Q", title="Texts", format=",d"),
                alt.Tooltip("share:Q", title="Share", format=".2%"),
            ],
        )
        .properties(height=min(100 + 22 * rows, 900))  # with the axis and the legend
    )


def length_table(lengths: Mapping[str, Lengths]) -> pd.DataFrame:
    """A row per bin and split: from, below, texts, share of the split.

    The last bin holds all texts above the 99th percentile of the lengths.
    """
    ends = [_quantile(part, 0.99) for part in lengths.values() if part.lengths]
    width = max(1, -(-(max(ends, default=1) + 1) // BINS))
    rows = []
    for split, part in lengths.items():
        bins = np.minimum(np.array(part.lengths, np.int64) // width, BINS - 1)
        texts = np.bincount(bins, weights=part.texts, minlength=1) if len(bins) else np.zeros(1)
        total = max(sum(part.texts), 1)
        for n, count in enumerate(texts.tolist()):
            if count:
                rows.append((split, n * width, (n + 1) * width, int(count), count / total))
    return pd.DataFrame(rows, columns=["split", "from", "below", "texts", "share"])


def length_bars(
    table: pd.DataFrame, unit: str, limit: int | None, symbol: str, ink: str
) -> alt.LayerChart:
    """A histogram, with a line where a network truncates texts: the paper's N or M."""
    splits = list(dict.fromkeys(table["split"]))
    bars = (
        alt.Chart(table)
        .mark_bar(opacity=0.75)
        .encode(
            x=alt.X(
                "from:Q",
                title=f"{unit} per text",
                bin="binned",
                axis=alt.Axis(tickMinStep=1, format=",d"),
            ),
            x2="below:Q",
            y=alt.Y("share:Q", title="share of the texts", stack=None, axis=alt.Axis(format="%")),
            color=_split_color(splits),
            tooltip=[
                alt.Tooltip("split:N", title="Split"),
                alt.Tooltip("from:Q", title="From"),
                alt.Tooltip("below:Q", title="Below"),
                alt.Tooltip("texts:Q", title="Texts", format=",d"),
                alt.Tooltip("share:Q", title="Share", format=".1%"),
            ],
        )
    )
    layers: list[alt.Chart] = [bars]
    if limit is not None:
        last = int(table["below"].max())
        mark = pd.DataFrame({"at": [min(limit, last)]})
        base = alt.Chart(mark).encode(x="at:Q")
        layers.append(base.mark_rule(color="#d55e00", strokeWidth=2, strokeDash=[5, 3]))
        label = base.mark_text(align="right", dx=-5, baseline="top", color=ink)
        layers.append(
            label.encode(
                text=alt.value(f"{symbol} = {limit:,}{' →' * (limit > last)}"), y=alt.value(0)
            )
        )
    chart: alt.LayerChart = alt.layer(*layers).properties(height=250)
    return chart


def cut_share(lengths: Lengths, limit: int) -> float:
    """The share of the texts that are longer than `limit`."""
    above = sum(n for length, n in zip(*lengths, strict=True) if length > limit)
    return above / max(sum(lengths.texts), 1)


def fitting_preset(facts: Facts) -> str:
    """The preset for short texts with the smallest N that truncates at most 5% of the texts."""
    most = _quantile(facts.splits[0].words, 0.95)
    limits = {
        name: preset.model.max_words or 0
        for name, preset in PRESETS.items()
        if not preset.model.hierarchical
    }
    enough = [name for name, limit in limits.items() if limit >= most]
    return min(enough or limits, key=lambda name: limits[name] if enough else -limits[name])


def growth_table(facts: Facts) -> pd.DataFrame:
    """A row per point of the curve: texts, running words, different words."""
    return pd.DataFrame(facts.growth, columns=["texts", "running words", "different words"])


def growth_line(table: pd.DataFrame, ink: str) -> alt.Chart:
    """The number of different words by the number of words read."""
    return (
        alt.Chart(table)
        .mark_line(color=ACCENT, strokeWidth=2)
        .encode(
            x=alt.X("running words:Q", axis=alt.Axis(format="~s", labelColor=ink)),
            y=alt.Y("different words:Q", axis=alt.Axis(format="~s", labelColor=ink)),
            tooltip=[alt.Tooltip(f"{name}:Q", format=",d") for name in table.columns],
        )
        .properties(height=220)
    )


def cut_table(facts: Facts) -> pd.DataFrame:
    """A row per F: F, words, and the share of each split's running words that they cover."""
    splits = facts.split_names
    rows = [(cut.frequency, cut.words, *cut.covered) for cut in facts.cuts]
    return pd.DataFrame(rows, columns=["F", "words", *[f"covered of {name}" for name in splits]])


def text_map(
    table: pd.DataFrame,
    color: str,
    colors: Mapping[str, str],
    ringed: int | None,
    ink: str,
    clusters: Sequence[ClusterLabel] = (),
    matching: NDArray[np.bool_] | None = None,
) -> go.Figure:
    """A point per text.

    Args:
        table: Its columns are row, x, y, class, predicted, text, and that of `color`.
        color: The column that colours the points.
        colors: A colour per value of that column.
        ringed: The row that is marked by a ring.
        ink: The text colour.
        clusters: Clusters to name.
        matching: A mask of the points that stand out; None if all are alike.
    """
    figure = go.Figure()
    strong = np.ones(len(table), dtype=bool) if matching is None else matching
    for name in [name for name in colors if (table[color] == name).any()]:
        mask = (table[color] == name).to_numpy()
        part = table[mask]
        figure.add_scattergl(
            x=part["x"],
            y=part["y"],
            mode="markers",
            name=plotly_text(name),
            customdata=part["row"],
            hovertext=[_tip(row) for row in part[list(_POINT)].itertuples(index=False)],
            hoverinfo="text",
            marker={
                "size": np.where(strong[mask], 7 if matching is None else 9, 5),
                "opacity": np.where(strong[mask], 0.75, 0.15),
                "color": colors[name],
                "line": {"width": 0},
            },
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 0.12}},
        )
    marked = table[table["row"] == ringed]
    if len(marked):
        figure.add_scattergl(
            x=marked["x"],
            y=marked["y"],
            mode="markers",
            hoverinfo="skip",
            showlegend=False,
            marker={"size": 18, "color": "rgba(0,0,0,0)", "line": {"width": 2.5, "color": ink}},
        )
    for label in _apart(table, clusters):
        figure.add_annotation(
            x=label.x,
            y=label.y,
            text=plotly_text(", ".join(label.words), 40),
            showarrow=False,
            font={"size": 13, "color": ink},
            bgcolor=_LABEL_GROUND[ink == INK["dark"]],
            borderpad=2,
        )
    axis = {"visible": False}
    figure.update_layout(
        height=560,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        xaxis=axis,
        yaxis=axis | {"scaleanchor": "x"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
        legend={"orientation": "h", "y": -0.02},
        dragmode="lasso",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": ACCENT},
    )
    return figure


def _apart(table: pd.DataFrame, clusters: Sequence[ClusterLabel]) -> list[ClusterLabel]:
    """The labels that do not cover each other; those of larger clusters come first."""
    wide, high = (max(float(np.ptp(table[axis])), 1e-9) for axis in ("x", "y"))
    shown: list[ClusterLabel] = []
    for label in clusters:
        if all(
            abs(label.x - other.x) > 0.25 * wide or abs(label.y - other.y) > 0.05 * high
            for other in shown
        ):
            shown.append(label)
    return shown


def map_colors(names: Sequence[str]) -> dict[str, str]:
    """A colour per name, the same for the same list."""
    return class_colors(names)


def _tip(row: tuple[object, ...]) -> str:
    named = dict(zip(("row", "x", "y", "class_", "predicted", "text"), row, strict=True))
    lines = [f"row {named['row']}", f"class {named['class_']}", f"predicted {named['predicted']}"]
    return "<br>".join(plotly_text(line, 80) for line in [*lines, str(named["text"])])


def _quantile(lengths: Lengths, share: float) -> int:
    total, seen = sum(lengths.texts), 0
    for length, texts in zip(*lengths, strict=True):
        seen += texts
        if seen >= share * total:
            return length
    return 0


def _split_color(splits: Sequence[str]) -> alt.Color:
    return alt.Color(
        "split:N",
        sort=list(splits),
        scale=alt.Scale(domain=list(splits), range=list(_SPLITS[: len(splits)])),
        legend=alt.Legend(title=None, orient="top") if len(splits) > 1 else None,
    )
