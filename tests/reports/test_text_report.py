"""The report on a text: the same bytes, safe, and nothing but itself."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.errors import ConfigError
from icaps.explanation_parts import Account
from icaps.html import escape_markdown
from icaps.reports.files import FILE_FORMATS, ModelName, rounded
from icaps.reports.text_report import TextReport
from icaps.results import Explanation
from tests.reports.standalone import Page

HOSTILE = '=1+1 <script>alert("x")</script> soup ```` bread | [a](http://x.y) *b* \ud83d\x00 &amp;'
MODEL = ModelName("<b>small</b>", "0" * 64)


@pytest.fixture(scope="module")
def explanation(classifier: ICapsClassifier) -> Explanation:
    (found,) = classifier.explain([HOSTILE])
    return found


def report(explanation: Explanation, **options: object) -> TextReport:
    return TextReport(explanation, MODEL, ExplainOptions(), **options)  # type: ignore[arg-type]


def test_the_page_loads_and_runs_nothing(explanation: Explanation) -> None:
    trust = {"sentences": ["<script>"], "shaded": 2, "words": 1_000, "draws": 50, "seed": 3}
    content = report(explanation, trust=trust | {"exhaustive": False}).to_bytes("html")
    page = Page(content)
    assert b"<script" not in content
    assert b"<b>small" not in content
    assert "alert" in page.text
    assert "The K-grams are 2 of the 1,000 words." in page.text
    assert "50 sets of as many words of the text, drawn with seed 3." in " ".join(page.text.split())
    assert "default-src 'none'" in content.decode()
    assert "icaps explain --model '<b>small</b>' --top-capsules 2" in page.text


@pytest.mark.parametrize("kind", FILE_FORMATS)
def test_the_same_explanation_gives_the_same_bytes(explanation: Explanation, kind: str) -> None:
    content = report(explanation).to_bytes(kind)
    assert content == report(explanation).to_bytes(kind)
    near = replace(explanation, scores=tuple(x + 1e-9 for x in explanation.scores))
    assert report(near).to_bytes(kind) == content  # what rounding adds doesn't show


def test_json_gives_the_explanation_back(explanation: Explanation) -> None:
    facts = json.loads(report(explanation).to_bytes("json"))
    again = Explanation.from_dict(facts["explanation"])
    assert again == Explanation.from_dict(rounded(explanation.to_dict()))
    assert again.text == HOSTILE
    assert (facts["model"]["name"], facts["trust"]) == ("<b>small</b>", None)
    for kind in FILE_FORMATS:
        assert report(again).to_bytes(kind) == report(explanation).to_bytes(kind)


def test_csv_has_a_row_a_kgram_and_no_formula(explanation: Explanation) -> None:
    table = pd.read_csv(io.BytesIO(report(explanation).to_bytes("csv")), keep_default_na=False)
    assert len(table) == len(explanation.kgrams) == 4
    assert table["capsule"].tolist() == [kgram.capsule for kgram in explanation.kgrams]
    assert table["routing"].tolist() == [round(kgram.routing, 6) for kgram in explanation.kgrams]
    assert table["text"].str.startswith("'=1+1").all()
    assert not table["K-gram"].str.startswith("=").any()


def test_csv_has_the_share_of_each_word(explanation: Explanation) -> None:
    table = pd.read_csv(io.BytesIO(report(explanation).to_bytes("csv")), keep_default_na=False)
    assert table["share"].tolist() == [round(kgram.share, 6) for kgram in explanation.kgrams]
    assert table["bias"].tolist() == [round(explanation.bias, 6)] * 4
    assert table["covered"].tolist() == pytest.approx([explanation.covered] * 4, abs=1e-5)
    (cell,) = set(table["words"])
    words = [part.rpartition(" ") for part in cell.removeprefix("'").split(" | ")]
    spelled = [explanation.text[word.start : word.end] for word in explanation.words]
    assert "".join(word for word, _, _ in words) == "".join(spelled).replace("\ud83d", "\ufffd")
    total = explanation.bias + sum(float(share) for _, _, share in words)
    assert total == pytest.approx(explanation.score, abs=1e-4 * len(words))


def test_the_pages_say_how_the_score_adds_up(explanation: Explanation) -> None:
    account = explanation.word_account()
    assert account is not None
    covered = f"The words of the K-grams carry {explanation.covered:.0%} of the score."
    page = Page(report(explanation).to_bytes("html")).text
    assert account.summary()[0] in page
    assert covered in page
    lines = report(explanation).to_bytes("markdown").decode().splitlines()
    assert covered in lines
    start = lines.index("| Word | Share |") + 2
    rows = [line[2:-2].rpartition(" | ") for line in lines[start : lines.index("", start)]]
    assert (rows[0][0], rows[-1][0]) == ("bias", "score")
    *shares, score = (float(share) for _, _, share in rows)
    assert sum(shares) == pytest.approx(score, abs=1e-9)
    for kgram in explanation.kgrams:
        assert f"| {kgram.share:+.3f} | {kgram.contribution:.3f} |" in "\n".join(lines)
        assert f'<td class="n">{kgram.share:+.3f}<td' in report(explanation).to_bytes(
            "html"
        ).decode().replace("\n", "")


def test_an_explanation_of_an_older_version_has_no_shares(explanation: Explanation) -> None:
    none = Account.of([], [])
    old = replace(explanation, account=none, capsule_account=none)
    page, lines = (report(old).to_bytes(kind).decode() for kind in ("html", "markdown"))
    assert "icaps-account" not in page.partition("</style>")[2]
    assert "of the score" not in page + lines
    assert "Share" not in lines
    table = pd.read_csv(io.BytesIO(report(old).to_bytes("csv")), keep_default_na=False)
    assert set(table["words"]) == set(table["share"]) == set(table["bias"]) == {""}


def test_the_caption_says_how_kgrams_were_chosen(classifier: ICapsClassifier) -> None:
    (by_share,) = classifier.explain([HOSTILE], ranking="account")
    for kind in ("html", "markdown"):
        content = " ".join(report(by_share).to_bytes(kind).decode().split())
        assert "K-grams whose words add most to the score" in content


def test_markdown_shows_the_text_and_runs_nothing(explanation: Explanation) -> None:
    content = report(explanation).to_bytes("markdown").decode()
    fence = "`" * 5  # longer than the text's own
    shown = HOSTILE.replace("\ud83d", "\ufffd").replace("\x00", "\ufffd")
    assert f"{fence}text\n{shown}\n{fence}\n" in content
    outside = content.replace(shown, "")
    assert "\n<" not in outside
    assert "| <" not in outside
    rows = [line for line in content.splitlines() if line.startswith("|") and "capsule" in line]
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# no title", r"\# no title"),
        ("a|b", r"a\|b"),
        ("1. one", r"1\. one"),
        ("- x", r"\- x"),
        ("-0.02", "-0.02"),
        ("*a* _b_ `c` [d](e) <f> \\", r"\*a\* \_b\_ \`c\` \[d\](e) \<f\> " + "\\\\"),
        ("two\nlines", "two lines"),
    ],
)
def test_what_markdown_would_read(text: str, shown: str) -> None:
    assert escape_markdown(text) == shown


def test_a_text_without_words_has_a_report(classifier: ICapsClassifier) -> None:
    (blank,) = classifier.explain([""])
    for kind in FILE_FORMATS:
        assert report(blank).to_bytes(kind)
    assert "has no words" in Page(report(blank).to_bytes("html")).text
    assert report(blank).to_bytes("csv").count(b"\n") == 1


def test_the_settings_are_those_that_were_given(explanation: Explanation) -> None:
    options = ExplainOptions("World", 1, 2, 3, "contribution")
    content = TextReport(explanation, MODEL, options, muted=(4, 5)).to_bytes("json")
    assert json.loads(content)["settings"] == {
        "target": "World",
        "top-capsules": 1,
        "top-kgrams": 2,
        "top-sentences": 3,
        "ranking": "contribution",
        "mute": [4, 5],
    }
    defaults = json.loads(report(explanation).to_bytes("json"))["settings"]
    assert set(defaults) == {"top-capsules", "top-kgrams", "top-sentences", "ranking"}
    page = TextReport(explanation, MODEL, options, muted=(4, 5)).to_bytes("html").decode()
    assert "--ranking contribution --target World --mute 4 --mute 5 --format html" in page


def test_there_are_no_other_kinds(explanation: Explanation) -> None:
    with pytest.raises(ConfigError, match="Unknown format 'pdf'; choose one of html"):
        report(explanation).to_bytes("pdf")
