"""Progress in a pipe: a line per percent of a known number of texts, with the time left."""

from io import StringIO

import pytest

from icaps.cli import progress
from icaps.cli.formatting import duration
from icaps.cli.progress import LINE_OF_TEXTS, Progress, share_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_per_percent_with_the_time_left(clock: list[float]) -> None:
    stream = StringIO()
    bar = Progress(stream)
    bar.expect_texts(2_000)
    for _ in range(100):
        clock[0] += 0.5
        bar.on_texts(10)  # 20 texts per second
    lines = stream.getvalue().splitlines()
    assert lines[0] == "20 of 2,000 texts, 20 texts/s, 2 min left"
    assert lines[-1] == "1,000 of 2,000 texts, 20 texts/s, 50 s left"
    assert len(lines) == 50


def test_the_last_line_has_no_time_left(clock: list[float]) -> None:
    stream = StringIO()
    bar = Progress(stream)
    bar.expect_texts(3)
    bar.on_texts(3)
    assert stream.getvalue() == "3 of 3 texts\n"


def test_more_texts_than_were_estimated(clock: list[float]) -> None:
    stream = StringIO()
    bar = Progress(stream)
    bar.expect_texts(100)
    bar.on_texts(99)
    bar.on_texts(21)
    assert stream.getvalue().splitlines()[-1] == "120 of 120 texts"


def test_each_operation_counts_anew(clock: list[float]) -> None:
    stream = StringIO()
    bar = Progress(stream)
    for total in (10, 4):
        bar.expect_texts(total)
        bar.on_texts(total)
    assert stream.getvalue().splitlines() == ["10 of 10 texts", "4 of 4 texts"]


def test_lines_of_an_unknown_number_of_texts() -> None:
    stream = StringIO()
    bar = Progress(stream)
    for _ in range(3):
        bar.on_texts(LINE_OF_TEXTS // 2)
    assert stream.getvalue() == f"{LINE_OF_TEXTS:,} texts\n"


def test_the_bar_on_a_terminal_knows_the_total() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    bar = Progress(terminal)
    bar.expect_texts(40)
    bar.on_texts(40)
    bar.expect_texts(7)
    bar.on_texts(7)
    bar.expect_texts(1)
    assert "40/40" in terminal.getvalue()
    assert "7/7" in terminal.getvalue()


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("1,000 of 4,000 texts, 50 s left", 0.25),
        ("3 of 3 texts", 1.0),
        ("12 texts", None),
        ("reading /data/5 of 6 texts.csv", None),
        ("", None),
    ],
)
def test_the_share_is_read_from_a_line(line: str, share: float | None) -> None:
    assert share_of(line) == share


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5_399, "90 min"), (5_400, "1.5 h")],
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
