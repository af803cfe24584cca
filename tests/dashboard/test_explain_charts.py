import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.explain.charts import MAX_CLASSES, class_bars, drawn_classes
from dashboard.explain.routing_chart import MAX_KGRAMS, drawn_kgrams, routing_chart
from dashboard.widgets.chart_card import plotly_text
from dashboard.widgets.shaded_text import legend_row, text_card
from icaps.explanation_parts import CapsuleReason, KGram, WordShare
from icaps.reports.charts import MAX_COLORS, PALETTE, class_colors, shorten
from icaps.results import Explanation

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
    assert bars(EXPLANATION) == [("Business", "70%"), ("Sport", "20%"), ("World", "10%")]
    assert re.findall(r"background: (#\w+)", class_bars(EXPLANATION)) == [
        expected[name] for name in ("Business", "Sport", "World")
    ]
    ends = routing_chart(EXPLANATION, "#111111").data[-1]
    assert list(ends.marker.color) == [expected[n] for n in ("Business", "Sport", "World")]


def bars(explanation: Explanation) -> list[tuple[str, str]]:
    """The class of each bar and what is written beside it."""
    rows = re.findall(
        r"<tr><th.*?>(.*?)<td.*?<td class=.n.>(.*?)(?=<tr>|</tbody>)", class_bars(explanation)
    )
    return [(html.unescape(name), re.sub("<.*?>", "", label)) for name, label in rows]


def test_bars_are_as_long_as_the_probabilities_are_large() -> None:
    widths = re.findall(r"--width: ([\d.]+)%", class_bars(EXPLANATION))
    assert widths == ["70.0", "20.0", "10.0"]
    explained = replace(EXPLANATION, target="World")
    assert bars(explained) == [("Business", "70%"), ("Sport", "20%"), ("World", "10% ◂ explained")]


def test_classes_that_are_not_shown_are_counted() -> None:
    names = tuple(f"c{n}" for n in range(20))
    chances = (0.6, 0.3, *(0.1 / 18,) * 18)
    some = replace(
        EXPLANATION,
        classes=names,
        scores=tuple(1 - n / 100 for n in range(20)),
        probabilities=chances,
        predicted="c0",
        target="c19",
    )
    assert [name for name, _ in bars(some)] == [*names[:7], "c19"]
    assert bars(some)[2] == ("c2", "1%")
    assert "<p>12 more below 1%</p>" in class_bars(some)
    assert "<p>12 more of at most 5%</p>" in class_bars(replace(some, probabilities=(0.05,) * 20))
    assert "more" not in class_bars(EXPLANATION)
    hostile = replace(EXPLANATION, classes=(HOSTILE, "Business", "Sport"))
    assert "<b onclick" not in class_bars(hostile)
    assert (HOSTILE, "10%") in bars(hostile)


def test_the_attention_of_each_word_is_its_shade() -> None:
    first, second = (EXPLANATION.attention_html(reason) for reason in EXPLANATION.capsules)
    shades = re.findall(r'<mark style="--strength: (\d+)%" title="α ([\d.]+)">(\w+)</mark>', first)
    assert shades == [
        ("25", "0.2000", "oil"),
        ("62", "0.5000", "and"),
        ("25", "0.2000", "gas"),
        ("12", "0.1000", "fall"),
    ]
    assert re.sub("<.*?>", "", second) == TEXT
    faint = replace(EXPLANATION.capsules[0], attention=(0.001, 0.9, 0.01, 0.089))
    assert EXPLANATION.attention_html(faint).count("<mark") == 2  # 2% of the largest or more
    reason = CapsuleReason(0, (0.1, 0.8, 0.1), (1.0,))
    hostile = replace(EXPLANATION, text="<script>", words=(WordShare(0, 8, 1),))
    assert "<script>" not in hostile.attention_html(reason)
    assert "&lt;script&gt;" in hostile.attention_html(reason)


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
    assert list(right.text) == ["Business 70%", "Sport 20%", "World 10%"]
    line = lines_of(picture)["capsule 2 → Sport"]
    assert (line.x[0], line.y[0]) == (1, pytest.approx(middle.y[1]))
    assert (line.x[-1], line.y[-1]) == (2, pytest.approx(right.y[1]))
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
    # The highest norms, and the target, though its norm is the lowest.
    assert drawn_classes(many) == [*reversed(names[12 - MAX_CLASSES + 1 :]), "c0"]
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
