"""Results in the cache: computed once, whole or not at all, and reported when damaged."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from icaps.data.cache import Artifact, artifact_home
from icaps.errors import DataError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    return tmp_path


def number(folder: Path) -> int:
    return int((folder / "number").read_text())


def write(value: str) -> object:
    return lambda folder: (folder / "number").write_text(value)


def test_it_is_computed_once() -> None:
    artifact = Artifact(artifact_home("numbers", 1), number)
    assert artifact.load() is None
    assert not artifact.exists
    assert artifact.make(write("7")) == 7
    assert artifact.exists
    assert artifact.make(lambda _: pytest.fail("computed again")) == artifact.load() == 7


def test_homes_differ_by_kind_and_key(cache: Path) -> None:
    keys = [("a", 1), ("a", 2), ("b", 1), ("a", "1"), ("a", [1]), ("a", 1, None), ("a", "\ud800")]
    homes = [artifact_home(*key) for key in keys]
    assert len(set(homes)) == len(keys)
    assert artifact_home("a", [1, {"x": 2}]) == artifact_home("a", [1, {"x": 2}])
    assert all(home.parent.parent == cache for home in homes)


def test_a_failure_leaves_nothing() -> None:
    artifact = Artifact(artifact_home("numbers", 1), number)

    def fail(folder: Path) -> None:
        (folder / "number").write_text("7")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        artifact.make(fail)
    assert artifact.load() is None
    assert artifact.make(write("8")) == 8


@pytest.mark.parametrize("content", ["", "x", None])
def test_damage_is_one_error_with_advice(content: str | None) -> None:
    artifact = Artifact(artifact_home("numbers", 1), number)
    artifact.make(write("7"))
    file = artifact.home / "ready" / "number"
    file.unlink()
    if content is not None:
        file.write_text(content)
    for read in (artifact.load, lambda: artifact.make(write("8"))):
        with pytest.raises(DataError, match=rf"can't be read .* Delete the folder {artifact.home}"):
            read()


def test_others_wait_for_the_one_that_computes() -> None:
    artifact = Artifact(artifact_home("numbers", 1), number)
    calls: list[Path] = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        time.sleep(0.2)
        (folder / "number").write_text("7")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: artifact.make(fill), range(4))) == [7] * 4
    assert len(calls) == 1


def _die(home: Path) -> None:
    Artifact(home, number).make(lambda _: os.kill(os.getpid(), signal.SIGKILL))


def test_what_a_killed_process_left_is_no_obstacle() -> None:
    home = artifact_home("numbers", 1)
    process = multiprocessing.get_context("spawn").Process(target=_die, args=(home,))
    process.start()
    process.join()
    assert (home / "unfinished").is_dir()
    assert Artifact(home, number).make(write("7")) == 7


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("a file where a folder should be")
    with pytest.raises(DataError, match="ICAPS_DATA"):
        Artifact(artifact_home("numbers", 1), number).make(write("7"))
