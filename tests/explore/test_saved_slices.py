from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from icaps.data import saved_slices
from icaps.data.saved_slices import delete_slice, slices, store_selection
from icaps.data.source import open_source
from icaps.errors import ConfigError, DataError
from icaps.explore.index import Index
from icaps.explore.search import Query, save_slice, search
from tests.data.hostile import ROWS
from tests.explore.indexed import indexed, write

HOSTILE = [
    *ROWS,
    ("a\0b", "01"),
    ("x" * 100_000, "1"),
    ("", "10"),
    ("text", "<b>9</b>"),
    ("y", "-3"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return indexed(write(tmp_path / "data", train=HOSTILE, test=[("z", "1")]))


def read(path: Path) -> list[tuple[str, str]]:
    return [(record.text, record.label) for record in open_source(path)]


def test_a_slice_is_a_data_set(index: Index, cache: Path) -> None:
    query = Query(fewest_words=0)
    path = save_slice(index, search(index, query), "all of it", {"query": query.to_dict()})
    assert path == cache / "slices" / "all of it.parquet"
    assert read(path) == [*HOSTILE, ("z", "1")]
    (only,) = slices()
    assert (only.name, only.path, only.rows) == ("all of it", path, len(HOSTILE) + 1)
    assert only.origin.pop("created").endswith("+00:00")
    assert only.origin == {
        "data": str(Path(index.facts.data).resolve()),
        "reading": {},
        "query": {"fewest_words": 0},
    }
    copy = indexed(path)
    assert copy.classes == index.classes
    assert [entry.name for entry in (cache / "slices").iterdir()] == ["all of it.parquet"]


def test_classes_that_are_numbers(tmp_path: Path) -> None:
    rows = [("one", "2"), ("two", "10"), ("three", "2")]
    index = indexed(write(tmp_path / "data", train=rows))
    path = save_slice(index, np.array([2, 0, 1]), "numbers", {})
    assert read(path) == [rows[2], rows[0], rows[1]]


def test_named_classes_stay_names(tmp_path: Path) -> None:
    place = write(tmp_path / "data", train=[("one", "1"), ("two", "0")])
    (place / "classes.txt").write_text("7\n8\n")
    path = save_slice(indexed(place), np.array([0, 1]), "named", {})
    assert read(path) == [("one", "8"), ("two", "7")]


def test_half_characters(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=[("a \ud83d b", "x"), ("c", "y")]))
    assert read(save_slice(index, np.array([0]), "half", {})) == [("a \ufffd b", "x")]


@pytest.mark.parametrize("name", ["a", "n" * 60, "😀" * 60, "ünï cødé", "<b>", "con.x", "%2F", "'"])
def test_good_names(index: Index, name: str) -> None:
    save_slice(index, np.array([1]), name, {})
    assert [kept.name for kept in slices()] == [name]
    delete_slice(name)
    assert slices() == []


@pytest.mark.parametrize(
    "name", ["", " ", "n" * 61, "a/b", "..", ".a", "a\\b", "a\nb", "a\0b", " a", "a ", "\ud800"]
)
def test_bad_names(index: Index, cache: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="can't be called"):
        save_slice(index, np.array([1]), name, {})
    with pytest.raises(ConfigError, match="can't be called"):
        delete_slice(name)
    assert not (cache / "slices").exists()


def test_what_is_refused(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_slice(index, np.array([1]), "once", {})
    before = path.read_bytes()
    with pytest.raises(DataError, match="a slice 'once' already"):
        save_slice(index, np.array([2]), "once", {})
    assert path.read_bytes() == before
    with pytest.raises(DataError, match="No rows were chosen"):
        save_slice(index, np.array([], np.int64), "none", {})
    with pytest.raises(DataError, match="no slice 'other'; there is once"):
        delete_slice("other")
    monkeypatch.setattr(index, "text", lambda rows: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_slice(index, np.array([1]), "broken", {})
    assert [entry.name for entry in path.parent.iterdir()] == ["once.parquet"]


def test_a_folder_that_can_not_be_written(index: Index, cache: Path) -> None:
    (cache / "slices").write_text("a file")
    with pytest.raises(DataError, match="can't be written"):
        save_slice(index, np.array([1]), "x", {})


def test_a_foreign_file(cache: Path) -> None:
    (cache / "slices").mkdir(parents=True)
    pq.write_table(pa.table({"text": ["x"]}), cache / "slices" / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet is no slice"):
        slices()


def test_selections_are_files_that_are_not_listed(cache: Path) -> None:
    rows = [("one", "a"), ("two \ud83d", "b")]
    path = store_selection(rows, 2, "World, not <b>Sci/Tech</b>", {"query": {}})
    assert path.name == "world-not-b-sci-tech-b.parquet"
    assert path.parent.parent == cache / "selected"
    assert read(path) == [("one", "a"), ("two \ufffd", "b")]
    assert slices() == []
    assert store_selection(rows, 2, "World, not <b>Sci/Tech</b>", {}) == path  # the same texts
    assert store_selection(rows[:1], 1, "…", {}).name == "selection.parquet"
    with pytest.raises(DataError, match="No rows were chosen"):
        store_selection([], 0, "none", {})


def test_the_latest_selections_are_stored(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_slices, "_SELECTIONS", 2)
    paths = [store_selection([(f"text {n}", "a")], 1, "x", {}) for n in range(4)]
    assert [path.exists() for path in paths] == [False, False, True, True]
