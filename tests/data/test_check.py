import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.data import check as module
from icaps.data.check import DataReport, Repeat, TextHashes, check
from icaps.data.records import Record
from icaps.data.source import open_source

GOOD = (["one two", "three", "four five six", "seven"], ["a", "b", "a", "b"])


def found(report: DataReport) -> list[tuple[str, str, str]]:
    return [(finding.severity, finding.split, finding.kind) for finding in report.findings]


def checked(train: Any, test: Any = None) -> DataReport:
    return check(open_source(train), open_source(test) if test else None)


def test_good_data() -> None:
    report = checked(GOOD, (["eight", "nine"], ["a", "b"]))
    assert report.usable
    assert report.findings == ()
    assert report.train.rows == 4
    assert report.train.classes == {"a": 2, "b": 2}
    words = report.train.words
    assert words is not None
    assert (words.minimum, words.median, words.mean, words.p95, words.maximum) == (
        1,
        1.5,
        1.75,
        3,
        3,
    )
    assert report.test is not None
    assert report.test.rows == 2
    assert report.leaks == 0


@pytest.mark.parametrize(
    ("train", "test", "expected", "message"),
    [
        (
            (["x", "y"], ["a", "a"]),
            None,
            ("error", "train", "one class"),
            "all texts are of .* 'a'",
        ),
        (
            ([*GOOD[0], "x", "y"], [*GOOD[1], "c", "d"]),
            None,
            ("error", "train", "single text"),
            r"2 classes \('c', 'd'\) with a single text",
        ),
        (
            GOOD,
            (["x", "y"], ["c", "a"]),
            ("error", "test", "unseen label"),
            r"1 class \('c'\) without a training text",
        ),
        (
            (["x", "x", "y", "z", "x", ""], ["a", "b", "a", "b", "a", "a"]),
            None,
            ("warning", "train", "duplicates"),
            r"repeat an earlier one: 2, the first at <lists>:2 \(as <lists>:1\)",
        ),
        (
            GOOD,
            (["three"], ["a"]),
            ("warning", "test", "leakage"),
            "also among the training texts: 1, the first",
        ),
        (
            ([*GOOD[0], "", " \n"], [*GOOD[1], "a", "a"]),
            None,
            ("warning", "train", "blank text"),
            "texts without a word: 2",
        ),
        (([], []), None, ("error", "train", "empty file"), "there is no row"),
        (
            (["x", "y", "z"], ["a", None, " "]),
            None,
            ("error", "train", "missing label"),
            "missing label: 2, the first: <lists>, row 2, column 'label'",
        ),
    ],
)
def test_findings(train: Any, test: Any, expected: tuple[str, str, str], message: str) -> None:
    report = checked(train, test)
    assert expected in found(report)
    told = next(finding for finding in report.findings if finding.kind == expected[2])
    assert re.search(message, told.message), told.message
    assert report.usable == (expected[0] == "warning")


def test_all_that_is_wrong_at_once(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text('label,text\na,one\na,one\nb\n,x\nb,"two\na,three\nc,"x"y\n')
    test.write_text("label,text\nz,one\na,three\na\n")
    report = check(open_source(train), open_source(test, on_bad_rows="skip"))
    assert sorted(found(report)) == [
        ("error", "test", "ragged row"),
        ("error", "test", "unseen label"),
        ("error", "train", "missing label"),
        ("error", "train", "one class"),
        ("error", "train", "ragged row"),
        ("error", "train", "stray quote"),
        ("warning", "test", "leakage"),
        ("warning", "train", "duplicates"),
    ]
    assert report.train.rows == 3
    assert report.train.bad_rows == {"ragged row": 1, "missing label": 1, "stray quote": 2}
    assert [(p.kind, p.line, p.column) for p in report.train.problems] == [
        ("ragged row", 4, 2),
        ("missing label", 5, "label"),
        ("stray quote", 6, 3),
        ("stray quote", 8, 3),
    ]
    assert report.leaks == 2
    assert report.leaked[0] == Repeat(str(test), 2, str(train), 2)
    assert report.leaked[1] == Repeat(str(test), 3, str(train), 7)
    text = report.to_text()
    assert text.endswith("\nnot usable as it is")
    assert f"{train}: CSV, utf-8, delimiter ','; text 'text', label 'label'" in text
    assert json.loads(json.dumps(report.to_dict()))["usable"] is False


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("x.csv", b"", "empty file"),
        ("x.csv", b"\x89PNG", "binary file"),
        ("x.csv", b"label,text\n", "empty file"),
        ("x.json", b'[{"label": "a", "text": "one"}', "invalid JSON"),
        ("x.csv", b"a,b,c\nd,e,f\n", "unclear header"),
        ("x.csv.gz", b"\x1f\x8b\x08\0", "unreadable file"),
    ],
)
def test_files_that_can_not_be_read(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(data)
    report = checked(tmp_path / name, GOOD)
    assert ("error", "train", kind) in found(report)
    assert not report.usable
    assert report.to_text()
    report = checked(GOOD, tmp_path / name)
    assert found(report) == [("error", "test", kind)]


def test_a_column_of_texts_is_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CLASSES", 50)
    report = checked((["x"] * 99, [f"text {n}" for n in range(99)]))
    assert ("error", "train", "too many classes") in found(report)
    assert report.train.rows == 51


TEXTS = st.lists(st.sampled_from(["", "a", "b", "é", "\ud800", "c d"]), max_size=12)


@given(TEXTS, TEXTS)
def test_repeats_are_those_of_sets(train: list[str], test: list[str]) -> None:
    hashes = []
    for name, texts in (("train", train), ("test", test)):
        hashes.append(TextHashes())
        for line, text in enumerate(texts, 1):
            hashes[-1].add(Record(text, "", f"{name}{line // 3}", line))
    count, first = hashes[0].duplicates()
    repeats = [n for n, text in enumerate(train) if text in train[:n]]
    assert count == len(repeats)
    assert [(r.line, r.first_line) for r in first] == [
        (n + 1, train.index(train[n]) + 1) for n in repeats[:5]
    ]
    assert all(r.file == f"train{r.line // 3}" for r in first)
    count, first = hashes[1].leaks(hashes[0])
    leaks = [n for n, text in enumerate(test) if text in train]
    assert count == len(leaks)
    assert [(r.line, r.first_line) for r in first] == [
        (n + 1, train.index(test[n]) + 1) for n in leaks[:5]
    ]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_word_counts(lengths: list[int]) -> None:

    texts = ["w " * length for length in lengths]
    words = checked((texts, ["a"] * len(texts))).train.words
    assert words is not None
    assert words.minimum == min(lengths)
    assert words.maximum == max(lengths)
    assert words.median == np.median(lengths)
    assert words.mean == pytest.approx(np.mean(lengths))
    assert words.p95 == np.percentile(lengths, 95, method="inverted_cdf")
