"""Texts of which some have a label, from files of several formats."""

import json
from pathlib import Path

import pytest

from icaps.data.partly_labelled import partly_labelled
from icaps.errors import DataError


def pairs(path: Path, content: str, **reading: str) -> list[tuple[str, str]]:
    path.write_text(content)
    return list(partly_labelled(path, reading))


def test_rows_without_a_label_have_an_empty_one(tmp_path: Path) -> None:
    rows = pairs(tmp_path / "a.csv", "text,label\nA soup.,x\nA sail.,\nA rose.,y\n")
    assert rows == [("A soup.", "x"), ("A sail.", ""), ("A rose.", "y")]
    lines = [{"text": "A soup.", "label": None}, {"text": "A sail.", "label": "x"}]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    assert pairs(tmp_path / "a.jsonl", content) == [("A soup.", ""), ("A sail.", "x")]


def test_a_column_is_no_label_unless_it_is_called_so(tmp_path: Path) -> None:
    content = "text,city\n" + "".join(f"A soup number {n}.,Rome\n" for n in range(12))
    assert {label for _, label in pairs(tmp_path / "a.csv", content)} == {""}
    assert {label for _, label in pairs(tmp_path / "a.csv", content, label="city")} == {"Rome"}
    with pytest.raises(DataError, match="no column 'town'"):
        pairs(tmp_path / "a.csv", content, label="town")


def test_lines_and_folders_of_texts(tmp_path: Path) -> None:
    assert pairs(tmp_path / "a.txt", "A soup.\nA sail.\n") == [("A soup.", ""), ("A sail.", "")]
    for name in ("x", "y"):
        (tmp_path / "texts" / name).mkdir(parents=True)
        (tmp_path / "texts" / name / "1.txt").write_text(f"A text of {name}.")
    assert list(partly_labelled(tmp_path / "texts", {})) == [
        ("A text of x.", "x"),
        ("A text of y.", "y"),
    ]


def test_other_bad_rows_are_errors_or_left_out(tmp_path: Path) -> None:
    content = "text,label\nA soup.,\nA sail.,x,more,and more\nA rose.,y\n"
    with pytest.raises(DataError, match="1 of 3 rows"):
        pairs(tmp_path / "a.csv", content)
    rows = pairs(tmp_path / "a.csv", content, on_bad_rows="skip")
    assert rows == [("A soup.", ""), ("A rose.", "y")]
