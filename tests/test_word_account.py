"""What is shown of an account: it adds up, nothing is left out, the text is escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.explanation_parts import Account, CapsuleReason, SentenceWeight, WordShare
from icaps.results import Explanation
from icaps.word_account import MAX_SHADED, WordAccount, add_up, legend_html, with_shared_scale

TEXT = "Oil and  gas fall; oil"
SPANS = [(0, 3), (4, 7), (9, 12), (13, 17), (17, 18), (19, 22)]
SHARES = [0.25, 0.004, 0.125, -0.0625, 0.0, 0.0634]
BY_CAPSULE = [
    [0.3, -0.05],
    [0.0, 0.004],
    [0.0, 0.125],
    [-0.02, -0.0425],
    [0.0, 0.0],
    [0.06, 0.0034],
]


def explanation(text: str = TEXT, shares: list[float] = SHARES) -> Explanation:
    """Of two classes: the score of the first, the target, is 0.48; of the second 0.1."""
    columns = np.array([shares, [0.0] * len(shares)]).T
    return Explanation(
        text=text,
        classes=("Business", "World"),
        predicted="Business",
        target="Business",
        scores=(sum(shares) + 0.1, 0.1),
        probabilities=(0.8, 0.2),
        margin=0.38,
        kernel_size=3,
        kgrams=(),
        words=tuple(WordShare(*span, 0, share) for span, share in zip(SPANS, shares, strict=False)),
        sentences=(),
        capsules=(CapsuleReason(1, (0.5, 0.5), (1.0,), name="Energy"),),
        unknown_share=0.0,
        truncated=False,
        blank=False,
        account=Account.of(columns, [0.1, 0.1]),
        capsule_account=Account.of(BY_CAPSULE, [0.06, 0.04]),
    )


def word_account(found: Explanation, **options: str) -> WordAccount:
    account = found.word_account(**options)
    assert account is not None
    return account


class Page(HTMLParser):
    """What a browser shows: the text without tips, the tips, and the cells of each list."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text, self.tips, self.lists = "", list[str](), list[list[list[str]]]()
        self._open: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert not any(name.startswith("on") for name in values)
        self.tags.add(tag)
        if tag in ("th", "td"):  # never closed
            self.lists[-1][-1].append("")
            return
        if tag == "tr":
            self.lists[-1].append([])
            return
        if tag == "table":
            self.lists.append([])
        if values.get("class") == "icaps-tip":
            self.tips.append("")
        self._open.append((tag, values.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        names = [name for _, name in self._open]
        if "icaps-tip" in names:
            self.tips[-1] += data
        elif "icaps-text" in names and not any(name.startswith("icaps-share") for name in names):
            self.text += data
        elif self.lists and self.lists[-1] and self._open[-1][0] == "tbody":
            self.lists[-1][-1][-1] += data.strip()


def test_words_are_shaded_by_their_share_and_side() -> None:
    account = word_account(explanation())
    assert account.scale == pytest.approx([0.01, 0.02, 0.05, 0.1, 0.2])
    assert account.digits == 2
    assert account.levels.tolist() == [5, 0, 4, -3, 0, 3]
    assert account.shaded == pytest.approx(0.3759)
    assert account.covered == pytest.approx(0.3759 / 0.4799)
    page = account.to_html()
    assert "Underlined words are against it." in page
    assert "Underlined" not in explanation(shares=[0.25, *[0.0] * 5]).account_html()
    assert re.findall(r'<mark class="(\w\d) [^>]*>(\w+)', page) == [
        ("f5", "Oil"),
        ("f4", "gas"),
        ("a3", "fall"),
        ("f3", "oil"),
    ]


def test_the_list_goes_from_the_bias_to_the_score_and_counts_all() -> None:
    account = word_account(explanation())
    assert [(row.label, row.share) for row in account.rows] == [
        ("bias", 0.1),
        ("Oil ×2", 0.31),
        ("gas", 0.13),
        ("fall", -0.06),
        ("2 other words", 0.0),
    ]
    assert [row.words for row in account.rows] == [(), (0, 5), (2,), (3,), (1, 4)]
    assert [(row.label, row.share) for row in account.capsule_rows] == [
        ("capsule 0", 0.4),
        ("Energy", 0.08),
    ]
    assert account.capsule_rows[1].words == (1, 2, 3)  # "fall" is most against through it
    assert account.summary() == [
        "The 4 shaded words carry 78% of the score (+0.38 of 0.48).",
        "Not shaded: bias +0.10, 2 other words 0.00.",
    ]
    words, capsules = Page(account.to_html()).lists
    assert words[0] == ["bias", "+0.10", ""]
    assert words[-1] == capsules[-1] == ["score", "0.48", ""]
    assert sum(float(row[1]) for row in words[:-1]) == pytest.approx(0.48)


def test_a_word_its_bar_and_its_capsule_share_a_class_each() -> None:
    page = explanation().account_html()
    assert '<mark class="f4 g1 c1"' in page  # gas
    assert '<span class="gr c1" title="+0.004">and</span>' in page
    assert '<tr class="g1"' in page
    assert '<tr class="c1"' in page


def test_a_word_tells_its_share_by_capsule() -> None:
    tips = Page(explanation().account_html()).tips
    assert tips[0].splitlines() == [
        "+0.250 for Business (52% of the score)",
        "2 occurrences: +0.31",
        "+0.300 through capsule 0",
        "-0.050 through Energy",
    ]
    assert tips[2].startswith("-0.062 against Business (13% of the score)")
    named = explanation().account_html(capsule_names={0: "0 crude, barrel"})
    assert "+0.300 through 0 crude, barrel" in Page(named).tips[0]
    many = np.zeros((6, 9))
    many[0] = [0.01] * 8 + [0.17]
    whole = replace(explanation(), capsule_account=Account.of(many, [0.0] * 9))
    assert Page(whole.account_html()).tips[0].splitlines()[-1] == "+0.060 through 6 others"


def test_why_a_class_rather_than_another() -> None:
    found = explanation()
    shares = found.account.shares.copy()
    shares[:, 1] = [0.0, 0.0, 0.2, 0.0, 0.0, 0.0]
    found = replace(found, account=Account.of(shares, [0.1, 0.05]), scores=(0.4799, 0.25))
    account = word_account(found, of="Business", rather_than="World")
    assert account.shares == pytest.approx([0.25, 0.004, -0.075, -0.0625, 0.0, 0.0634])
    assert (account.bias, account.score) == (pytest.approx(0.05), pytest.approx(0.2299))
    assert account.summary()[0] == "The 4 shaded words carry 77% of the difference (+0.18 of 0.23)."
    page = Page(account.to_html())
    assert len(page.lists) == 1  # of a difference there is no account by capsule
    assert page.lists[0][-1][:2] == ["difference", "0.23"]
    assert page.tips[0].startswith("+0.250 for Business rather than World (109% of the difference)")
    with pytest.raises(ConfigError, match="'Music' is not one of the classes Business, World"):
        found.account_html(of="Music")


def test_accounts_beside_each_other_have_one_scale_and_one_legend() -> None:
    small = [share / 10 for share in SHARES]
    accounts = [one.word_account() for one in (explanation(), explanation(shares=small))]
    both = with_shared_scale([account for account in accounts if account is not None])
    assert both[0].scale == both[1].scale == [0.01, 0.02, 0.05, 0.1, 0.2]
    assert both[0].levels.tolist() == [5, 0, 4, -3, 0, 3]
    assert both[1].levels.tolist() == [2, 0, 1, 0, 0, 0]
    legend = legend_html(both)
    assert re.findall(r'<mark class="(..)">(.*?)</mark>', legend) == [
        ("a3", "-0.05"),
        ("f1", "+0.01"),
        ("f2", "+0.02"),
        ("f3", "+0.05"),
        ("f4", "+0.10"),
        ("f5", "+0.20"),
    ]
    assert legend.count("norm (length)") == 1
    assert not any("Share of the score" in one.to_html(legend=False) for one in both)
    assert both[0].to_html().count("Share of the score") == 1
    assert legend_html([]) == ""


def test_where_the_score_is_low_points_are_shown() -> None:
    low = explanation(shares=[-0.25, 0.0, 0.125, -0.0625, 0.0, 0.1])
    account = word_account(replace(low, scores=(0.0125, 0.1)))
    assert account.summary()[0] == "The 4 shaded words add -0.09 to a score of 0.01."


def test_without_an_account_kgrams_are_shown() -> None:
    old = replace(explanation(), account=Account.of([], []), capsule_account=Account.of([], []))
    assert old.word_account() is None
    assert old.account_html() == old.shaded_html()


def test_without_words_there_is_only_the_text() -> None:
    blank = replace(explanation(), text=" <b>\n", words=(), account=Account.of([], [0.0, 0.0]))
    blank = replace(blank, scores=(0.0, 0.0), capsule_account=Account.of([], [0.0, 0.0]))
    page = Page(blank.account_html())
    assert (page.text, page.tips, page.lists) == (" <b>\n", [], [])
    assert word_account(blank).summary() == []


@pytest.mark.parametrize(
    "text",
    ["x<script>alert(1)</script>", '" onmouseover="x', "a & b &lt; c", "$x$ **a** :sun:\x00"],
)
def test_all_is_escaped(text: str) -> None:
    hostile = replace(
        explanation(),
        text=text,
        classes=("<b>", text),
        target=text,
        words=(WordShare(0, len(text), 0, 0.5),),
        account=Account.of([[0.1, 0.5]], [0.0, 0.25]),
        scores=(0.1, 0.75),
        capsule_account=Account.of([[0.5, 0.0]], [0.0, 0.25]),
        capsules=(CapsuleReason(0, (0.5, 0.5), (1.0,), name=text),),
    )
    for options in ({}, {"of": text, "rather_than": "<b>"}):
        page = hostile.account_html(**options)
        shown = Page(page)
        assert shown.text == text.replace("\x00", "\ufffd")
        assert shown.text in shown.tips[0]
        assert shown.lists[0][1][0] == shown.text
        assert shown.tags <= {
            "b",
            "div",
            "mark",
            "p",
            "span",
            "table",
            "tbody",
            "caption",
            "tr",
        } | {
            "th",
            "td",
        }
        assert not re.search(r"<[^>]*onmouseover|<script", page)


def test_words_that_were_not_read_are_marked() -> None:
    cut = replace(explanation(TEXT + " again & again"), truncated=True)
    page = cut.account_html()
    assert '<span class="icaps-unread" title="not read"> again &amp; again</span>' in page
    assert Page(page).text == cut.text


def test_a_long_text_is_shown_by_sentence() -> None:
    sentences = (SentenceWeight(0, 7, 0.5), SentenceWeight(9, 18, 0.3), SentenceWeight(19, 22, 0.2))
    long = replace(explanation(), sentences=sentences)
    account = word_account(long)
    rows = [(row.start, row.end, pytest.approx(row.share)) for row in account.sentence_rows]
    assert rows == [(0, 9, 0.254), (9, 19, 0.0625), (19, 22, 0.0634)]
    page = account.to_html()
    assert Page(page).text == TEXT
    assert (
        '<div class="icaps-share f" role="img" aria-label="share +0.25" title="+0.25" '
        'style="--weight: 100.0%"></div>'
    ) in page
    shifted = replace(long, text="\n\n" + TEXT)  # the first line begins with the first sentence
    moved = [WordShare(w.start + 2, w.end + 2, w.count, w.share) for w in long.words]
    parts = [SentenceWeight(s.start + 2, s.end + 2, s.weight) for s in sentences]
    page = replace(shifted, words=tuple(moved), sentences=tuple(parts)).account_html()
    assert '<div class="icaps-text" dir="auto">\n\n<div class="icaps-sentence' in page
    assert Page(page).text == shifted.text
    faint = [0.25, 0.25, 0.0, 0.001, 0.0, -0.002]
    account = word_account(replace(explanation(shares=faint), sentences=sentences))
    assert [row[:2] for row in account.sentence_rows] == [(0, 9), (9, 22)]  # the last two are one
    assert 'title="0.00" style="--weight: 0.2%"></div>' in account.to_html()


def test_many_words_have_a_bounded_number_of_tips() -> None:
    text = "soup " * 3_000
    spans = [(5 * n, 5 * n + 4) for n in range(3_000)]
    by_capsule = np.zeros((3_000, 0))
    shares = np.full(3_000, 1e-4)
    account = WordAccount(text, spans, shares, 0.1, 0.4, "Cooking", by_capsule, np.zeros(0))
    assert np.count_nonzero(account.levels) == MAX_SHADED
    assert [row.label for row in account.rows] == ["bias", "soup ×3000"]
    assert "2,400 other words +0.24000" in account.summary()[1]
    assert Page(account.to_html()).text == text


@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=60),
    st.integers(2, 5),
)
def test_rounded_numbers_add_up(values: list[float], digits: int) -> None:
    total = sum(values)
    rounded = add_up(values, total, digits)
    assert sum(rounded) == pytest.approx(round(total, digits), abs=1e-9)
    assert rounded == pytest.approx(values, abs=10**-digits + 1e-9)


def test_of_a_model_all_adds_up(classifier: ICapsClassifier) -> None:
    texts = ["Simmer the onion soup, then bake bread with butter.", "anchor", "the crew " * 40]
    for found in classifier.explain(texts, target="Cooking"):
        account = word_account(found)
        score = round(found.score, account.digits)
        for rows in (account.rows, account.capsule_rows):
            assert sum(row.share for row in rows) == pytest.approx(score, abs=1e-9)
        assert Page(account.to_html()).text == found.text
        numbers = sorted(number for row in account.rows for number in row.words)
        assert numbers == list(range(len(found.words)))  # each word in one row
