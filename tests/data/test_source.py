import csv
import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from icaps.data.source import LabelledTexts, Record, open_source
from icaps.errors import ConfigError, DataError, ICapsError

WORDS = "oven bread onion soup butter recipe simmer garlic flour bake harbour sail mast tide "


def rows(count: int) -> Iterator[tuple[str, str]]:
    for n in range(count):
        yield str(n % 3), f'{n} {WORDS * 2}, "{n}"{chr(10) if n % 7 == 0 else ""}'


def write_csv(path: Path, count: int) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("label", "text"))
        writer.writerows(rows(count))


def write_csv_gz(path: Path, count: int) -> None:
    with gzip.open(path, "wt", newline="", compresslevel=1) as file:
        writer = csv.writer(file)
        writer.writerow(("label", "text"))
        writer.writerows(rows(count))


def write_json_lines(path: Path, count: int) -> None:
    with path.open("w") as file:
        for label, text in rows(count):
            file.write(json.dumps({"label": label, "text": text}) + "\n")


def write_json(path: Path, count: int) -> None:
    with path.open("w") as file:
        for n, (label, text) in enumerate(rows(count)):
            file.write(("," if n else "[") + json.dumps({"label": label, "text": text}))
        file.write("]")


def write_fasttext(path: Path, count: int) -> None:
    with path.open("w") as file:
        for label, text in rows(count):
            file.write(f"__label__{label} {text.strip()}\n")


def write_ragged(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("label,text\n")
        for n in range(count):
            file.write(f"{n % 3},{n} {WORDS * 2}{',more' * (n > 9000 and n % 2)}\n")


def write_columns(path: Path, count: int) -> None:
    schema = pa.schema({"label": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        labels, texts = zip(*rows(count), strict=True)
        writer.write_table(pa.table({"label": labels, "text": texts}, schema), row_group_size=count)


def peak_of_reading(path: Path, **options: str) -> tuple[int, int, int]:
    """Number of records, and the peak memory of Python and Arrow while reading, in bytes."""
    source = open_source(path, **options)
    pool = pa.default_memory_pool()
    before = most = pool.bytes_allocated()
    tracemalloc.start()
    count = 0
    for _ in source:
        count += 1
        if count % 1000 == 0:
            most = max(most, pool.bytes_allocated())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return count, peak, most - before


def test_200_000_lines_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_csv(path, 200_000)
    size = path.stat().st_size
    count, peak, _ = peak_of_reading(path)
    assert count == 200_000
    assert size > 36e6
    # The sample that determines the delimiter takes most, and is freed.
    assert peak < 18e6


@pytest.mark.parametrize(
    "write",
    [
        *(write_csv, write_csv_gz, write_ragged),
        *(write_json_lines, write_json, write_fasttext, write_columns),
    ],
)
def test_memory_does_not_grow(tmp_path: Path, write: Callable[[Path, int], None]) -> None:
    peaks = []
    for count in (12_000, 24_000):
        path = tmp_path / f"{count}"
        write(path, count)
        found, python, arrow = peak_of_reading(path, on_bad_rows="skip")
        assert found == count or write is write_ragged
        peaks.append(python + arrow)
    assert peaks[1] < peaks[0] * 1.05 + 5e5


def test_it_reads_again(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\na,one\nb\nb,two\n")
    source = open_source(path, on_bad_rows="skip")
    first = list(source)
    assert first == [Record("one", "a", str(path), 2), Record("two", "b", str(path), 4)]
    assert list(source) == first
    assert source.problems.summary() == "1 ragged row"  # of one reading, not of both
    one, other = iter(source), iter(source)
    assert [next(one), next(other), next(one), next(other)] == [first[0]] * 2 + [first[1]] * 2


def test_reading_is_lazy(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\0\1\2")
    source = open_source(tmp_path / "x.csv")
    with pytest.raises(DataError):
        source.describe()


def test_strict_gives_the_rows_before_the_first_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\n" + "a,one\n" * 5 + "b\n" * 7 + "a,one\n" * 1000)
    given_rows = []
    with pytest.raises(DataError, match=r"line 7, column 2: .* 7 of 1,012 rows cannot be read"):
        given_rows.extend(open_source(path))
    assert [record.line for record in given_rows] == [2, 3, 4, 5, 6]


def test_files_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("label;text\na;one\n")
    (tmp_path / "2.jsonl").write_text('{"text": "two", "label": "b"}\n')
    (tmp_path / "3.tsv").write_text("stars\treview\nc\tthree\n")
    source = open_source(str(tmp_path / "*"))
    assert [(record.text, record.label) for record in source] == [
        ("one", "a"),
        ("two", "b"),
        ("three", "c"),
    ]
    about = source.describe().to_dict()["files"]
    assert [file["format"] for file in about] == ["CSV", "JSON Lines", "TSV"]
    assert about[2]["label"] == "stars"
    (tmp_path / "2.jsonl").write_text('{"text": "two"}\n')
    with pytest.raises(DataError, match=r"2.jsonl: it has no labels: it has the col"):
        list(open_source(str(tmp_path / "*")))


def test_text_columns_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("title,body,kind\nOne,two,a\n,three,b\nFour,,a\n,,b\n")
    source = open_source(path, text=["body", "title"], label="kind")
    assert [record.text for record in source] == ["two One", "three", "Four", ""]
    assert source.describe().files[0].text == ("body", "title")


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("text,label", "text", "label"),
        ("id,Sentence,Category", "Sentence", "Category"),
        ("description,text,topic", "text", "topic"),
        ("review,stars", "review", "stars"),
        ("mood,class", "mood", "class"),
        ("text,content", "text", "content"),
    ],
)
def test_columns_by_name(tmp_path: Path, header: str, text: str, label: str) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\n" + ",".join("abc"[: header.count(",") + 1]) + "\n")
    (about,) = open_source(tmp_path / "x.csv").describe().files
    assert (about.text, about.label) == ((text,), label)


def test_two_columns_of_any_name() -> None:
    data = {"x": ["good", "bad", "good"], "y": ["a fine day", "it rains", "the sun shines"]}
    source = open_source(pd.DataFrame(data))
    assert next(iter(source))[:2] == ("a fine day", "good")
    source = open_source(pd.DataFrame({"x": ["good", "bad"], "y": ["fine", "awful"]}))
    with pytest.raises(
        DataError,
        match=r"columns x, y; .* Name them: --text x --label y",
    ):
        list(source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_bad_rows": "ignore"}, "on_bad_rows is 'ignore'; it must be 'strict' or 'skip'"),
        ({"delimiter": ", "}, "The delimiter is ', '; it must be one character"),
        ({"delimiter": ""}, "The delimiter is ''"),
        ({"delimiter": '"'}, "The delimiter is"),
        ({"encoding": "klingon"}, "There is no encoding 'klingon'; try utf-8"),
    ],
)
def test_options(tmp_path: Path, options: dict[str, str], message: str) -> None:
    (tmp_path / "x.csv").write_text("label,text\na,one\n")
    with pytest.raises(ConfigError, match=message):
        open_source(tmp_path / "x.csv", **options)


def test_labelled_texts_of_a_source() -> None:
    texts = LabelledTexts.from_source(open_source((["x", "y", "z"], [10, 9, 10])))
    assert texts == LabelledTexts(["x", "y", "z"], ["10", "9", "10"], ("9", "10"))
    texts = LabelledTexts.from_source(open_source((["x", "y", "z"], ["b", "10", "9"])))
    assert texts.classes == ("10", "9", "b")


BYTES = st.binary(max_size=60) | st.lists(
    st.sampled_from(
        [b"label,text\n", b"a,one\n", b'"', b",", b"\n", b"\0", b"\xff\xfe", b"\x1f\x8b", b"PK\3\4"]
        + [b"[", b"{", b'{"label": 1, "text": "x"}', b"]", b"__label__a x\n", b"PAR1", b"ARROW1"]
        + [b"\xff\xff\xff\xff", b"\xe9", b"\t", b"1", b"BZh", b"\x28\xb5\x2f\xfd"]
    ),
    max_size=12,
).map(b"".join)


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(BYTES, st.sampled_from(["x", "x.csv", "x.json", "x.jsonl", "x.tsv.gz", "x.parquet"]))
@example(b"[" * 100_000, "x.json")
@example(b'[{"label": ' + b"[" * 100_000, "x.json")
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, name: str) -> None:
    """Only the library's own errors are raised, and every record is whole."""
    path: Any = tmp_path / name
    path.write_bytes(data)
    with suppress(ICapsError):
        for record in open_source(path, on_bad_rows="skip"):
            assert isinstance(record.text, str)
            assert record.label
            assert record.line > 0
