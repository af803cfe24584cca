"""Trainings as processes of their own: started, watched, stopped, resumed and deleted.

Their folders, all in one, are the only channel. So a training outlives the program that started
it, and any other program finds it there. Of those that were started only so many run at a time; the
others wait in the order in which they came, each in a process of its own that looks around.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from icaps.errors import RunError
from icaps.runs.folder import (
    LOG,
    PREPARING,
    QUEUED,
    REQUEST,
    STATUS,
    STOP,
    STOPPING,
    Request,
    RunFolder,
    Status,
)
from icaps.train.checkpoint_files import CONFIG

LIMIT = 1  # trainings at a time
NAME = re.compile(r"\w[\w .-]{0,59}")
_NICE = 10  # of a training, in the system's terms
_LOOK_EVERY = 0.5  # seconds
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """A training and its folder, as they were found."""

    name: str
    path: Path
    status: Status
    request: Request | None

    @property
    def folder(self) -> RunFolder:
        """To read more of it."""
        return RunFolder(self.path)

    @property
    def has_model(self) -> bool:
        """Whether there is a model to use, perhaps one that is still learning."""
        return (self.path / CONFIG).is_file()


def find_runs(place: Path) -> list[Run]:
    """All trainings whose folders are in `place`, the newest first."""
    if not place.is_dir():
        return []
    found = [_read(path) for path in place.iterdir() if not path.name.startswith(".")]
    runs = [run for run in found if run is not None]
    return sorted(runs, key=lambda run: (-run.status.queued, run.name))


def start(place: Path, name: str, arguments: Sequence[str], limit: int = LIMIT) -> Run:
    """Starts a training in the new folder `place / name`.

    Args:
        place: Folder of all trainings.
        name: Of this one.
        arguments: Of `icaps`, from "train" on, without --out.
        limit: How many trainings may run at a time; this one waits for its turn.

    Raises:
        RunError: The name can't be used or is taken, or the folder can't be written.
    """
    if not NAME.fullmatch(name):
        raise RunError(
            f"The name {name!r} can't be used. Take at most 60 letters, digits, spaces and _ . -, "
            "and begin with a letter or a digit."
        )
    path = place / name
    try:
        place.mkdir(parents=True, exist_ok=True)
        path.mkdir()
        RunFolder(path).write_request(Request(tuple(arguments), str(Path.cwd())))
    except FileExistsError as error:
        raise RunError(f"There is a run named {name} already; choose another name.") from error
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise RunError(f"{path} can't be written ({error}); make room there.") from error
    try:
        return _launch(path, arguments, limit)
    except RunError:
        shutil.rmtree(path, ignore_errors=True)  # so that the name is free
        raise


def resume(run: Run, limit: int = LIMIT) -> Run:
    """Starts a training again, from where it was last saved.

    Raises:
        RunError: It still runs, nobody knows its command, or it can't be started.
    """
    if run.folder.alive():
        raise RunError(f"{run.name} still runs; stop it first.")
    if run.request is None:
        raise RunError(f"{run.path} doesn't say how it was started; start a new one.")
    if not Path(run.request.folder).is_dir():
        raise RunError(
            f"{run.name} was started in {run.request.folder}, which is gone; start a new one."
        )
    again = ["--resume"] if run.folder.resumable else []
    return _launch(run.path, [*run.request.arguments, *again], limit, run.request.folder)


def stop(run: Run) -> None:
    """Asks a training to save and end after its step; if it was asked before, ends it at once.

    Raises:
        RunError: The system doesn't let us.
    """
    status = run.folder.status()
    if not status.live:
        return
    try:
        (run.path / STOP).touch()
        if status.pid and status.state == STOPPING:
            _kill(status.pid)
        elif status.pid:  # else it has only just begun, and looks for the file
            os.kill(status.pid, signal.SIGTERM)
    except ProcessLookupError:  # it has ended meanwhile, which is what was wanted
        return
    except OSError as error:
        raise RunError(f"{run.name} can't be stopped ({error}).") from error


def delete(place: Path, name: str) -> None:
    """Deletes the folder of a training that doesn't run.

    Raises:
        RunError: There is no such folder in `place` itself, it is in use, or it can't be deleted.
    """
    path = place / name
    if path.parent != place or name in ("", ".", "..") or path.is_symlink() or not path.is_dir():
        raise RunError(f"There is no run {name!r} in {place}.")
    if RunFolder(path).alive():
        raise RunError(f"{name} still runs; stop it first.")
    hidden = place / f".deleted-{os.getpid()}-{time.monotonic_ns()}"
    try:
        RunFolder(path).clear_scratch()
        path.rename(hidden)  # in one go, so that nobody finds a half of it
        shutil.rmtree(hidden)
    except OSError as error:
        raise RunError(f"{path} can't be deleted ({error}).") from error


def wait_for_turn(folder: RunFolder, status: Status, limit: int) -> Status:
    """Returns once fewer than `limit` trainings beside this one run or came before it.

    Args:
        folder: Of this process, which has claimed it.
        status: Its status, which is QUEUED and written.
        limit: At least 1.

    Returns:
        Its status, which is PREPARING and written.
    """
    from filelock import FileLock  # late, as `icaps --help` has no use for it

    place = folder.path.resolve().parent
    mine = status.queued, folder.path.name
    while True:
        with FileLock(place / ".queue.lock"):
            others = [run for run in find_runs(place) if run.name != folder.path.name]
            live = [run for run in others if run.status.live]
            ahead = [
                run
                for run in live
                if run.status.pid
                and (run.status.state != QUEUED or (run.status.queued, run.name) < mine)
            ]
            if len(ahead) < limit:
                now = Status(PREPARING, status.pid, queued=status.queued, started=time.time())
                folder.write_status(now)
                return now
        time.sleep(_LOOK_EVERY)


def add_queue(parser: argparse.ArgumentParser) -> None:
    """Adds --queue, by which a job is told to wait for its turn."""
    parser.add_argument(
        "--queue",
        type=int,
        metavar="N",
        help="wait until fewer than N others train beside DIR",
    )


def _read(path: Path) -> Run | None:
    """The run of a folder; None where it is no run."""
    folder = RunFolder(path)
    request = folder.request()
    if request is None and not folder.has_status:
        return None
    return Run(path.name, path, folder.status(), request)


def _launch(path: Path, arguments: Sequence[str], limit: int, cwd: str | None = None) -> Run:
    command = [sys.executable, "-m", "icaps", *arguments]
    command += ["--out", str(path.resolve()), "--queue", str(limit)]
    folder = RunFolder(path)
    try:
        for name in (STATUS, STOP):  # of the last time
            (path / name).unlink(missing_ok=True)
        (path / REQUEST).touch()
        with (path / LOG).open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at the server is not meant for it
            )
    except (OSError, ValueError) as error:  # such as an argument that no process takes
        raise RunError(f"The training can't be started ({error}).") from error
    yield_to_others(process)
    # Takes note of its end, without which the system would keep it as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return Run(path.name, path, folder.status(), folder.request())


def yield_to_others(process: subprocess.Popen[bytes]) -> None:
    """Lets whatever else wants the processor come first, where the system knows of that."""
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)


def environment() -> dict[str, str]:
    """For a process of `icaps`: this one's, with a core left to others and this package on top."""
    threads = str(max(1, (os.cpu_count() or 1) - 1))
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {"OMP_NUM_THREADS": threads, **os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return found | {"PYTHONUNBUFFERED": "1"}


def _kill(pid: int) -> None:
    """Ends a process at once, with its helpers where it leads a group."""
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)
