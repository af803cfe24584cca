import os
from pathlib import Path

import pytest

from dashboard import error_boundary, model_registry
from icaps.train.checkpoint_files import EDITS


def make(folder: Path, changed: int = 1, name: str = "config.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"abc")
    os.utime(folder / name, ns=(changed, changed))
    return folder


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models, in the place of the small model's."""
    monkeypatch.setenv("ICAPS_MODELS", str(tmp_path / "a"))
    (tmp_path / "a").mkdir()
    return tmp_path / "a"


def names() -> list[str]:
    return [model.name for model in model_registry.find_models()]


def test_the_newest_model_comes_first(models: Path) -> None:
    for name, changed in (("old", 1), ("new", 3), ("middle", 2)):
        make(models / name, changed)
    assert names() == ["new", "middle", "old"]
    make(models / "old", 4, "model.safetensors")  # trained again
    assert names() == ["old", "new", "middle"]
    assert [model.stamp for model in model_registry.find_models()] == [4, 3, 2]


def test_shipped_models_come_last_by_name(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "checkpoints"
    monkeypatch.setattr(model_registry, "SHIPPED", shipped)
    monkeypatch.setenv("ICAPS_MODELS", os.pathsep.join(map(str, [shipped, models])))
    make(shipped / "a", 8)
    make(shipped / "b", 9)
    make(models / "own", 1)
    assert names() == ["own", "a", "b"]


def test_what_is_no_checkpoint_is_left_out(models: Path) -> None:
    make(models / "notes", name="thesis.txt")
    make(models / ".half-written")
    (models / "config.json").write_text("{}")
    (models / "empty").mkdir()
    assert names() == []
    make(models / "damaged", name="model.safetensors")  # shown, so that the page can say so
    assert names() == ["damaged"]


def test_models_of_one_name_have_different_names(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = [models, tmp_path / "b", tmp_path / "c" / "a", tmp_path / "absent"]
    monkeypatch.setenv("ICAPS_MODELS", os.pathsep.join(map(str, [*roots, models])))
    make(models / "x", 4)
    make(tmp_path / "b" / "x", 3)
    make(tmp_path / "b" / "y", 2)
    assert names() == ["a/x", "b/x", "y"]
    make(tmp_path / "c" / "a" / "x", 1)
    assert names() == [f"{tmp_path.name}/a/x", "b/x", "y", "c/a/x"]


def test_without_the_variable_the_folders_of_the_repository_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ICAPS_MODELS")
    root = Path(__file__).resolve().parents[2]
    assert model_registry.roots() == [root / "checkpoints", root / "runs"]
    assert model_registry.ModelFolder("m", root / "checkpoints" / "m", 1).shipped
    assert not model_registry.ModelFolder("m", root / "runs" / "m", 1).shipped


def test_size_counts_all_files(models: Path) -> None:
    folder = make(models / "m")
    (folder / "more").mkdir()
    (folder / "more" / "file").write_bytes(b"defg")
    assert model_registry.find_models()[0].bytes_on_disk == 7


def test_an_error_is_shown_as_it_is() -> None:
    assert error_boundary.plain("*a* $x$ [b](c) `d` <e> #f") == (
        r"\*a\* \$x\$ \[b\]\(c\) \`d\` \<e\> \#f"
    )
    assert error_boundary.plain("1. ~x~ a\\b &lt; y\x00") == "1\\. \\~x\\~ a\\\\b \\&lt; y\ufffd"
    assert ":sun:" not in error_boundary.plain("a :sun: b")
    assert error_boundary.plain("a :sun: b").replace("\u2060", "") == "a :sun: b"


def test_the_stamp_follows_edits_that_are_older_than_the_weights(models: Path) -> None:
    def stamp() -> int:
        (model,) = model_registry.find_models()
        return model.stamp

    folder = make(models / "small", changed=9)
    before = stamp()
    make(folder, changed=5, name=EDITS)
    with_edits = stamp()
    make(folder, changed=6, name=EDITS)
    with_others = stamp()
    (folder / EDITS).unlink()
    assert stamp() == before
    assert len({before, with_edits, with_others}) == 3
