"""Data sets through the `datasets` library, from folders laid out as those of the Hub."""

import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

from icaps.data import hub
from icaps.data.resolve import resolve
from icaps.data.source import read_part
from icaps.errors import DataError
from tests.data.test_download import Recorder

NAMED = datasets.Features(
    {"Sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    datasets.disable_progress_bars()


def publish(split: str, rows: dict[str, Any], features: datasets.Features | None = None) -> Path:
    folder = Path("owner/name")
    (folder / "data").mkdir(parents=True, exist_ok=True)
    file = folder / "data" / f"{split}-00000-of-00001.parquet"
    datasets.Dataset.from_dict(rows, features=features).to_parquet(file)
    return folder


def test_names_of_classes(tmp_path: Path) -> None:
    folder = publish("train", {"Sentence": ["a\nb", "c", "d"], "label": [0, 1, 1]}, NAMED)
    publish("test", {"Sentence": ["e", "f"], "label": [1, 0]}, NAMED)
    place = resolve(folder)
    assert place.is_relative_to(tmp_path / "cache" / "hub")
    train, test = read_part(place, "train"), read_part(place, "test")
    assert train.texts == ["a\nb", "c", "d"]
    assert train.labels == ["bad", "good", "good"]
    assert (test.texts, test.labels) == (["e", "f"], ["good", "bad"])
    assert train.classes == test.classes == ("bad", "good")
    assert resolve(folder) == place
    publish("train", {"Sentence": ["other"], "label": [0]}, NAMED)
    newer = resolve(folder)
    assert read_part(newer, "train").texts == ["other"]
    assert newer != place


def test_labels_that_are_words_or_numbers() -> None:
    folder = publish("train", {"topic": ["x", "y"], "content": ["a", "b"], "id": [1, 2]})
    publish("test", {"topic": ["y", "y"], "content": ["c", "d"], "id": [1, 2]})
    data = read_part(resolve(folder), "test")
    assert (data.texts, data.labels, data.classes) == (["c", "d"], ["y", "y"], ("y",))


def test_hidden_labels_of_a_test_split() -> None:
    publish("train", {"Sentence": ["a", "b"], "label": [0, 1]}, NAMED)
    publish("validation", {"Sentence": ["c"], "label": [1]}, NAMED)
    folder = publish("test", {"Sentence": ["d", "e"], "label": [-1, -1]}, NAMED)
    progress = Recorder()
    assert read_part(resolve(folder, progress), "test").texts == ["c"]
    assert progress.lines == [
        "owner/name has no test split with labels; its validation split is used"
    ]


def test_no_part_that_can_be_used() -> None:
    folder = publish("train", {"body": ["a"], "label": [0]})
    with pytest.raises(DataError, match="owner/name has the columns body, label, none called"):
        resolve(folder)
    folder = publish("train", {"Sentence": ["a"], "label": [-1]}, NAMED)
    with pytest.raises(DataError, match="has the splits train; none is"):
        resolve(folder)


def test_damaged_files() -> None:
    folder = publish("train", {"text": ["a"], "label": [0]})
    (folder / "data" / "train-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="library cannot load owner/name"):
        resolve(folder)


def test_a_folder_with_files_that_are_read_without_it() -> None:
    folder = publish("train", {"text": ["a"], "label": [0]})
    (folder / "train.csv").write_text("text,label\na,b\n")
    assert resolve(folder) == folder


def test_a_name_that_the_hub_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise datasets.exceptions.DatasetNotFoundError(f"Dataset {name!r} doesn't exist")

    monkeypatch.setattr(datasets, "load_dataset_builder", refuse)
    with pytest.raises(DataError, match=r"no file or folder other/name\. .*'other/name' doesn't"):
        resolve("other/name")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    message = r"no file or folder other/name\. other/name can be .* library: pip install datasets"
    with pytest.raises(DataError, match=message):
        hub.load_dataset("other/name")
    with pytest.raises(DataError, match=message):
        resolve("other/name")
