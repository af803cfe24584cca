"""Start trainings from the dashboard: their names, how many may run, and the same command."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dashboard import file_access, settings
from dashboard.model_registry import runs_folder
from icaps.cli.data_options import reading_options
from icaps.cli.request import read_arguments
from icaps.errors import ConfigError, RunError
from icaps.html import printable
from icaps.runs import jobs
from icaps.runs.folder import SNAPSHOTS, RunFolder
from icaps.train.result_warnings import ResultWarning, capsule_warning

LIMIT_SETTING = "ICAPS_JOBS"  # how many trainings may run at a time


def max_running() -> int:
    """How many trainings may run at a time: the environment variable, or else the settings.

    Raises:
        ConfigError: The environment variable is not such a number.
    """
    given = os.environ.get(LIMIT_SETTING) or str(settings.current().jobs)
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and int(given)):
        raise ConfigError(
            f"The environment variable {LIMIT_SETTING} is {given!r}; it must be a number of "
            "trainings, at least 1."
        )
    return int(given)


def free_name(wanted: str) -> str:
    """A name for a training, as close to the wanted one as is allowed and not taken."""
    base = "".join(c if jobs.NAME.fullmatch(f"a{c}") else "-" for c in wanted)[:50].strip("-. ")
    base, number = base or "model", 2
    name = base
    while (runs_folder() / name).exists():
        name, number = f"{base} {number}", number + 1
    return name


def command_line(arguments: Sequence[str]) -> str:
    """A command of `icaps` as it is typed in a shell."""
    return shlex.join(["python", "-m", "icaps", *arguments])


def data_of(model: Path) -> tuple[str, dict[str, Any]] | None:
    """The data that a model was trained on, and options of `open_source`; None if it is unknown.

    Raises:
        RunError: This iCaps does not know the command of the training.
    """
    request = RunFolder(model).request()
    if request is None:
        return None
    options = read_arguments(request.arguments)
    reading = corrections_for_command(reading_options(options), request.folder)
    return path_for_command(options.data, request.folder), reading


def watched_text(model: Path) -> str:
    """The text that the training of a model explains after each epoch; "" if there is none."""
    try:
        request = RunFolder(model).request()
        options = None if request is None else read_arguments(request.arguments)
    except RunError:
        return ""
    return str(getattr(options, "watch", ""))


def is_snapshot(record: Mapping[str, Any]) -> bool:
    """Whether a record has the capsules' counts of won texts, a row per class."""
    match record:
        case {"classes": [*classes], "frequency": [[*first], *others]}:
            rows = [first, *others]
            return len(rows) == len(classes) and all(
                isinstance(row, list)
                and len(row) == len(first) > 0
                and all(isinstance(count, int) and 0 <= count < 2**53 for count in row)
                for row in rows
            )
    return False


def capsule_warning_of(folder: RunFolder) -> ResultWarning | None:
    """What the capsules show after the last epoch of a training, by its validation texts."""
    snapshots = [record for record in folder.records(SNAPSHOTS) if is_snapshot(record)]
    if not snapshots:
        return None
    last = snapshots[-1]
    frequency = np.array(last["frequency"], dtype=np.int64)  # (J, I)
    return capsule_warning(frequency, [printable(str(name)) for name in last["classes"]])


def corrections_for_command(reading: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Options of `open_source` of a command that ran in `folder`, with an absolute path."""
    file = reading.get("corrections")
    return {**reading, "corrections": path_for_command(file, folder)} if file else dict(reading)


def path_for_command(value: str, folder: str) -> str:
    """What a command that ran in `folder` named: an absolute path, or a name as it is."""
    path = Path(folder, value)
    return str(path) if file_access.exists(path) else value
