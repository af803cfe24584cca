from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from icaps.data import catalog
from icaps.data.catalog import DATASETS, Dataset
from icaps.data.resolve import fetch, locate, prepare
from icaps.data.source import read_part
from icaps.errors import DataError
from tests.data.small import (
    archive_bytes,
    csv_bytes,
    fields,
    hub_files,
    joined,
    parquet_bytes,
    small,
    write,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ICAPS_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalog, "DATASETS", {name: small(name) for name in DATASETS})
    return folder


def csv_files(dataset: Dataset, folder: str = "") -> dict[str, bytes]:
    return {f"{folder}{part}.csv": csv_bytes(dataset, part) for part in ("train", "test")}


def assert_whole(dataset: Dataset, folder: Path, columns: tuple[str, ...]) -> None:
    for part in ("train", "test"):
        data = read_part(folder, part)
        rows = fields(dataset, part, columns)
        assert data.texts == [joined(dataset, texts) for _, texts in rows]
        assert data.labels == [dataset.classes[label] for label, _ in rows]
        assert data.classes == dataset.classes


def test_the_numbers_of_the_papers_table_1() -> None:
    numbers = {
        name: (len(dataset.classes), dataset.train_rows, dataset.test_rows)
        for name, dataset in DATASETS.items()
    }
    assert numbers == {
        "yelp_polarity": (2, 560_000, 38_000),
        "yelp_full": (5, 650_000, 50_000),
        "yahoo_answers": (10, 1_400_000, 60_000),
        "amazon_polarity": (2, 3_600_000, 400_000),
        "amazon_full": (5, 3_000_000, 650_000),
        "ag_news": (4, 120_000, 7_600),
        "dbpedia": (14, 560_000, 70_000),
    }


@pytest.mark.parametrize("place", ["", "archive folder", ".tar.gz", ".tgz"])
@pytest.mark.parametrize("name", DATASETS)
def test_the_csv_files_of_zhang_et_al(tmp_path: Path, name: str, place: str) -> None:
    dataset = small(name)
    source = tmp_path / "mine"
    if place.startswith("."):
        write(source, {f"{dataset.archive}{place}": archive_bytes(dataset)})
    else:
        write(source, csv_files(dataset, f"{dataset.archive}/" if place else ""))
    assert locate(name, source) == source
    assert_whole(dataset, prepare(name, source), dataset.csv_columns)


@pytest.mark.parametrize("folder", ["", "data/", "plain_text/"])
@pytest.mark.parametrize("name", DATASETS)
def test_the_parquet_files_of_the_hub(tmp_path: Path, name: str, folder: str) -> None:
    dataset = small(name)
    files = hub_files(dataset, shards=3)
    source = tmp_path / "mine" / name
    write(source, {name.replace("data/", folder): content for name, content in files.items()})
    assert locate(name, tmp_path / "mine") == source
    assert_whole(dataset, prepare(name, source), dataset.hub_columns)


@pytest.mark.parametrize("name", DATASETS)
def test_one_parquet_file_a_part(tmp_path: Path, name: str) -> None:
    dataset = small(name)
    parts = ("train", "test")
    write(tmp_path / "data" / name, {f"{p}.parquet": parquet_bytes(dataset, p) for p in parts})
    assert locate(name) == Path("data") / name
    assert_whole(dataset, prepare(name, Path("data") / name), dataset.hub_columns)


def test_what_was_prepared_is_found_first_and_prepared_once(tmp_path: Path, cache: Path) -> None:
    dataset = small("yahoo_answers")
    assert locate(dataset.name) is None
    write(tmp_path / "data" / dataset.name, csv_files(dataset))
    ready = prepare(dataset.name, Path("data") / dataset.name)
    assert locate(dataset.name) == ready
    assert ready.is_relative_to(cache)
    before = (ready / "train.parquet").stat().st_mtime_ns
    assert prepare(dataset.name, tmp_path / "nowhere") == ready
    assert (ready / "train.parquet").stat().st_mtime_ns == before
    # The converted files can be read as published ones.
    copy = tmp_path / "copy"
    ready.rename(copy)
    assert_whole(dataset, prepare(dataset.name, copy), dataset.csv_columns)


def test_files_in_the_cache_folder(cache: Path) -> None:
    dataset = small("amazon_full")
    home = cache / dataset.name
    write(home, {f"{dataset.archive}.tar.gz": archive_bytes(dataset)})
    assert locate(dataset.name) == home
    assert_whole(dataset, fetch(dataset.name), dataset.csv_columns)
    assert (home / f"{dataset.archive}.tar.gz").is_file()  # not ours to remove


def test_backslash_n_before_a_word_is_kept_in_ag_news(tmp_path: Path) -> None:
    dataset = small("ag_news")
    write(tmp_path, csv_files(dataset))
    assert "naïve\\now" in read_part(prepare("ag_news", tmp_path), "train").texts[0]


def test_a_missing_shard_is_not_whole(tmp_path: Path) -> None:
    files = hub_files(small("ag_news"), shards=3)
    del files["data/train-00001-of-00003.parquet"]
    write(tmp_path / "mine", files)
    assert locate("ag_news", tmp_path / "mine") is None
    with pytest.raises(DataError, match=r"has no files of a train and a test part\. Put the whole"):
        prepare("ag_news", tmp_path / "mine")


def frame(texts: list[str | None], labels: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": labels})


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (frame(["a"] * 11, [0, 1, 2, 3] * 2 + [0, 1, 2]), "11 train texts, .* ag_news has 12"),
        (frame(["a"] * 12, [0, 1, 2] * 4), "are not the 4 classes of ag_news.*: 3 "),
        (frame(["a"] * 12, [1, 2, 3, 4] * 3), "are not the 4 classes of ag_news.*: 0, 4 "),
        (frame(["a"] * 12, [None, 1.0, 2.0, 3.0] * 3), "unknown: 0, None "),
        (frame(["a"] * 12, ["a", "b", "c", "d"] * 3), "cannot be read as train texts"),
        (frame(["a"] * 12, [99_999] * 12), "cannot be read as train texts"),
        (frame(["a"] * 12, [0] * 12).rename(columns={"text": "body"}), "columns body, label"),
    ],
)
def test_other_rows_than_table_1s(
    tmp_path: Path, cache: Path, train: pd.DataFrame, message: str
) -> None:
    write(tmp_path / "mine", {"test.parquet": parquet_bytes(small("ag_news"), "test")})
    train.to_parquet(tmp_path / "mine" / "train.parquet")
    with pytest.raises(DataError, match=f"{message}.*its path: --data .*mine"):
        prepare("ag_news", tmp_path / "mine")
    assert locate("ag_news") is None
    assert [file.name for file in (cache / "ag_news").iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("suffix", "cut"),
    [
        *product((".parquet", ".csv", ".tar.gz"), (0.3, 0.9)),
        (".parquet", 0.999),
        (".tar.gz", 0.999),
    ],
)
def test_damaged_files(tmp_path: Path, suffix: str, cut: float) -> None:
    dataset = small("dbpedia")
    files = {
        ".parquet": hub_files(dataset),
        ".csv": csv_files(dataset),
        ".tar.gz": {f"{dataset.archive}.tar.gz": archive_bytes(dataset)},
    }[suffix]
    name = min(files, key=lambda name: "train" not in name)
    files[name] = files[name][: int(len(files[name]) * cut)]
    write(tmp_path / "mine", files)
    with pytest.raises(DataError, match="mine"):
        prepare("dbpedia", tmp_path / "mine")


def test_csv_of_other_columns(tmp_path: Path) -> None:
    write(tmp_path / "mine", csv_files(small("yelp_full")))
    with pytest.raises(
        DataError, match=r"train\.csv, line 1, .*2 fields, not 3.*as train texts of ag_news"
    ):
        prepare("ag_news", tmp_path / "mine")
    write(tmp_path / "mine", {"train.csv": b'"1","\xff\xfe","b"\n'})
    with pytest.raises(DataError, match=r"train\.csv, line 1, column 6: .*UTF-8"):
        prepare("ag_news", tmp_path / "mine")


def test_unknown_names() -> None:
    with pytest.raises(DataError, match=r"no data set 'agnews'\. Choose one of ag_news, dbpedia"):
        locate("agnews")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"can't be used .* environment variable ICAPS_DATA"):
        prepare("ag_news", tmp_path)


def test_where_the_system_keeps_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from icaps.data.cache import data_folder

    monkeypatch.setenv("ICAPS_DATA", "~/texts")
    assert data_folder() == Path.home() / "texts"
    monkeypatch.delenv("ICAPS_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder().parts[-2:] == ("icaps", "data")
