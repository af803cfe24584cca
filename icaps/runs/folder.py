"""The folder of a run: reads and writes the files by which a training process reports.

A run is a training (or the fitting of a baseline) as a process. Beside the files of its checkpoint
(`icaps.train.checkpoint_files`) its folder contains

    request.json     the command that started it
    status.json      its state and position; only the training process writes it
    progress.jsonl   a line every few seconds and a line per epoch
    snapshots.jsonl  a line per epoch: the explanation of one text, and how capsules are used
    train.log        the output of the process
    stop             exists if a stop was requested
    .lock            locked by the process as long as it is alive

The lock shows whether the process is alive: the operating system releases it however the process
ends, and another process that gets the same process id does not hold it.
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
from icaps.train.checkpoint_files import CONFIG, LAST, RUN_FILES, STATE

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

REQUEST, STATUS, PROGRESS, SNAPSHOTS, LOG, STOP, LOCK = RUN_FILES

QUEUED, PREPARING, TRAINING = "queued", "preparing data", "training"
STOPPING, STOPPED, DONE, FAILED = "stopping", "stopped", "done", "failed"
INTERRUPTED = "interrupted"  # the process has ended without writing a reason
LIVE = (QUEUED, PREPARING, TRAINING, STOPPING)

_LOG_TAIL = 64_000  # bytes of the log that are read
_START_UP = 30.0  # seconds that a process may take until it writes its first status


@dataclass(frozen=True)
class Status:
    """The state and position of a run.

    Attributes:
        state: One of the states above.
        pid: Process id; 0 if there is none yet.
        queued, started, updated: Times, in seconds since 1970.
        epoch, epochs, step, steps: From 1, as in `callbacks.Step`; 0 before the first step.
        loss: Mean since the previous line of progress.jsonl.
        validation_accuracy: Best so far.
        learning_rate: Of the last step.
        texts_per_second: In this epoch.
        eta: Seconds to the end of all epochs; None if unknown.
        memory: Peak memory of the process in bytes.
        error: Reason of a failure, as a sentence.
        validation_macro_f1: Best so far.
        restarts: How many times the training started again, as it had learned nothing.
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
    validation_macro_f1: float | None = None
    restarts: int = 0

    @property
    def live(self) -> bool:
        """Whether the process is working or waiting for its turn."""
        return self.state in LIVE

    @property
    def share(self) -> float:
        """Share of all steps that are done, 0 to 1."""
        if self.state == DONE:
            return 1.0
        total = self.epochs * self.steps
        done = (self.epoch - 1) * self.steps + self.step
        return min(max(done / total, 0.0), 1.0) if total else 0.0


@dataclass(frozen=True)
class Request:
    """The command of a run: the arguments after `icaps`, and its working directory."""

    arguments: tuple[str, ...]
    folder: str

    @property
    def is_baseline(self) -> bool:
        """Whether it is `icaps baseline` and not `icaps train`."""
        return self.arguments[:1] == ("baseline",)


@dataclass(frozen=True)
class Run:
    """A snapshot of a run: name, folder, status and command."""

    name: str
    path: Path
    status: Status
    request: Request | None

    @property
    def folder(self) -> RunFolder:
        """The folder, to read more files of the run."""
        return RunFolder(self.path)

    @property
    def has_model(self) -> bool:
        """Whether there is a checkpoint; during a training, it is that of the best epoch so far."""
        return (self.path / CONFIG).is_file()


def read_run(path: Path) -> Run | None:
    """Reads the run in a folder; None if the folder is not that of a run."""
    folder = RunFolder(path)
    request = folder.request()
    if request is None and not folder.has_status:
        return None
    return Run(path.name, path, folder.status(), request)


def find_runs(root: Path) -> list[Run]:
    """All runs whose folders are in `root`, the newest first."""
    if not root.is_dir():
        return []
    runs = [read_run(path) for path in root.iterdir() if not path.name.startswith(".")]
    return sorted(
        (run for run in runs if run is not None), key=lambda run: (-run.status.queued, run.name)
    )


class RunFolder:
    """Reads and writes the files of one run, any of which may be missing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Locks the folder for this process while the block runs.

        A new folder is deleted again if the block fails before it contains more than the request
        and the status.

        Raises:
            RunError: Another process has locked it, or the folder cannot be created.
        """
        from filelock import FileLock, Timeout  # here, as `icaps --help` does not need it

        new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / LOCK)
            lock.acquire(timeout=1, poll_interval=0.005)  # `alive` may hold it for a moment
        except Timeout as error:
            raise RunError(
                f"Another process trains in {self.path}; wait for it, or choose another folder."
            ) from error
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be used ({error}); choose another folder."
            ) from error
        try:
            self.delete_scratch()
            yield
        except BaseException:
            if new and {entry.name for entry in self.path.iterdir()} <= {REQUEST, STATUS, LOCK}:
                shutil.rmtree(self.path)
            raise
        finally:
            lock.release()

    def delete_scratch(self) -> None:
        """Deletes unfinished copies beside the folder, left by a process killed while saving.

        Raises:
            OSError: One cannot be deleted.
        """
        scratch = re.compile(rf"\.{re.escape(self.path.name)}-[a-z0-9_]{{8}}(-old)?")
        for path in self.path.parent.iterdir():
            if scratch.fullmatch(path.name) and path.is_dir():
                shutil.rmtree(path)

    def alive(self) -> bool:
        """Whether a process has locked the folder."""
        try:
            if fcntl is None:
                return self._locked_on_windows()
            with (self.path / LOCK).open() as file:
                # Shared, so that readers are not mistaken for the training by other readers.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # there is no lock file, or it cannot be opened
            return False
        return False

    def _locked_on_windows(self) -> bool:
        from filelock import FileLock, Timeout

        if not (self.path / LOCK).exists():
            return False
        try:
            with FileLock(self.path / LOCK, timeout=0.01, poll_interval=0.002):
                return False
        except Timeout:
            return True

    def status(self) -> Status:
        """The status from the status file, corrected by whether the process is alive.

        A status file that cannot be read counts as missing.
        """
        status = self._status_file()
        if self.alive():
            if status.state == INTERRUPTED:  # never written to the file, so it is unreadable
                status = Status(QUEUED, queued=self._requested_at())
            if status.live and (self.path / STOP).exists():
                status = dataclasses.replace(status, state=STOPPING)
            return status
        status = self._status_file()  # again, as the process may have ended meanwhile
        if status.live and status.pid:
            state = STOPPED if (self.path / STOP).exists() else INTERRUPTED
            return dataclasses.replace(status, state=state, eta=None)
        return status

    @property
    def has_status(self) -> bool:
        """Whether a process has written a status."""
        return (self.path / STATUS).exists()

    def write_status(self, status: Status) -> None:
        """Replaces the status file; only the training process may call it.

        On a full disk the old file is overwritten in place.

        Raises:
            OSError: The file can be neither replaced nor overwritten.
        """
        line = json.dumps(dataclasses.asdict(dataclasses.replace(status, updated=time.time())))
        path, partial = self.path / STATUS, self.path / f".{STATUS}"
        try:
            partial.write_text(line, encoding="utf-8")
            partial.replace(path)
        except OSError:
            with path.open("r+", encoding="utf-8") as file:  # needs no new space on the disk
                file.write(line)
                file.truncate()

    @property
    def resumable(self) -> bool:
        """Whether there is a state to resume from."""
        return (self.path / LAST / STATE).is_file()

    def request(self) -> Request | None:
        """The command of the run; None if the file is missing or damaged."""
        match _read_object(self.path / REQUEST):
            case {"arguments": [*arguments], "folder": str(folder)}:
                return Request(tuple(map(str, arguments)), folder)
        return None

    def write_request(self, request: Request) -> None:
        """Writes the command.

        Raises:
            OSError: It cannot be written.
        """
        partial = self.path / f".{REQUEST}"
        partial.write_text(json.dumps(dataclasses.asdict(request)), encoding="utf-8")
        partial.replace(self.path / REQUEST)

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Appends a line to PROGRESS or SNAPSHOTS.

        Raises:
            OSError: It cannot be written.
        """
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def records(self, name: str) -> list[dict[str, Any]]:
        """The lines of PROGRESS or SNAPSHOTS, each with its epoch and optionally its step.

        Lines that a resumed training wrote again replace the earlier ones. An incomplete line is
        skipped.
        """
        records: list[dict[str, Any]] = []
        for line in _lines(self.path / name):
            record = _as_object(line)
            if record is None or not isinstance(record.get("epoch"), int):
                continue
            while records and _position(records[-1]) >= _position(record):
                records.pop()
            records.append(record)
        return records

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log; a line rewritten by carriage returns has its last version."""
        try:
            with (self.path / LOG).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_TAIL))
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

    def _status_file(self) -> Status:
        requested = self._requested_at()
        if not self.has_status and time.time() - requested < _START_UP:
            return Status(QUEUED, queued=requested)
        values = _read_object(self.path / STATUS)
        if values is None:
            return Status(INTERRUPTED, queued=requested)
        try:
            return Status(**{name: _checked(name, value) for name, value in values.items()})
        except (TypeError, ValueError):
            return Status(INTERRUPTED, queued=requested)

    def _requested_at(self) -> float:
        """Time of the last start, in seconds since 1970; 0 if unknown."""
        try:
            return (self.path / REQUEST).stat().st_mtime
        except OSError:
            return 0.0


_STATUS_TYPES = {field.name: field.type for field in dataclasses.fields(Status)}
_TYPES: dict[Any, Any] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "float | None": (int, float, type(None)),
}


def _checked(name: str, value: Any) -> Any:
    """The value of a field of the status; ValueError if its type or range is wrong."""
    if name not in _STATUS_TYPES or not isinstance(value, _TYPES[_STATUS_TYPES[name]]):
        raise ValueError(name)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(name)
    if isinstance(value, int) and not 0 <= value < 2**63:  # pid -1 would mean all processes
        raise ValueError(name)
    return value


def _position(record: dict[str, Any]) -> tuple[int, float]:
    """Sort key of a line: its epoch and step; the line of an epoch comes after its steps."""
    step = record.get("step")
    return record["epoch"], step if isinstance(step, int) else float("inf")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
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
