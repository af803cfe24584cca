"""Charts of what a model has learnt: pure functions from a table to an Altair chart, and images.

The library draws them for `icaps interpret` and for model cards, the dashboard for its pages.
Altair takes long to import, so import this module only where something is drawn.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import cycle
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.html import printable
from icaps.interpret.routing_spread import LEVELS
from icaps.interpret.tables import VALUES
from icaps.reports.map_labels import place_labels

# The colours of Okabe and Ito, distinguishable with any kind of colour vision. Yellow comes last,
# because it is faint on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c", "#d9c800")
ACCENT = "#2f89a8"  # legible on a light and on a dark page
GREY = "#8a979e"
INK = {"light": "#1c2830", "dark": "#e6ecef"}  # colour of labels, by theme
RAMPS = {  # from 0 to the largest value, which has the most contrast with the page
    INK["light"]: ["#2f89a812", "#2f89a8", "#0f4a63"],
    INK["dark"]: ["#2f89a81c", "#2f89a8", "#b4e6f5"],
}
ON_LARGE = {INK["light"]: "#ffffff", INK["dark"]: "#11181d"}  # labels on large cells
LABEL = 22  # characters
MAX_COLORS = 512  # of classes
_MOST_CHROMA = 0.18  # of colours beyond the palette, which would glare
MAX_LABELLED = 40  # columns of a heatmap with room for numbers
_MEASURES = {  # how the values of `word_bars` are written, and the title of their axis
    "count": (",d", "times in the K-gram of most attention"),
    "share": ("+,.2f", "share: what it adds to the scores, in points"),
    "score": (".2f", "score with the query"),
    "z": (".1f", "z-score"),
}
SELECTED = "picked"  # name of the selection of a cell or a capsule
_INLINE_WIDTH = 900
_UPWARDS = 150  # pixels of labels that are written upwards
_CLASS_NAMES = 150  # pixels of the names of classes in a matrix without header
_MAP_WIDTHS = (280, 420, 560, 760)  # pixels, for which the labels of a map are placed
_MAP_HEIGHT = 520  # of it, without its legend
_COLUMNS = 4  # of a legend
_DOT_AREAS = (40, 900)  # pixels, from no text to the most
# Inside a page, the picture's caption says the same in words, and style classes and namespaces are
# not used.
_UNUSED_IN_PAGE = re.compile(r' (?:class|role|aria-[a-z]+|xmlns(?::xlink)?)="[^"]*"')
_ID = re.compile(r"\b(?:gradient_|clip)\d+\b")


def class_colors(classes: Sequence[str]) -> dict[str, str]:
    """A colour per class, by the order of classes; no two of MAX_COLORS share one.

    The colour of a class does not depend on how many follow it.
    """
    colors: tuple[str, ...] = PALETTE
    if len(classes) > len(PALETTE):
        colors = _distinct_colors(64 if len(classes) <= 64 else MAX_COLORS)
    return dict(zip(classes, cycle(colors)))


@cache
def _distinct_colors(number: int) -> tuple[str, ...]:
    """PALETTE, and then each time the colour that differs most from all before, in OKLab.

    The further colours have a contrast of 3 or more with a light and with a dark page.
    """
    steps = np.arange(0, 256, 8)
    triples = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    luminance = _linear(triples) @ (0.2126, 0.7152, 0.0722)
    candidates = _oklab(triples)
    muted = np.linalg.norm(candidates[:, 1:], axis=1) < _MOST_CHROMA
    usable = muted & (luminance > 0.13) & (luminance < 0.29)
    triples, candidates = triples[usable], candidates[usable]
    chosen = [tuple(bytes.fromhex(color[1:])) for color in PALETTE]
    places = _oklab(np.array(chosen))
    nearest = np.linalg.norm(candidates[:, None] - places, axis=2).min(1)
    while len(chosen) < number:
        farthest = int(nearest.argmax())
        chosen.append(tuple(triples[farthest].tolist()))
        nearest = np.minimum(nearest, np.linalg.norm(candidates - candidates[farthest], axis=1))
    return tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in chosen)


def _linear(colors: NDArray[Any]) -> NDArray[np.float64]:
    """sRGB (n, 3), 0 to 255, as linear light."""
    values = colors / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _oklab(colors: NDArray[Any]) -> NDArray[np.float64]:
    """sRGB (n, 3), 0 to 255, in OKLab (Ottosson 2020), where distances are as one sees them."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    cones = np.cbrt(_linear(colors) @ np.transpose(to_cones))
    lab: NDArray[np.float64] = cones @ np.transpose(to_lab)
    return lab


def shorten(text: str, length: int = LABEL) -> str:
    """One line of at most `length` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def heatmap(
    cells: pd.DataFrame,
    value: str,
    order: Sequence[int],
    chosen: tuple[str | None, int] | None,
    ink: str,
    classes: Sequence[str] | None = None,
    labels: Mapping[int, str] | None = None,
    header: bool = True,
) -> alt.LayerChart:
    """The matrix C, classes by capsules.

    Args:
        cells: From `tables.cells`.
        value: The column to draw, one of `tables.VALUES`.
        order: Capsules from left to right.
        chosen: The class and capsule to frame; with None as the class, the whole column.
        ink: Colour of labels, one of `INK`.
        classes: Classes from top to bottom; others are left out. None: all, in their order.
        labels: What capsules are called, by number, written upwards; None: their numbers.
        header: Whether it has the legend and the names of capsules; else `heatmap_header` does.
    """
    largest = float(cells[value].max())
    if classes is None:
        classes = list(dict.fromkeys(cells["class"]))
    else:
        cells = cells[cells["class"].isin(classes)]
    axis = _capsule_axis(labels) if header else None
    extent = alt.Undefined if header else _CLASS_NAMES
    base = alt.Chart(cells).encode(
        x=alt.X("capsule:O", sort=list(order), title="primary capsule", axis=axis),
        y=alt.Y(
            "class:N",
            sort=list(classes),
            title=None,
            axis=alt.Axis(
                ticks=False,
                domain=False,
                labelLimit=140,
                labelOverlap=False,
                labelColor=ink,
                minExtent=extent,
                maxExtent=extent,
            ),
        ),
    )
    color = _cell_color(value, largest, ink, legend=header)
    layers = [_heatmap_cells(base, color, chosen)]
    if len(order) <= MAX_LABELLED and value in ("count", "right", "wrong"):
        room = alt.ExprRef(f"width < {22 * len(order)} ? 0 : 1")
        some = base.transform_filter(f"datum.{value} > 0")
        dark = f"datum.{value} > {0.45 * max(float(cells[value].max()), 1e-9)}"
        layers.append(
            some.mark_text(fontSize=10, opacity=room).encode(
                text=alt.Text(f"{value}:Q", format=",d"),
                color=alt.condition(dark, alt.value(ON_LARGE[ink]), alt.value(ink)),
            )
        )
    row = 30 if len(classes) <= 8 else 20
    above = 10 if not header else 80 if labels is None else 80 + _UPWARDS  # legend and axis
    height = above + row * len(classes)
    chart: alt.LayerChart = alt.layer(*layers).properties(height=height).configure_view(stroke=None)
    return chart


def heatmap_header(
    cells: pd.DataFrame, value: str, order: Sequence[int], ink: str, labels: Mapping[int, str]
) -> alt.Chart:
    """The legend and the names of capsules above a `heatmap` without header.

    It is a chart of its own, so that it remains in sight while the rows of many classes scroll.
    """
    largest = float(cells[value].max())
    upwards = min(_UPWARDS, 10 + 7 * max(map(len, labels.values()), default=0))
    blank = alt.Axis(
        labels=False, ticks=False, domain=False, minExtent=_CLASS_NAMES, maxExtent=_CLASS_NAMES
    )
    chart: alt.Chart = (
        alt.Chart(cells[cells["class"] == cells["class"].iloc[0]])
        .mark_rect(opacity=0)
        .encode(
            x=alt.X(
                "capsule:O",
                sort=list(order),
                title="primary capsule",
                axis=_capsule_axis(labels),
            ),
            y=alt.Y("class:N", title=None, axis=blank),
            color=_cell_color(value, largest, ink, legend=True),
        )
        .properties(height=upwards + 72)
        .configure_view(stroke=None)
    )
    return chart


def _cell_color(value: str, largest: float, ink: str, legend: bool) -> alt.Color:
    """The colour of a cell by its value, of which `largest` is that of all cells."""
    return alt.Color(
        f"{value}:Q",
        title=VALUES[value],
        scale=alt.Scale(range=RAMPS[ink], domain=[0, largest]),
        legend=alt.Legend(orient="top", gradientLength=160, gradientThickness=8)
        if legend
        else None,
    )


def _capsule_axis(labels: Mapping[int, str] | None) -> alt.Axis:
    """An axis with a label for every capsule."""
    if labels is None:
        return alt.Axis(
            labelAngle=0, labelFontSize=9, labelOverlap=False, ticks=False, domain=False
        )
    names = {str(i): shorten(label, 24) for i, label in labels.items()}
    return alt.Axis(
        orient="top",
        labelAngle=-90,
        labelFontSize=11,
        labelLimit=_UPWARDS - 10,
        labelOverlap=False,
        labelExpr=f"{json.dumps(names)}[datum.label] || datum.label",
        ticks=False,
        domain=False,
    )


def _heatmap_cells(
    base: alt.Chart, color: alt.Color, chosen: tuple[str | None, int] | None
) -> alt.Chart:
    """The coloured cells of the heatmap, which a click picks."""
    framed, capsule = chosen or (None, -1)
    frame = f"datum.capsule === {capsule}"
    if framed is not None:
        frame += f" && datum.class === {json.dumps(framed)}"
    scores = []
    if base.data["score_share"].notna().any():  # not in views of older versions
        scores = [alt.Tooltip("score_share:Q", title="Share of the scores", format=".2%")]
    cells: alt.Chart = (
        base.mark_rect(cornerRadius=2, strokeWidth=2)
        .encode(
            color=color,
            stroke=alt.condition(frame, alt.value("#d55e00"), alt.value("transparent")),
            tooltip=[  # only here: a mark with a tooltip takes the clicks of the marks below it
                alt.Tooltip("class:N", title="Class"),
                alt.Tooltip("capsule:O", title="Capsule"),
                alt.Tooltip("name:N", title="Name"),
                alt.Tooltip("count:Q", title="Texts won", format=",d"),
                alt.Tooltip("share:Q", title="Share of the class", format=".2%"),
                alt.Tooltip("low:Q", title="95% from", format=".2%"),
                alt.Tooltip("high:Q", title="to", format=".2%"),
                alt.Tooltip("accuracy:Q", title="Accuracy in the cell", format=".1%"),
                alt.Tooltip("routing:Q", title="Mean routing β", format=".4f"),
                alt.Tooltip("contribution:Q", title="Mean contribution", format=".4f"),
                *scores,
            ],
        )
        .add_params(alt.selection_point(name=SELECTED, fields=["class", "capsule"], on="click"))
    )
    return cells


def word_bars(words: pd.DataFrame, color: str, ink: str) -> alt.LayerChart:
    """A bar per word or K-gram, as long as its count, share or score, in the order of the table.

    `words` is from `tables.words`, `kgrams`, `words_by_share` or `kgrams_by_share`. Bars of
    negative shares are grey and to the left.
    """
    name, value = words.columns[:2]
    form, title = _MEASURES[value]
    shown = words.assign(
        label=words[name].map(lambda text: shorten(text, 30)), end=words[value].clip(lower=0)
    )
    base = alt.Chart(shown).encode(
        y=alt.Y(
            f"{name}:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220, labelColor=ink),
        ),
        x=alt.X(
            f"{value}:Q",
            title=title,
            scale=alt.Scale(domainMax=max(1.15 * float(words[value].max()), 1e-9)),  # for labels
            axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip(f"{name}:N", title="Word" if name == "word" else "K-gram"),
            alt.Tooltip(f"{value}:Q", title=value.capitalize(), format=form),
            *(
                [alt.Tooltip("relevance:Q", title="Relevance", format=".3f")]
                if "relevance" in words.columns
                else []
            ),
        ],
    )
    bars = base.mark_bar(cornerRadius=2).encode(
        color=alt.condition(f"datum.{value} < 0", alt.value(GREY), alt.value(color))
    )
    labels = base.mark_text(align="left", dx=5, color=ink).encode(
        x=alt.X("end:Q"), text=alt.Text(f"{value}:Q", format=form)
    )
    chart: alt.LayerChart = (
        (bars + labels).properties(height=50 + 22 * len(words)).configure_view(stroke=None)
    )
    return chart


def routing_histogram(bins: pd.DataFrame, color: str, ink: str) -> alt.Chart:
    """A bar per bin of routing weights, darker from the low to the high third of their range.

    `bins` is from `tables.routing_bins`. The bins are wider to the right, so the axis is that of
    the square root, where they are of one width.
    """
    spread = float(bins["high"].max() - bins["low"].min())
    digits = 2 if spread >= 0.1 else 3 if spread >= 0.01 else 4
    opacity = dict(zip(LEVELS, (1.0, 0.65, 0.35), strict=True))
    chart: alt.Chart = (
        alt.Chart(bins)
        .mark_bar(binSpacing=1, color=color)
        .encode(
            x=alt.X(
                "low:Q",
                title="routing weight β, and the number of texts",
                scale=alt.Scale(type="sqrt", zero=False, nice=False),
                axis=alt.Axis(format=f".{digits}~f", tickCount=5, grid=False, labelColor=ink),
            ),
            x2="high:Q",
            y=alt.Y("texts:Q", title=None, axis=alt.Axis(tickCount=3, format=",d")),
            y2=alt.Y2Datum(0),
            opacity=alt.Opacity(
                "level:N",
                scale=alt.Scale(domain=list(opacity), range=list(opacity.values())),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("low:Q", title="β from", format=".3f"),
                alt.Tooltip("high:Q", title="to", format=".3f"),
                alt.Tooltip("texts:Q", title="Texts", format=",d"),
                alt.Tooltip("level:N", title="Third of the range"),
            ],
        )
        .properties(height=180)
        .configure_view(stroke=None)
    )
    return chart


def query_map(
    points: pd.DataFrame,
    classes: Sequence[str],
    chosen: int | None,
    ink: str,
    has_legend: bool = True,
) -> alt.LayerChart:
    """Queries in the plane, coloured by their main class and sized by the texts they won.

    Labels do not overlap: the first that find room are those of the chosen capsule, and then those
    of the largest, or in a narrow map of its neighbours. Hovering shows the others.

    Args:
        points: From `tables.query_points`, with a column `label`.
        classes: All classes of the model.
        chosen: The capsule to frame.
        ink: Colour of labels, one of `INK`.
        has_legend: Whether it names the classes; the page may do so in a way that wraps.
    """
    colors = class_colors(classes)
    served = [name for name in classes if name in set(points["main_class"])]
    domains = [_padded(points[axis]) for axis in ("x", "y")]
    base = alt.Chart(_with_labels(points, domains, chosen)).encode(
        x=alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=domains[0], nice=False)),
        y=alt.Y("y:Q", title=None, axis=None, scale=alt.Scale(domain=domains[1], nice=False)),
    )
    picked = alt.selection_point(name=SELECTED, fields=["capsule"], on="click")
    legend, height = None, _MAP_HEIGHT  # an empty legend would have no size
    if served and has_legend:
        legend = alt.Legend(orient="top", symbolLimit=40, columns=_COLUMNS, labelLimit=150)
        height += 40 + 20 * (len(served) // _COLUMNS)
    dots = (
        base.mark_circle(opacity=0.85, strokeWidth=3)
        .encode(
            tooltip=[
                alt.Tooltip("label:N", title="Capsule"),
                alt.Tooltip("capsule:O", title="Number"),
                alt.Tooltip("words:N", title="Words"),
                alt.Tooltip("main_class:N", title="Serves"),
                alt.Tooltip("wins:Q", title="Texts won", format=",d"),
                alt.Tooltip("purity:Q", title="Purity", format=".1%"),
                alt.Tooltip("x:Q", format=".3f"),
                alt.Tooltip("y:Q", format=".3f"),
            ],
            size=alt.Size(
                "wins:Q",
                title="texts won",
                scale=alt.Scale(range=list(_DOT_AREAS), zero=True),
                legend=None,
            ),
            color=alt.condition(
                "datum.main_class !== ''",
                alt.Color(
                    "main_class:N",
                    title=None,
                    scale=alt.Scale(domain=served, range=[colors[name] for name in served]),
                    legend=legend,
                ),
                alt.value(GREY),
            ),
            stroke=alt.condition(
                f"datum.capsule === {-1 if chosen is None else chosen}",
                alt.value(ink),
                alt.value("transparent"),
            ),
        )
        .add_params(picked)
    )
    names = base.mark_text(
        fontSize=11, color=ink, text=_by_width("label"), dx=_by_width("dx"), dy=_by_width("dy")
    )
    chart: alt.LayerChart = (dots + names).properties(height=height).configure_view(stroke=None)
    return chart


def _by_width(name: str) -> alt.ExprRef:
    """The column of `_with_labels` for the width of the map."""
    first, *others = _MAP_WIDTHS
    choice = f"datum.{name}_{first}"
    for width in others:
        choice = f"width >= {width} ? datum.{name}_{width} : ({choice})"
    return alt.ExprRef(choice)


def _padded(values: pd.Series) -> tuple[float, float]:
    """The ends of an axis, with room beside its values."""
    low, high = float(values.min()), float(values.max())
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room


def _with_labels(
    points: pd.DataFrame, domains: Sequence[tuple[float, float]], chosen: int | None
) -> pd.DataFrame:
    """Adds columns `label_W`, `dx_W` and `dy_W` for each width W: labels and their offsets."""
    (left, right), (bottom, top) = domains
    areas = np.interp(points["wins"], (0, max(points["wins"].max(), 1)), _DOT_AREAS)
    texts = [shorten(label) for label in points["label"]]
    by_size = points["wins"].to_numpy().argsort(kind="stable")[::-1].tolist()
    numbers = points["capsule"].tolist()
    columns: dict[str, Any] = {}
    for width in _MAP_WIDTHS:
        xs = (points["x"] - left) / (right - left) * width
        ys = (top - points["y"]) / (top - bottom) * (_MAP_HEIGHT - 20)
        places = np.stack([xs, ys], axis=1)
        order = by_size
        if chosen in numbers:
            here = numbers.index(chosen)
            order = [here, *(n for n in by_size if n != here)]
            if width == _MAP_WIDTHS[0]:
                distances = np.linalg.norm(places - places[here], axis=1)
                order = distances.argsort(kind="stable").tolist()
        labels = place_labels(places, np.sqrt(areas / np.pi), texts, order, width)
        for name, values in zip(("label", "dx", "dy"), zip(*labels, strict=True), strict=True):
            columns[f"{name}_{width}"] = values
    return points.assign(**columns)


def knock_out_bars(
    capsules: pd.DataFrame, order: Sequence[int], chosen: int | None, ink: str
) -> alt.Chart:
    """The accuracy lost when each capsule is switched off; `capsules` is from `tables.capsules`."""
    chart: alt.Chart = (
        alt.Chart(capsules)
        .mark_bar(cornerRadius=2)
        .encode(
            x=alt.X(
                "capsule:O",
                sort=list(order),
                title="primary capsule switched off",
                axis=_capsule_axis(None),
            ),
            y=alt.Y(
                "cost:Q",
                title=None,
                axis=alt.Axis(format=".2%", tickCount=4, domain=False, ticks=False),
            ),
            color=alt.condition(
                f"datum.capsule === {-1 if chosen is None else chosen}",
                alt.value("#d55e00"),
                alt.value(ACCENT),
            ),
            tooltip=[
                alt.Tooltip("capsule:O", title="Capsule"),
                alt.Tooltip("name:N", title="Name"),
                alt.Tooltip("accuracy:Q", title="Accuracy without it", format=".2%"),
                alt.Tooltip("cost:Q", title="Lost", format=".3%"),
                alt.Tooltip("own_cost:Q", title="Lost on texts it won", format=".2%"),
                alt.Tooltip("other_cost:Q", title="Lost on others", format=".3%"),
            ],
        )
        .properties(height=230)
        .configure_view(stroke=None)
    )
    return chart


def image(chart: alt.TopLevelMixin, kind: Literal["png", "svg"]) -> bytes:
    """A chart as the bytes of a "png" or "svg" file, rendered without a browser."""
    data = io.BytesIO() if kind == "png" else io.StringIO()
    chart.save(data, format=kind, scale_factor=2 if kind == "png" else 1)
    value = data.getvalue()
    return value.encode() if isinstance(value, str) else value


def inline_svg(chart: alt.TopLevelMixin, ink: str, name: str) -> str:
    """A chart as an SVG element for a page, with the same bytes for the same chart.

    Args:
        chart: With the size and colours that it has on a page of the dashboard.
        ink: Colour of labels.
        name: Prefix of the ids of its gradients and clips, which must be unique on a page. Altair
            numbers them through all charts of a process.
    """
    clear = chart.properties(width=_INLINE_WIDTH, background="transparent")
    clear = clear.configure_axis(labelColor=ink, titleColor=ink, gridColor="#8886")
    clear = clear.configure_legend(labelColor=ink, titleColor=ink)
    svg = _UNUSED_IN_PAGE.sub("", image(clear, "svg").decode())
    ids = {old: f"{name}-{n}" for n, old in enumerate(dict.fromkeys(_ID.findall(svg)))}
    return _ID.sub(lambda match: ids[match[0]], svg)
