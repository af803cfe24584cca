"""The settings of a labelling task, a JSON file that is replaced as a whole."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from icaps.data.class_names import class_name
from icaps.data.plain_json import parse_json
from icaps.errors import DataError

SETTINGS = "task.json"
_VERSION = 1


@dataclass(frozen=True)
class TaskSettings:
    """The settings of a task.

    Attributes:
        classes: Names of the classes, in the order in which they were named.
        several: Whether a text may have several classes.
        held_out: Ids of the held-out texts, in the order in which they are labelled.
        seed: Seed of the draw and of random orders.
        source: The name or path of the data; empty for texts in memory.
        created: When, as ISO 8601 in UTC.
        version: Of the files.
    """

    classes: tuple[str, ...]
    several: bool
    held_out: tuple[int, ...]
    seed: int
    source: str
    created: str
    version: int = _VERSION

    @classmethod
    def read(cls, folder: Path) -> TaskSettings:
        """Reads the settings of a task.

        Raises:
            DataError: They cannot be read, or are of a later version.
        """
        path = folder / SETTINGS
        try:
            plain = parse_json(path.read_text(encoding="utf-8"))
            plain |= {name: tuple(plain[name]) for name in ("classes", "held_out")}
            settings = cls(**plain)
            settings.check()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} cannot be read ({error}).") from error
        if settings.version != _VERSION:
            raise DataError(f"{path} is of another version of iCaps ({settings.version}).")
        return settings

    def check(self) -> None:
        """Raises TypeError or ValueError if a value is no possible one of its attribute."""
        types = (
            *((name, str) for name in (*self.classes, self.source, self.created)),
            *((number, int) for number in (*self.held_out, self.seed)),
            (self.several, bool),
        )
        for value, kind in types:
            if type(value) is not kind:
                raise TypeError(f"{str(value)[:50]!r} is not of type {kind.__name__}")
        if self.seed < 0:
            raise ValueError("its seed is negative")

    def write(self, folder: Path) -> None:
        """Writes or replaces the settings of a task.

        Raises:
            OSError: The folder cannot be written.
        """
        scratch = folder / f".{SETTINGS}.{os.getpid()}"
        scratch.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")
        scratch.replace(folder / SETTINGS)


def add_class(folder: Path, name: str) -> None:
    """Adds a class to the settings of a task.

    Raises:
        DataError: The name is empty, has a line end, or exists; or the file cannot be written.
    """
    name = checked_name(name)
    try:
        with FileLock(folder / f".{SETTINGS}.lock"):
            settings = TaskSettings.read(folder)
            if name in settings.classes:
                raise DataError(f"There is a class {name!r} already.")
            dataclasses.replace(settings, classes=(*settings.classes, name)).write(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}).") from error


def checked_name(name: str) -> str:
    """A class name as data sets have it.

    Raises:
        DataError: It is empty, or has a line end.
    """
    checked = class_name(name)
    if not checked or "\n" in checked or "\r" in checked:
        raise DataError(f"A class cannot be called {name!r}; give it a name of one line.")
    return checked
