"""From what a user calls a data set to the file or folder that holds its texts."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from icaps.data import synthetic
from icaps.data.cache import ready_folder
from icaps.data.catalog import DATASETS, fetch, locate, prepare
from icaps.data.reporting import SILENT, DownloadProgress
from icaps.errors import DataError

_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_PART = re.compile(r"(train|test)\.\w+")


@dataclass(frozen=True)
class Available:
    """A data set that has a name, and where it is.

    Attributes:
        name: By which it is asked for.
        classes: Their names, in the order of the labels.
        train_rows, test_rows: How many texts there are.
        place: The folder with its files, which may wait to be converted; None: not here yet.
        synthetic: Whether its texts were made by a program, and not by people.
    """

    name: str
    classes: tuple[str, ...]
    train_rows: int
    test_rows: int
    place: Path | None
    synthetic: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        place = None if self.place is None else str(self.place)
        return {**asdict(self), "classes": list(self.classes), "place": place}


def available() -> list[Available]:
    """All data sets that have a name of their own here."""
    rows = [
        Available(name, data.classes, data.train_rows, data.test_rows, locate(name), False)
        for name, data in DATASETS.items()
    ]
    counts = synthetic.ROWS["train"], synthetic.ROWS["test"]
    place = ready_folder(synthetic.home())
    return [*rows, Available(synthetic.NAME, synthetic.CLASSES, *counts, place, True)]


def resolve(source: str | Path, progress: DownloadProgress = SILENT) -> Path:
    """The file or folder of a data set that is given as a path or by name.

    In this order: a path that exists; a name of the catalogue, found on this machine or fetched;
    "synthetic", made by a program; `owner/name` at the Hugging Face Hub, through the `datasets`
    library. A folder that only holds the Hub's numbered files is read through it, too.

    Raises:
        DataError: There is nothing of that name, or it can't be fetched or written.
    """
    path = Path(source)
    if not _exists(path):
        return by_name(str(source), progress)
    if _is_of_the_hub(path):
        from icaps.data import hub

        return hub.load(str(path), progress)
    return path


def by_name(name: str, progress: DownloadProgress = SILENT) -> Path:
    """The normalised folder of a named data set; see `resolve`.

    Raises:
        DataError: There is nothing of that name, or it can't be fetched or written.
    """
    if name in DATASETS:
        place = locate(name)
        return prepare(name, place, progress) if place else fetch(name, progress)
    if name == synthetic.NAME:
        progress.say("synthetic: its texts were made by a program, so it is no benchmark")
        return synthetic.make(progress)
    if is_hub_name(name):
        from icaps.data import hub

        return hub.load(name, progress)
    raise DataError(_unknown(name))


def is_hub_name(name: str) -> bool:
    """Whether this may be the name of a data set at the Hugging Face Hub."""
    # What names a file in a folder of this machine is a path with a mistake.
    return bool(_HUB_NAME.fullmatch(name)) and not Path(name).parent.is_dir()


def _unknown(name: str) -> str:
    known = [*DATASETS, synthetic.NAME]
    close = get_close_matches(name.lower().replace("-", "_"), known)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    return (
        f"There is no file or folder {name}, and no data set of that name. {hint}"
        f"Names are {', '.join(known)}, and owner/name at the Hugging Face Hub."
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name too long for the file system
        return False


def _is_of_the_hub(path: Path) -> bool:
    """Whether a folder has the Hub's numbered files, and none that is read without its library."""
    if not path.is_dir() or any(_PART.fullmatch(file.name) for file in path.iterdir()):
        return False
    return any(next(path.glob(f"{below}train-*.parquet"), None) for below in ("", "*/"))
