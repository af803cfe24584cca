"""Any table of strings that common programs write reads back exactly, or stops with its place."""

import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icaps.data.class_names import class_name
from icaps.data.source import open_source
from icaps.errors import DataError

Rows = list[tuple[str, str]]

TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
WORDS = st.text(alphabet="ab \t,;|\"'\\\n\r\u2028\x85é中😀N", max_size=12)
NAME = st.text(alphabet="abcdé中 -0.1", min_size=1, max_size=5).filter(lambda name: name.strip())
TABLES = st.lists(st.tuples(NAME, st.one_of(TEXT, WORDS)), min_size=2, max_size=9)
FEW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def excel(rows: Rows, encoding: str, mark: bool, edges: bool) -> bytes:
    """As a spreadsheet saves it: a separator mark, and empty columns and rows at the edges."""
    stream = io.StringIO(newline="")
    width = 4 if edges else 2
    writer = csv.writer(stream, delimiter=";")
    empty = [""] * (width - 2)
    writer.writerows([[*row, *empty] for row in [("label", "text"), *rows]])
    writer.writerows([[""] * width] * (2 if edges else 0))
    return (("sep=;\r\n" if mark else "") + stream.getvalue()).encode(encoding)


def by_csv(rows: Rows, delimiter: str, end: str) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("label", "text"), *rows])
    return stream.getvalue().encode()


def by_pandas(rows: Rows, kind: str) -> bytes:
    if kind in (
        "csv",
        "tsv",
    ):  # pandas puts no quotes around a lone \\r, which is lost at a line end
        rows = [(label, text.replace("\r", "")) for label, text in rows]
    frame = pd.DataFrame(rows, columns=["label", "text"])
    if kind == "csv":
        return frame.to_csv(index=True).encode()
    if kind == "tsv":
        return frame.to_csv(index=False, sep="\t").encode()
    if kind == "lines":
        return frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    return frame.to_json(orient=kind).encode()


def by_arrow(rows: Rows, kind: str) -> bytes:
    labels, texts = zip(*rows, strict=True)
    table = pa.table({"label": labels, "text": texts})
    sink = pa.BufferOutputStream()
    if kind == "csv":
        pyarrow.csv.write_csv(table, sink)
    else:
        pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


WRITERS = {
    **{
        f"excel {encoding} {mark} {edges}.csv": (
            lambda rows, e=encoding, m=mark, d=edges: excel(rows, e, m, d)
        )
        for encoding, mark, edges in (
            ("utf-8-sig", False, True),
            ("utf-16", True, False),
            ("utf-8", True, True),
        )
    },
    "csv.csv": lambda rows: by_csv(rows, ",", "\n"),
    "csv old mac.tsv": lambda rows: by_csv(rows, "\t", "\r"),
    **{
        f"pandas.{name}": lambda rows, k=kind: by_pandas(rows, k)
        for kind, name in (
            ("csv", "csv"),
            ("tsv", "tsv"),
            ("lines", "jsonl"),
            ("records", "records.json"),
            ("split", "split.json"),
            ("table", "table.json"),
            ("columns", "columns.json"),
            ("index", "index.json"),
        )
    },
    "arrow.csv": lambda rows: by_arrow(rows, "csv"),
    "arrow.parquet": lambda rows: by_arrow(rows, "parquet"),
}


@pytest.mark.parametrize("name", WRITERS)
@FEW
@given(rows=TABLES)
def test_it_reads_back_or_stops_with_its_place(name: str, rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(WRITERS[name](rows))
    if name in ("pandas.csv", "pandas.tsv"):
        rows = [(label, text.replace("\r", "")) for label, text in rows]
    source = open_source(path)
    try:
        found = [(record.label, record.text) for record in source]
    except DataError as error:
        message = str(error)
    else:
        message = ""
    if message:
        # A text that is a database's mark of a missing value, or columns that look alike.
        assert re.search(", line |, row |unclear", message)
        return
    numbers = source.describe().files[0].label == "label" and all(
        class_name(label).removesuffix(".0").lstrip("-").isdigit() for label, _ in rows
    )
    expected = [
        (class_name(label).removesuffix(".0") if numbers else class_name(label), text)
        for label, text in rows
    ]
    assert found == expected


def test_json_that_is_large_is_told_in_a_short_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from icaps.data.formats import json_whole

    monkeypatch.setattr(json_whole, "_LARGEST", 1000)
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"text": {str(n): "x" * 50 for n in range(999)}, "label": {}}))
    with pytest.raises(DataError, match=r'to_json\(path, orient="records"') as error:
        list(open_source(path))
    assert len(str(error.value)) < 400
