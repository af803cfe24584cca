"""Charts of trainings, computed from the records of their folders."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from icaps.reports.charts import class_colors, shorten

MAX_POINTS = 400  # per curve; more are not distinguishable


class Curve(NamedTuple):
    """What is drawn over the epochs: a field of the records, its title and number format.

    It is in the records of epochs if `of_epochs`, else in those of steps.
    """

    value: str
    title: str
    format: str
    of_epochs: bool = False


CURVES = {
    "loss": Curve("loss", "Loss", ".3f"),
    "accuracy": Curve("validation_accuracy", "Validation accuracy", ".1%", of_epochs=True),
    "macro_f1": Curve("validation_macro_f1", "Validation macro F1", ".1%", of_epochs=True),
    "rate": Curve("learning_rate", "Learning rate", ".2~r"),
    "speed": Curve("texts_per_second", "Texts per second", ",.0f"),
    "memory": Curve("memory", "Memory, GB", ".2f"),
}

EXAMPLE = {  # of a model that comes with the app, whose steps were not recorded
    "accuracy": CURVES["accuracy"],
    "loss": Curve("loss", "Loss on the training texts", ".3f", of_epochs=True),
    "validation_loss": Curve("validation_loss", "Validation loss", ".3f", of_epochs=True),
}


def curve_table(runs: Mapping[str, Sequence[Mapping[str, Any]]], curve: Curve) -> pd.DataFrame:
    """A row per point: run, epoch (with fractions), value; at most MAX_POINTS per run."""
    rows = []
    for name, records in runs.items():
        points = [
            (name, epoch, float(value))
            for record in records
            if ("step" in record) != curve.of_epochs
            and (value := _number(record, curve.value)) is not None
            and (epoch := _epoch_of(record)) is not None
        ]
        every = -(-len(points) // MAX_POINTS) or 1
        rows += points[::-1][::every][::-1]  # with the last point
    table = pd.DataFrame(rows, columns=["run", "epoch", curve.value])
    if curve.value == "memory":
        table[curve.value] /= 1e9
    return table


def draw(table: pd.DataFrame, curve: Curve, runs: Sequence[str], ink: str) -> alt.LayerChart:
    """A line per run; the order of `runs` sets the colours, `ink` is the text colour."""
    colors = list(class_colors(runs).values())
    legend = (
        alt.Legend(title=None, orient="bottom", labelLimit=130, columns=2)
        if len(runs) > 1
        else None
    )
    base = alt.Chart(table).encode(
        x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(grid=False, tickMinStep=1)),
        y=alt.Y(
            f"{curve.value}:Q",
            title=None,
            scale=alt.Scale(zero=False),
            axis=alt.Axis(format=curve.format, gridOpacity=0.4, tickCount=4),
        ),
        color=alt.Color("run:N", scale=alt.Scale(domain=list(runs), range=colors), legend=legend),
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("epoch:Q", title="Epoch", format=".2f"),
            alt.Tooltip(f"{curve.value}:Q", title=curve.title, format=curve.format),
        ],
    )
    line = base.mark_line(strokeWidth=2, point={"size": 24, "filled": True})
    height = 210 + (legend is not None) * (30 + 15 * len(runs))  # including title, axis and legend
    chart: alt.LayerChart = (
        alt.layer(line)
        .properties(height=height, title=_title(curve, ink))
        .configure_view(stroke=None)
    )
    return chart


def use_table(snapshots: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row per epoch and capsule: epoch, capsule, main class, share of all texts that it won."""
    rows = []
    for snapshot in snapshots:
        frequency = pd.DataFrame(snapshot["frequency"])
        total = max(int(frequency.to_numpy().sum()), 1)
        for capsule in frequency.columns:
            wins = frequency[capsule]
            main = snapshot["classes"][int(wins.argmax())] if wins.sum() else "none"
            rows.append((snapshot["epoch"], int(capsule), main, float(wins.sum()) / total))
    return pd.DataFrame(rows, columns=["epoch", "capsule", "main class", "share"])


def draw_use(table: pd.DataFrame, colors: Mapping[str, str], ink: str) -> alt.LayerChart:
    """A cell per epoch and capsule: its colour is the main class, its opacity the share."""
    used = table[table["share"] > 0]
    names = list(colors)
    cells = (
        alt.Chart(used)
        .mark_rect(cornerRadius=2)
        .encode(
            x=alt.X(
                "capsule:O",
                title="primary capsule",
                scale=alt.Scale(domain=sorted(table["capsule"].unique().tolist())),
                axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False),
            ),
            y=alt.Y("epoch:O", title="epoch", axis=alt.Axis(ticks=False, domain=False)),
            color=alt.Color(
                "main class:N",
                scale=alt.Scale(domain=names, range=[colors[name] for name in names]),
                legend=alt.Legend(title="main class", orient="top", labelLimit=90, columns=3),
            ),
            opacity=alt.Opacity(
                "share:Q", scale=alt.Scale(type="sqrt", range=[0.15, 1]), legend=None
            ),
            tooltip=[
                alt.Tooltip("epoch:O", title="Epoch"),
                alt.Tooltip("capsule:O", title="Capsule"),
                alt.Tooltip("main class:N", title="Main class"),
                alt.Tooltip("share:Q", title="Share of the texts it wins", format=".1%"),
            ],
        )
    )
    height = (
        140 + 22 * -(-len(names) // 3) + 24 * table["epoch"].nunique()
    )  # including axes and legend
    chart: alt.LayerChart = (
        alt.layer(cells)
        .properties(height=height)
        .configure_view(stroke=None)
        .configure_axis(titleColor=ink, labelColor=ink)
    )
    return chart


def _epoch_of(record: Mapping[str, Any]) -> float | None:
    """The number of completed epochs; the record of an epoch is written at its end."""
    epoch = _number(record, "epoch")
    if epoch is None or "step" not in record:
        return epoch
    step, steps = _number(record, "step"), _number(record, "steps")
    return None if step is None or steps is None else epoch - 1 + step / max(steps, 1)


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """A number of a record; None if another version of iCaps wrote something else there."""
    value = record.get(name)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _title(curve: Curve, ink: str) -> alt.TitleParams:
    return alt.TitleParams(shorten(curve.title), anchor="start", color=ink, fontSize=13)
