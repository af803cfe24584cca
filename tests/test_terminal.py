"""Lines for a terminal: colours, numbers that add up, and no character that a terminal acts on."""

import io
import re
from dataclasses import replace

import pytest

from icaps import terminal
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.explanation_parts import Account
from icaps.results import Explanation
from tests.conftest import MODEL, TRAIN, make_texts

ESCAPE = re.compile("\x1b\\[[0-9;]*m")
# An escape sequence, the C1 control of one, a bell, a line, a reversed text, and half a character.
HOSTILE = "bread \x1b[2J soup\x9b31m\x07 onion\r\nbutter \u202egarlic\u2028 \ud83d bake\x7f"
NUMBER = re.compile(r"([+-]\d\.\d+)(?=,|$| and|:)")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def explanation(classifier: ICapsClassifier) -> Explanation:
    return next(classifier.explain(["Simmer the onion soup, then bake bread with butter today."]))


@pytest.fixture(scope="module")
def long_explanation() -> Explanation:
    model = replace(MODEL, hierarchical=True, max_words=20, max_sentences=20)
    assert isinstance(model, ModelConfig)
    classifier = ICapsClassifier(model, replace(TRAIN, epochs=3), device="cpu")
    classifier.fit(*make_texts(90, seed=1))
    return next(classifier.explain([" ".join(make_texts(9, seed=2)[0])]))


@pytest.mark.parametrize(
    ("stream", "environment", "colored"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),  # as https://no-color.org says
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colors_are_for_terminals(
    stream: io.StringIO, environment: dict[str, str], colored: bool
) -> None:
    assert terminal.shows_color(stream, environment) is colored


def test_nothing_that_a_terminal_acts_on() -> None:
    assert terminal.escape("a\x1b[2J\u202e\x9b\x7f") == "a\\u001b[2J\\u202e\\u009b\\u007f"
    assert terminal.escape("a \r\n\tb\u2028c\x85d") == "a  b c d"
    assert terminal.quote('a"\n\x9b\ud83d\u2066') == '"a\\"\\n\\u009b\\ud83d\\u2066"'
    assert terminal.escape("日本 👩🏽‍🔬 на́ука") == "日本 👩🏽‍🔬 на́ука"


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("ranking", ["routing", "account"])
def test_a_hostile_text_and_names(classifier: ICapsClassifier, color: bool, ranking: str) -> None:
    (explanation,) = classifier.explain([HOSTILE], ranking=ranking)
    name = "A\x1b]0;title\x07\nB"
    hostile = replace(
        explanation,
        classes=(name, *explanation.classes[1:]),
        predicted=name,
        target=name,
        kgrams=tuple(replace(kgram, capsule_name=name) for kgram in explanation.kgrams),
    )
    text = ESCAPE.sub("", hostile.to_text(color)) if color else hostile.to_text()
    assert text.replace("\n", "").isprintable()
    assert "\u202e" not in text
    assert "A\\u001b]0;title\\u0007 B" in text
    text.encode()


def read(shown: str) -> list[tuple[str, str]]:
    """The colored parts of a line with their styles."""
    return [(part[2], part[1]) for part in re.finditer("\x1b\\[([0-9;]+)m(.*?)\x1b\\[0m", shown)]


def test_the_colors_are_the_shades_of_the_account(explanation: Explanation) -> None:
    account = explanation.word_account()
    assert account is not None
    (line,) = terminal.shaded_lines(account)
    assert ESCAPE.sub("", line) == explanation.text
    shaded = [
        (explanation.text[word.start : word.end], level)
        for word, level in zip(explanation.words, account.levels.tolist(), strict=True)
        if level
    ]
    parts = read(line)
    assert [word for word, _ in parts] == [word for word, _ in shaded]
    for (_, style), (_, level) in zip(parts, shaded, strict=True):
        assert style.startswith("4;") == (level < 0)  # words against are underlined
    assert line in explanation.to_text(color=True)
    assert "\x1b" not in explanation.to_text()


def test_the_numbers_add_up(explanation: Explanation) -> None:
    lines = explanation.to_text().splitlines()
    assert lines[-1].startswith("All together, with bias ")
    assert any(line.startswith(f"For {explanation.target}: ") for line in lines)
    covered = f"The words of the K-grams carry {explanation.covered:.0%} of the score."
    assert covered in lines
    said = [line for line in lines if line.startswith(("For ", "Against ", "All together"))]
    total = sum(float(number) for line in said for number in NUMBER.findall(line))
    score = lines[-1].rpartition(": ")[2]
    assert total == pytest.approx(float(score), abs=1e-9)
    assert score == f"{explanation.score:.{len(score) - 2}f}"
    for kgram in explanation.kgrams:
        (line,) = {line for line in lines if line.startswith(f'  "{kgram.text}"  ')}
        assert f"share {kgram.share:+.3f}" in line  # as many digits as the shades need


def test_a_word_for_and_one_against(explanation: Explanation) -> None:
    """Of a text "a b a": twice +0.25 for, and -0.12 against."""
    words = (
        explanation.words[0]._replace(start=0, end=1, count=0, share=0.25),
        explanation.words[0]._replace(start=2, end=3, count=0, share=-0.12),
        explanation.words[0]._replace(start=4, end=5, count=0, share=0.25),
    )
    simple = replace(
        explanation,
        text="a b a",
        classes=("X",),
        predicted="X",
        target="X",
        scores=(0.5,),
        probabilities=(1.0,),
        words=words,
        unknown_share=0.0,
        kgrams=(),
        account=Account.of([[0.25], [-0.12], [0.25]], [0.12]),
        capsule_account=Account.of([], []),
    )
    assert simple.to_text().splitlines()[1:] == [
        'For X: "a" ×2 +0.50',
        'Against X: "b" -0.12',
        "All together, with bias +0.12: 0.50",
    ]
    without = replace(simple, account=Account.of([], []))  # of an older version
    assert without.to_text() == "X (> 99% probability)."
    assert without.to_text(color=True) == "X (> 99% probability)."


def test_a_long_text_by_sentence(long_explanation: Explanation) -> None:
    account = long_explanation.word_account()
    assert account is not None
    colored = list(terminal.shaded_lines(account))
    assert len(colored) == len(account.sentence_rows) == 9
    for line, row in zip(colored, account.sentence_rows, strict=True):
        share, _, text = ESCAPE.sub("", line).strip().partition("  ")
        assert share == f"{row.share:+.{account.digits}f}"
        assert text == long_explanation.text[row.start : row.end].strip()
    lines = long_explanation.to_text().splitlines()
    listed = lines[lines.index("By sentence:") + 1 :]
    assert len(listed) == 6
    assert listed[-1].endswith("  all other sentences")
    total = sum(float(line.split()[0]) for line in listed)
    assert total == pytest.approx(long_explanation.score - long_explanation.bias, abs=0.03)
    assert "By sentence:" not in long_explanation.to_text(color=True)


def test_a_text_without_a_known_word(classifier: ICapsClassifier) -> None:
    for text in ("", "zzyzx"):
        (blank,) = classifier.explain([text])
        assert blank.to_text(color=True) == blank.verdict
