"""Data sets read by `read_part`: files, folders, names of classes, and what cannot be read."""

from pathlib import Path

import pandas as pd
import pytest

from icaps.data.source import read_part
from icaps.errors import DataError

TABLE = pd.DataFrame({"label": [1, 0, 1], "text": ["oil, and\ngas", 'a "goal"', "NA"]})


@pytest.mark.parametrize("name", ["train.parquet", "train.csv", "train.tsv"])
def test_files_and_folders(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if file.suffix == ".parquet":
        TABLE.to_parquet(file)
    else:
        TABLE.to_csv(file, index=False, sep="\t" if file.suffix == ".tsv" else ",")
    (tmp_path / "classes.txt").write_text("Sports\nBusiness\n")
    for place in (file, tmp_path):
        data = read_part(place, "train")
        assert data.classes == ("Sports", "Business")
        assert data.labels == ["Business", "Sports", "Business"]
        assert data.texts == TABLE["text"].tolist()


def test_classes_without_names(tmp_path: Path) -> None:
    TABLE.assign(label=[10, 9, 10]).to_csv(tmp_path / "a.csv", index=False)
    assert read_part(tmp_path / "a.csv", "train").classes == ("9", "10")
    TABLE.assign(label=["b", "a", "b"]).to_csv(tmp_path / "a.csv", index=False)
    assert read_part(tmp_path / "a.csv", "train").classes == ("a", "b")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            TABLE.rename(columns={"text": "words"}).assign(more="so it is"),
            "has the columns label, words, more; it is unclear which has the texts. Name",
        ),
        (TABLE.iloc[:0], "holds no rows"),
        (
            TABLE.assign(label=["a", None, "b"]),
            "line 4, column 'label': .* 1 of 3 rows cannot be read .1 missing label",
        ),
        (
            TABLE.assign(label=[0, 1, 2]),
            "line 5, .* label 2 has no name: the 2 names .* labels 0 to 1",
        ),
        (TABLE.assign(label=["a", "b\nc", "b"]), "class name 'b.nc' has a line end"),
    ],
)
def test_bad_tables(tmp_path: Path, table: pd.DataFrame, message: str) -> None:
    table.to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "classes.txt").write_text("Sports\nBusiness\n")
    with pytest.raises(DataError, match=message):
        read_part(tmp_path, "train")


def test_bad_places(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no test file; put test there"):
        read_part(tmp_path, "test")
    with pytest.raises(DataError, match="There is no file or folder"):
        read_part(tmp_path / "x.csv", "test")
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match="none of the supported formats"):
        read_part(tmp_path / "x.xlsx", "test")
    for name in ("x.parquet", "x.csv"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01")
        with pytest.raises(DataError, match=rf"{name}: it is a PNG image; give CSV"):
            read_part(tmp_path / name, "test")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(DataError, match="it is empty"):
        read_part(tmp_path / "empty.csv", "test")
