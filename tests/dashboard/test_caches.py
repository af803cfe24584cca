"""What cached functions take as keys: other files, another key."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.cache import data
from dashboard.cache import models as cached
from dashboard.cache.data import key_of
from dashboard.model_registry import find_models
from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError, DataError


@pytest.fixture
def by_class(tmp_path: Path) -> Path:
    """A data set with a folder per class and a file per text."""
    for name, text in (("cooking", "bread and soup"), ("sailing", "an anchor")):
        folder = tmp_path / "data" / "train" / name
        folder.mkdir(parents=True)
        (folder / "1.txt").write_text(text, encoding="utf-8")
    return tmp_path / "data"


def texts(place: Path) -> set[str]:
    return {text for text, _ in data.first_rows(key_of(str(place), {})).rows}


def test_a_text_that_changes_deep_in_a_folder_is_read_again(by_class: Path) -> None:
    assert texts(by_class) == {"bread and soup", "an anchor"}
    (by_class / "train" / "cooking" / "1.txt").write_text("a lemon and soup", encoding="utf-8")
    (by_class / "train" / "sailing" / "2.txt").write_text("a harbour", encoding="utf-8")
    assert texts(by_class) == {"a lemon and soup", "an anchor", "a harbour"}


def test_a_dangling_link_is_no_error(by_class: Path) -> None:
    (by_class / "train" / "cooking" / "lost").symlink_to(by_class / "nowhere")
    (by_class / "lost").symlink_to(by_class / "nowhere")
    assert texts(by_class) == {"bread and soup", "an anchor"}


def test_class_names_beside_a_file_are_part_of_its_key(tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    file.write_text("1,bread\n2,anchor\n", encoding="utf-8")
    without = key_of(str(file), {})
    (tmp_path / "classes.txt").write_text("cooking\nsailing\n", encoding="utf-8")
    assert key_of(str(file), {}) != without


def test_a_key_is_hashable_and_differs_by_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x", encoding="utf-8")
    one = key_of(str(file), {"text": ["a", "b"]})
    assert hash(one) == hash(key_of(str(file), {"text": ["a", "b"]}))
    assert one != key_of(str(file), {"text": ["a"]})
    assert one.reading == {"text": ("a", "b")}
    assert key_of("ag_news", {}).fingerprint == key_of("a" * 1_000, {}).fingerprint == ""


def test_a_model_is_loaded_once_until_it_changes(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    load = ICapsClassifier.load

    def counted(path: Path, **options: object) -> ICapsClassifier:
        loaded.append(path)
        return load(path, **options)

    monkeypatch.setattr(ICapsClassifier, "load", counted)
    (model,) = find_models()
    first = cached.load(model)
    assert cached.load(replace(model)) is first
    file = models / "small" / "model.safetensors"
    os.utime(file, ns=(model.stamp + 1, model.stamp + 1))
    (touched,) = find_models()
    assert cached.load(touched) is not first
    assert len(loaded) == 2


def test_errors_are_not_cached(models: Path, tmp_path: Path) -> None:
    (model,) = find_models()
    names = models / "small" / "classes.txt"
    content = names.read_bytes()
    names.unlink()
    with pytest.raises(CheckpointError):
        cached.load(model)
    names.write_bytes(content)
    assert len(cached.load(model).classes_) == 3
    missing = key_of(str(tmp_path / "late.csv"), {})
    with pytest.raises(DataError):
        data.first_rows(missing)
    (tmp_path / "late.csv").write_text(
        "text,label\nbread,cooking\nboat,sailing\n", encoding="utf-8"
    )
    assert len(data.first_rows(missing).rows) == 2
