"""A training told to its run folder: where it stands, how it goes, and why it ended."""

from __future__ import annotations

import dataclasses
import errno
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
)
from icaps.runs.jobs import wait_for_turn
from icaps.train.signals import as_interrupts

if TYPE_CHECKING:  # a job that waits for its turn needs no torch
    from icaps.train.loop import Epoch, Step

STATUS_EVERY = 1.0  # seconds between two writings of the status
LINE_EVERY = 2.0  # seconds between two lines of the progress, at first:
LINES = 500  # in a training ten times as long there are but so many more
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Recorder:
    """A callback of training that writes to a run folder, which its process has claimed.

    Args:
        folder: Where the training is told.
        resume: Whether it goes on from a state, so that what was told before stays.
        queued: Whether it was started as a job, which may have been asked to stop by now.
    """

    def __init__(self, folder: RunFolder, resume: bool, queued: bool) -> None:
        self.folder = folder
        now = time.time()
        self.status = Status(QUEUED, os.getpid(), queued=now, started=now)
        if not queued:
            (folder.path / STOP).unlink(missing_ok=True)
        if not resume:
            for name in (PROGRESS, SNAPSHOTS):
                (folder.path / name).unlink(missing_ok=True)
        self._first: tuple[float, int] | None = None  # the time of the first step, and its number
        self._written = self._line = 0.0  # times of the last status and the last line
        self._before = (0, 0, 0.0)  # of the last line: epoch, step, loss of the epoch so far
        self._write()

    def begin(self, limit: int | None) -> None:
        """Tells that the work begins, after its turn has come where `limit` trainings may run."""
        if limit is None:
            self.status = dataclasses.replace(self.status, started=time.time())
            self._say(PREPARING)
        else:
            self.status = wait_for_turn(self.folder, self.status, limit)

    def work(self) -> None:
        """Tells that a training is under way which has no steps to tell."""
        self._say(TRAINING)

    def on_step(self, step: Step) -> None:
        """Tells the step, unless another was told just before."""
        now, done = time.monotonic(), (step.epoch - 1) * step.steps + step.step
        self._first = self._first or (now, done)
        if now - self._written >= STATUS_EVERY or step.step == step.steps:
            self.status = dataclasses.replace(
                self.status,
                state=TRAINING,
                epoch=step.epoch,
                epochs=step.epochs,
                step=step.step,
                steps=step.steps,
                loss=self._recent_loss(step),
                learning_rate=step.learning_rate,
                texts_per_second=step.texts_per_second,
                eta=self._seconds_left(now, done, step.epochs * step.steps),
                memory=_peak_memory(),
            )
            self._write()
        if now - self._line >= max(LINE_EVERY, (now - self._first[0]) / LINES):
            self._add_line(step)
            self._line = now

    def on_epoch(self, epoch: Epoch) -> None:
        """Tells the epoch."""
        best = max(epoch.validation_accuracy, self.status.validation_accuracy or 0.0)
        self.status = dataclasses.replace(self.status, validation_accuracy=best)
        self.folder.append(PROGRESS, dataclasses.asdict(epoch) | {"time": time.time()})
        self._write()

    @contextmanager
    def telling_the_end(self) -> Iterator[None]:
        """Tells how the block ends: done; stopped, by KeyboardInterrupt; or failed, and why.

        Raises:
            TrainingError: Memory or the disk ran out in the block.
        """
        try:
            if (self.folder.path / STOP).exists():
                raise KeyboardInterrupt
            yield
        except KeyboardInterrupt:
            self._say(STOPPED)
            raise
        except Exception as error:
            known = explained(error)
            self._fail(str(known) if known else f"{type(error).__name__}: {error}")
            if known is None or known is error:
                raise
            raise known from error

    def end(self, interrupted: bool) -> None:
        """Tells that all is saved."""
        self.status = dataclasses.replace(self.status, eta=None)
        self._say(STOPPED if interrupted else DONE)

    def _say(self, state: str) -> None:
        self.status = dataclasses.replace(self.status, state=state)
        self._write()

    def _fail(self, sentence: str) -> None:
        self.status = dataclasses.replace(self.status, error=sentence, eta=None)
        self._say(FAILED)

    def _recent_loss(self, step: Step) -> float:
        """The mean loss since the last line, out of the means from the start of the epoch."""
        epoch, before, loss = self._before
        if epoch != step.epoch or before >= step.step:
            return step.loss
        return (step.loss * step.step - loss * before) / (step.step - before)

    def _seconds_left(self, now: float, done: int, total: int) -> float | None:
        assert self._first is not None
        since, first = self._first
        return (now - since) / (done - first) * (total - done) if done > first else None

    def _add_line(self, step: Step) -> None:
        line: dict[str, Any] = {
            "epoch": step.epoch,
            "step": step.step,
            "steps": step.steps,
            "loss": self._recent_loss(step),
            "learning_rate": step.learning_rate,
            "texts_per_second": step.texts_per_second,
            "memory": _peak_memory(),
            "time": time.time(),
        }
        self.folder.append(PROGRESS, line)
        self._before = step.epoch, step.step, step.loss

    def _write(self) -> None:
        self.folder.write_status(self.status)
        self._written = time.monotonic()


@contextmanager
def recorded(
    folder: RunFolder, arguments: Sequence[str], limit: int | None, resume: bool = False
) -> Iterator[Recorder]:
    """A training by this process, told in the folder that it claims: its command and how it ends.

    That it is done is for the block to say, by `Recorder.end`.

    Args:
        folder: Of the training.
        arguments: Of the command, after `icaps`.
        limit: How many trainings may run at a time, where it waits for its turn.
        resume: See `Recorder`.

    Raises:
        RunError: Another process is at work there, or the folder can't be made.
        TrainingError: Memory or the disk ran out in the block.
    """
    with as_interrupts(), folder.claimed():
        if not resume:
            folder.write_request(Request(tuple(arguments), str(Path.cwd())))
        recorder = Recorder(folder, resume, queued=limit is not None)
        with recorder.telling_the_end():
            recorder.begin(limit)
            yield recorder


def explained(error: Exception) -> ICapsError | None:
    """The error as one that a user understands; None where it is a fault of this library's own."""
    if isinstance(error, ICapsError):
        return error
    if isinstance(error, OSError) and error.errno in _FULL:
        return TrainingError(
            f"The disk is full ({error.filename or error.strerror}). Make room there, then resume."
        )
    # On a CPU torch raises a RuntimeError of its allocator, and on a GPU one of a class of its own.
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "allocate" in str(error) and "memory" in str(error)
    ):
        return TrainingError(
            "There is not enough memory. Try a smaller batch_size, or take each batch in several "
            "parts with accumulate; max_words bounds the longest text."
        )
    return None


def _peak_memory() -> int:
    """The most bytes that this process has held; 0 where the system doesn't tell."""
    status = Path("/proc/self/status")
    if status.exists():  # of Linux, where ru_maxrss begins with what the starting process held
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
