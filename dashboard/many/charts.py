"""The chart of predicted classes."""

import altair as alt
import pandas as pd

from icaps.data.label_sets import names_in
from icaps.reports.charts import ACCENT, shorten

MOST_CLASSES = 20  # bars
NO_CLASS = "no class"


def class_table(predicted: pd.Series) -> pd.DataFrame:
    """The number and the share of texts per predicted class, the most frequent first.

    Classes after the first `MOST_CLASSES` are counted together; blank texts have no class. A text
    with several predicted classes counts for each, and the shares are of the texts.
    """
    known = predicted[predicted != ""]
    counts = names_of(known).value_counts()
    shown = counts[:MOST_CLASSES]
    names, values = list(map(str, shown.index)), shown.tolist()
    if len(counts) > MOST_CLASSES:
        names.append(f"{len(counts) - MOST_CLASSES} more")
        values.append(int(counts[MOST_CLASSES:].sum()))
    total = max(len(known), 1)
    return pd.DataFrame(
        {"class": names, "texts": values, "share": [value / total for value in values]}
    )


def names_of(predicted: pd.Series) -> pd.Series:
    """A row per text and predicted class, NO_CLASS for a text without any, by the text's index."""
    names = predicted.map(lambda label: list(names_in(label)) or [NO_CLASS])
    return names.explode()


def class_bars(table: pd.DataFrame, ink: str) -> alt.LayerChart:
    """A bar per class, with its number of texts."""
    table = table.assign(label=[shorten(name) for name in table["class"]])
    base = alt.Chart(table).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelColor=ink)),
        x=alt.X(
            "texts:Q", title="texts", axis=alt.Axis(labelColor=ink, titleColor=ink, tickMinStep=1)
        ),
        tooltip=[
            alt.Tooltip("class:N"),
            alt.Tooltip("texts:Q", format=","),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    numbers = base.mark_text(align="left", dx=4, color=ink).encode(
        text=alt.Text("texts:Q", format=",")
    )
    bars = base.mark_bar(color=ACCENT, height={"band": 0.7})
    return (bars + numbers).properties(height=alt.Step(24))
