import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from icaps import html
from icaps.explanation_parts import CapsuleReason, KGram, SentenceWeight, WordShare
from icaps.html import Mark, Row, segments
from icaps.results import Explanation

TEXT = "oil and  gas fall"
EXPLANATION = Explanation(
    text=TEXT,
    classes=("World", "Business"),
    predicted="Business",
    target="Business",
    scores=(0.125, 0.75),
    probabilities=(0.2, 0.8),
    margin=0.625,
    kernel_size=3,
    kgrams=(KGram("oil and  gas", 0, 12, 4, 0.9, 0.5), KGram("gas fall", 9, 17, 2, 0.8, 0.25)),
    words=(WordShare(0, 3, 1), WordShare(4, 7, 1), WordShare(9, 12, 2), WordShare(13, 17, 1)),
    capsules=(CapsuleReason(4, (0.1, 0.9), (0.2, 0.5, 0.2, 0.1)),),
    sentences=(),
    unknown_share=0.25,
    truncated=False,
    blank=False,
)

LONG_TEXT = " One.  Oil falls. Two. Three. Four. Five.\n"
LONG = replace(
    EXPLANATION,
    text=LONG_TEXT,
    words=(WordShare(7, 10, 1), WordShare(11, 16, 1)),
    kgrams=(KGram("Oil falls", 7, 16, 4, 0.9, 0.5, 1, 0.75),),
    sentences=(
        SentenceWeight(1, 5, 0.2),
        SentenceWeight(7, 17, 0.005),
        SentenceWeight(18, 22, 0.004),
        SentenceWeight(23, 29, 0.006),
        SentenceWeight(30, 35, 0.785),
        SentenceWeight(36, 41, 0.0),
    ),
)


class Marks(HTMLParser):
    """Reads back what a browser would show: the text, and the shade over each character."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.levels, self._level, self._tip = "", [], 0, False
        self.tips: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "mark":
            self._level = int(values["class"].split()[0][1:])
        self._tip = tag == "span"
        assert tag in ("div", "mark", "span")
        assert not any(name.startswith("on") for name in values)

    def handle_endtag(self, tag: str) -> None:
        self._level = 0 if tag == "mark" else self._level
        self._tip = False

    def handle_data(self, data: str) -> None:
        if self._tip:
            self.tips.append(data)
        else:
            self.text += data
            self.levels += [self._level] * len(data)


def read(explanation: Explanation) -> Marks:
    marks = Marks()
    marks.feed(explanation.shaded_html())
    marks.close()
    return marks


def test_shades_count_the_kgrams_over_each_character() -> None:
    marks = read(EXPLANATION)
    assert marks.text == TEXT
    assert "".join(map(str, marks.levels)) == "1" * 9 + "2" * 3 + "1" * 5
    assert [tip.count("capsule") for tip in marks.tips] == [1, 1, 2, 1]
    assert marks.tips[2] == (
        "“oil and  gas” · capsule 4 · β 0.90 · α 0.50\n“gas fall” · capsule 2 · β 0.80 · α 0.25"
    )


def test_a_kgram_tells_its_share() -> None:
    whole = replace(EXPLANATION, kgrams=(replace(EXPLANATION.kgrams[0], share=-0.0625),))
    assert read(whole).tips[0] == "“oil and  gas” · -0.062 · capsule 4 · β 0.90 · α 0.50"


def test_a_long_text_has_a_row_a_sentence_and_faint_ones_share_theirs() -> None:
    """The second is faint too, yet a K-gram is from it."""
    expected = [
        Row(0, 7, 0.2, False),
        Row(7, 18, 0.005, True),
        Row(18, 30, pytest.approx(0.01), False),
        Row(30, 36, 0.785, False),
        Row(36, 42, 0.0, False),
    ]
    assert LONG.sentence_rows() == expected
    marks = read(LONG)
    assert marks.text == LONG_TEXT
    shaded = [letter for letter, level in zip(LONG_TEXT, marks.levels, strict=True) if level]
    assert "".join(shaded) == "Oil falls"
    html = LONG.to_html()
    assert 'aria-label="weight 78%"' in html
    assert '<td class="n">2<td class="n">0.750' in html
    assert LONG.to_text().endswith("sentence 2 (0.750)")
    assert LONG.to_dict()["sentences"][0] == {
        "start": 1,
        "end": 5,
        "weight": 0.2,
        "share": 0.0,
    }


def test_segments_lose_nothing() -> None:
    words = [(word.start, word.end) for word in EXPLANATION.words]
    marks = [Mark(kgram.start, kgram.end, "") for kgram in EXPLANATION.kgrams]
    pieces = [TEXT[start:end] for start, end, _ in segments(words, marks, 0, len(TEXT))]
    assert "".join(pieces) == TEXT
    assert list(segments([], [], 0, 0)) == []


@pytest.mark.parametrize(
    "text", ["x<script>alert(1)</script>", '" onmouseover="x', "a & b &lt; c", "$x$ **a** :sun:"]
)
def test_text_is_shown_as_typed(text: str) -> None:
    whole = (KGram(text, 0, len(text), 0, 0.5, 0.5),)
    hostile = replace(EXPLANATION, text=text, kgrams=whole, words=(WordShare(0, len(text), 1),))
    marks = read(hostile)
    assert marks.text == text
    assert text in marks.tips[0]
    page = replace(hostile, classes=("<b>", text), target=text, predicted=text).to_html()
    assert "<script" not in page
    assert not re.search(r"<[^>]*onmouseover", page)


def test_what_html_can_not_carry_is_replaced_one_for_one() -> None:
    text = "a\x00b\ud800c\td"
    page = replace(EXPLANATION, text=text, kgrams=(), words=()).to_html()
    assert "a\ufffdb\ufffdc\td" in page
    page.encode()


def test_the_page_has_no_script_and_nothing_from_outside() -> None:
    page = EXPLANATION.to_html()
    assert not re.search(r"<script|<link|<img|src=|href=|@import|url\(", page)
    assert "default-src 'none'" in page
    assert len(re.findall(r"<tr[^>]*><td", page)) == 4  # two K-grams, two classes
    assert "0.750" in page


def test_words_for_a_person() -> None:
    assert EXPLANATION.verdict == "Business (80% probability)."
    other = replace(EXPLANATION, target="World")
    assert other.verdict == "Business (80% probability); the explanation is for World (20%)."
    assert EXPLANATION.notices == ["25% of the words are unknown to the model."]
    cut = replace(EXPLANATION, truncated=True, unknown_share=0.0)
    assert cut.notices == ["Only the first 4 words (17 of 17 characters) were read."]
    blank = replace(EXPLANATION, blank=True, unknown_share=1.0, kgrams=())
    assert blank.notices == []
    assert "knows none of the words" in blank.verdict
    empty = replace(blank, words=(), text="", unknown_share=0.0)
    assert empty.notices == []
    assert "has no words" in empty.verdict


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (0.0049, "< 1%"),
        (0.006, "1%"),
        (0.78, "78%"),
        (0.994, "99%"),
        (0.9951, "> 99%"),
        (1, "> 99%"),
    ],
)
def test_a_probability_is_never_100_or_0_per_cent(probability: float, shown: str) -> None:
    assert html.chance(probability) == shown


def test_terminal_lines_keep_to_their_lines() -> None:
    newline = replace(EXPLANATION, kgrams=(KGram("a\nb", 0, 3, 1, 0.5, 0.25),))
    assert newline.to_text().splitlines() == [
        "Business (80% probability).",
        "25% of the words are unknown to the model.",
        '  "a\\nb"  capsule 1  routing 0.500  attention 0.250',
    ]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (html.count(7_600), "7,600"),
        (html.p_value(0.0494), "0.049"),
        (html.p_value(0.001), "0.001"),
        (html.p_value(3.1e-5), "< 0.001"),
        (html.p_value(1.0), "1.000"),
        (html.percent(0.92163), "92.16%"),
        (html.percent(-0.0042, 1, sign=True), "-0.4%"),
        (html.percent(0.0096, sign=True), "+0.96%"),
        (html.percent(None), "–"),
        (html.percent(float("nan"), 1), "–"),
        (html.decimals(1234.5678, 2), "1,234.57"),
        (html.decimals(float("nan"), 0), "–"),
        (html.decimals(0.126, 2, sign=True), "+0.13"),
        (html.decimals(-0.034, 2, sign=True), "-0.03"),
        (html.decimals(-0.004, 2, sign=True), "0.00"),  # what rounds to zero has no sign
        (html.interval(0.9216, (0.91526, 0.92744)), "92.16% (91.53 to 92.74)"),
        (html.plain(True), "yes"),
        (html.plain(12_000), "12,000"),
        (html.plain(1e-3), "0.001"),
        (html.plain(0.123456, digits=3), "0.123"),
        (html.plain(None), "–"),
        (html.plain("a b"), "a b"),
    ],
)
def test_numbers_as_a_person_reads_them(shown: str, expected: str) -> None:
    assert shown == expected


HOSTILE = '<script>alert("x")</script> | [a](b) `c` *d* # & \x00'


def test_blocks_show_values_literally_in_html_and_markdown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = """{% extends "base." ~ format ~ ".j2" %}
{% from "blocks." ~ format ~ ".j2" import bullet, bullets, heading, paragraph, table, verbatim %}
{% block title %}{{ value }}{% endblock %}
{% block body %}
{{ heading(value) }}
{% call paragraph() %}{{ value }}
and {{ value }}{% endcall %}
{% call bullets() %}{% call bullet() %}{{ value }}{% endcall %}{% endcall %}
{{ table(cells) }}
{{ verbatim(value) }}
{% endblock %}"""
    (tmp_path / "page.j2").write_text(source)
    shutil.copytree(html.TEMPLATES, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(html, "TEMPLATES", tmp_path)
    html._environment.cache_clear()
    cells = html.Table(HOSTILE, (HOSTILE, "n"), [(HOSTILE, "1"), ("", "2")], words=(HOSTILE,))
    try:
        page = html.render_html("page.j2", value=HOSTILE, cells=cells)
        text = html.render_markdown("page.j2", value=HOSTILE, cells=cells)
    finally:
        html._environment.cache_clear()
    assert page.count(html.escape(HOSTILE)) == 10  # title twice, and each value once
    assert "<script" not in page
    escaped = html.escape_markdown(HOSTILE)
    assert text.splitlines() == [
        f"# {escaped}",
        "",
        f"## {escaped}",
        "",
        f"{escaped} and {escaped}",
        "",
        f"- {escaped}",
        "",
        escaped,
        "",
        f"| {escaped} | n |",
        "| --- | ---: |",
        f"| {escaped} | 1 |",
        "|  | 2 |",
        "",
        "```text",
        html.printable(HOSTILE),
        "```",
    ]


def test_a_missing_value_of_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="explanation"):
        html.render_html("evidence.html.j2")
