from pathlib import Path

import pytest

from icaps.data.encoding import LONGEST
from icaps.data.source import open_source
from icaps.errors import DataError


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_fasttext(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(
        "__label__2 Great CD: it's fine\r\n\n__label__1\ttab first\n__label__ä  two  \n".encode()
    )
    assert [(text, label, line) for text, label, _, line in open_source(path)] == [
        ("Great CD: it's fine", "2", 1),
        ("tab first", "1", 3),
        (" two  ", "ä", 4),
    ]


def test_a_folder(tmp_path: Path) -> None:
    files = {"pos/2.txt": b"good\n", "pos/1.txt": b"", "neg/a": b"bad", "neg/.hidden": b"\0"}
    fill(tmp_path, {**files, "README.md": b"about", ".git/x.png": b"", "neg/é.TXT": "é".encode()})
    (tmp_path / "none").mkdir()
    source = open_source(tmp_path)
    assert [(record.text, record.label, Path(record.file).name) for record in source] == [
        ("bad", "neg", "a"),
        ("é", "neg", "é.TXT"),
        ("", "pos", "1.txt"),
        ("good\n", "pos", "2.txt"),
    ]
    assert source.describe().files[0].format == "folder of texts by class"


def test_bad_files_in_a_folder(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            "a/1.txt": b"good",
            "a/2.txt": b"\x89PNG\0\1\2\3",
            "a/3.txt": ("é" * 40).encode() + b"\n\xe9",
            "a/4.txt/x": b"",
            "b/1.txt": b"x\ny" * 200 + b"\0",
            "b/2.txt": b"x" * (LONGEST + 9),
            "b/3.txt.gz": b"\x1f\x8b\x08\0\0",
            "b/4.txt": "Привет как дела новости".encode("cp1251"),
        },
    )
    source = open_source(tmp_path, on_bad_rows="skip")
    assert [record.text for record in source] == ["good"]
    found = [p for first in source.problems.first.values() for p in first]
    assert [(Path(p.file).name, p.kind, p.line, p.column) for p in found] == [
        ("2.txt", "binary file", None, None),
        ("3.txt", "undecodable byte", 2, 1),
        ("4.txt", "folder in a class", None, None),
        ("1.txt", "NUL character", 201, 2),
        ("2.txt", "too long", None, None),
        ("3.txt.gz", "unreadable file", None, None),
        ("4.txt", "unknown encoding", None, None),
    ]
    with pytest.raises(DataError, match=r"a/2.txt: it is not text; remove it. 7 of 8 rows"):
        list(open_source(tmp_path))


def test_the_encoding_of_a_folder(tmp_path: Path) -> None:
    fill(tmp_path, {"a/1.txt": "Привет".encode("cp1251"), "b/1.txt": "мир".encode("cp1251")})
    assert [r.text for r in open_source(tmp_path, encoding="cp1251")] == ["Привет", "мир"]


def test_columns_of_plain_text_have_their_names(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("__label__a one\n")
    assert [r.text for r in open_source(path, text="text", label="label")] == ["one"]
    with pytest.raises(DataError, match="no column 'body': it has the columns label, text"):
        list(open_source(path, text="body"))
