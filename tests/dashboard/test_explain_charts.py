import html
import json
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pytest

from dashboard.explain import charts
from dashboard.explain.charts import MAX_CLASSES, drawn_classes
from dashboard.explain.routing_chart import MAX_KGRAMS, drawn_kgrams, routing_chart
from dashboard.widgets.chart_card import plotly_text
from dashboard.widgets.shaded_text import legend_row, text_card
from icaps.classifier import ICapsClassifier
from icaps.reports.charts import MAX_COLORS, PALETTE, class_colors, shorten
from icaps.results import CapsuleReason, Explanation, KGram, WordShare

TEXT = "oil and gas fall"
EXPLANATION = Explanation(
    text=TEXT,
    classes=("World", "Business", "Sport"),
    predicted="Business",
    target="Business",
    scores=(0.125, 0.75, 0.5),
    probabilities=(0.1, 0.7, 0.2),
    margin=0.25,
    kernel_size=3,
    kgrams=(KGram("oil and gas", 0, 11, 4, 0.8, 0.5), KGram("gas fall", 8, 16, 2, 0.4, 0.4)),
    words=(WordShare(0, 3, 1), WordShare(4, 7, 1), WordShare(8, 11, 2), WordShare(12, 16, 1)),
    capsules=(
        CapsuleReason(4, (0.05, 0.8, 0.15), (0.2, 0.5, 0.2, 0.1)),
        CapsuleReason(2, (0.2, 0.4, 0.4), (0.1, 0.3, 0.2, 0.4)),
    ),
    sentences=(),
    unknown_share=0.0,
    truncated=False,
    blank=False,
)
HOSTILE = '<b onclick="x">a & b</b> $x$ **c** :sun:'


def long_explanation(peaks: dict[int, float], length: int = 1000) -> Explanation:
    """A text of `length` one-letter words that one capsule attends to at `peaks` alone."""
    attention = tuple(peaks.get(n, 0.0) for n in range(length))
    words = tuple(WordShare(2 * n, 2 * n + 1, 0) for n in range(length))
    reason = CapsuleReason(0, (0.1, 0.8, 0.1), attention)
    middle = max(peaks, key=peaks.__getitem__)
    kgram = KGram("a a a", 2 * middle - 2, 2 * middle + 3, 0, 0.8, peaks[middle])
    return replace(
        EXPLANATION, text="a " * length, words=words, capsules=(reason,), kgrams=(kgram,)
    )


def as_vega_lite(spec: charts.Spec) -> dict[str, Any]:
    """A chart with its numbers, which Altair validates as Vega-Lite."""
    whole = {**spec, "data": {"values": spec["data"].to_dict("records")}}
    alt.LayerChart.from_dict(whole)
    return whole


@pytest.mark.parametrize("number", [2, 9, 20, 150, MAX_COLORS])
def test_no_colour_repeats_and_each_is_legible_on_both_pages(number: int) -> None:
    colors = list(class_colors([f"class {n}" for n in range(number)]).values())
    assert len(set(colors)) == number
    assert colors[: len(PALETTE)] == list(PALETTE[:number])
    for color in colors[len(PALETTE) :]:
        lightness = luminance(color)
        assert (1 + 0.05) / (lightness + 0.05) >= 3  # a white page
        assert (lightness + 0.05) / (luminance("#11181d") + 0.05) >= 3  # a dark one


def luminance(color: str) -> float:
    """Relative luminance of the Web Content Accessibility Guidelines."""
    parts = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_a_class_has_one_colour_of_its_own_everywhere() -> None:
    names = [f"class {n}" for n in range(8)]
    colors = class_colors(names)
    assert list(colors) == names
    assert len(set(colors.values())) == 8
    assert class_colors(names[:3]) == {name: colors[name] for name in names[:3]}
    assert class_colors([*names, "ninth"]).items() > colors.items()
    expected = class_colors(EXPLANATION.classes)
    scale = charts.norm_bars(EXPLANATION, "#111111")["layer"][0]["encoding"]["color"]
    assert dict(zip(scale["scale"]["domain"], scale["scale"]["range"], strict=True)) == expected
    ends = routing_chart(EXPLANATION, "#111111").data[-1]
    assert list(ends.marker.color) == list(expected.values())


def test_bars_are_the_norms() -> None:
    chart = as_vega_lite(charts.norm_bars(EXPLANATION, "#123456"))
    rows = chart["data"]["values"]
    assert [(row["class"], row["norm"], row["probability"]) for row in rows] == [
        ("World", 0.125, 0.1),
        ("Business", 0.75, 0.7),
        ("Sport", 0.5, 0.2),
    ]
    bars, labels = chart["layer"]
    assert bars["mark"]["type"] == "bar"
    assert chart["encoding"]["x"]["field"] == "norm"
    assert chart["encoding"]["x"]["scale"]["domain"][0] == 0  # a bar's length is its norm
    assert chart["encoding"]["y"]["sort"] is None  # the order of the classes
    assert labels["mark"]["color"] == "#123456"


def test_labels_of_the_bars_name_the_role_of_the_class() -> None:
    same = charts.norm_table(EXPLANATION).label.tolist()
    assert same == ["0.12", "0.75  ◂ predicted", "0.50"]
    other = charts.norm_table(replace(EXPLANATION, target="Sport")).label.tolist()
    assert other == ["0.12", "0.75  ◂ predicted", "0.50  ◂ explained"]
    blank = replace(EXPLANATION, blank=True, scores=(0.0, 0.0, 0.0), predicted="World")
    assert charts.norm_table(blank).label.tolist() == ["0.00", "0.00  ◂ explained", "0.00"]


def test_the_attention_of_each_word_and_the_middle_words_of_kgrams() -> None:
    first, second = (charts.attention_table(EXPLANATION, r) for r in EXPLANATION.capsules)
    assert first.position.tolist() == [1, 2, 3, 4]
    assert first.word.tolist() == ["oil", "and", "gas", "fall"]
    assert first.attention.tolist() == [0.2, 0.5, 0.2, 0.1]
    assert first.label.tolist() == ["", "and", "", ""]
    assert second.label.tolist() == ["", "", "", "fall"]
    chart = as_vega_lite(charts.attention_line(EXPLANATION, EXPLANATION.capsules[0], "#111111"))
    assert chart["encoding"]["x"]["scale"]["domain"] == [0.5, 4.5]
    assert chart["encoding"]["y"]["scale"]["domain"] == [0, pytest.approx(0.65)]


def test_a_kgram_has_one_middle_word_if_words_repeat(classifier: ICapsClassifier) -> None:
    """Equal neighbours are attended to alike, and only one is in the middle."""
    (explanation,) = classifier.explain(["bread " * 12], top_capsules=1, top_kgrams=2)
    (reason,) = explanation.capsules
    table = charts.attention_table(explanation, reason)
    assert len(set(reason.attention)) < len(reason.attention)
    starts = [explanation.words[n - 1].start for n in table[table.label != ""].position]
    middles = [kgram.end - len("bread bread") for kgram in explanation.kgrams]  # K is 3
    assert starts == sorted(middles)


@pytest.mark.parametrize("length", [200, 201, 999, 1000, 1001])
def test_thinning_keeps_the_peaks_and_their_places(length: int) -> None:
    peaks = {7: 0.5, 100: 0.3, length - 1: 0.2}
    explanation = long_explanation(peaks, length)
    table = charts.attention_table(explanation, explanation.capsules[0])
    assert len(table) <= charts.MAX_POINTS
    assert table.position.is_monotonic_increasing
    kept = table[table.attention > 0]
    assert dict(zip(kept.position - 1, kept.attention, strict=True)) == peaks
    assert table[table.label != ""].position.tolist() == [8]


def test_words_of_a_chart_are_shown_as_typed() -> None:
    text = "<script>"
    words = (WordShare(0, 8, 1),)
    reason = CapsuleReason(0, (0.1, 0.8, 0.1), (1.0,))
    hostile = replace(
        EXPLANATION,
        text=text,
        words=words,
        capsules=(reason,),
        kgrams=(KGram(text, 0, 8, 0, 0.8, 1.0),),
    )
    chart = as_vega_lite(charts.attention_line(hostile, reason, "#111111"))
    rows = chart["data"]["values"]
    assert (rows[0]["word"], rows[0]["label"]) == (text, text)
    # The text is in the data alone, and no mark reads HTML or an address from a field.
    rest = json.dumps({key: value for key, value in chart.items() if key != "data"})
    assert text not in rest
    assert not any(word in rest for word in ("href", "image", "html"))


def test_labels_are_cut_to_one_line() -> None:
    assert shorten(" a\n b\x00 ") == "a b\ufffd"
    assert shorten("a" * 22) == "a" * 22
    assert shorten("a" * 23) == "a" * 21 + "…"
    assert shorten("abc de", 5) == "abc…"


def lines_of(picture: Any) -> dict[str, Any]:
    """The lines of a routing picture by the first row of their hover text."""
    return {t.text.split("<br>")[0]: t for t in picture.data if t.mode == "lines"}


def test_routing_lines_are_as_thick_as_their_weights() -> None:
    lines = lines_of(routing_chart(EXPLANATION, "#111111"))
    assert len(lines) == 2 + 2 * 3
    width = {name: line.line.width for name, line in lines.items()}
    first, second = width["“oil and gas” → capsule 4"], width["“gas fall” → capsule 2"]
    assert first / second == pytest.approx(0.5 / 0.4)
    to_business = width["capsule 4 → Business"]
    for capsule, routing in ((4, (0.05, 0.8, 0.15)), (2, (0.2, 0.4, 0.4))):
        for name, beta in zip(EXPLANATION.classes, routing, strict=True):
            line = lines[f"capsule {capsule} → {name}"]
            assert line.line.width / to_business == pytest.approx(beta / 0.8)
            assert line.line.color == class_colors(EXPLANATION.classes)[name]
            assert line.text.endswith(f"<br>β {beta:.4f}")
    assert lines["“gas fall” → capsule 2"].text.endswith("<br>α 0.4000")


def test_routing_lines_join_their_nodes() -> None:
    picture = routing_chart(EXPLANATION, "#111111")
    left, middle, right = picture.data[-3:]
    assert list(left.text) == ["oil and gas", "gas fall"]
    assert list(middle.text) == ["capsule 4", "capsule 2"]
    assert list(right.text) == ["World 0.12", "Business 0.75", "Sport 0.50"]
    line = lines_of(picture)["capsule 2 → Sport"]
    assert (line.x[0], line.y[0]) == (1, pytest.approx(middle.y[1]))
    assert (line.x[-1], line.y[-1]) == (2, pytest.approx(right.y[2]))
    line = lines_of(picture)["“oil and gas” → capsule 4"]
    assert (line.y[0], line.y[-1]) == (pytest.approx(left.y[0]), pytest.approx(middle.y[0]))


def test_a_kgram_of_two_capsules_is_one_node() -> None:
    twice = (EXPLANATION.kgrams[0], replace(EXPLANATION.kgrams[0], capsule=2))
    picture = routing_chart(replace(EXPLANATION, kgrams=twice), "#111111")
    assert list(picture.data[-3].text) == ["oil and gas"]
    assert [name for name in lines_of(picture) if "oil" in name] == [
        "“oil and gas” → capsule 4",
        "“oil and gas” → capsule 2",
    ]


def test_the_routing_chart_has_a_maximum_of_kgrams() -> None:
    names = tuple(f"c{n}" for n in range(12))
    many = replace(
        EXPLANATION,
        classes=names,
        scores=tuple(n / 100 for n in range(12)),
        probabilities=(1 / 12,) * 12,
        predicted="c11",
        target="c0",
        kgrams=EXPLANATION.kgrams * 10,
        capsules=(CapsuleReason(4, (1 / 12,) * 12, (0.25,) * 4),),
    )
    assert len(drawn_kgrams(many)) == MAX_KGRAMS
    # The target, though its norm is the lowest, and the highest norms, in the order of classes.
    drawn = ["c0", *names[12 - MAX_CLASSES + 1 :]]
    assert drawn_classes(many) == drawn
    bars = as_vega_lite(charts.norm_bars(many, "#111111"))
    assert [row["class"] for row in bars["data"]["values"]] == drawn
    scale = bars["layer"][0]["encoding"]["color"]["scale"]  # each keeps its colour
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        name: class_colors(names)[name] for name in drawn
    }
    only = replace(many, kgrams=many.kgrams[:1])
    assert len(lines_of(routing_chart(only, "#111111"))) == 1 + MAX_CLASSES


def test_plotly_gets_no_html_of_the_users() -> None:
    hostile = replace(
        EXPLANATION,
        classes=(HOSTILE, "Business", "Sport"),
        kgrams=(KGram(HOSTILE, 0, 11, 4, 0.8, 0.5),),
    )
    picture = routing_chart(hostile, "#111111")
    hovers = [trace.text for trace in picture.data if trace.mode == "lines"]
    shown = [*hovers, *(label for trace in picture.data[-3:] for label in trace.text)]
    assert any("&lt;b onclick" in text and "a &amp; b" in text for text in shown)
    for text in shown:
        assert "<" not in text.replace("<br>", "")
    assert html.unescape(plotly_text(HOSTILE, 100)) == HOSTILE
    assert html.unescape(picture.data[-3].text[0]) == shorten(HOSTILE)


def test_the_legend_has_the_shades_that_occur() -> None:
    assert "<mark" in text_card(EXPLANATION)
    assert ">1</mark><mark" in legend_row(EXPLANATION)
    assert "3</mark>" not in legend_row(EXPLANATION)
    deep = replace(EXPLANATION, words=(WordShare(0, 3, 6),))
    assert '<mark class="l4">4 or more</mark>' in legend_row(deep)
    nothing = replace(EXPLANATION, kgrams=(), words=(), text="")
    assert "legend" not in text_card(nothing)
