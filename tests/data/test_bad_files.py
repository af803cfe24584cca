"""Files with faults: each is reported with its place, and no good row is lost."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from icaps.data.problems import FileError
from icaps.data.source import open_source
from icaps.errors import DataError
from tests.data.hostile import compressed

GOOD = "label,text\na,one\nb,two\na,three\nb,four\n"


@dataclass
class Bad:
    """A file, its faults as (kind, line, column), part of the message, and its good texts."""

    name: str
    data: bytes
    faults: list[tuple[str, int | None, int | str | None]]
    message: str
    good: list[str]


def lines(*rows: str, end: str = "\n") -> bytes:
    return "".join(row + end for row in rows).encode()


ROWS = [
    Bad(
        "short.csv",
        lines("label,text", "a,one", "b", "a,three"),
        [("ragged row", 3, 2)],
        r"line 3, column 2: the row has 1 fields, not 2: some are missing",
        ["one", "three"],
    ),
    Bad(
        "long.csv",
        lines("label,text", "a,one", "b,two, and more", "a,three"),
        [("ragged row", 3, 7)],
        r"line 3, column 7: the row has 3 fields, not 2: some are too many. .* double quotes",
        ["one", "three"],
    ),
    Bad(
        "long_after_quotes.csv",
        lines("label,text", '"a","one', 'more","x"', "b,two"),
        [("ragged row", 3, 7)],
        "line 3, column 7",
        ["two"],
    ),
    Bad(
        "unclosed_first.csv",
        lines("label,text", 'a,"one', "b,two", "a,three", "b,four"),
        [("unclosed quote", 2, 3)],
        r"line 2, column 3: the quote that opens here is never closed. Close it",
        ["two", "three", "four"],
    ),
    Bad(
        "unclosed_last.csv",
        lines("label,text", "a,one", "b,two", 'a,"three'),
        [("unclosed quote", 4, 3)],
        "never closed",
        ["one", "two"],
    ),
    Bad(
        "unclosed_between.csv",
        lines("label,text", 'a,"one"', 'b,"two', 'a,"three"', "b,four"),
        [("stray quote", 3, 3)],
        r"line 3, column 3: the quote that opens here is followed by more text",
        ["one", "three", "four"],
    ),
    Bad(
        "unclosed_twice.csv",
        lines("label,text", 'a,"one', 'b,"two', "a,three", "b,four"),
        [("stray quote", 2, 3), ("unclosed quote", 3, 3)],
        "2 of 4 rows cannot be read",
        ["three", "four"],
    ),
    Bad(
        "stray.csv",
        lines("label,text", 'a,"one" he said', "b,two", "a,three"),
        [("stray quote", 2, 3)],
        r"write a quote inside a quoted field twice",
        ["two", "three"],
    ),
    Bad(
        "backslashes.csv",
        # By the last row a backslash is no escape.
        lines("label,text", "a,one", r'b,"he said \"hi\""', "a,three", r'a,"on C:\"'),
        [("stray quote", 3, 3)],
        "line 3, column 3",
        ["one", "three", "on C:\\"],
    ),
    Bad(
        "nul.csv",
        lines("label,text", "a,one", "b,tw\0o", "a," + "three " * 40),
        [("NUL character", 3, 5)],
        "line 3, column 5: there is a NUL character; remove it",
        ["one", "three " * 40],
    ),
    Bad(
        "nul_in_quotes.csv",
        lines("label,text", 'a,"one', 'more\0"', "b," + "two " * 50),
        [("NUL character", 3, 5)],
        "NUL",
        ["two " * 50],
    ),
    Bad(
        "one_byte.csv",
        lines("label,text", 'a,"καλημέρα, τι κάνεις"', "b,??", "a,κόσμε").replace(b"?", b"\x92"),
        [("undecodable byte", 3, 3)],
        r"line 3, column 3: a byte is not valid in the file's encoding; save the file as UTF-8",
        ["καλημέρα, τι κάνεις", "κόσμε"],
    ),
    Bad(
        "no_label.csv",
        lines("label,text", "a,one", ",two", "  ,three", "b,four"),
        [("missing label", 3, "label"), ("missing label", 4, "label")],
        r"line 3, column 'label': the row has no label; add one. 2 of 4 rows",
        ["one", "four"],
    ),
    Bad(
        "line_end.csv",
        lines("label,text", '"a\nb",one', "b,two"),
        [("line end in label", 2, "label")],
        r"class name 'a.nb' has a line end; rename it",
        ["two"],
    ),
    Bad(
        "many_kinds.csv",
        lines("text,label", "one,a", "two", "three,", 'four,"b', 'five,"c"x', "six,b"),
        [
            ("ragged row", 3, 4),
            ("missing label", 4, "label"),
            ("stray quote", 5, 6),
            ("stray quote", 6, 6),
        ],
        r"4 of 6 rows cannot be read \(2 stray quote, 1 ragged row, 1 missing label\)",
        ["one", "six"],
    ),
    Bad(
        "windows.csv",
        lines("label;text", "a;one", "b;two;x", "a;three", end="\r\n"),
        [("ragged row", 3, 7)],
        "holds ';' or a line end",
        ["one", "three"],
    ),
    Bad(
        "broken.jsonl",
        lines('{"label": "a", "text": "one"}', '{"label": "b", "text"', '{"label": 1, "text": ""}'),
        [("invalid JSON", 2, 22)],
        r"line 2, column 2\d: it is not JSON \(Expecting ':' delimiter\)",
        ["one", ""],
    ),
    Bad(
        "kinds.jsonl",
        lines(
            '{"label": "a", "text": "one"}',
            "[1, 2]",
            '{"label": "b"}',
            '{"text": "x"}',
            '{"label": null, "text": "x"}',
            '{"label": ["a", "b"], "text": "x"}',
            '{"label": "a", "text": {"x": 1}}',
            '{"label": "a", "text": null}',
            "",
            '{"label": true, "text": 3}',
        ),
        [
            ("no object", 2, None),
            ("missing text", 3, "text"),
            ("missing label", 4, "label"),
            ("missing label", 5, "label"),
            ("several labels", 6, "label"),
            ("wrong type", 7, "text"),
        ],
        r"line 2: it is of type list, not an object .* 6 of 9 rows",
        ["one", "", "3"],
    ),
    Bad(
        "deep.jsonl",
        lines('{"label": "a", "text": "one"}', "[" * 100_000, '{"label": "b", "text": "two"}'),
        [("invalid JSON", 2, None)],
        r"line 2: it is not JSON \(maximum recursion",
        ["one", "two"],
    ),
    Bad(
        "huge_number.jsonl",
        lines('{"label": "a", "text": "one"}', '{"label": ' + "1" * 9999 + ', "text": "x"}'),
        [("invalid JSON", 2, None)],
        r"line 2: it is not JSON \(Exceeds the limit",
        ["one"],
    ),
    Bad(
        "bytes.jsonl",
        lines(
            '{"label": "a", "text": "שלום עולם, מה נשמע"}', '{"label": "b", "text": "?"}'
        ).replace(b"?", b"\xe9"),
        [("undecodable byte", 2, 25)],
        "line 2, column 25",
        ["שלום עולם, מה נשמע"],
    ),
    Bad(
        "not_objects.json",
        b'[{"label": "a", "text": "one"},\n 3, "x",\n {"label": "b", "text": "two"}]',
        [("no object", 2, None), ("no object", 2, None)],
        "line 2: it is of type int, not an object with a text and a label",
        ["one", "two"],
    ),
    Bad(
        "bytes.json",
        lines(
            '[{"label": "a", "text": "שלום עולם, מה נשמע"},', ' {"label": "b", "text": "?"}]'
        ).replace(b"?", b"\xe9"),
        [("undecodable byte", 2, 26)],
        "line 2, column 26",
        ["שלום עולם, מה נשמע"],
    ),
    Bad(
        "labels.txt",
        lines("__label__a one", "two", "__label__ three", "__label__a __label__b x", "__label__b"),
        [("missing label", 2, 1), ("missing label", 3, 1), ("several labels", 4, 12)],
        r"line 2, column 1: the line has no label; start it with __label__",
        ["one", ""],
    ),
]


@pytest.mark.parametrize("bad", ROWS, ids=lambda bad: bad.name)
def test_bad_rows(tmp_path: Path, bad: Bad) -> None:
    path = tmp_path / bad.name
    path.write_bytes(bad.data)
    with pytest.raises(DataError, match=bad.message) as strict:
        list(open_source(path))
    assert str(strict.value).startswith(str(path))
    assert str(strict.value).endswith(
        "leave them out with --on-bad-rows skip (on_bad_rows='skip')."
    )
    source = open_source(path, on_bad_rows="skip")
    assert [record.text for record in source] == bad.good
    found = [problem for first in source.problems.first.values() for problem in first]
    assert sorted((p.kind, p.line, p.column) for p in found) == sorted(bad.faults)
    assert source.problems.total == len(bad.faults)


FILES = {
    "empty.csv": (b"", "it is empty; add texts with labels"),
    "blank.csv": (b"\n \n\n", "it is empty"),
    "empty.csv.gz": (compressed(b"", ".gz"), "it is empty"),
    "header.csv": (b"label,text\n", "holds no rows that can be read; add texts with labels"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n\0\1", "it is a PNG image; give CSV, JSON"),
    "program.csv": (bytes(range(256)) * 9, "it is not text and in none of the supported formats"),
    "model.pkl": (b"\x80\x04\x95\x10", "a Python pickle, which could run a program"),
    "book.pdf": (b"%PDF-1.7\n", "a PDF document"),
    "archive.tar": (b"a.csv".ljust(257, b"\0") + b"ustar\x00", "a tar archive; unpack it"),
    "renamed.parquet": (b"label,text\na,one\n", "it is not a .parquet file; give it the suffix"),
    "one_column.csv": (
        b"just words\nand more\n",
        "none of the supported formats.* Give its delimiter with",
    ),
    "columns.csv": (
        b"id,title,body,kind\n1,x,y,a\n2,x,y,b\n3,x,y,a\n4,x,y,b\n",
        "it has the columns id, title, body, kind; it is unclear which has the labels. Name",
    ),
    "twice.csv": (b"label,text,text\na,one,x\n", "2 columns are called 'text'; rename all but one"),
    "unclear.csv": (b"good,fine\nbad,awful\n", "it is unclear whether its first line .good, fine."),
    "no_header.csv": (
        b"good,fine day,x\nbad,it is,y\ngood,so it is,z\n",
        "it has no header, so that its columns are 1, 2, 3; it is unclear which has the texts and",
    ),
    "cut.csv.gz": (compressed(GOOD.encode() * 99, ".gz")[:-9], "it cannot be read .* Copy or"),
    "cut.csv.xz": (compressed(GOOD.encode() * 99, ".xz")[:-20], "it cannot be read"),
    "cut.csv.bz2": (compressed(GOOD.encode() * 99, ".bz2")[:-9], "it cannot be read"),
    "cut.csv.zst": (compressed(GOOD.encode() * 99, ".zst")[:-9], "it cannot be read"),
    "cut.csv.zip": (compressed(GOOD.encode() * 99, ".zip")[:-30], "it cannot be read"),
    "cut.json": (b'[{"label": "a", "text": "one"},\n', r"line 2, column 1: it is not JSON"),
    "comma.json": (b'[{"label": "a", "text": "one"}\n  {}]', "line 2, column 3: .* no , or ]"),
    "after.json": (b'[{"label": "a", "text": "one"}]\n{}', "line 2, column 1: .* more after"),
    "inside.json": (b'[{"label": "a",\n  "text": one}]', "line 2, column 12: .*Expecting value"),
    "object.json": (b'{\n "label": ["a"],\n "text": ["x"]\n}', "one JSON object over several"),
    "none.json": (b"[]", "it has no JSON object with a text and a label"),
    "none.jsonl": (b"{broken\n", "it has no JSON object with a text and a label"),
    "cut.parquet": (b"PAR1" + bytes(99), "it is a damaged Parquet file"),
    "cut.arrow": (b"ARROW1\0\0" + bytes(99), "it is a damaged Arrow file"),
    "stream.arrow": (b"\xff\xff\xff\xff\x70\0\0\0" + bytes(9), "it is a damaged Arrow file"),
    "cyrillic.csv": (
        ("label,text\n" + "a,Привет как дела\nb,новости спорта\n" * 9).encode("cp1251"),
        "neither UTF-8, UTF-16 nor plainly Western European .* perhaps one of .*cp1251",
    ),
    "half.csv": (GOOD.encode("utf-16") + b"\n", "it is not utf-16 to its end .*: truncated data"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files(tmp_path: Path, name: str) -> None:
    data, message = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    for on_bad_rows in ("strict", "skip"):
        with pytest.raises(DataError, match=message) as error:
            list(open_source(path, on_bad_rows=on_bad_rows))
        assert str(error.value).startswith(str(path))


def test_class_numbers_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("Sport\r\nKultur\n")
    path = tmp_path / "x.csv"
    path.write_bytes(lines("label,text", "0,one", "1,two", "2,three", "x,four", "-1,five"))
    source = open_source(path, on_bad_rows="skip")
    # Not all of the first labels are numbers, so they are names themselves.
    assert {record.label for record in source} == {"0", "1", "2", "x", "-1"}
    path.write_bytes(lines("label,text", "0,one", "1,two", "2,three", "-1,five"))
    source = open_source(path, on_bad_rows="skip")
    assert [record.label for record in source] == ["Sport", "Kultur"]
    with pytest.raises(DataError, match=r"label 2 has no name: the 2 names .* 0 to 1. Fix it"):
        list(open_source(path))
    (tmp_path / "classes.txt").write_bytes(b"Sp\xf6rt\n")
    with pytest.raises(FileError, match=r"classes.txt: it cannot be read as UTF-8"):
        list(open_source(path))
    (tmp_path / "classes.txt").write_text("Sport\n\n")
    with pytest.raises(FileError, match=r"classes.txt: a name is blank or occurs twice"):
        list(open_source(path))


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/zero"), Path("/dev/tty")):
        if path.exists():
            with pytest.raises(
                FileError, match="it is not a regular file; copy its content to one"
            ):
                list(open_source(path))


def test_a_pipe_in_a_class_is_a_bad_row(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text("some words")
    os.mkfifo(tmp_path / "a" / "2.txt")
    source = open_source(tmp_path, on_bad_rows="skip")
    assert [record.label for record in source] == ["a", "b"]
    assert source.problems.summary() == "1 unreadable file"
