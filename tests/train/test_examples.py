"""The texts to start from that are stored with a model."""

from pathlib import Path

import pytest

from icaps.data.records import Record
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import EXAMPLES
from icaps.train.examples import (
    LENGTH,
    MOST,
    Example,
    choose_examples,
    load_examples,
    save_examples,
)


def records(*pairs: tuple[str, str]) -> list[Record]:
    return [Record(text, label, "texts.csv", n) for n, (text, label) in enumerate(pairs, 1)]


def test_the_first_text_of_each_class_in_the_order_of_the_classes() -> None:
    texts = records(("  ", "b"), ("two\n words", "b"), ("one", "a"), ("other", "a"))
    assert choose_examples(texts, ["a", "b", "c"]) == [
        Example("a", "one"),
        Example("b", "two words"),
    ]
    names = [f"class {n}" for n in range(9)]
    many = choose_examples(records(*((f"text {name}", name) for name in names)), names)
    assert [example.title for example in many] == names[:MOST]


def test_a_long_text_is_cut_after_a_word() -> None:
    (example,) = choose_examples(records(("word " * 100, "a")), ["a"])
    assert example.text == ("word " * (LENGTH // 5)).strip()
    (example,) = choose_examples(records(("w" * 1000, "a")), ["a"])
    assert example.text == "w" * LENGTH
    exact = "w" * LENGTH
    assert choose_examples(records((exact, "a")), ["a"]) == [Example("a", exact)]


def test_round_trip(tmp_path: Path) -> None:
    examples = [Example("a", "<b>&"), Example("ü", "half \ud800 of a character")]
    save_examples(examples, tmp_path)
    assert load_examples(tmp_path) == examples
    with pytest.raises(CheckpointError, match="cannot be written"):
        save_examples(examples, tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    ["", "{", "{}", "null", "[1]", '[{"title": "a"}]', '[{"title": 1, "text": "b"}]', "[" * 10_000],
)
def test_a_damaged_file_has_no_examples(content: str, tmp_path: Path) -> None:
    (tmp_path / EXAMPLES).write_text(content, encoding="utf-8")
    assert load_examples(tmp_path) == []


def test_a_title_occurs_once(tmp_path: Path) -> None:
    save_examples([Example("a", "one"), Example("a", "two"), Example(" ", "three")], tmp_path)
    assert load_examples(tmp_path) == [Example("a", "one")]
