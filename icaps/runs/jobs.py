"""Starts, stops, resumes and deletes runs: trainings in separate processes.

A run is controlled through its folder alone. So a training outlives the program that started it,
and any other program can control it. A limited number of runs train at a time; the others wait in
the order of their starts, each in its own process (`logger.wait_for_turn`).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from icaps.errors import RunError
from icaps.runs.folder import LOG, REQUEST, STATUS, STOP, STOPPING, Request, Run, RunFolder

LIMIT = 1  # number of runs that train at a time
NAME = re.compile(r"\w[\w .-]{0,59}")
_NICENESS = 10  # of a training process, see nice(1)
_ROOT = Path(__file__).resolve().parents[2]


def start(root: Path, name: str, arguments: Sequence[str], limit: int = LIMIT) -> Run:
    """Starts a run in the new folder `root / name`.

    Args:
        root: Folder of all runs.
        name: Name of the run.
        arguments: Of `icaps`, from "train" or "baseline" on, without --out.
        limit: Number of runs that may train at a time; this one waits for its turn.

    Raises:
        RunError: The name is invalid or taken, or the folder cannot be written.
    """
    if not NAME.fullmatch(name):
        raise RunError(
            f"The name {name!r} cannot be used. Give at most 60 letters, digits, spaces and _ . -, "
            "and begin with a letter or a digit."
        )
    path = root / name
    try:
        root.mkdir(parents=True, exist_ok=True)
        path.mkdir()
        RunFolder(path).write_request(Request(tuple(arguments), str(Path.cwd())))
    except FileExistsError as error:
        raise RunError(f"There is a run named {name} already; choose another name.") from error
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise RunError(f"{path} cannot be written ({error}); make room there.") from error
    try:
        return _launch(path, arguments, limit)
    except RunError:
        shutil.rmtree(path, ignore_errors=True)  # so that the name can be used again
        raise


def resume(run: Run, limit: int = LIMIT) -> Run:
    """Starts a run again, from its last saved state.

    Raises:
        RunError: It is still running, its command is unknown, or it cannot be started.
    """
    if run.folder.alive():
        raise RunError(f"{run.name} is still running; stop it first.")
    if run.request is None:
        raise RunError(f"{run.path} has no record of its command; start a new run.")
    if not Path(run.request.folder).is_dir():
        raise RunError(
            f"{run.name} was started in {run.request.folder}, which no longer exists; start a new "
            "run."
        )
    again = ["--resume"] if run.folder.resumable else []
    return _launch(run.path, [*run.request.arguments, *again], limit, run.request.folder)


def stop(run: Run) -> None:
    """Requests a run to save and end after its current step; a second call kills it.

    Raises:
        RunError: The system does not permit it.
    """
    status = run.folder.status()
    if not status.live:
        return
    try:
        (run.path / STOP).touch()
        if status.pid and status.state == STOPPING:
            _kill(status.pid)
        elif status.pid:  # a process without a pid yet checks the file when it starts
            os.kill(status.pid, signal.SIGTERM)
    except ProcessLookupError:  # it has ended meanwhile
        return
    except OSError as error:
        raise RunError(f"{run.name} cannot be stopped ({error}).") from error


def delete(root: Path, name: str) -> None:
    """Deletes the folder of a run that is not running.

    Raises:
        RunError: There is no such folder directly in `root`, it is in use, or it cannot be deleted.
    """
    path = root / name
    if path.parent != root or name in ("", ".", "..") or path.is_symlink() or not path.is_dir():
        raise RunError(f"There is no run {name!r} in {root}.")
    if RunFolder(path).alive():
        raise RunError(f"{name} is still running; stop it first.")
    hidden = root / f".deleted-{os.getpid()}-{time.monotonic_ns()}"
    try:
        RunFolder(path).delete_scratch()
        path.rename(hidden)  # atomic, so that nobody reads a partly deleted run
        shutil.rmtree(hidden)
    except OSError as error:
        raise RunError(f"{path} cannot be deleted ({error}).") from error


def _launch(path: Path, arguments: Sequence[str], limit: int, cwd: str | None = None) -> Run:
    command = [sys.executable, "-m", "icaps", *arguments]
    command += ["--out", str(path.resolve()), "--queue", str(limit)]
    try:
        for name in (STATUS, STOP):  # of the previous start
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
                start_new_session=True,  # Ctrl-C in the terminal of the server must not reach it
            )
    except (OSError, ValueError) as error:  # ValueError: an argument with a null character
        raise RunError(f"The training cannot be started ({error}).") from error
    lower_priority(process)
    # Waits for its end, as it would remain a zombie process otherwise.
    threading.Thread(target=process.wait, daemon=True).start()
    folder = RunFolder(path)
    return Run(path.name, path, folder.status(), folder.request())


def lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Lowers the priority of a process, where the system supports it."""
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)


def environment() -> dict[str, str]:
    """Environment of an `icaps` process: all cores but one, and this package first."""
    threads = str(max(1, (os.cpu_count() or 1) - 1))
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "OMP_NUM_THREADS": threads,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
    }


def _kill(pid: int) -> None:
    """Kills a process, and its child processes if it leads a process group."""
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)
