"""The cache folder: data sets, and artifacts that are computed once and then read from files.

KIND/KEY/ready/        the files of an artifact, or of a data set
         unfinished/   the same while they are written
         lock          held by the process that writes them
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from icaps.data.reporting import SILENT, ProgressReporter
from icaps.errors import DataError

FOLDER_SETTING = "ICAPS_DATA"
READY, UNFINISHED, DOWNLOADS = "ready", "unfinished", "download"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED = (OSError, EOFError, LookupError, TypeError, ValueError)
T = TypeVar("T")


def data_folder() -> Path:
    """The cache folder: ICAPS_DATA, or `icaps/data` in the user's cache folder."""
    setting = os.environ.get(FOLDER_SETTING)
    if setting:
        return Path(setting).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("icaps", appauthor=False) / "data"


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """An entry of the cache: a result that is computed once, and loaded from its files.

    Attributes:
        home: The folder of this result in the cache; see `artifact_home`.
        load_files: Function that loads the result from the folder of its files.
    """

    home: Path
    load_files: Callable[[Path], T]

    @property
    def exists(self) -> bool:
        """Whether the result is cached."""
        return ready_folder(self.home) is not None

    def load(self) -> T | None:
        """The result; None if it is not cached.

        Raises:
            DataError: Its files are damaged.
        """
        import pyarrow as pa  # not above: names of data sets are resolved without it

        folder = ready_folder(self.home)
        if folder is None:
            return None
        try:
            return self.load_files(folder)
        except (*_DAMAGED, pa.ArrowException) as error:
            raise DataError(
                f"{folder} can't be read ({error}). Delete the folder {self.home}, so that it is "
                "computed again."
            ) from error

    def make(self, fill: Callable[[Path], None], progress: ProgressReporter = SILENT) -> T:
        """The result, computed by `fill` unless it is cached; see `make_ready`.

        Raises:
            DataError: Its files are damaged, or the cache can't be written.
        """
        make_ready(self.home, fill, progress)
        result = self.load()
        if result is None:
            raise DataError(f"{self.home} was deleted meanwhile; try again.")
        return result


def artifact_home(kind: str, *key: Any) -> Path:
    """The folder of the cache for an artifact.

    Args:
        kind: The kind of the artifact: a folder of the cache.
        key: Everything on which the result depends, as plain values, and the version of its files.
    """
    digest = hashlib.sha256(json.dumps(key).encode("utf-8", "surrogatepass")).hexdigest()
    return data_folder() / kind / digest[:24]


def ready_folder(home: Path) -> Path | None:
    """The folder of the finished files in `home`; None if there is none."""
    ready = home / READY
    return ready if ready.is_dir() else None


def make_ready(
    home: Path, fill: Callable[[Path], None], progress: ProgressReporter = SILENT
) -> Path:
    """The folder of the finished files in `home`, filled unless it exists.

    Of several processes one fills it, and the others wait.

    Args:
        home: Folder of a data set or an artifact.
        fill: Function that writes the files to a new folder, which is then renamed to the finished
            one; if it raises an error, the folder is deleted.
        progress: Receives a line if this process waits for another one.

    Raises:
        DataError: `home` can't be written, or the disk is full.
    """
    ready = ready_folder(home)
    if ready:
        return ready
    with _writing(home), _exclusive(home, progress):
        if not ready_folder(home):
            with _new_folder(home) as folder:
                fill(folder)
    return home / READY


@contextmanager
def _exclusive(home: Path, progress: ProgressReporter) -> Iterator[None]:
    from filelock import FileLock, Timeout

    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say(f"waiting for another process that writes {home.name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raises DataError with advice if the system refuses to write to `folder`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DataError(
                f"The disk of {folder} is too full ({error.strerror}). Free some space there, or "
                f"name a folder on another disk in the environment variable {FOLDER_SETTING}."
            ) from error
        raise DataError(
            f"{folder} can't be used ({error}). Make it writable, or name another folder in the "
            f"environment variable {FOLDER_SETTING}."
        ) from error


@contextmanager
def _new_folder(home: Path) -> Iterator[Path]:
    """A folder to fill, which is renamed to the finished one at the end."""
    folder = home / UNFINISHED
    if folder.exists():  # left by a process that was killed; the lock is ours
        shutil.rmtree(folder)
    folder.mkdir()
    try:
        yield folder
        folder.rename(home / READY)
    except BaseException:
        shutil.rmtree(folder)
        raise
