"""Reports a training to its run folder: waits in the queue, writes status, progress and errors."""

from __future__ import annotations

import dataclasses
import errno
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icaps.errors import ICapsError, TrainingError
from icaps.runs.folder import (
    DONE,
    FAILED,
    PREPARING,
    PROGRESS,
    QUEUED,
    SNAPSHOTS,
    STOP,
    STOPPED,
    TRAINING,
    Request,
    RunFolder,
    Status,
    find_runs,
)
from icaps.train.callbacks import Callback, Epoch, RecentLoss, Step
from icaps.train.signals import sigterm_as_interrupt

STATUS_EVERY = 1.0  # seconds between two updates of the status
LINE_EVERY = 2.0  # minimum seconds between two lines of the progress
LINES = 500  # the interval is also at least the elapsed time divided by this
_QUEUE_POLL = 0.5  # seconds
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class StatusWriter(Callback):
    """Writes the status and the progress of a training to its run folder.

    Args:
        folder: The run folder, claimed by this process.
        resume: Whether the training continues from a state; if so, earlier progress is not deleted.
        queued: Whether it was started as a job, for which a stop may have been requested already.
    """

    def __init__(self, folder: RunFolder, resume: bool, queued: bool) -> None:
        self.folder = folder
        now = time.time()
        self.status = Status(QUEUED, os.getpid(), queued=now, started=now)
        if not queued:
            (folder.path / STOP).unlink(missing_ok=True)
        if not resume:
            self._delete_progress()
        self._first: tuple[float, int] | None = None  # time and number of the first step
        self._steps = 0  # per epoch; the second training of self-training has another number
        self._last_status = self._last_line = 0.0  # times
        self._loss = RecentLoss()  # since the last line
        self._write()

    def begin(self, limit: int | None) -> None:
        """Starts preparing the data; with a `limit`, waits for the turn of this run first."""
        if limit is None:
            self.status = dataclasses.replace(self.status, started=time.time())
            self._change_state(PREPARING)
        else:
            self.status = wait_for_turn(self.folder, self.status, limit)

    def begin_training(self) -> None:
        """Sets the state to TRAINING, for a training that reports no steps."""
        self._change_state(TRAINING)

    def on_restart(self, restarts: int) -> None:
        """Deletes the progress and the snapshots so far, as the epochs start again."""
        self._delete_progress()
        self.status = dataclasses.replace(
            self.status,
            epoch=1,
            step=0,
            loss=None,
            validation_accuracy=None,
            validation_macro_f1=None,
            eta=None,
            restarts=restarts,
        )
        self._first, self._loss = None, RecentLoss()
        self._write()

    def on_step(self, step: Step) -> None:
        """Updates the status and the progress, at most once per interval."""
        now, done = time.monotonic(), (step.epoch - 1) * step.steps + step.step
        if self._first is None or step.steps != self._steps:
            self._first, self._steps = (now, done), step.steps
        if now - self._last_status >= STATUS_EVERY or step.step == step.steps:
            self.status = dataclasses.replace(
                self.status,
                state=TRAINING,
                epoch=step.epoch,
                epochs=step.epochs,
                step=step.step,
                steps=step.steps,
                loss=self._loss.at(step),
                learning_rate=step.learning_rate,
                texts_per_second=step.texts_per_second,
                eta=self._seconds_left(now, done, step.epochs * step.steps),
                memory=_peak_memory(),
                restarts=step.restarts,
            )
            self._write()
        if now - self._last_line >= max(LINE_EVERY, (now - self._first[0]) / LINES):
            self._add_line(step)
            self._last_line = now

    def on_epoch(self, epoch: Epoch) -> None:
        """Appends the epoch to the progress."""
        accuracy, f1 = self.status.validation_accuracy, self.status.validation_macro_f1
        if epoch.validation_macro_f1 is not None:
            f1 = max(epoch.validation_macro_f1, f1 or 0.0)
        self.status = dataclasses.replace(
            self.status,
            validation_accuracy=max(epoch.validation_accuracy, accuracy or 0.0),
            validation_macro_f1=f1,
        )
        self.folder.append(PROGRESS, dataclasses.asdict(epoch) | {"time": time.time()})
        self._write()

    @contextmanager
    def recording_errors(self) -> Iterator[None]:
        """Writes the state if the block raises: stopped by KeyboardInterrupt, or failed and why.

        Raises:
            TrainingError: The block ran out of memory or disk space.
        """
        try:
            if (self.folder.path / STOP).exists():
                raise KeyboardInterrupt
            yield
        except KeyboardInterrupt:
            self._change_state(STOPPED)
            raise
        except Exception as error:
            known = as_user_error(error)
            message = str(known) if known else f"{type(error).__name__}: {error}"
            self.status = dataclasses.replace(self.status, error=message, eta=None)
            self._change_state(FAILED)
            if known is None or known is error:
                raise
            raise known from error

    def end(self, interrupted: bool) -> None:
        """Writes the final state, after everything is saved."""
        self.status = dataclasses.replace(self.status, eta=None)
        self._change_state(STOPPED if interrupted else DONE)

    def _delete_progress(self) -> None:
        for name in (PROGRESS, SNAPSHOTS):
            (self.folder.path / name).unlink(missing_ok=True)

    def _change_state(self, state: str) -> None:
        self.status = dataclasses.replace(self.status, state=state)
        self._write()

    def _seconds_left(self, now: float, done: int, total: int) -> float | None:
        assert self._first is not None
        since, first = self._first
        return (now - since) / (done - first) * (total - done) if done > first else None

    def _add_line(self, step: Step) -> None:
        line: dict[str, Any] = {
            "epoch": step.epoch,
            "step": step.step,
            "steps": step.steps,
            "loss": self._loss.at(step),
            "learning_rate": step.learning_rate,
            "texts_per_second": step.texts_per_second,
            "memory": _peak_memory(),
            "time": time.time(),
        }
        self.folder.append(PROGRESS, line)
        self._loss.mark(step)

    def _write(self) -> None:
        self.folder.write_status(self.status)
        self._last_status = time.monotonic()


@contextmanager
def logged_run(
    folder: RunFolder, arguments: Sequence[str], limit: int | None, resume: bool = False
) -> Iterator[StatusWriter]:
    """Runs a block as a run: claims its folder, writes the command, and records errors.

    The block itself reports success, by `StatusWriter.end`.

    Args:
        folder: The run folder.
        arguments: Of the command, after `icaps`.
        limit: Number of runs that may train at a time; None: do not wait.
        resume: See `StatusWriter`.

    Raises:
        RunError: Another process has claimed the folder, or it cannot be created.
        TrainingError: The block ran out of memory or disk space.
    """
    with sigterm_as_interrupt(), folder.claimed():
        if not resume:
            folder.write_request(Request(tuple(arguments), str(Path.cwd())))
        writer = StatusWriter(folder, resume, queued=limit is not None)
        with writer.recording_errors():
            writer.begin(limit)
            yield writer


def wait_for_turn(folder: RunFolder, status: Status, limit: int) -> Status:
    """Waits until fewer than `limit` other runs are training or were queued before this one.

    There is no central queue that could fail: each run checks the folder of all runs, under a lock.

    Args:
        folder: The run folder, claimed by this process.
        status: Its current status, QUEUED.
        limit: At least 1.

    Returns:
        The new status, PREPARING, after it was written.
    """
    from filelock import FileLock  # here, as `icaps --help` does not need it

    root = folder.path.resolve().parent
    own_turn = status.queued, folder.path.name
    while True:
        with FileLock(root / ".queue.lock"):
            ahead = [
                run
                for run in find_runs(root)
                if run.name != folder.path.name
                and run.status.live
                and run.status.pid
                and (run.status.state != QUEUED or (run.status.queued, run.name) < own_turn)
            ]
            if len(ahead) < limit:
                now = Status(PREPARING, status.pid, queued=status.queued, started=time.time())
                folder.write_status(now)
                return now
        time.sleep(_QUEUE_POLL)


def as_user_error(error: Exception) -> ICapsError | None:
    """Converts an error to one that a user can act on; None if it is a bug of this library."""
    if isinstance(error, ICapsError):
        return error
    if isinstance(error, OSError) and error.errno in _DISK_FULL:
        return TrainingError(
            f"The disk is full ({error.filename or error.strerror}). Make room there, then resume."
        )
    # Out of memory: torch raises a RuntimeError of its allocator on a CPU, and a subclass on a GPU.
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "allocate" in str(error) and "memory" in str(error)
    ):
        return TrainingError(
            "There is not enough memory. Try a smaller batch_size, or split each batch into "
            "several parts with accumulate; max_words limits the longest text."
        )
    return None


def _peak_memory() -> int:
    """Peak memory of this process in bytes; 0 if unknown."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where ru_maxrss includes the memory of the parent process
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
