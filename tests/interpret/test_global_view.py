"""The view in a checkpoint folder: stored, used again, damaged, of other weights or texts."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.source import open_source
from icaps.errors import CheckpointError, DataError
from icaps.evaluate.leakage import Leak
from icaps.interpret import global_view
from icaps.interpret.global_view import (
    FOLDER,
    DataReference,
    load_view,
    make_view,
    read_counted_texts,
    save_view,
)
from icaps.reports.global_report import GlobalReport
from tests.conftest import make_texts

SHAPE = 3, 6
FILES = (
    "view.json",
    "counts.safetensors",
    "words.parquet",
    "kgrams.parquet",
    "word_shares.parquet",
    "kgram_shares.parquet",
)
MATRICES = ("capsules", "words", "effective")


@pytest.fixture
def folder(interpreted: Path, tmp_path: Path) -> Path:
    shutil.copytree(interpreted, tmp_path / "model")
    return tmp_path / "model"


def test_round_trip(folder: Path, tmp_path: Path, interpreted: Path) -> None:
    view = load_view(folder, *SHAPE)
    assert view is not None
    shutil.rmtree(folder / FOLDER)
    assert load_view(folder, *SHAPE) is None
    save_view(view, folder)
    again = load_view(folder, *SHAPE)
    assert again is not None
    assert again.origin == view.origin
    assert again.few == view.few
    for name in ("words", "kgrams", "typical", "blank", "dropped"):
        assert getattr(again.tally, name) == getattr(view.tally, name)
    for name in ("frequency", "right", "routing", "contribution"):
        assert np.array_equal(getattr(again.tally, name), getattr(view.tally, name))
    assert np.array_equal(again.knock_out.confusion, view.knock_out.confusion)
    assert np.array_equal(again.knock_out.own_right, view.knock_out.own_right)
    assert view.shares is not None
    assert again.shares is not None
    for field in dataclasses.fields(view.shares):
        stored, counted = getattr(again.shares, field.name), getattr(view.shares, field.name)
        assert np.array_equal(stored, counted) if field.name in MATRICES else stored == counted
    assert len(view.shares.top_words.magnitudes) > 10
    assert len(view.shares.top_kgrams.magnitudes) > 10
    for name in FILES:
        assert (folder / FOLDER / name).read_bytes() == (interpreted / FOLDER / name).read_bytes()
        assert (folder / FOLDER / name).stat().st_mode & 0o777 == 0o644
    assert not [path for path in folder.iterdir() if path.name.startswith(".global")]


def test_it_is_used_again_until_texts_or_weights_change(
    classifier: ICapsClassifier, folder: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[bool] = []
    count = global_view.count_corpus

    def noted(*arguments: object) -> object:
        counted.append(True)
        return count(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(global_view, "count_corpus", noted)
    data = DataReference(str(data_file), "test", {})
    texts = list(open_source(data_file, "test"))
    make_view(classifier, folder, data, texts)
    assert not counted
    view = make_view(classifier, folder, data, texts[:-1])
    assert (len(counted), view.tally.texts) == (1, 119)
    weights = load_file(folder / "model.safetensors")
    weights["region.bias"] += 1
    save_file(weights, folder / "model.safetensors")
    assert load_view(folder, *SHAPE) is None
    make_view(classifier, folder, data, texts)
    assert len(counted) == 2


def without_shares(folder: Path) -> None:
    """Makes a view of an older version."""
    path = folder / FOLDER / "view.json"
    facts = json.loads(path.read_text())
    del facts["dropped_shares"]
    path.write_text(json.dumps(facts))
    matrices = load_file(folder / FOLDER / "counts.safetensors")
    for name in ("shares", "word_shares", "effective"):
        del matrices[name]
    save_file(matrices, folder / FOLDER / "counts.safetensors")
    for name in ("word_shares.parquet", "kgram_shares.parquet"):
        (folder / FOLDER / name).unlink()


def test_an_older_view_has_no_shares_until_it_is_computed_again(
    classifier: ICapsClassifier, folder: Path, data_file: Path
) -> None:
    whole = load_view(folder, *SHAPE)
    without_shares(folder)
    old = load_view(folder, *SHAPE)
    assert whole is not None
    assert old is not None
    assert old.shares is None
    assert old.tally.words == whole.tally.words
    save_view(old, folder)  # nothing is new
    data = DataReference("texts.csv", "test", {})
    view = make_view(classifier, folder, data, open_source(data_file, "test"))
    save_view(view, folder)
    again = load_view(folder, *SHAPE)
    assert again is not None
    assert again.shares is not None
    assert whole.shares is not None
    assert again.shares.top_words == whole.shares.top_words
    save_view(old, folder)  # an older view does not replace it
    kept = load_view(folder, *SHAPE)
    assert kept is not None
    assert kept.shares is not None


def test_nothing_is_written_when_nothing_is_new(
    folder: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the same name nor by another one of the same texts."""

    def files() -> dict[Path, tuple[int, int]]:
        stats = {path: path.stat() for path in (folder / FOLDER).iterdir()}
        return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}

    before = files()
    text = (folder / FOLDER / "view.json").read_text()
    assert json.loads(text)["origin"]["source"] == "texts.csv"
    monkeypatch.chdir(data_file.parent)
    for name in (str(data_file), "texts.csv", "./texts.csv"):
        assert main(["interpret", "--model", str(folder), "--data", name]) == 0
        assert (folder / FOLDER / "view.json").read_text() == text
        assert files() == before


@pytest.mark.parametrize(
    ("name", "portable"),
    [
        ("ag_news", "ag_news"),
        ("data/x.csv", "data/x.csv"),
        ("../x.csv", "../x.csv"),
        ("{here}/data/x.csv", "data/x.csv"),
        ("{here}/../elsewhere/x.csv", "x.csv"),
        ("/somewhere/else", "else"),
    ],
)
def test_no_absolute_path_is_stored(
    name: str,
    portable: str,
    folder: Path,
    classifier: ICapsClassifier,
    data_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(folder / FOLDER)
    data = DataReference(name.format(here=tmp_path), "test", {})
    save_view(make_view(classifier, folder, data, open_source(data_file, "test")), folder)
    assert json.loads((folder / FOLDER / "view.json").read_text())["origin"]["source"] == portable


def test_an_absolute_path_of_an_old_view_is_read(folder: Path, data_file: Path) -> None:
    path = folder / FOLDER / "view.json"
    facts = json.loads(path.read_text())
    facts["origin"]["source"] = str(data_file)
    path.write_text(json.dumps(facts))
    view = load_view(folder, *SHAPE)
    assert view is not None
    assert len(read_counted_texts(view.origin, [3, 77])) == 2


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [_truncate, Path.unlink, lambda path: path.write_bytes(b"")])
def test_damage_is_reported_and_repaired(
    name: str,
    damage: object,
    folder: Path,
    classifier: ICapsClassifier,
    data_file: Path,
) -> None:
    damage(folder / FOLDER / name)  # type: ignore[operator]
    with pytest.raises(CheckpointError, match=r"damaged .*Run `icaps interpret`"):
        load_view(folder, *SHAPE)
    data = DataReference(str(data_file), "test", {})
    view = make_view(classifier, folder, data, open_source(data_file, "test"))
    save_view(view, folder)
    assert load_view(folder, *SHAPE) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": None},
        {"origin": 3},
        {"few": {}},
        {"typical": [[0, 1]]},
        {"blank": "many"},
        {"dropped_shares": [1]},
    ],
)
def test_wrong_facts_are_reported(change: dict[str, object], folder: Path) -> None:
    path = folder / FOLDER / "view.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CheckpointError, match="Run `icaps interpret` on the model again"):
        load_view(folder, *SHAPE)


def test_a_view_of_another_size_is_refused(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="not 4 classes x 6 capsules"):
        load_view(folder, 4, 6)


def test_texts_by_number(folder: Path, data_file: Path) -> None:
    view = load_view(folder, *SHAPE)
    assert view is not None
    texts = list(open_source(data_file, "test"))
    found = read_counted_texts(view.origin, [3, 77])
    assert {n: tuple(text) for n, text in found.items()} == {
        n: (texts[n].text, texts[n].label) for n in (3, 77)
    }


def test_texts_that_changed_or_are_gone(folder: Path, tmp_path: Path, data_file: Path) -> None:
    view = load_view(folder, *SHAPE)
    assert view is not None
    origin = view.origin.__class__(**{**view.origin.__dict__, "source": str(tmp_path / "copy.csv")})
    with pytest.raises(DataError, match=r"not on this machine\. Put that file or folder at"):
        read_counted_texts(origin, [1])
    shutil.copy(data_file, tmp_path / "copy.csv")
    assert len(read_counted_texts(origin, [1])) == 1
    with (tmp_path / "copy.csv").open("a") as file:
        file.write("one more,Sailing\n")
    with pytest.raises(DataError, match="are not those that were counted"):
        read_counted_texts(origin, [1])
    named = origin.__class__(**{**origin.__dict__, "source": "ag_news"})
    with pytest.raises(DataError, match="`icaps data fetch ag_news` downloads them"):
        read_counted_texts(named, [1])


def test_it_says_how_many_of_the_texts_were_trained_on(
    classifier: ICapsClassifier, model_folder: Path, folder: Path
) -> None:
    stored = load_view(folder, *SHAPE)
    assert stored is not None
    assert stored.origin.trained_on == 0
    texts, labels = make_texts(360, seed=1)  # those of the training
    records = list(open_source((texts, labels)))
    view = make_view(classifier, folder, DataReference("own", "train", {}), records)
    assert view.origin.trained_on == 324
    save_view(view, folder)
    again = load_view(folder, *SHAPE)
    assert again is not None
    report = GlobalReport(classifier, again)
    assert report.leak == Leak(360, 324, 0)
    told = "324 of 360 texts (90%) were in this model's training; scores on them say little."
    assert f"WARNING: {told}" in report.to_text()
    assert told.replace("'", "&#39;") in report.to_html()
    old = dataclasses.replace(again.origin, trained_on=None)
    assert GlobalReport(classifier, dataclasses.replace(again, origin=old)).leak is None
