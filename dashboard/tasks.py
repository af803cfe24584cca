"""Commands of `icaps` that take minutes: each is a process of its own, started for a visitor."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from threading import Lock

import streamlit as st

from dashboard import quotas
from dashboard.bounded_dict import BoundedDict
from icaps.errors import RunError
from icaps.runs.jobs import environment, lower_priority

_TAIL = 2_000  # bytes of a log
_TASKS = 50  # entries of `started`
_starting = Lock()


class Task:
    """A command of `icaps` that was started.

    Its result is written to disk, whole or not at all, so nothing is lost when the server ends: the
    command continues, and a second start of it waits for the first.

    Raises:
        RunError: It can't be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the task exists)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "icaps", *arguments],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # such as an argument that no process takes
            raise RunError(f"The command can't be started ({error}).") from error
        lower_priority(self._process)

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it has ended without a result."""
        return self._process.poll() not in (None, 0)

    @property
    def last_line(self) -> str:
        """The last line of its log."""
        size = self._log.seek(0, 2)
        self._log.seek(max(0, size - _TAIL))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def stop(self) -> None:
        """Ends it; its partial result is deleted when it is started the next time."""
        self._process.terminate()


@st.cache_resource
def started() -> BoundedDict[tuple[str, ...], Task]:
    """The commands that this server has started, by their arguments."""
    return BoundedDict(_TASKS, droppable=lambda task: not task.running)


def start(arguments: tuple[str, ...]) -> None:
    """Starts a command.

    Raises:
        NotAllowedError: Too many are running.
        RunError: It can't be started.
    """
    with _starting:  # else two visitors could both start the last one that is allowed
        quotas.new_task(task.running for _, task in started().items())
        started().put(arguments, Task(arguments))
