"""Charts of comparisons: from a table to an Altair chart."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from icaps.reports.charts import ACCENT, GREY

_BINS = 20
_TITLES = {"accuracy": "Accuracy", "macro_f1": "Macro F1"}


def accuracies(scores: pd.DataFrame, ink: str, value: str = "accuracy") -> alt.LayerChart:
    """A point per model with its interval, grey for a model that was trained on the texts.

    Args:
        scores: From `compare.score_table`, with `fair` and `trained on them`.
        ink: The colour of labels.
        value: The column of the score.
    """
    base = alt.Chart(scores).encode(
        y=alt.Y(
            "model:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=600, labelColor=ink),
        ),
        tooltip=[
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip(f"{value}:Q", title=_TITLES[value], format=".2%"),
            alt.Tooltip("low:Q", title="95% from", format=".2%"),
            alt.Tooltip("high:Q", title="to", format=".2%"),
            alt.Tooltip("trained on them:N", title="Trained on these texts"),
        ],
    )
    scale = alt.Scale(zero=False, nice=True)
    axis = alt.Axis(format=".1%", grid=True, tickCount=5, labelColor=ink)
    reach = base.mark_rule(strokeWidth=3, color=GREY).encode(
        x=alt.X("low:Q", title=None, scale=scale, axis=axis), x2="high:Q"
    )
    points = base.mark_circle(size=110, opacity=1).encode(
        x=alt.X(f"{value}:Q", scale=scale),
        color=alt.condition("datum.fair", alt.value(ACCENT), alt.value(GREY)),
    )
    height = 40 + 34 * len(scores)
    chart: alt.LayerChart = alt.layer(reach, points).properties(height=height)
    return chart.configure_view(stroke=None)


def in_common(values: Sequence[float], random: float, ink: str) -> alt.LayerChart:
    """A histogram of what the shares of two models have in common, with the mean if shuffled."""
    table = pd.DataFrame({"common": values})
    bars = (
        alt.Chart(table)
        .mark_bar(color=ACCENT)
        .encode(
            x=alt.X(
                "common:Q",
                bin=alt.Bin(extent=[0, 1], step=1 / _BINS),
                title="in common: what words add, on the same words",
                axis=alt.Axis(format=".0%", labelColor=ink, titleColor=ink),
            ),
            y=alt.Y("count()", title="texts", axis=alt.Axis(labelColor=ink, titleColor=ink)),
            tooltip=[alt.Tooltip("count()", title="Texts")],
        )
    )
    line = (
        alt.Chart(pd.DataFrame({"random": [random]}))
        .mark_rule(color="#d55e00", strokeWidth=2, strokeDash=[5, 4])
        .encode(
            x=alt.X("random:Q"),
            tooltip=[alt.Tooltip("random:Q", title="With shuffled shares", format=".1%")],
        )
    )
    chart: alt.LayerChart = alt.layer(bars, line).properties(height=220)
    return chart.configure_view(stroke=None)
