"""Worker processes that carry out tasks; one that dies is an error, never a gap in the results."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from icaps.errors import ICapsError, WorkerError
from icaps.processes import exit_with_parent

Task = TypeVar("Task")
Result = TypeVar("Result")

_END_SECONDS = 30  # in which a worker is to complete its last task before it is killed
_ONE_THREAD = {  # each worker computes on one core
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def run_tasks(
    prepare: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], jobs: int
) -> Generator[Result]:
    """Carries out tasks in processes, and yields the results as they are complete.

    One task more than there are processes is in memory. If the caller stops early, as by Ctrl-C,
    each worker completes its task and ends; if the caller is killed, workers end at once.

    Args:
        prepare: Called once in each process; returns the function from a task to a result.
            It, tasks and results must be picklable.
        tasks: Read one by one, when a process is idle.
        jobs: Number of processes at most.

    Raises:
        ICapsError: As `prepare` and the function raise it.
        WorkerError: A process died, as by another error, which it prints, or by a signal.
    """
    stream = iter(tasks)
    idle: list[_Worker[Task, Result]] = []
    busy: list[_Worker[Task, Result]] = []
    try:
        task = next(stream, None)
        while task is not None or busy:
            if task is not None and (idle or len(busy) < jobs):
                worker = idle.pop() if idle else _Worker(prepare)
                busy.append(worker)
                worker.start(task)
                task = next(stream, None)
                continue
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                result = worker.result()
                busy.remove(worker)
                idle.append(worker)
                yield result
    finally:
        workers = [*idle, *busy]
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.end()


class _Worker(Generic[Task, Result]):
    """A process, and our end of the pipe to it."""

    def __init__(self, prepare: Callable[[], Callable[[Task], Result]]) -> None:
        context = get_context("spawn")  # a fork of a process with threads may hang
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other,), daemon=True)
        self._task: Task | None = None
        try:
            with _interrupts_blocked():
                self._process.start()
        except OSError as error:
            raise WorkerError(
                f"A worker process cannot be started ({error}); start fewer of them (--jobs)."
            ) from error
        other.close()  # so that the end of the process ends the pipe
        self._send(prepare)

    def start(self, task: Task) -> None:
        """Sends a task to the idle process."""
        self._task = task
        self._send(task)

    def _send(self, message: object) -> None:
        try:
            self.connection.send(message)
        except OSError as error:
            raise self._death() from error

    def result(self) -> Result:
        """Receives the result of the task, or raises the error that it ended with."""
        try:
            result: Result | ICapsError = self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error
        if isinstance(result, ICapsError):
            raise result
        return result

    def end(self) -> None:
        """Waits for the end of the process, whose pipe is closed."""
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _death(self) -> WorkerError:
        self._process.join(_END_SECONDS)
        code = self._process.exitcode
        if code is not None and code < 0:
            return WorkerError(
                f"A worker process was killed by signal {-code} ({signal.Signals(-code).name}) at "
                f"{self._task}. If memory ran out, start fewer of them (--jobs)."
            )
        return WorkerError(
            f"A worker process ended with exit code {code} at {self._task}; its error is above."
        )


def _work(connection: Connection) -> None:
    """Carries out tasks until the other end of the pipe, our end of which is given, is closed.

    `prepare` comes through it, so that its libraries are imported after they know the number of
    threads.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.environ.update(_ONE_THREAD)
    exit_with_parent()
    prepare: Callable[[], Callable[[Any], Any]] | None = None
    carry_out: Callable[[Any], Any] | None = None
    while True:
        try:
            prepare = prepare or connection.recv()
            task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            carry_out = carry_out or prepare()
            result = carry_out(task)
        except ICapsError as error:
            result = error
        try:
            connection.send(result)
        except OSError:
            return


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes that are started meanwhile never see Ctrl-C, not even while they import."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
