"""Where data sets are kept, and what makes writing there safe."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from icaps.data.reporting import SILENT, DownloadProgress
from icaps.errors import DataError

FOLDER_SETTING = "ICAPS_DATA"
# Folders inside the folder of a data set: of the normalised files, of those files while they are
# made, and of what was fetched until it is converted.
READY, UNFINISHED, DOWNLOADS = "ready", "unfinished", "download"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def data_folder() -> Path:
    """The folder of all data sets: ICAPS_DATA, else `icaps/data` where the system keeps caches."""
    setting = os.environ.get(FOLDER_SETTING)
    if setting:
        return Path(setting).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("icaps", appauthor=False) / "data"


def ready_folder(home: Path) -> Path | None:
    """The normalised files of the data set that lives in `home`, where they are made."""
    ready = home / READY
    return ready if ready.is_dir() else None


def make_ready(
    home: Path, fill: Callable[[Path], None], progress: DownloadProgress = SILENT
) -> Path:
    """The normalised files of the data set that lives in `home`, made unless they are there.

    Of several processes one makes them, and the others wait for it.

    Args:
        home: Folder of the data set.
        fill: Writes the normalised files to the folder that it is given, which becomes the ready
            one when it returns; a failure leaves nothing behind.
        progress: Told when another process is waited for.

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
def _exclusive(home: Path, progress: DownloadProgress) -> Iterator[None]:
    from filelock import FileLock, Timeout

    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say(f"waiting for another process that makes {home.name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Tells what to do when the system refuses to write in `folder`."""
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
    """A folder to fill, which becomes the ready one at the end."""
    folder = home / UNFINISHED
    if folder.exists():  # of a process that was killed: we hold the lock
        shutil.rmtree(folder)
    folder.mkdir()
    try:
        yield folder
        folder.rename(home / READY)
    except BaseException:
        shutil.rmtree(folder)
        raise
