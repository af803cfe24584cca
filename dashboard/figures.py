"""Charts of results: pure functions, from a result to an Altair chart."""

import altair as alt
import pandas as pd

from icaps.charts import ACCENT, class_colors, shorten
from icaps.render import printable
from icaps.results import CapsuleReason, Explanation

MAX_POINTS = 200
MAX_CLASSES = 8  # more would push the text off the page, and share colours


def drawn_classes(explanation: Explanation) -> list[str]:
    """The classes that are drawn, in their order: the target and the highest norms."""
    ranked = sorted(
        zip(explanation.classes, explanation.scores, strict=True),
        key=lambda pair: (pair[0] != explanation.target, -pair[1]),
    )
    kept = {name for name, _ in ranked[:MAX_CLASSES]}
    return [name for name in explanation.classes if name in kept]


def norm_table(explanation: Explanation) -> pd.DataFrame:
    """A row a drawn class: class, norm, probability, label with what the class is here."""
    roles = {explanation.target: "explained"}
    if not explanation.blank:
        roles[explanation.predicted] = "predicted"
    rows = zip(explanation.classes, explanation.scores, explanation.probabilities, strict=True)
    drawn = drawn_classes(explanation)
    return pd.DataFrame(
        [
            (
                name,
                norm,
                probability,
                f"{norm:.2f}" + (f"  ◂ {roles[name]}" if name in roles else ""),
            )
            for name, norm, probability in rows
            if name in drawn
        ],
        columns=["class", "norm", "probability", "label"],
    )


def norm_bars(explanation: Explanation, ink: str) -> alt.LayerChart:
    """A bar a drawn class, as long as its capsule's norm; `ink` is the colour of writing."""
    colors = class_colors(explanation.classes)
    drawn = drawn_classes(explanation)
    reach = 1.5 if max(map(len, drawn)) <= 12 else 2.2  # long names leave labels less room
    base = alt.Chart(norm_table(explanation)).encode(
        y=alt.Y(
            "class:N",
            sort=None,
            title=None,
            axis=alt.Axis(
                ticks=False,
                domain=False,
                labelPadding=10,
                labelLimit=130,
                labelFontSize=13,
                labelColor=ink,
            ),
        ),
        x=alt.X("norm:Q", scale=alt.Scale(domain=[0, reach]), axis=None),
        tooltip=[
            alt.Tooltip("class:N", title="Class"),
            alt.Tooltip("norm:Q", title="Norm", format=".4f"),
            alt.Tooltip("probability:Q", title="Probability", format=".1%"),
        ],
    )
    bars = base.mark_bar(cornerRadius=3, size=16).encode(
        color=alt.Color(
            "class:N",
            legend=None,
            scale=alt.Scale(domain=drawn, range=[colors[name] for name in drawn]),
        )
    )
    labels = base.mark_text(align="left", dx=6, fontSize=13, color=ink).encode(text="label:N")
    height = 30 * len(drawn)
    return (bars + labels).properties(height=height, padding=0).configure_view(stroke=None)


def attention_table(explanation: Explanation, reason: CapsuleReason) -> pd.DataFrame:
    """Attention of one capsule along the text: position from 1, word, attention, label.

    Past MAX_POINTS words a row stands for several neighbours and holds the most attended one. The
    words in the middle of the capsule's K-grams have a label.
    """
    size = -(-len(reason.attention) // MAX_POINTS)
    middles = _middles(explanation, reason)
    rows = []
    for start in range(0, len(reason.attention), size):
        run = range(start, min(start + size, len(reason.attention)))
        n = max(run, key=reason.attention.__getitem__)
        word = explanation.words[n]
        text = printable(explanation.text[word.start : word.end])
        rows.append((n + 1, text, reason.attention[n], shorten(text) if n in middles else ""))
    return pd.DataFrame(rows, columns=["position", "word", "attention", "label"])


def attention_line(explanation: Explanation, reason: CapsuleReason, ink: str) -> alt.LayerChart:
    """Attention of one capsule along the text, with the middles of its K-grams named."""
    table = attention_table(explanation, reason)
    base = alt.Chart(table).encode(
        x=alt.X(
            "position:Q",
            title=None,
            scale=alt.Scale(domain=[0.5, len(reason.attention) + 0.5], nice=False),
            axis=alt.Axis(grid=False, ticks=False, tickMinStep=1, format="d"),
        ),
        y=alt.Y(
            "attention:Q",
            title=None,
            scale=alt.Scale(domain=[0, 1.3 * max(reason.attention)], nice=False),
            axis=alt.Axis(ticks=False, domain=False, tickCount=2, format=".2f"),
        ),
        tooltip=[
            alt.Tooltip("word:N", title="Word"),
            alt.Tooltip("position:Q", title="Position"),
            alt.Tooltip("attention:Q", title="Attention α", format=".4f"),
        ],
    )
    line = base.mark_area(
        line={"color": ACCENT, "strokeWidth": 1.5}, color=ACCENT, opacity=0.25, interpolate="linear"
    )
    named = base.transform_filter("datum.label != ''")
    dots = named.mark_circle(color=ACCENT, size=55, opacity=1)
    names = named.mark_text(dy=-11, fontSize=12, color=ink).encode(text="label:N")
    hits = base.mark_circle(size=260, opacity=0)  # easier to point at than a thin line
    return alt.layer(line, dots, names, hits).properties(height=110).configure_view(stroke=None)


def _middles(explanation: Explanation, reason: CapsuleReason) -> set[int]:
    """Positions of the words in the middle of the capsule's K-grams: the most attended to."""
    kgrams = sum(kgram.capsule == reason.capsule for kgram in explanation.kgrams)
    ranked = sorted(range(len(reason.attention)), key=lambda n: -reason.attention[n])
    return set(ranked[:kgrams])
