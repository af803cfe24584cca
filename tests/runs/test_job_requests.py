"""Jobs that cannot start, and folders that no job has written."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from icaps.errors import RunError
from icaps.runs import jobs
from icaps.runs.folder import (
    INTERRUPTED,
    QUEUED,
    STATUS,
    TRAINING,
    Run,
    RunFolder,
    Status,
    find_runs,
)
from icaps.runs.jobs import delete, start, stop


@pytest.mark.parametrize("argument", ["a\0b", "half \ud83d", "x" * 3_000_000])
def test_an_invalid_argument_leaves_no_folder(argument: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be started"):
        start(tmp_path, "mine", ["train", "--data", argument])
    assert find_runs(tmp_path) == []
    assert not (tmp_path / "mine").exists()  # so that the name is free


def test_the_longest_name_can_be_deleted(tmp_path: Path) -> None:
    """Of 60 letters of four bytes, which are 240 of the 255 that a file system takes."""
    name = "𐍈" * 60
    assert jobs.NAME.fullmatch(name)
    (tmp_path / name).mkdir()
    RunFolder(tmp_path / name).write_status(Status("done"))
    delete(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


STRANGE: dict[str, Any] = {
    "pid": [-1, -(2**31)],
    "epoch": [-1],
    "memory": [10**400, -1],
    "loss": [float("nan"), float("inf"), "0.5", [0.5]],
    "started": [float("inf")],
    "eta": [float("-inf")],
    "error": [3, None],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n in STRANGE for v in STRANGE[n]])
def test_a_status_with_impossible_numbers_counts_as_missing(
    name: str, value: Any, tmp_path: Path
) -> None:
    plain = dataclasses.asdict(Status(TRAINING, 7)) | {name: value}
    (tmp_path / STATUS).write_text(json.dumps(plain))
    assert RunFolder(tmp_path).status() == Status(INTERRUPTED)


def test_large_numbers_are_numbers(tmp_path: Path) -> None:
    """As in a training with a much too high learning rate."""
    status = Status(TRAINING, 7, learning_rate=1e38, loss=1e300, memory=10**15, eta=0.0)
    (tmp_path / STATUS).write_text(json.dumps(dataclasses.asdict(status)))
    folder = RunFolder(tmp_path)
    with folder.claimed():
        assert folder.status() == status


def test_an_impossible_process_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the operating system, -1 means all processes."""
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("stopped"))
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("stopped"))
    (tmp_path / STATUS).write_text('{"state": "stopping", "pid": -1}')
    folder = RunFolder(tmp_path)
    with folder.claimed():
        assert folder.status().state == QUEUED
        stop(Run("x", tmp_path, folder.status(), None))


@pytest.mark.parametrize(
    ("status", "share"),
    [
        (Status("x", epoch=0, epochs=2, step=0, steps=10), 0.0),
        (Status("x", epoch=9, epochs=2, step=9, steps=10), 1.0),
        (Status("done", epoch=1, epochs=9, step=1, steps=9), 1.0),
        (Status("x", epochs=2), 0.0),
    ],
)
def test_a_share_is_from_0_to_1(status: Status, share: float) -> None:
    assert status.share == share
