from pathlib import Path

import pytest

from icaps.data.part_files import find_files, has_part, is_class_folder
from icaps.data.source import open_source
from icaps.errors import DataError


def make(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("label,text\na,one\n" if name.endswith(".csv") else "x")
    return folder


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["train.csv", "test.csv"], ["train.csv"]),
        (["train.csv", "train.parquet", "train.tsv"], ["train.parquet"]),
        (["train.csv.gz", "train.json"], ["train.csv.gz"]),
        (["train-1-of-2.csv", "train-0-of-2.csv", "train-a-of-2.csv", "test.csv"], ["0", "1"]),
        (["train/pos/1.txt", "train/neg/2.txt", "test/pos/1.txt"], ["train"]),
        (["pos/1.txt", "neg/2"], ["."]),
    ],
)
def test_the_training_part(tmp_path: Path, names: list[str], found: list[str]) -> None:
    files = find_files(make(tmp_path, *names), "train")
    if found == ["0", "1"]:
        found = ["train-0-of-2.csv", "train-1-of-2.csv"]
    assert files == [tmp_path / name for name in found]


def test_parts_that_are_not_there(tmp_path: Path) -> None:
    make(tmp_path, "a/train.csv", "a/trained.csv", "b/test-00000-of-00002.csv", "c/x/y.csv")
    with pytest.raises(DataError, match=r"a has no test file; put test there as one of \.parquet"):
        find_files(tmp_path / "a", "test")
    assert has_part(tmp_path / "a", "train")
    assert not has_part(tmp_path / "a", "test")
    assert not has_part(tmp_path / "a" / "train.csv", "test")
    with pytest.raises(
        DataError, match=r"has 1 of the files test-....csv, of which there should be 2"
    ):
        has_part(tmp_path / "b", "test")
    with pytest.raises(DataError, match="c has no train file"):
        find_files(tmp_path / "c", "train")
    with pytest.raises(DataError, match=r"There is no file or folder .*nowhere"):
        find_files(tmp_path / "nowhere", "train")
    with pytest.raises(DataError, match="The list of files is empty; name one"):
        find_files([], "train")


def test_class_folders(tmp_path: Path) -> None:
    make(tmp_path, "a/pos/1.txt", "a/neg/1.txt", "b/train/pos/1.txt", "c/pos/1.csv")
    assert is_class_folder(tmp_path / "a")
    for name in ("b", "c", "nowhere", "c/pos/1.csv"):
        assert not is_class_folder(tmp_path / name)
    with pytest.raises(DataError, match="a has no test file"):
        find_files(tmp_path / "a", "test")


def test_patterns_and_lists(tmp_path: Path) -> None:
    make(tmp_path, "a1.csv", "a2.csv", "b[1].csv", "folder.csv/x")
    assert find_files(str(tmp_path / "a*.csv"), "test") == [
        tmp_path / "a1.csv",
        tmp_path / "a2.csv",
    ]
    assert find_files(tmp_path / "*.csv", "test")[-1] == tmp_path / "b[1].csv"
    assert find_files(tmp_path / "b[1].csv", "test") == [tmp_path / "b[1].csv"]
    with pytest.raises(DataError, match="There is no file or folder"):
        find_files(str(tmp_path / "fold*"), "test")
    both = [tmp_path / "a2.csv", str(tmp_path / "a1.csv")]
    assert [Path(record.file).name for record in open_source(both)] == ["a2.csv", "a1.csv"]
    assert len(open_source(tuple(both)).describe().files) == 2
