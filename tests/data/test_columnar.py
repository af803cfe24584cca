import json
import random
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from icaps.data.problems import FileError
from icaps.data.source import open_source
from tests.data.hostile import BINARY_FORMATS, ROWS, binary_file


def pairs(path: Path, **options: str) -> list[tuple[str, str]]:
    return [(record.text, record.label) for record in open_source(path, **options)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([1, 0, 1]), ["1", "0", "1"]),
        (pa.array([True, False, True]), ["True", "False", "True"]),
        (pa.array([0.5, 1.0, 2.0]), ["0.5", "1.0", "2.0"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array(["a", "b", "a"], pa.large_string()), ["a", "b", "a"]),
    ],
)
def test_types(tmp_path: Path, labels: pa.Array, expected: list[str]) -> None:
    table = pa.table({"label": labels, "text": ["one", None, "3"], "more": [[1], [2], []]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert pairs(tmp_path / "x.parquet") == list(zip(["one", "", "3"], expected, strict=True))


def test_bad_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": ["a", None, "", "b"], "text": ["one", "two", "three", None]})
    frame.to_parquet(tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet", on_bad_rows="skip")
    assert [(record.text, record.line) for record in source] == [("one", 1), ("", 4)]
    first, second = source.problems.first["missing label"]
    assert str(first).endswith("x.parquet, row 2, column 'label': the row has no label; add one.")
    assert second.line == 3
    pq.write_table(pa.table({"label": ["a"], "text": [b"one"]}), tmp_path / "y.parquet")
    source = open_source(tmp_path / "y.parquet", on_bad_rows="skip")
    with pytest.raises(Exception, match="holds no rows that can be read"):
        list(source)
    assert "the text is bytes, not a string or number" in str(
        source.problems.first["wrong type"][0]
    )


@pytest.mark.parametrize("stored", ["datasets", "file", "none"])
def test_names_of_classes(tmp_path: Path, stored: str) -> None:
    """As the datasets library stores them, unless there is a classes.txt."""
    feature = {"names": ["World", "Sports"], "_type": "ClassLabel"}
    info = {"info": {"features": {"label": feature, "text": {"dtype": "string"}}}}
    table = pa.table({"label": [1, 0], "text": ["one", "two"]})
    if stored != "none":
        table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    pq.write_table(table, tmp_path / "x.parquet")
    if stored == "file":
        (tmp_path / "classes.txt").write_text("Welt\nSport\n")
    expected = {"datasets": ["Sports", "World"], "file": ["Sport", "Welt"], "none": ["1", "0"]}
    assert [label for _, label in pairs(tmp_path / "x.parquet")] == expected[stored]


@pytest.mark.parametrize("info", ["{", "[]", '{"info": {"features": []}}', '{"info": 3}'])
def test_odd_metadata(tmp_path: Path, info: str) -> None:
    table = pa.table({"label": [1], "text": ["one"]}).replace_schema_metadata({"huggingface": info})
    pq.write_table(table, tmp_path / "x.parquet")
    if info == "{":
        with pytest.raises(FileError, match="it is a damaged Parquet file"):
            pairs(tmp_path / "x.parquet")
    else:
        assert pairs(tmp_path / "x.parquet") == [("one", "1")]


@pytest.mark.parametrize("kind", BINARY_FORMATS)
def test_damage_is_reported(tmp_path: Path, kind: str) -> None:
    """Cut off or with flipped bytes: all rows, or a file error; nothing else."""
    whole = binary_file(kind, ROWS)
    rng = random.Random(1)
    path = tmp_path / "x"
    for _ in range(60):
        data = bytearray(whole)
        if rng.random() < 0.5:
            del data[rng.randrange(8, len(data)) :]
        for _ in range(rng.randrange(4)):
            data[rng.randrange(6, len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        source = open_source(path, on_bad_rows="skip")
        with suppress(FileError):
            assert len(list(source)) + source.problems.total <= len(ROWS)


def test_old_feather(tmp_path: Path) -> None:
    (tmp_path / "x.feather").write_bytes(b"FEA1" + bytes(40))
    with pytest.raises(FileError, match="a Feather file of version 1; save it again in version 2"):
        pairs(tmp_path / "x.feather")
