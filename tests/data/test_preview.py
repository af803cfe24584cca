"""The first rows of data, and what prevents reading it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from icaps.data.preview import LONGEST, MOST_READ, ROWS, Preview, preview
from icaps.data.source import open_source
from icaps.errors import ConfigError, DataError
from tests.data.hostile import (
    BINARY_FORMATS,
    LABELS,
    TEXT_FORMATS,
    binary_file,
    rows_of,
    text_file,
    write,
)


def csv(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_what_is_seen_of_a_table(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,text,label", "1,some bread,a", "2,more soup,b")
    rows = (("some bread", "a"), ("more soup", "b"))
    assert preview(path, {}) == Preview(("id", "text", "label"), ("text",), "label", rows, "")


@pytest.mark.parametrize("kind", [*TEXT_FORMATS, *BINARY_FORMATS])
def test_it_sees_what_is_read_in_each_format(kind: str, tmp_path: Path) -> None:
    rows = rows_of(kind)
    text = kind in TEXT_FORMATS
    data = text_file(kind, rows).encode() if text else binary_file(kind, rows)
    path = write(tmp_path, kind, data)
    if kind == "zhang.csv":
        (tmp_path / "classes.txt").write_text("\n".join(LABELS), encoding="utf-8")
    seen = preview(path, {})
    expected = [(text[:LONGEST], label) for text, label in open_source(path).pairs()]
    assert list(seen.rows) == expected[:ROWS]
    assert seen.trouble == ""
    described = open_source(path).describe().files[0]
    assert (seen.text, seen.label) == (described.text, described.label)
    assert {seen.label, *seen.text} <= set(seen.columns)


def test_only_the_first_rows_and_characters_are_held(tmp_path: Path) -> None:
    long = "x" * (LONGEST + 1)
    path = csv(tmp_path / "a.csv", "text,label", *[f"{long},{n % 2}" for n in range(ROWS + 9)])
    seen = preview(path, {})
    assert len(seen.rows) == ROWS
    assert {len(text) for text, _ in seen.rows} == {LONGEST}


def test_columns_are_chosen(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "title;body;kind;text;label", "T;B;k;x;y", "U;C;l;x;y")
    seen = preview(path, {"text": ["title", "body"], "label": "kind", "delimiter": ";"})
    assert (seen.text, seen.label) == (("title", "body"), "kind")
    assert seen.rows == (("T B", "k"), ("U C", "l"))
    assert seen.columns == ("title", "body", "kind", "text", "label")


def test_unclear_columns_are_listed(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "one,two,three", *["a b c,d,e", "f g,d,e", "h i,d,e"])
    seen = preview(path, {})
    assert seen.columns == ("one", "two", "three")
    assert (seen.text, seen.label, seen.rows) == ((), "", ())
    assert "a.csv" in seen.trouble
    seen = preview(path, {"text": ["one"], "label": "nothing"})
    assert "nothing" in seen.trouble
    assert preview(path, {"text": ["one"], "label": "three"}).rows[0] == ("a b c", "e")


def test_a_first_line_that_may_be_data(tmp_path: Path) -> None:
    """Then its columns have names and numbers, and both can be chosen."""
    path = csv(tmp_path / "a.csv", "one,two,three", "a b c,d e f,g h i", "j k l,m n o,p q r")
    seen = preview(path, {})
    assert seen.columns == ("one", "two", "three", "1", "2", "3")
    assert "it is unclear whether its first line" in seen.trouble
    named = preview(path, {"text": ["one"], "label": "three"})
    assert named.columns == ("one", "two", "three")
    assert named.rows == (("a b c", "g h i"), ("j k l", "p q r"))
    numbered = preview(path, {"text": ["1"], "label": "3"})
    assert numbered.columns == ("1", "2", "3")
    assert numbered.rows == (("one", "three"), *named.rows)
    assert "no column" in preview(path, {"text": ["one"], "label": "3"}).trouble


BAD = "three,fields,here"


def test_a_bad_row_is_trouble_unless_it_is_left_out(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "text,label", "x y,a", BAD, "z,b", BAD)
    seen = preview(path, {})
    assert seen.rows == (("x y", "a"), ("z", "b"))
    assert "line 3" in seen.trouble  # the first of them
    skipped = preview(path, {"on_bad_rows": "skip"})
    assert (skipped.rows, skipped.trouble) == (seen.rows, "")


def test_rows_behind_many_bad_ones_are_found(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "text,label", *[BAD] * (ROWS + 9), "x y,a")
    assert preview(path, {"on_bad_rows": "skip"}).rows == (("x y", "a"),)
    path = csv(tmp_path / "a.csv", "text,label", *[BAD] * (MOST_READ + 9), "x y,a")
    assert preview(path, {"on_bad_rows": "skip"}).trouble.endswith(
        "holds no rows that can be read."
    )


def test_a_bad_row_further_down_is_not_looked_for(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "text,label", *["x,a", "y,b"] * (ROWS // 2), BAD)
    assert preview(path, {}).trouble == ""


def test_folders(tmp_path: Path) -> None:
    """Shows the train part of a folder with parts, and the texts of one with class folders."""
    csv(tmp_path / "train.csv", "text,label", "x,a")
    csv(tmp_path / "test.csv", "text,label", "y,b")
    assert preview(tmp_path, {}).rows == (("x", "a"),)
    for name in ("good", "bad"):
        folder = tmp_path / "classes" / name
        folder.mkdir(parents=True)
        (folder / "1.txt").write_text(f"a {name} text", encoding="utf-8")
    seen = preview(tmp_path / "classes", {})
    assert sorted(seen.rows) == [("a bad text", "bad"), ("a good text", "good")]
    assert seen.trouble == ""


@pytest.mark.parametrize("value", ["", "\0", "half \ud83d", None, 3, "<b>"])
def test_any_text_comes_as_it_is(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": value, "label": "a"}), encoding="utf-8")
    assert preview(path, {}).rows == ((("" if value is None else str(value)), "a"),)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "PNG"),
        (bytes(50), "it is not text"),
        (b"word\n" * 9, "no delimiter"),
    ],
)
def test_what_is_no_file_of_texts_is_an_error(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=words):
        preview(tmp_path / "a.csv", {})


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file or folder"):
        preview(tmp_path / "a.csv", {})
    with pytest.raises(DataError, match="has no train file"):
        preview(tmp_path, {})


def test_ways_of_reading_that_there_are_not(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "text,label", "x,a")
    with pytest.raises(ConfigError, match="encoding"):
        preview(path, {"encoding": "utf-9"})
    with pytest.raises(ConfigError, match="delimiter"):
        preview(path, {"delimiter": "two"})
    with pytest.raises(ConfigError, match="on_bad_rows"):
        preview(path, {"on_bad_rows": "maybe"})


def test_names_of_classes_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    pd.DataFrame({"text": ["x", "y"], "label": [1, 0]}).to_parquet(path)
    (tmp_path / "classes.txt").write_text("no\nyes\n", encoding="utf-8")
    assert preview(path, {}).rows == (("x", "yes"), ("y", "no"))


def test_unclear_columns_come_with_the_likeliest_ones_and_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    lines = [
        f"{n},web,the review number {n} is long,{'good' if n % 2 else 'bad'}" for n in range(9)
    ]
    path.write_text("\n".join(["id,source,review text,feeling", *lines]))
    unclear = preview(path, {}).unclear
    assert unclear is not None
    # The source has one value alone, so it is no class.
    assert (unclear.text, unclear.label) == (("review text",), "feeling")
    assert unclear.names == ("id", "source", "review text", "feeling")
    assert unclear.rows[1] == ("1", "web", "the review number 1 is long", "good")
    chosen = preview(path, {"text": list(unclear.text), "label": unclear.label})
    assert chosen.unclear is None
    assert chosen.rows[0] == ("the review number 0 is long", "bad")
    missing = preview(path, {"text": ["none"]})
    assert missing.unclear is None
    assert "no column" in missing.trouble


@pytest.mark.parametrize(
    ("first", "names"),
    [("origin;wording;mood", ("origin", "wording", "mood")), ("web;some words;good", "123")],
)
def test_the_likeliest_columns_if_there_may_be_a_header(
    first: str, names: Sequence[str], tmp_path: Path
) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(f"{first}\nweb;a review of bread;good\napp;one of soup;bad\nweb;more;good\n")
    unclear = preview(path, {}).unclear
    assert unclear is not None
    assert unclear.names == tuple(names)
    assert unclear.text == (names[1],)
    assert unclear.label in (names[0], names[2])
    assert len(unclear.rows) == (3 if "mood" in first else 4)
    assert preview(path, {"text": unclear.text, "label": unclear.label}).rows[-1][0] == "more"
