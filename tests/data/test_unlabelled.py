"""Texts without labels, from files of any format."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from icaps.data.problems import FileError, Problem
from icaps.data.unlabelled import TextRow, open_unlabelled
from icaps.errors import DataError

TEXTS = ["soup, with bread", 'a "small" boat', "third text"]


def read(path: Path, **options: str) -> tuple[list[str], list[str]]:
    """The texts, and the lines of the log."""
    lines: list[str] = []
    source = open_unlabelled(path, log=lines.append, **options)
    texts = list(source)
    assert list(source) == texts  # it is read anew
    return texts, lines[: len(lines) // 2]


def write_csv(path: Path, table: dict[str, list[str]], sep: str = ",") -> Path:
    pd.DataFrame(table).to_csv(path, index=False, sep=sep)
    return path


def test_one_text_per_line(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([*TEXTS, "", "a, b, c", "d, e, f"]) + "\n")
    texts, notes = read(path)
    assert texts == [*TEXTS, "a, b, c", "d, e, f"]
    assert not notes


def test_lines_that_look_like_columns_are_whole_texts(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    lines = ["1, a small boat", "2, an old boat", "1, a new boat"]
    path.write_text("\n".join(lines))
    assert read(path)[0] == lines


def test_a_header_in_a_text_file_names_its_columns(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "texts.txt", {"id": ["1", "2", "3"], "text": TEXTS}, sep="\t")
    assert read(path)[0] == TEXTS


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_a_single_column(suffix: str, tmp_path: Path) -> None:
    """Its header is no text, and quotes around a text are removed."""
    path = write_csv(tmp_path / f"texts{suffix}", {"text": TEXTS})
    texts, notes = read(path)
    assert texts == TEXTS
    assert not notes


def test_a_single_column_with_a_name_of_the_user(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "texts.csv", {"utterance": TEXTS})
    assert read(path, text="utterance")[0] == TEXTS


def test_labels_are_not_read_and_that_is_said(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "texts.csv", {"text": TEXTS, "label": ["a", "", "b"]})
    texts, notes = read(path)
    assert texts == TEXTS
    assert notes == [f"{path}: its labels ('label') are not read"]
    path = write_csv(tmp_path / "named.csv", {"text": TEXTS, "kind": ["a", "b", "b"]})
    assert read(path, label="kind")[1] == [f"{path}: its labels ('kind') are not read"]
    assert not read(path)[1]


def test_other_columns_are_not_read(tmp_path: Path) -> None:
    table = {"id": ["1", "2", "3"], "date": ["x", "y", "z"], "review": TEXTS}
    assert read(write_csv(tmp_path / "texts.csv", table))[0] == TEXTS
    table = {"id": ["1", "2", "3"], "note": ["so it is"] * 3, "words": TEXTS}
    path = write_csv(tmp_path / "other.csv", table)
    assert read(path, text="words")[0] == TEXTS
    with pytest.raises(DataError, match=r"id, note, words; .* texts. Name them: --text"):
        read(path)


def test_fasttext_and_zhang_et_al(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"__label__{n} {text}\n" for n, text in enumerate(TEXTS)))
    texts, notes = read(path)
    assert (texts, len(notes)) == (TEXTS, 1)
    path = tmp_path / "zhang.csv"
    path.write_text('"1","title","one\\ntwo"\n"2","other","three"\n')
    texts, notes = read(path)
    assert (texts, len(notes)) == (["title one\ntwo", "other three"], 1)


def test_json_and_parquet(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps({"a": t}) + "\n" for t in TEXTS).encode()))
    assert read(path)[0] == TEXTS
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "texts.parquet")
    assert read(tmp_path / "texts.parquet")[0] == TEXTS


def test_folders_and_patterns(tmp_path: Path) -> None:
    for name, text in zip(("a.txt", "b.txt", "c.txt"), TEXTS, strict=True):
        (tmp_path / name).write_text(text)
    texts, notes = read(tmp_path)
    assert (texts, notes) == (TEXTS, [])
    assert read(Path(f"{tmp_path}/[ab].txt"))[0] == TEXTS[:2]
    folder = tmp_path / "set"
    folder.mkdir()
    write_csv(folder / "train.csv", {"text": TEXTS, "label": ["a", "b", "a"]})
    texts, notes = read(folder)
    assert (texts, len(notes)) == (TEXTS, 1)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.txt", b" \n\n", "it is empty"),
        ("a.csv", b"text\n", "no text that can be read"),
        ("a.png", b"\x89PNG\r\n", "a PNG image"),
        ("a.json", b'{\n"a": 1}', "one JSON object over several lines"),
        ("a.parquet", b"PAR1 and nothing", "damaged Parquet file"),
        ("a.txt", b"one\n" * 99 + b"t\0wo\n", "1 of 100 rows cannot be read"),
        ("a.csv", b"text,id\none,1\ntwo\n", "1 of 2 rows cannot be read"),
    ],
)
def test_bad_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(open_unlabelled(tmp_path / name))


def test_bad_rows_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,id\none,1\ntwo\nthree,3\n")
    source = open_unlabelled(path, on_bad_rows="skip")
    assert (list(source), source.problems.total) == (["one", "three"], 1)


def test_data_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file or folder"):
        open_unlabelled(tmp_path / "absent.txt")


@pytest.mark.parametrize(
    ("name", "content", "texts", "columns"),
    [
        ("a.csv", b"text\r\nbread\r\nsoup\r\n", ("bread", "soup"), {}),
        ("a.csv", b"\xef\xbb\xbftext,label\nbread,a\nsoup,b\n", ("bread", "soup"), {"label": "ab"}),
        ("a.csv", b'id,text\n1,"two\nlines"\n2,soup\n', ("two\nlines", "soup"), {"id": "12"}),
        ("a.txt", b"one, two\n\nthree\n", ("one, two", "three"), {}),
        (
            "a.jsonl",
            b'{"text": "bread", "n": 1}\n{"text": "soup"}\n',
            ("bread", "soup"),
            {"n": ("1", "")},
        ),
    ],
)
def test_the_first_rows_have_all_columns(
    name: str, content: bytes, texts: tuple[str, ...], columns: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    rows = open_unlabelled(tmp_path / name).first_rows(10)
    assert rows.texts == texts
    others = {name: values for name, values in rows.columns.items() if name not in rows.text}
    assert others == {name: tuple(values) for name, values in columns.items()}
    assert (rows.more, rows.problems.total) == (False, 0)


def test_the_first_rows_are_bounded_and_bad_ones_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,mood\none text,good\nragged\nanother text,bad\nthird text,bad\n")
    rows = open_unlabelled(path).first_rows(2)
    assert rows.texts == ("one text", "another text")
    assert rows.columns["mood"] == ("good", "bad")
    assert rows.more
    assert rows.problems.total == 1
    assert not open_unlabelled(path).first_rows(3).more
    chosen = open_unlabelled(path, text=["mood", "text"]).first_rows(1)
    assert (chosen.texts, chosen.text) == (("good one text",), ("mood", "text"))


def test_rows_with_other_columns_and_those_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(b"id;text\n1;caf\xe9\nragged\n2;\n")
    texts = open_unlabelled(path, text="text", encoding="cp1252", delimiter=";")
    good, bad, empty = texts.rows(["id"])
    assert good == TextRow(str(path), 2, "café", ("1",))
    assert (bad.line, bad.others) == (3, (None,))
    assert isinstance(bad.text, Problem)
    assert empty == TextRow(str(path), 4, "", ("2",))
    assert [file.text for file in texts.describe()] == [("text",)]


def test_columns_that_a_file_lacks(tmp_path: Path) -> None:
    """Training ignores them, as several files may differ; where rows are copied it is an error."""
    path = write_csv(tmp_path / "texts.csv", {"id": ["1"], "text": ["soup"]})
    assert list(open_unlabelled(path, text="body")) == ["soup"]
    with pytest.raises(FileError, match="no column 'body'"):
        list(open_unlabelled(path, text="body").rows())
    with pytest.raises(FileError, match="no column 'date'"):
        list(open_unlabelled(path).rows(["date"]))


def test_missing_values_of_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a b", "id": 3}\n{"text": "c d", "id": null}\n{"text": "e f"}\n')
    rows = open_unlabelled(path, text="text").rows(["id"])
    assert [row.others for row in rows] == [("3",), (None,), (None,)]


def test_a_part_of_a_folder(tmp_path: Path) -> None:
    for part in ("train", "test"):
        write_csv(tmp_path / f"{part}.csv", {"text": [part], "id": ["1"]})
    assert list(open_unlabelled(tmp_path, text="text")) == ["train"]
    assert list(open_unlabelled(tmp_path, text="text", part="test")) == ["test"]


def test_the_fingerprint_changes_with_the_files(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "texts.csv", {"text": ["soup"]})
    before = open_unlabelled(path).fingerprint()
    assert open_unlabelled(path).fingerprint() == before
    write_csv(path, {"text": ["bread and soup"]})
    assert open_unlabelled(path).fingerprint() != before
