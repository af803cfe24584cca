"""Run folders: status, progress and log, however the process ended."""

import dataclasses
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from icaps.errors import CheckpointError, RunError, TrainingError
from icaps.runs.folder import (
    DONE,
    FAILED,
    INTERRUPTED,
    LIVE,
    LOCK,
    LOG,
    PROGRESS,
    QUEUED,
    REQUEST,
    STATUS,
    STOP,
    STOPPED,
    STOPPING,
    TRAINING,
    Request,
    RunFolder,
    Status,
)
from icaps.runs.logger import StatusWriter, as_user_error
from icaps.train.callbacks import Epoch, Step
from icaps.train.checkpoint_files import check_writable

HOLD = """
import sys, time
from pathlib import Path
from icaps.runs.folder import RunFolder
with RunFolder(Path(sys.argv[1])).claimed():
    print("here", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    path = tmp_path / "run"
    path.mkdir()
    return RunFolder(path)


def held(folder: RunFolder) -> subprocess.Popen[str]:
    """Another process that has claimed the folder."""
    command = [sys.executable, "-c", HOLD, str(folder.path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def test_a_status_comes_back(folder: RunFolder) -> None:
    status = Status(DONE, 7, 1.5, 2, 0, 3, 4, 5, 6, 0.25, None, 1e-3, 800, None, 10**9, "")
    before = time.time()
    folder.write_status(status)
    actual = folder.status()
    assert before <= actual.updated <= time.time()
    assert dataclasses.replace(actual, updated=0) == status


@pytest.mark.parametrize(
    ("epoch", "step", "share"), [(0, 0, 0.0), (1, 5, 0.125), (3, 0, 0.5), (4, 10, 1.0)]
)
def test_the_share_of_all_steps(epoch: int, step: int, share: float) -> None:
    steps = 10 if epoch else 0
    assert Status(TRAINING, epoch=epoch, epochs=4, step=step, steps=steps).share == share


def test_a_process_that_has_ended_is_noticed(folder: RunFolder) -> None:
    """By its lock alone: the number in its status is that of a process that lives, ours."""
    process = held(folder)
    folder.write_status(Status(TRAINING, os.getpid(), eta=9.0))
    assert folder.alive()
    assert folder.status().state == TRAINING
    (folder.path / STOP).touch()
    assert folder.status().state == STOPPING
    (folder.path / STOP).unlink()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not folder.alive()
    assert folder.status().state == INTERRUPTED
    assert folder.status().eta is None
    (folder.path / STOP).touch()
    assert folder.status().state == STOPPED


def test_a_folder_has_one_process(folder: RunFolder) -> None:
    process = held(folder)
    with pytest.raises(RunError, match="Another process trains"), folder.claimed():
        pytest.fail("it was claimed twice")
    process.kill()
    process.wait()
    with folder.claimed():
        assert folder.alive()
    assert not folder.alive()


def test_readers_do_not_mistake_each_other_for_a_training(folder: RunFolder) -> None:
    """A slow reader does not count as a training, and a training waits for it."""
    (folder.path / LOCK).touch()
    folder.write_status(Status(TRAINING, os.getpid()))
    with (folder.path / LOCK).open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not folder.alive()
        assert folder.status().state == INTERRUPTED
        timer = threading.Timer(0.3, fcntl.flock, (file, fcntl.LOCK_UN))
        timer.start()
        with folder.claimed():
            assert folder.alive()
        timer.join()


def test_many_readers_do_not_block_a_training(folder: RunFolder) -> None:
    (folder.path / LOCK).touch()
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            folder.alive()

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        with folder.claimed():
            assert folder.alive()
    ended.set()
    for thread in threads:
        thread.join()
    assert not folder.alive()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b'{"state": 3}',
        b'{"state": "training", "epoch": "1"}',
        b'{"state": "training", "nonsense": 1}',
        b"[" * 100_000,
        b'{"state": "training", "step": ' + b"9" * 5_000 + b"}",
    ],
)
def test_a_damaged_status_counts_as_missing(content: bytes, folder: RunFolder) -> None:
    (folder.path / STATUS).write_bytes(content)
    assert folder.status().state == INTERRUPTED
    process = held(folder)
    assert folder.status().live  # so that it can be stopped
    process.kill()
    process.wait()


def test_a_run_that_was_just_requested_is_queued(folder: RunFolder) -> None:
    folder.write_request(Request(("train", "--data", "x"), "/"))
    assert folder.status().state == QUEUED
    old = time.time() - 100
    os.utime(folder.path / REQUEST, (old, old))
    assert folder.status().state == INTERRUPTED
    assert folder.request() == Request(("train", "--data", "x"), "/")


def test_a_status_is_written_on_a_full_disk(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_status(Status(TRAINING, 1, error="x" * 200))

    def full(self: Path, *args: Any, **kwargs: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    folder.write_status(Status(FAILED, 1, error="the disk is full"))
    assert folder.status().error == "the disk is full"


def test_lines_that_were_written_twice_are_returned_once(folder: RunFolder) -> None:
    """A training that was killed in its second epoch resumes from the end of the first."""
    places: list[dict[str, Any]] = [
        {"epoch": 1, "step": 5},
        {"epoch": 1, "loss": 0.5},
        {"epoch": 2, "step": 3},
        {"epoch": 2, "step": 6},
        {"epoch": 2, "step": 2},
        {"epoch": 2, "loss": 0.4},
    ]
    for place in places:
        folder.append(PROGRESS, place)
    with (folder.path / PROGRESS).open("a") as file:
        file.write('not json\n[1]\n{"step": 3}\n{"epoch": 3, "st')
    assert folder.records(PROGRESS) == [*places[:2], *places[4:]]
    assert folder.records("nothing") == []


def test_the_tail_of_a_log(folder: RunFolder) -> None:
    assert folder.log_tail() == ""
    lines = [f"line {n}" for n in range(100)]
    (folder.path / LOG).write_bytes(
        "\n".join([*lines, "0%\r50%\r100%", "end \xff\n"]).encode("latin-1")
    )
    assert folder.log_tail(4).splitlines() == ["line 98", "line 99", "100%", "end \ufffd"]
    (folder.path / LOG).write_bytes(b"x" * 10**6)
    assert len(folder.log_tail()) == 64_000


def test_folders_where_a_model_may_be_written(tmp_path: Path) -> None:
    foreign, fresh = tmp_path / "foreign", tmp_path / "fresh"
    foreign.mkdir()
    (foreign / "thesis.txt").touch()
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        check_writable(foreign)
    check_writable(fresh)
    fresh.mkdir()
    for name in (STATUS, REQUEST, LOG, STOP, PROGRESS, ".lock"):
        (fresh / name).touch()
    check_writable(fresh)


def step(epoch: int, number: int, loss: float) -> Step:
    return Step(epoch, 3, number, 10, loss, 500.0, 1e-3)


def test_the_status_writer_reports_the_course(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("icaps.runs.logger.time.monotonic", lambda: now[0])
    writer = StatusWriter(folder, resume=False, queued=False)
    with folder.claimed(), writer.recording_errors():
        writer.begin(None)
        for number in range(1, 11):
            now[0] += 0.5
            writer.on_step(step(1, number, 1.0 / number))
        writer.on_epoch(Epoch(1, 0.1, 0.75, 5.0, validation_macro_f1=0.4))
        actual = folder.status()
        assert (actual.state, actual.epoch, actual.step, actual.steps) == (TRAINING, 1, 10, 10)
        assert actual.eta == pytest.approx(20 * 0.5)  # 20 steps are left, at two per second
        assert actual.validation_accuracy == 0.75
        assert actual.validation_macro_f1 == 0.4
        writer.on_epoch(Epoch(2, 0.1, 0.5, 5.0, validation_macro_f1=0.45))
        writer.end(interrupted=False)
    assert folder.status().state == DONE
    assert folder.status().validation_accuracy == 0.75  # the best
    assert folder.status().validation_macro_f1 == 0.45
    lines = folder.records(PROGRESS)
    assert [line.get("step") for line in lines] == [1, 5, 9, None, None]
    # The mean loss of steps 2 to 5, out of the means of 1 and of 1 to 5.
    assert lines[1]["loss"] == pytest.approx((0.2 * 5 - 1.0) / 4)


def test_the_interval_of_progress_lines_grows(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training of a day has few more lines than one of an hour."""
    now = [0.0]
    monkeypatch.setattr("icaps.runs.logger.time.monotonic", lambda: now[0])
    monkeypatch.setattr("icaps.runs.logger.STATUS_EVERY", 1e9)
    writer = StatusWriter(folder, resume=False, queued=False)
    counts = []
    for hours in (1, 24):
        while now[0] < hours * 3600:
            now[0] += 3.0
            writer.on_step(Step(1, 1, round(now[0]) + 1, 10**6, 0.5, 1.0, 1e-3))
        counts.append(len(folder.records(PROGRESS)))
    assert 500 < counts[0] < 1_201
    assert counts[1] < counts[0] + 500 * 3.3  # by the logarithm of 24


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        (KeyboardInterrupt(), STOPPED, ""),
        (TrainingError("The loss is NaN."), FAILED, "The loss is NaN."),
        (OSError(errno.ENOSPC, "No space", "/runs/x"), FAILED, "The disk is full (/runs/x)"),
        (MemoryError(), FAILED, "not enough memory. Try a smaller batch_size"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"),
            FAILED,
            "not enough memory",
        ),
        (ZeroDivisionError("by zero"), FAILED, "ZeroDivisionError: by zero"),
    ],
)
def test_the_end_is_recorded(
    error: BaseException, state: str, words: str, folder: RunFolder
) -> None:
    writer = StatusWriter(folder, resume=False, queued=False)
    expected = TrainingError if words and "Zero" not in words else type(error)
    with pytest.raises(expected), writer.recording_errors():
        raise error
    assert folder.status().state == state
    assert words in folder.status().error


def test_a_fault_of_the_library_is_not_explained() -> None:
    assert as_user_error(RuntimeError("shapes don't fit")) is None
    assert as_user_error(OSError(errno.EACCES, "Permission denied")) is None


def test_a_stop_before_the_start_counts(folder: RunFolder) -> None:
    (folder.path / STOP).touch()
    writer = StatusWriter(folder, resume=False, queued=True)
    with pytest.raises(KeyboardInterrupt), writer.recording_errors():
        pytest.fail("it has begun")
    assert folder.status().state == STOPPED
    StatusWriter(folder, resume=False, queued=False)  # by hand: that stop is of another time
    assert not (folder.path / STOP).exists()


def test_a_resumed_training_keeps_its_progress(folder: RunFolder) -> None:
    folder.append(PROGRESS, {"epoch": 1})
    StatusWriter(folder, resume=True, queued=False)
    assert folder.records(PROGRESS) == [{"epoch": 1}]
    StatusWriter(folder, resume=False, queued=False)
    assert folder.records(PROGRESS) == []


def test_live_states_are_live() -> None:
    assert all(Status(state).live for state in LIVE)
    assert not any(Status(state).live for state in (DONE, FAILED, STOPPED, INTERRUPTED))
    assert json.loads(json.dumps(dataclasses.asdict(Status(DONE))))["state"] == DONE


def test_scratch_folders_of_a_killed_process_are_deleted(folder: RunFolder) -> None:
    """Only its own unfinished copies, and not those of runs with similar names."""
    place = folder.path.parent
    gone = [place / ".run-ab12_xyz", place / ".run-ab12_xyz-old"]
    unrelated = [place / ".run-2-ab12_xyz", place / "run-ab12_xyz", place / ".running-ab12_xyz"]
    for path in (*gone, *unrelated):
        path.mkdir()
        (path / "model.safetensors").touch()
    with folder.claimed():
        assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in unrelated)
