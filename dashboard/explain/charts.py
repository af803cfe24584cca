"""Charts of one explanation: from a result to a Vega-Lite specification.

The specification is written out by hand, because each new text needs new charts while the visitor
waits: Altair takes as long to build and check one as the network takes for hundreds of texts.
"""

from typing import Any

import pandas as pd

from icaps.html import printable
from icaps.reports.charts import ACCENT, class_colors, shorten
from icaps.results import CapsuleReason, Explanation

MAX_POINTS = 200
_NUMBERS = ("norm", "probability", "position", "attention")
MAX_CLASSES = 8  # more would push the text off the page, and repeat colours

Spec = dict[str, Any]


def drawn_classes(explanation: Explanation) -> list[str]:
    """The classes in the charts, in the model's order: the target and the largest norms."""
    ranked = sorted(
        zip(explanation.classes, explanation.scores, strict=True),
        key=lambda pair: (pair[0] != explanation.target, -pair[1]),
    )
    drawn = {name for name, _ in ranked[:MAX_CLASSES]}
    return [name for name in explanation.classes if name in drawn]


def norm_table(explanation: Explanation) -> pd.DataFrame:
    """A row per drawn class: class, norm, probability, label (norm and role of the class)."""
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


def norm_bars(explanation: Explanation, ink: str) -> Spec:
    """A bar per drawn class: the norm of its class capsule. `ink` is the text colour."""
    colors = class_colors(explanation.classes)
    drawn = drawn_classes(explanation)
    reach = 1.5 if max(map(len, drawn)) <= 12 else 2.2  # long names leave labels less room
    axis = {
        "ticks": False,
        "domain": False,
        "labelPadding": 10,
        "labelLimit": 130,
        "labelFontSize": 13,
        "labelColor": ink,
    }
    of_class = {"domain": drawn, "range": [colors[name] for name in drawn]}
    return {
        "data": norm_table(explanation),
        "height": 30 * len(drawn),
        "padding": 0,
        "config": {"view": {"stroke": None}},
        "encoding": {
            "y": _field("class", sort=None, title=None, axis=axis),
            "x": _field("norm", scale={"domain": [0, reach]}, axis=None),
            "tooltip": [
                _field("class", title="Class"),
                _field("norm", title="Norm", format=".4f"),
                _field("probability", title="Probability", format=".1%"),
            ],
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadius": 3, "size": 16},
                "encoding": {"color": _field("class", legend=None, scale=of_class)},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 13, "color": ink},
                "encoding": {"text": _field("label")},
            },
        ],
    }


def attention_table(explanation: Explanation, reason: CapsuleReason) -> pd.DataFrame:
    """Attention of one capsule along the text: position from 1, word, attention, label.

    With more than MAX_POINTS words, a row is the word with the largest attention of several
    neighbours. The words in the middle of the capsule's K-grams have a label.
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


def attention_line(explanation: Explanation, reason: CapsuleReason, ink: str) -> Spec:
    """Attention of one capsule along the text, with the middle words of its K-grams labelled."""
    words = {"domain": [0.5, len(reason.attention) + 0.5], "nice": False}
    weights = {"domain": [0, 1.3 * max(reason.attention)], "nice": False}
    of_words = {"grid": False, "ticks": False, "tickMinStep": 1, "format": "d"}
    of_weights = {"ticks": False, "domain": False, "tickCount": 2, "format": ".2f"}
    named = [{"filter": "datum.label != ''"}]
    edge = {"color": ACCENT, "strokeWidth": 1.5}
    return {
        "data": attention_table(explanation, reason),
        "height": 110,
        "config": {"view": {"stroke": None}},
        "encoding": {
            "x": _field("position", title=None, scale=words, axis=of_words),
            "y": _field("attention", title=None, scale=weights, axis=of_weights),
            "tooltip": [
                _field("word", title="Word"),
                _field("position", title="Position"),
                _field("attention", title="Attention α", format=".4f"),
            ],
        },
        "layer": [
            {"mark": {"type": "area", "line": edge, "color": ACCENT, "opacity": 0.25}},
            {
                "transform": named,
                "mark": {"type": "circle", "color": ACCENT, "size": 55, "opacity": 1},
            },
            {
                "transform": named,
                "mark": {"type": "text", "dy": -11, "fontSize": 12, "color": ink},
                "encoding": {"text": _field("label")},
            },
            # Easier to hover over than a thin line.
            {"mark": {"type": "circle", "size": 260, "opacity": 0}},
        ],
    }


def _field(name: str, **options: Any) -> dict[str, Any]:
    """The Vega-Lite channel of a column."""
    kind = "quantitative" if name in _NUMBERS else "nominal"
    return {"field": name, "type": kind, **options}


def _middles(explanation: Explanation, reason: CapsuleReason) -> set[int]:
    """Positions of the words in the middle of the capsule's K-grams: the largest attention."""
    kgrams = sum(kgram.capsule == reason.capsule for kgram in explanation.kgrams)
    ranked = sorted(range(len(reason.attention)), key=lambda n: -reason.attention[n])
    return set(ranked[:kgrams])
