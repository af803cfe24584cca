"""The curve of held-out accuracy by number of labels."""

import altair as alt
import pandas as pd

from icaps.reports.charts import ACCENT

COLUMNS = ["labels", "accuracy", "low", "high", "model"]


def draw_curve(table: pd.DataFrame, ink: str) -> alt.LayerChart:
    """A point per model, with the 95% interval of its accuracy.

    Args:
        table: A row per model, with COLUMNS.
        ink: The colour of labels.
    """
    base = alt.Chart(table).encode(
        x=alt.X(
            "labels:Q",
            title="labels",
            scale=alt.Scale(zero=False, nice=True, padding=12),
            axis=alt.Axis(tickMinStep=1, format="~d", grid=False),
        )
    )
    y = alt.Y("accuracy:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    tips = [
        alt.Tooltip("model:N"),
        alt.Tooltip("labels:Q", format=",d"),
        alt.Tooltip("accuracy:Q", format=".1%"),
        alt.Tooltip("low:Q", format=".1%", title="95% from"),
        alt.Tooltip("high:Q", format=".1%", title="to"),
    ]
    band = base.mark_area(color=ACCENT, opacity=0.15).encode(
        y=alt.Y("low:Q", title=None, scale=alt.Scale(domain=[0, 1])), y2="high:Q"
    )
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(y=y)
    points = base.mark_point(color=ACCENT, filled=True, size=60, opacity=1).encode(
        y=y, tooltip=tips
    )
    return (
        alt.layer(band, line, points)
        .properties(height=190, width="container")
        .configure_axis(labelColor=ink, titleColor=ink, titleFontWeight="normal")
        .configure_view(stroke=None)
    )
