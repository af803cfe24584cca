"""The folder of a training: what its process writes there, and what others read off it.

Beside the files of a checkpoint (`checkpoint.py`) it holds

    request.json     the command that started it
    status.json      where it stands, written by its process alone
    progress.jsonl   a line every few seconds and a line an epoch
    snapshots.jsonl  a line an epoch: how one text is explained, and what the capsules are used for
    train.log        what its process wrote to its terminal
    stop             is there when it was asked to stop
    .lock            held by its process as long as it lives

The lock tells whether the process lives: the system lets go of it however a process ends, and no
other process that gets its number can have it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icaps.errors import RunError
from icaps.train.checkpoint_files import LAST, RUN_FILES, STATE

REQUEST, STATUS, PROGRESS, SNAPSHOTS, LOG, STOP, LOCK = RUN_FILES

QUEUED, PREPARING, TRAINING = "queued", "preparing data", "training"
STOPPING, STOPPED, DONE, FAILED = "stopping", "stopped", "done", "failed"
INTERRUPTED = "interrupted"  # its process is gone, and didn't say why
LIVE = (QUEUED, PREPARING, TRAINING, STOPPING)

_TAIL = 64_000  # bytes of a log that are read
_STARTING = 30.0  # seconds that a process may take until it tells its status
_TRIES = 3  # another reader holds the lock for a moment


@dataclass(frozen=True)
class Status:
    """Where a training stands.

    Attributes:
        state: One of the states of this module.
        pid: Its process; 0 before there is one.
        queued, started, updated: Times, in seconds since 1970.
        epoch, epochs, step, steps: Counted from 1, as in `training.Step`; 0 before the first.
        loss: The mean since the last line of the progress.
        validation_accuracy: The best so far.
        learning_rate: Of the last step.
        texts_per_second: Of this epoch.
        eta: Seconds to the end of all epochs; None while it can't be told.
        memory: The most bytes that its process has held.
        error: Why it failed, in a sentence.
    """

    state: str
    pid: int = 0
    queued: float = 0.0
    started: float = 0.0
    updated: float = 0.0
    epoch: int = 0
    epochs: int = 0
    step: int = 0
    steps: int = 0
    loss: float | None = None
    validation_accuracy: float | None = None
    learning_rate: float | None = None
    texts_per_second: float | None = None
    eta: float | None = None
    memory: int = 0
    error: str = ""

    @property
    def live(self) -> bool:
        """Whether its process is at work, or waits for its turn."""
        return self.state in LIVE

    @property
    def share(self) -> float:
        """Of all steps, those that are done: from 0 to 1."""
        if self.state == DONE:
            return 1.0
        total = self.epochs * self.steps
        done = (self.epoch - 1) * self.steps + self.step
        return min(max(done / total, 0.0), 1.0) if total else 0.0


@dataclass(frozen=True)
class Request:
    """The command of a training: the arguments after `icaps`, and the folder it was given in."""

    arguments: tuple[str, ...]
    folder: str

    @property
    def of_a_baseline(self) -> bool:
        """Whether it is `icaps baseline`, and not `icaps train`."""
        return self.arguments[:1] == ("baseline",)


class RunFolder:
    """The folder of one training, whatever of it is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Makes the folder this process's own as long as the block runs.

        A folder that wasn't there before goes again when the block fails before there is anything
        but the request and the failure.

        Raises:
            RunError: Another process is at work there, or the folder can't be made.
        """
        from filelock import FileLock, Timeout  # late, as `icaps --help` has no use for it

        new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / LOCK)
            lock.acquire(timeout=1)  # a reader may have it for a moment
        except Timeout as error:
            raise RunError(
                f"Another process trains in {self.path}; wait for it, or choose another folder."
            ) from error
        except OSError as error:
            raise RunError(f"{self.path} can't be used ({error}); choose another place.") from error
        try:
            self.clear_scratch()
            yield
        except BaseException:
            if new and {entry.name for entry in self.path.iterdir()} <= {REQUEST, STATUS, LOCK}:
                shutil.rmtree(self.path)
            raise
        finally:
            lock.release()

    def clear_scratch(self) -> None:
        """Removes what a process that was killed while it saved left beside the folder.

        Raises:
            OSError: It can't be removed.
        """
        scratch = re.compile(rf"\.{re.escape(self.path.name)}-[a-z0-9_]{{8}}(-old)?")
        for path in self.path.parent.iterdir():
            if scratch.fullmatch(path.name) and path.is_dir():
                shutil.rmtree(path)

    def alive(self) -> bool:
        """Whether a process is at work here."""
        if not (self.path / LOCK).exists():
            return False
        from filelock import FileLock, Timeout

        for _ in range(_TRIES):
            try:
                with FileLock(self.path / LOCK, timeout=0):
                    return False
            except Timeout:
                time.sleep(0.002)
            except OSError:  # a folder that can't be written has no process
                return False
        return True

    def status(self) -> Status:
        """Where the training stands by all that is known: its file, its process, the stop asked.

        A file that can't be read tells nothing, so what it would say is left out.
        """
        status = self._written_status()
        if self.alive():
            if status.state == INTERRUPTED:  # which none has written: the file can't be read
                status = Status(QUEUED, queued=self._asked())
            if status.live and (self.path / STOP).exists():
                status = dataclasses.replace(status, state=STOPPING)
            return status
        status = self._written_status()  # it may have ended since we read
        if status.live and status.pid:
            state = STOPPED if (self.path / STOP).exists() else INTERRUPTED
            return dataclasses.replace(status, state=state, eta=None)
        return status

    @property
    def has_status(self) -> bool:
        """Whether a training has told where it stands."""
        return (self.path / STATUS).exists()

    def write_status(self, status: Status) -> None:
        """Replaces the status, as its process alone may; on a full disk in its place.

        Raises:
            OSError: It can't be written either way.
        """
        line = json.dumps(dataclasses.asdict(dataclasses.replace(status, updated=time.time())))
        path, partial = self.path / STATUS, self.path / f".{STATUS}"
        try:
            partial.write_text(line, encoding="utf-8")
            partial.replace(path)
        except OSError:
            with path.open("r+", encoding="utf-8") as file:  # what it occupies is its own already
                file.write(line)
                file.truncate()

    @property
    def resumable(self) -> bool:
        """Whether there is a state to go on from."""
        return (self.path / LAST / STATE).is_file()

    def request(self) -> Request | None:
        """The command of the training; None where nobody wrote it."""
        found = _read_object(self.path / REQUEST)
        match found:
            case {"arguments": [*arguments], "folder": str(folder)}:
                return Request(tuple(map(str, arguments)), folder)
        return None

    def write_request(self, request: Request) -> None:
        """Keeps the command.

        Raises:
            OSError: It can't be written.
        """
        partial = self.path / f".{REQUEST}"
        partial.write_text(json.dumps(dataclasses.asdict(request)), encoding="utf-8")
        partial.replace(self.path / REQUEST)

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Adds a line to PROGRESS or SNAPSHOTS.

        Raises:
            OSError: It can't be written.
        """
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def records(self, name: str) -> list[dict[str, Any]]:
        """The lines of PROGRESS or SNAPSHOTS, each of which has its epoch and perhaps its step.

        Where a training went on from an earlier place than it had reached, what it did twice is
        there once. A line that isn't whole is left out.
        """
        kept: list[dict[str, Any]] = []
        for line in _lines(self.path / name):
            record = _as_object(line)
            if record is None or not isinstance(record.get("epoch"), int):
                continue
            while kept and _place(kept[-1]) >= _place(record):
                kept.pop()
            kept.append(record)
        return kept

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log; a line that was written over, as bars are, as it was last."""
        try:
            with (self.path / LOG).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(line.rsplit("\r", 1)[-1] for line in text.split("\n")[-lines - 1 :])

    def bytes_on_disk(self) -> int:
        """Size of all its files."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                try:
                    total += (Path(folder) / name).lstat().st_size
                except FileNotFoundError:  # replaced meanwhile
                    continue
        return total

    def _written_status(self) -> Status:
        asked = self._asked()
        if not self.has_status and time.time() - asked < _STARTING:
            return Status(QUEUED, queued=asked)
        found = _read_object(self.path / STATUS)
        if found is None:
            return Status(INTERRUPTED, queued=asked)
        known = {field.name: field.type for field in dataclasses.fields(Status)}
        try:
            return Status(**{name: _checked(name, found[name], known) for name in found})
        except (TypeError, ValueError):
            return Status(INTERRUPTED, queued=asked)

    def _asked(self) -> float:
        """When it was started last; 0 where nobody knows."""
        try:
            return (self.path / REQUEST).stat().st_mtime
        except OSError:
            return 0.0


_KINDS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "float | None": (int, float, type(None)),
}


def _checked(name: str, value: Any, known: dict[str, Any]) -> Any:
    """The value, if it is one that the status may have under this name."""
    if name not in known or not isinstance(value, _KINDS[known[name]]):
        raise ValueError(name)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(name)
    if isinstance(value, int) and not 0 <= value < 2**63:  # to the system -1 means all processes
        raise ValueError(name)
    return value


def _place(record: dict[str, Any]) -> tuple[int, float]:
    """Where in the training a line stands; that of an epoch comes after its steps."""
    step = record.get("step")
    return record["epoch"], step if isinstance(step, int) else float("inf")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _as_object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_object(path: Path) -> dict[str, Any] | None:
    return _as_object("\n".join(_lines(path)))
