from pathlib import Path

import pytest

from icaps.data import catalog, hub
from icaps.data.catalog import DATASETS
from icaps.data.resolve import available, by_name, resolve
from icaps.errors import DataError
from tests.data.small import csv_bytes, small, write
from tests.data.test_fetch import Recorder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "DATASETS", {name: small(name) for name in DATASETS})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def put_here(name: str) -> None:
    files = {f"{part}.csv": csv_bytes(small(name), part) for part in ("train", "test")}
    write(Path("data") / name, files)


def test_a_path_that_exists_is_a_path(tmp_path: Path) -> None:
    put_here("ag_news")
    for path in (tmp_path, Path("data"), Path("data/ag_news"), Path("data/ag_news/train.csv")):
        assert resolve(path) == path
        assert resolve(str(path)) == path
    Path("synthetic").mkdir()
    assert resolve("synthetic") == Path("synthetic")
    assert by_name("synthetic") == tmp_path / "cache" / "synthetic-1" / "ready"


def test_a_name_that_is_found_here(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_HUB_URL", "http://127.0.0.1:9")
    put_here("yelp_full")
    assert resolve("yelp_full") == cache / "yelp_full" / "ready"


def test_synthetic_says_that_it_is(cache: Path) -> None:
    progress = Recorder()
    assert resolve("synthetic", progress) == cache / "synthetic-1" / "ready"
    assert progress.lines == ["synthetic: its texts were made by a program, so it is no benchmark"]


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("agnews", "Did you mean ag_news"),
        ("AG-News", "Did you mean ag_news"),
        ("yelp", "Did you mean yelp_full"),
        ("amazon_polarty", "Did you mean amazon_polarity"),
        ("syntetic", "Did you mean synthetic"),
        ("x" * 5000, "Names are ag_news, dbpedia"),
        ("a\0b", "Names are"),
        ("", "Names are"),
        ("/nowhere/at/all.csv", "Names are"),
        ("../owner", "Names are"),
        ("data/trian.csv", "Names are"),
    ],
)
def test_close_names(name: str, close: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "load", None)  # none of these is asked for at the Hub
    Path("data").mkdir()
    with pytest.raises(DataError, match=f"There is no file or folder .*{close}"):
        by_name(name)
    if name:
        with pytest.raises(DataError, match="There is no file or folder"):
            resolve(name)


def test_what_is_available(cache: Path) -> None:
    put_here("dbpedia")
    catalog.prepare("dbpedia", Path("data/dbpedia"))
    put_here("ag_news")
    rows = {row.name: row for row in available()}
    assert list(rows) == [*DATASETS, "synthetic"]
    assert rows["ag_news"].place == Path("data/ag_news")
    assert rows["dbpedia"].place == cache / "dbpedia" / "ready"
    assert rows["yelp_full"].place is None
    assert [row.name for row in rows.values() if row.synthetic] == ["synthetic"]
    assert rows["synthetic"].place is None
    by_name("synthetic")
    assert available()[-1].place == cache / "synthetic-1" / "ready"
