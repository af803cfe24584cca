"""The file of words that people marked: round trips, and that `plausibility` reads it."""

from pathlib import Path

import pytest

from icaps.data.marked_words import MarkedWordsFile
from icaps.errors import DataError
from icaps.faithfulness.plausibility import read_marked_words

TEXT = "Bake the  bread\nwith butter."


def test_marks_come_back(tmp_path: Path) -> None:
    file = MarkedWordsFile(tmp_path / "new" / "words.jsonl")
    assert (len(file), file.marks(TEXT)) == (0, {})
    file.set_marks(TEXT, {"Cooking": {0, 2}})
    file.set_marks("other text", {"Sailing": {1}})
    assert MarkedWordsFile(file.path).marks(TEXT) == {"Cooking": frozenset({0, 2})}
    file.set_marks(TEXT, {"Gardens": [2], "Cooking": [0], "Sailing": []})  # several labels
    assert file.marks(TEXT) == {"Gardens": frozenset({2}), "Cooking": frozenset({0})}
    assert len(file) == 2
    file.set_marks(TEXT, {})
    assert (len(file), file.marks(TEXT)) == (1, {})
    assert file.marks("other text") == {"Sailing": frozenset({1})}


def test_plausibility_reads_the_file(tmp_path: Path) -> None:
    file = MarkedWordsFile(tmp_path / "words.jsonl")
    file.set_marks(TEXT, {"Köche": {0, 2}})
    (read,) = read_marked_words(file.path)
    assert read.words == ("Bake", "the", "bread", "with", "butter.")
    assert read.marked.tolist() == [True, False, True, False, False]
    assert read.label == "Köche"


def test_a_damaged_line_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = MarkedWordsFile(tmp_path / "words.jsonl")
    file.set_marks(TEXT, {"Cooking": {0}})
    file.path.write_bytes(file.to_bytes() + b'{"words": ["a"], "mask": [1, 0], "label": "x"}\n')
    for use in (lambda: file.marks(TEXT), lambda: file.set_marks(TEXT, {})):
        with pytest.raises(DataError, match="line 2"):
            use()
