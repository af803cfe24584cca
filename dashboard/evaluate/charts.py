"""Charts of an evaluation: from its parts to tables, and from these to Altair charts."""

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dashboard.url_state import COUNTS
from icaps.evaluate.learning_curve import Point
from icaps.evaluate.multilabel_scores import CurvePoint
from icaps.evaluate.reliability import Reliability
from icaps.evaluate.selective import Selection
from icaps.evaluate.slices import LENGTH, UNKNOWN, SliceScore
from icaps.reports.charts import ACCENT, GREY, ON_LARGE, PALETTE, RAMPS, SELECTED, class_colors

CHOSEN = "#d55e00"
MANY_CLASSES = 40  # with more, a cell is too small for labels, and the matrix can be zoomed
_MOST_WRITTEN = 12  # with more classes, the cells have no room for numbers
_STEEPNESS = 0.75  # exponent of the colour scale: a single error is visible, but not large
_DARK = 0.35  # share of the largest value from which numbers have the colour for dark cells
_LEAST_SHARE = 0.01  # of the texts, to be drawn; tables have all rows
_PLAIN = {"ticks": False, "domain": False}


def confusion_table(confusion: NDArray[np.int64], classes: Sequence[str]) -> pd.DataFrame:
    """A row per cell: class, predicted, texts, share of the class."""
    rows = np.maximum(confusion.sum(1), 1)
    return pd.DataFrame(
        [
            (true, guess, int(confusion[i, j]), confusion[i, j] / rows[i])
            for i, true in enumerate(classes)
            for j, guess in enumerate(classes)
        ],
        columns=["class", "predicted", "texts", "share"],
    )


def confusions(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of `confusion_table` off the diagonal that have texts, the largest first."""
    wrong = table[(table["class"] != table["predicted"]) & (table["texts"] > 0)]
    return wrong.sort_values("texts", ascending=False, kind="stable", ignore_index=True)


def confusion_chart(
    table: pd.DataFrame, value: str, chosen: tuple[str, str], ink: str
) -> alt.LayerChart:
    """The confusion matrix; a click picks a cell.

    Args:
        table: From `confusion_table`.
        value: COUNTS or SHARES.
        chosen: The class and the prediction of the cell with a frame.
        ink: The text colour.
    """
    classes = list(dict.fromkeys(table["class"]))
    column, format_ = ("texts", ",d") if value == COUNTS else ("share", ".0%")
    if len(classes) > MANY_CLASSES:
        return _large_confusion_chart(table, column, chosen, ink)
    base = alt.Chart(table).encode(
        x=alt.X(
            "predicted:N",
            sort=classes,
            title="predicted",
            axis=alt.Axis(
                labelAngle=0 if len(classes) <= 5 else -55,
                labelLimit=180,
                labelOverlap=False,
                labelColor=ink,
                **_PLAIN,
            ),
        ),
        y=alt.Y(
            "class:N",
            sort=classes,
            title="class",
            axis=alt.Axis(labelLimit=190, labelOverlap=False, labelColor=ink, **_PLAIN),
        ),
    )
    layers = [_confusion_cells(base, column, chosen, ink)]
    if len(classes) <= _MOST_WRITTEN:
        dark = f"datum.{column} > {_DARK * max(float(table[column].max()), 1e-9)}"
        layers.append(
            base.transform_filter("datum.texts > 0")
            .mark_text(fontSize=12)
            .encode(
                text=alt.Text(f"{column}:Q", format=format_),
                color=alt.condition(dark, alt.value(ON_LARGE[ink]), alt.value(ink)),
            )
        )
    height = 90 + len(classes) * (44 if len(classes) <= 8 else 26)  # with the axis
    return alt.layer(*layers).properties(height=min(height, 1_000)).configure_view(stroke=None)


def _large_confusion_chart(
    table: pd.DataFrame, column: str, chosen: tuple[str, str], ink: str
) -> alt.LayerChart:
    """The confusion matrix of many classes: without labels, and it can be zoomed and moved."""
    classes = list(dict.fromkeys(table["class"]))
    place = {name: number for number, name in enumerate(classes)}
    cells = table[table["texts"] > 0]
    cells = cells.assign(row=cells["class"].map(place), column=cells["predicted"].map(place))
    cells = cells.assign(row_end=cells["row"] + 1, column_end=cells["column"] + 1)
    scale = alt.Scale(domain=[0, len(classes)], nice=False)
    axis = alt.Axis(labels=False, grid=False, **_PLAIN)
    base = alt.Chart(cells).encode(
        x=alt.X("column:Q", title="predicted", scale=scale, axis=axis),
        x2="column_end:Q",
        y=alt.Y(
            "row:Q",
            title="class",
            scale=alt.Scale(domain=[len(classes), 0], nice=False),
            axis=axis,
        ),
        y2="row_end:Q",
    )
    layer = _confusion_cells(base, column, chosen, ink).add_params(
        alt.selection_interval(name="zoom", bind="scales")
    )
    return alt.layer(layer).properties(height=560)


def _confusion_cells(base: alt.Chart, column: str, chosen: tuple[str, str], ink: str) -> alt.Chart:
    """The coloured cells of the confusion matrix, which a click picks."""
    true, guess = map(json.dumps, chosen)
    frame = f"datum.class === {true} && datum.predicted === {guess}"
    cells: alt.Chart = (
        base.mark_rect(cornerRadius=2, strokeWidth=2)
        .encode(
            color=alt.Color(
                f"{column}:Q",
                scale=alt.Scale(type="pow", exponent=_STEEPNESS, range=RAMPS[ink], domainMin=0),
                legend=None,
            ),
            stroke=alt.condition(frame, alt.value(CHOSEN), alt.value("transparent")),
            tooltip=[  # not on the numbers, which would catch the clicks on the cells below
                alt.Tooltip("class:N", title="Class"),
                alt.Tooltip("predicted:N", title="Predicted"),
                alt.Tooltip("texts:Q", title="Texts", format=",d"),
                alt.Tooltip("share:Q", title="Share of the class", format=".2%"),
            ],
        )
        .add_params(alt.selection_point(name=SELECTED, fields=["class", "predicted"], on="click"))
    )
    return cells


def reliability_table(calibration: Reliability) -> pd.DataFrame:
    """A row per bin: from, to, texts, confidence, accuracy with its interval."""
    return pd.DataFrame(
        [(b.low, b.high, b.texts, b.confidence, *b.accuracy) for b in calibration.bins],
        columns=["from", "to", "texts", "confidence", "accuracy", "low", "high"],
    )


def reliability_chart(
    table: pd.DataFrame, ink: str, names: tuple[str, str] = ("accuracy", "mean confidence")
) -> alt.LayerChart:
    """Reliability diagram: accuracy by confidence, with the line of a calibrated model.

    `names` are the titles of the axes.
    """
    ideal = pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]})
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", tickCount=5, gridOpacity=0.4)
    y = alt.Y("accuracy:Q", scale=scale, axis=axis, title=names[0])
    x = alt.X("confidence:Q", scale=scale, axis=axis, title=names[1])
    line = alt.Chart(ideal).mark_line(color=GREY, strokeDash=[5, 4]).encode(x=x, y=y)
    base = alt.Chart(table)
    reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(
        x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"
    )
    dots = base.mark_circle(color=ACCENT, opacity=1).encode(
        x=x,
        y=y,
        size=alt.Size("texts:Q", legend=None, scale=alt.Scale(type="sqrt", range=[40, 500])),
        tooltip=[
            alt.Tooltip("from:Q", title="Confidence from", format=".1%"),
            alt.Tooltip("to:Q", format=".1%"),
            alt.Tooltip("texts:Q", title="Texts", format=",d"),
            alt.Tooltip("confidence:Q", title=names[1].capitalize(), format=".1%"),
            alt.Tooltip("accuracy:Q", title=names[0].capitalize(), format=".1%"),
            alt.Tooltip("low:Q", title="95% from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
        ],
    )
    return alt.layer(line, reach, dots).properties(height=340).configure_view(stroke=None)


def selective_table(curve: Sequence[Selection]) -> pd.DataFrame:
    """A row per threshold: threshold, texts, coverage, accuracy with its interval."""
    return pd.DataFrame(
        [(point.threshold, point.texts, point.coverage, *point.accuracy) for point in curve],
        columns=["threshold", "texts", "coverage", "accuracy", "low", "high"],
    )


def selective_chart(
    table: pd.DataFrame, chosen: Selection, at_random: float, ink: str
) -> alt.LayerChart:
    """Accuracy by coverage, compared with a model that abstains at random.

    Args:
        table: From `selective_table`.
        chosen: The threshold that is marked.
        at_random: The accuracy on all texts.
        ink: The text colour.
    """
    table = table[table["coverage"] >= _LEAST_SHARE]  # the accuracy on a few texts is noise
    x = alt.X("coverage:Q", title="texts predicted", axis=alt.Axis(format="%", tickCount=5))
    lowest = min(table["accuracy"].min(), at_random, chosen.accuracy.value if chosen.texts else 1)
    scale = alt.Scale(domain=[max(lowest - 0.04, 0), 1], nice=True)
    axis = alt.Axis(format="%", tickCount=4, gridOpacity=0.4)
    y = alt.Y("accuracy:Q", title="accuracy of the predictions", scale=scale, axis=axis)
    base = alt.Chart(table)
    band = base.mark_area(color=ACCENT, opacity=0.2, clip=True).encode(
        x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"
    )
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(x=x, y=y)
    hits = base.mark_circle(size=200, opacity=0).encode(  # easier to hover over than a line
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("threshold:Q", title="Confidence from", format=".1%"),
            alt.Tooltip("coverage:Q", title="Predicted", format=".1%"),
            alt.Tooltip("texts:Q", title="Texts", format=",d"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".2%"),
        ],
    )
    chance = alt.Chart(pd.DataFrame({"accuracy": [at_random], "label": ["abstains at random"]}))
    layers = [
        band,
        line,
        chance.mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=y),
        chance.mark_text(align="left", baseline="top", dx=4, dy=4, color=ink).encode(
            x=alt.value(0), y=y, text="label:N"
        ),
        hits,
    ]
    if chosen.texts:
        mark = pd.DataFrame({"coverage": [chosen.coverage], "accuracy": [chosen.accuracy.value]})
        layers.insert(-1, alt.Chart(mark).mark_circle(size=130, color=CHOSEN).encode(x=x, y=y))
    return alt.layer(*layers).properties(height=300).configure_view(stroke=None)


def precision_recall_table(curve: Sequence[CurvePoint]) -> pd.DataFrame:
    """A row per threshold: threshold, precision, recall."""
    return pd.DataFrame(curve, columns=CurvePoint._fields)


def precision_recall_chart(
    table: pd.DataFrame, chosen: CurvePoint, chance: float, ink: str
) -> alt.LayerChart:
    """Precision by recall of a class, with the point of its threshold and a random order.

    Args:
        table: From `precision_recall_table`.
        chosen: The point at the threshold of the class.
        chance: The share of the texts that have the class.
        ink: The text colour.
    """
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", tickCount=5, gridOpacity=0.4)
    x = alt.X("recall:Q", scale=scale, axis=axis, title="recall: texts of the class that it finds")
    y = alt.Y("precision:Q", scale=scale, axis=axis, title="precision")
    base, tooltip = (
        alt.Chart(table),
        [
            alt.Tooltip("threshold:Q", title="Predicted from", format=".1%"),
            alt.Tooltip("precision:Q", title="Precision", format=".1%"),
            alt.Tooltip("recall:Q", title="Recall", format=".1%"),
        ],
    )
    # The steps of average precision: a precision holds from the recall before it.
    line = base.mark_line(color=ACCENT, strokeWidth=2, interpolate="step-after").encode(
        x=x, y=y, order="threshold:Q"
    )
    hits = base.mark_circle(size=200, opacity=0).encode(x=x, y=y, tooltip=tooltip)
    mark = alt.Chart(pd.DataFrame([chosen._asdict()])).mark_circle(size=130, color=CHOSEN)
    random = alt.Chart(pd.DataFrame({"precision": [chance], "label": ["random order"]}))
    return (
        alt.layer(
            random.mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=y),
            random.mark_text(align="left", baseline="bottom", dx=4, dy=-4, color=ink).encode(
                x=alt.value(0), y=y, text="label:N"
            ),
            line,
            hits,
            mark.encode(x=x, y=y, tooltip=tooltip),
        )
        .properties(height=340)
        .configure_view(stroke=None)
    )


def slice_table(parts: Sequence[SliceScore]) -> pd.DataFrame:
    """A row per slice: its accuracy with interval, and the range of random subsets."""
    return pd.DataFrame(
        [
            {
                "kind": part.kind,
                "slice": part.name,
                "texts": part.texts,
                "accuracy": part.accuracy.value,
                "low": part.accuracy.low,
                "high": part.accuracy.high,
                "random from": part.random_low,
                "random to": part.random_high,
                "than random ones": part.verdict,
            }
            for part in parts
        ]
    )


def slice_chart(table: pd.DataFrame, ink: str, of: str = "accuracy") -> alt.LayerChart:
    """A dot per slice on the band of random subsets of its size; small slices are not drawn.

    `of` is the title of the axis.
    """
    total = table.loc[table["kind"] == LENGTH, "texts"].sum()
    table = table[(table["kind"] != UNKNOWN) | (table["texts"] >= _LEAST_SHARE * total)]
    table = table.assign(
        label=[
            f"{kind}: {name}" if kind != LENGTH else name
            for kind, name in zip(table["kind"], table["slice"], strict=True)
        ]
    )
    order = table["label"].tolist()
    y = alt.Y(
        "label:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=190, labelOverlap=False, labelColor=ink, **_PLAIN),
    )
    scale = alt.Scale(zero=False, nice=True)
    axis = alt.Axis(format=".0%", tickCount=5, gridOpacity=0.4)
    base = alt.Chart(table)
    band = base.mark_bar(color=GREY, opacity=0.4, height=14, cornerRadius=3).encode(
        x=alt.X("random from:Q", scale=scale, axis=axis, title=of), x2="random to:Q", y=y
    )
    reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale), x2="high:Q", y=y
    )
    dots = base.mark_circle(color=ACCENT, size=90, opacity=1).encode(
        x=alt.X("accuracy:Q", scale=scale),
        y=y,
        tooltip=[
            alt.Tooltip("kind:N", title="By"),
            alt.Tooltip("slice:N", title="Slice"),
            alt.Tooltip("texts:Q", title="Texts", format=",d"),
            alt.Tooltip("accuracy:Q", title=of.capitalize(), format=".2%"),
            alt.Tooltip("low:Q", title="95% from", format=".2%"),
            alt.Tooltip("high:Q", title="to", format=".2%"),
            alt.Tooltip("random from:Q", title="Random subsets from", format=".2%"),
            alt.Tooltip("random to:Q", title="to", format=".2%"),
        ],
    )
    height = 60 + 26 * len(table)  # with the axis
    return alt.layer(band, reach, dots).properties(height=height).configure_view(stroke=None)


def learning_table(points: Sequence[Point]) -> pd.DataFrame:
    """A row per model: name, curve, training texts, seed, accuracies."""
    return pd.DataFrame(points, columns=Point._fields).rename(
        columns=lambda name: name.replace("_", " ")
    )


def learning_chart(table: pd.DataFrame, value: str, ink: str) -> alt.LayerChart:
    """Accuracy by number of training texts: a dot per model, a line through the means over seeds.

    `value` is the column that is drawn.
    """
    curves = list(dict.fromkeys(table["curve"]))
    colors = class_colors(curves)
    base = alt.Chart(table.dropna(subset=[value])).encode(
        x=alt.X(
            "training texts:Q",
            scale=alt.Scale(type="log", nice=False, padding=20),
            axis=alt.Axis(format="~s", tickCount=5, gridOpacity=0.4, labelColor=ink),
        ),
        color=alt.Color(
            "curve:N",
            title="settings of",
            scale=alt.Scale(domain=curves, range=[colors[name] for name in curves]),
            legend=alt.Legend(orient="top", columns=2, labelLimit=160)
            if len(curves) <= len(PALETTE)
            else None,
        ),
    )
    scale, axis = alt.Scale(zero=False), alt.Axis(format=".1%", tickCount=4, gridOpacity=0.4)
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y(f"mean({value}):Q", title=value, scale=scale, axis=axis)
    )
    dots = base.mark_circle(size=70, opacity=0.9).encode(
        y=alt.Y(f"{value}:Q", scale=scale),
        tooltip=[
            alt.Tooltip("name:N", title="Model"),
            alt.Tooltip("training texts:Q", title="Training texts", format=",d"),
            alt.Tooltip("seed:Q", title="Seed"),
            alt.Tooltip(f"{value}:Q", title=value.capitalize(), format=".2%"),
        ],
    )
    return alt.layer(line, dots).properties(height=320).configure_view(stroke=None)
