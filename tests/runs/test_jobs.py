"""Trainings as real processes: started, killed, stopped, resumed, queued and deleted."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.errors import RunError
from icaps.runs import jobs
from icaps.runs.folder import (
    DONE,
    FAILED,
    INTERRUPTED,
    PREPARING,
    PROGRESS,
    QUEUED,
    SNAPSHOTS,
    STATUS,
    STOPPED,
    TRAINING,
    Run,
    find_runs,
)
from icaps.runs.jobs import delete, resume, start, stop
from tests.conftest import make_texts

WAIT = 180.0  # seconds; only a failure takes as long
SETTINGS = ["fixed_dim=8", "trained_dim=8", "region_dim=24", "query_dim=4", "class_dim=6"]
SETTINGS += ["min_frequency=0", "learning_rate=0.01", "batch_size=4", "average_decay=0.9"]
LAUNCHER = """
import os, signal, sys
from pathlib import Path
from icaps.runs import jobs
jobs.start(Path(sys.argv[1]), "orphan", sys.argv[2:])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("job data") / "texts.csv"
    texts, labels = make_texts(400, 1)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """The folder of all runs; no process survives the test."""
    yield tmp_path / "runs"
    for run in find_runs(tmp_path / "runs"):
        if run.status.live and run.status.pid:
            os.killpg(run.status.pid, signal.SIGKILL)


def command(data: Path, *settings: str) -> list[str]:
    given = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
    return ["train", "--data", str(data), "--device", "cpu", *given]


def look(place: Path, name: str) -> Run:
    return next(run for run in find_runs(place) if run.name == name)


def wait(place: Path, name: str, holds: Callable[[Run], bool]) -> Run:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        run = look(place, name)
        if holds(run):
            return run
        time.sleep(0.05)
    pytest.fail(f"{run.status}\n{run.folder.log_tail()}")


def wait_for_end(place: Path, name: str) -> Run:
    """The run after its process has gone, which is a moment after its last status."""
    return wait(place, name, lambda run: not run.status.live and not run.folder.alive())


def in_epoch(number: int) -> Callable[[Run], bool]:
    return lambda run: run.status.epoch >= number and run.folder.resumable


def assert_no_zombies() -> None:
    """No zombie processes remain."""
    command = ["ps", "--ppid", str(os.getpid()), "-o", "pid=,stat="]
    end = time.monotonic() + WAIT
    zombies = ["not looked yet"]
    while zombies and time.monotonic() < end:
        listed = subprocess.run(command, capture_output=True, text=True).stdout
        zombies = [line for line in listed.splitlines() if line.split()[1].startswith("Z")]
    assert zombies == []


def test_a_killed_and_stopped_run_resumes_to_the_same_model(place: Path, data: Path) -> None:
    arguments = [*command(data, "epochs=8", "patience=8"), "--watch", "We bake bread."]
    start(place, "whole", arguments)
    whole = wait_for_end(place, "whole")
    assert whole.status.state == DONE, whole.folder.log_tail()
    assert [line["epoch"] for line in whole.folder.records(SNAPSHOTS)] == list(range(1, 9))

    start(place, "broken", arguments)
    run = wait(place, "broken", in_epoch(1))
    assert os.getpriority(os.PRIO_PROCESS, run.status.pid) == jobs._NICENESS
    assert os.getpgid(run.status.pid) == run.status.pid != os.getpgid(0)
    (run.path / STATUS).write_text("{ damaged")  # it is written again within a second
    run = wait(place, "broken", in_epoch(2))
    os.kill(run.status.pid, signal.SIGKILL)
    run = wait_for_end(place, "broken")
    assert run.status.state == INTERRUPTED
    assert run.has_model  # the best so far
    assert ICapsClassifier.load(run.path).predict(["We bake bread with flour."]) == ["Cooking"]

    resume(run)
    run = wait(place, "broken", in_epoch(4))
    stop(run)
    run = wait_for_end(place, "broken")
    assert run.status.state == STOPPED
    assert run.status.epoch < 8

    resume(run)
    run = wait_for_end(place, "broken")
    assert run.status.state == DONE, run.folder.log_tail()
    weights, expected = (load_file(r.path / "model.safetensors") for r in (run, whole))
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    epochs = [line for line in run.folder.records(PROGRESS) if "step" not in line]
    wanted = [line for line in whole.folder.records(PROGRESS) if "step" not in line]
    assert [e["loss"] for e in epochs] == [e["loss"] for e in wanted]
    assert_no_zombies()
    delete(place, "broken")
    assert [run.name for run in find_runs(place)] == ["whole"]
    assert [path.name for path in place.iterdir() if "broken" in path.name] == []


def test_a_job_outlives_the_server_that_started_it(place: Path, data: Path) -> None:
    launched = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(place), *command(data, "epochs=1")], check=False
    )
    assert launched.returncode == -signal.SIGKILL
    assert wait_for_end(place, "orphan").status.state == DONE


def test_twenty_starts_in_a_row(place: Path, data: Path) -> None:
    """One runs, the others wait in their order; a queued run that is stopped never starts."""
    names = [f"run {n}" for n in range(20)]
    for name in names:
        start(place, name, command(data, "epochs=500", "patience=500"))
    runs = find_runs(place)
    assert {run.name for run in runs} == set(names)
    for name in names:
        wait(place, name, lambda run: run.status.pid > 0)
    wait(place, names[0], lambda run: any(r.status.state == PREPARING for r in find_runs(place)))
    states = [look(place, name).status.state for name in names]
    assert sum(state != QUEUED for state in states) == 1
    order = sorted(find_runs(place), key=lambda run: run.status.queued)
    second = next(run for run in order if run.status.state == QUEUED)
    for run in order:
        if run.status.state == QUEUED and run.name != second.name:
            stop(run)
    for run in order:
        if run.name != second.name and run.status.state == QUEUED:
            assert wait_for_end(place, run.name).status.state == STOPPED
    first = next(run for run in order if run.status.state != QUEUED)
    stop(first)
    assert wait_for_end(place, first.name).status.state == STOPPED
    wait(place, second.name, lambda run: run.status.state in (PREPARING, TRAINING))
    assert_no_zombies()


def test_a_second_stop_ends_it_at_once(place: Path, data: Path) -> None:
    """Also if its process is suspended and ignores the first stop."""
    start(place, "stuck", command(data, "epochs=500", "patience=500"))
    run = wait(place, "stuck", lambda run: run.status.pid > 0)
    os.kill(run.status.pid, signal.SIGSTOP)
    stop(run)
    time.sleep(0.2)
    assert look(place, "stuck").status.state == "stopping"
    stop(look(place, "stuck"))
    assert wait_for_end(place, "stuck").status.state == STOPPED
    assert_no_zombies()


def test_one_name_is_one_run(place: Path, data: Path) -> None:
    """Two tabs that start the same name at once."""
    answers: list[str] = []
    gate = threading.Barrier(8)

    def press() -> None:
        gate.wait()
        try:
            start(place, "mine", command(data, "no_setting=1"))
            answers.append("started")
        except RunError as error:
            answers.append(str(error))

    threads = [threading.Thread(target=press) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count("started") == 1
    assert sum("There is a run named mine already" in answer for answer in answers) == 7
    assert wait_for_end(place, "mine").status.state == FAILED


@pytest.mark.parametrize(
    ("settings", "file", "words"),
    [
        ((), "nothing.csv", "There is no file or folder"),
        ((), "one.csv", "have one class; a classifier needs two"),
        (("learning_rate=1e38", "clip_norm=0"), None, "The loss is NaN or infinite in step"),
        (("kernel=3",), None, "There is no setting 'kernel'"),
    ],
)
def test_a_failure_has_a_message_for_the_user(
    settings: tuple[str, ...],
    file: str | None,
    words: str,
    place: Path,
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (data.parent / "one.csv").write_text("text,label\na b,x\nb c,x\nc d,x\n")
    (place / "bad").mkdir(parents=True)
    arguments = command(data.parent / (file or data.name), *settings)
    assert main([*arguments, "--out", str(place / "bad"), "--queue", "1"]) == 2
    run = look(place, "bad")
    assert run.status.state == FAILED
    assert words in run.status.error
    assert words in capsys.readouterr().err


def test_a_full_disk(tmp_path: Path, data: Path) -> None:
    """A disk of 600 kB, which holds the run but no model."""
    place = tmp_path / "small disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        start(place, "full", command(data, "epochs=3", "trained_dim=700"))
        run = wait_for_end(place, "full")
        assert run.status.state == FAILED
        assert "No space left" in run.status.error or "disk is full" in run.status.error
        with pytest.raises(OSError, match="No space left"):
            (place / "filler").write_bytes(b"x" * 10**6)
        with pytest.raises(RunError, match="make room there"):
            start(place, "another", command(data))
        assert [run.name for run in find_runs(place)] == ["full"]
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "x" * 61, "a\nb", "-x"])
def test_invalid_names_of_runs(name: str, place: Path) -> None:
    place.mkdir()
    (place.parent / "x").mkdir()
    with pytest.raises(RunError, match="cannot be used"):
        start(place, name, ["train"])
    with pytest.raises(RunError, match="There is no run"):
        delete(place, name)
    assert (place.parent / "x").is_dir()


def test_folders_that_cannot_be_deleted(place: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    place.mkdir()
    (place / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="There is no run"):
        delete(place, "link")
    start(place, "alive", command(data, "epochs=500", "patience=500"))
    run = wait(place, "alive", lambda run: run.status.pid > 0)
    with pytest.raises(RunError, match="is still running"):
        delete(place, "alive")
    with pytest.raises(RunError, match="is still running"):
        resume(run)


def test_workers_end_with_a_parent_that_is_killed(place: Path, tmp_path: Path) -> None:
    texts, labels = make_texts(60_000, 1)
    path = tmp_path / "large.csv"
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    start(place, "large", command(path, "epochs=1"))

    def workers(run: Run) -> list[int]:
        listed = subprocess.run(
            ["pgrep", "-g", str(run.status.pid), "-f", "spawn_main"], capture_output=True, text=True
        )
        return [int(pid) for pid in listed.stdout.split()]

    run = wait(place, "large", lambda run: run.status.pid > 0)
    end = time.monotonic() + WAIT
    while len(workers(run)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert workers(run)
    time.sleep(0.5)
    os.kill(run.status.pid, signal.SIGKILL)
    while workers(run) and time.monotonic() < end:
        time.sleep(0.05)
    assert workers(run) == []
