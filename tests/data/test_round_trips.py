"""The same hostile rows through every format, compression and encoding that can hold them."""

from pathlib import Path

import pandas as pd
import pytest

from icaps.data.source import open_source
from tests.data.hostile import (
    BINARY_FORMATS,
    COMPRESSIONS,
    LABELS,
    ROWS,
    TEXT_FORMATS,
    binary_file,
    compressed,
    rows_of,
    text_file,
    write,
)

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1")
FORMATS = {
    **dict.fromkeys(("csv", "semicolon.csv", "bar.csv", "zhang.csv"), "CSV"),
    **{"tsv": "TSV", "jsonl": "JSON Lines", "json": "JSON", "fasttext.txt": "fastText"},
    **{"parquet": "Parquet", "arrow": "Arrow file", "stream.arrow": "Arrow stream"},
}
CODECS = {"": None, ".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


def read(path: Path, **options: str) -> list[tuple[str, str]]:
    return [(record.text, record.label) for record in open_source(path, **options)]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", TEXT_FORMATS)
def test_text(tmp_path: Path, kind: str, compression: str, encoding: str) -> None:
    rows = rows_of(kind, encoding)
    assert len(rows) > 25
    (tmp_path / "classes.txt").write_text("\n".join(LABELS), encoding="utf-8")
    path = write(tmp_path, kind, text_file(kind, rows).encode(encoding), compression)
    source = open_source(path)
    assert [(record.text, record.label) for record in source] == rows
    (about,) = source.describe().files
    assert about.format == FORMATS[kind]
    assert about.compression == CODECS[compression]
    assert about.encoding == ("cp1252" if encoding == "latin-1" else encoding)
    assert about.class_first == (kind == "zhang.csv")


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", BINARY_FORMATS)
def test_columns(tmp_path: Path, kind: str, compression: str) -> None:
    path = write(tmp_path, kind, binary_file(kind, ROWS), compression)
    source = open_source(path)
    assert [(record.text, record.label) for record in source] == ROWS
    assert [record.line for record in source] == list(range(1, 51))
    assert source.describe().files[0].format == FORMATS[kind]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_folder_of_texts(tmp_path: Path, compression: str) -> None:
    for number, (text, label) in enumerate(ROWS):
        (tmp_path / label).mkdir(exist_ok=True)
        data = compressed(text.encode(), compression)
        (tmp_path / label / f"{number:02}.txt{compression}").write_bytes(data)
    assert read(tmp_path) == sorted(ROWS, key=lambda row: row[1])


@pytest.mark.parametrize("encoding", ["cp1255", "shift_jis", "utf-32", "latin-1"])
def test_an_encoding_that_is_named(tmp_path: Path, encoding: str) -> None:
    text = {"cp1255": "שלום", "shift_jis": "今日は天気", "latin-1": "\x85\x92 ü"}.get(
        encoding, "中"
    )
    rows = [(f'{text} "{n}"\n', "a" if n % 2 else "b") for n in range(9)]
    path = write(tmp_path, "x.csv", text_file("csv", rows).encode(encoding))
    assert read(path, encoding=encoding) == rows


@pytest.mark.parametrize("terminator", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path: Path, terminator: str) -> None:
    lines = ["label,text", "a,one", "", "b,two", 'a,"three"', ""]
    path = write(tmp_path, "x.csv", terminator.join(lines).encode())
    records = list(open_source(path))
    assert [(record.text, record.line) for record in records] == [
        ("one", 2),
        ("two", 4),
        ("three", 5),
    ]


def test_memory() -> None:
    texts, labels = map(list, zip(*ROWS, strict=True))
    frame = pd.DataFrame({"label": labels, "text": texts})
    for data in (frame, (texts, labels), {"train": frame}, {"train": (texts, labels)}):
        assert [(record.text, record.label) for record in open_source(data)] == ROWS
