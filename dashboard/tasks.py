"""Work on data that takes minutes, as a command in a process of its own, and how it goes."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence

from icaps.errors import RunError
from icaps.runs.jobs import environment, yield_to_others

_TAIL = 2_000  # bytes of a log


class Task:
    """A command of `icaps` that was started.

    What it makes is found on the disk, whole or not at all. So nothing is lost with the server: the
    command goes on, and when it is asked for again it waits for the first.

    Raises:
        RunError: It can't be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the task is kept)
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
        yield_to_others(self._process)

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it has ended without making anything."""
        return self._process.poll() not in (None, 0)

    @property
    def last_line(self) -> str:
        """What it said last."""
        size = self._log.seek(0, 2)
        self._log.seek(max(0, size - _TAIL))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def stop(self) -> None:
        """Ends it; what it had begun is cleared away when it is next asked for."""
        self._process.terminate()
