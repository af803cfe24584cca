"""Files that visitors upload, kept where a training in another process can read them.

uploads/HASH/NAME    the hash is of the content, so that a file is stored once under a name
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from icaps.data.cache import FOLDER_SETTING, data_folder
from icaps.data.problems import FileError
from icaps.data.streams import BLOCK, data_file
from icaps.errors import DataError

LIMIT = 10**9  # bytes of a file
UNPACKED_LIMIT = 4 * 10**9  # bytes of one that was compressed: ten times less is usual for texts
_ABANDONED = timedelta(days=1)  # the age of what a process that was killed left half written
LONGEST_NAME = 80  # bytes in UTF-8, far below any file system's 255
_HASH = re.compile(r"[0-9a-f]{32}")
_SUFFIXES = re.compile(r"(?:\.[A-Za-z0-9]{1,8}){0,2}\Z")  # format and compression
_FORBIDDEN = re.compile(r'[<>:"|?*]')  # in names of Windows; slashes are gone by then
# Names of devices there; and a file of this name would be read as the names of classes.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)|classes\.txt\Z", re.IGNORECASE)
_UNNAMED = "upload"


@dataclass(frozen=True)
class Upload:
    """A file that is kept: its safe name, its place, its size and since when (UTC)."""

    name: str
    path: Path
    bytes: int
    when: datetime


def keep_upload(
    name: str, content: BinaryIO, limit: int = LIMIT, unpacked_limit: int = UNPACKED_LIMIT
) -> Path:
    """Stores a file, whole or not at all, and says where; once for the same name and content.

    What it holds is not looked at but for its size: `open_source` says what it can't read, and why.

    Args:
        name: As the visitor's computer has it; `safe_name` says what is kept of it.
        content: All of it is read, from its start; it must be able to seek.
        limit: Most bytes of the file.
        unpacked_limit: Most bytes that it unpacks to, where it is compressed.

    Raises:
        DataError: It is empty, too large, or unpacks to too much; or it can't be written.
    """
    name, size = safe_name(name), content.seek(0, io.SEEK_END)
    if size == 0:
        raise DataError(f"{name!r} is empty (0 bytes); choose a file with texts and labels.")
    if size > limit:
        raise DataError(
            f"{name!r} has {_megabytes(size)}, and at most {_megabytes(limit)} are taken. Upload a "
            "part of it, or compress it."
        )
    target = _root() / _hash(content) / name
    if not target.is_file():
        with _writing(), _scratch() as scratch:
            _copy(content, scratch)
            _check_unpacked(name, scratch, unpacked_limit)
            target.parent.mkdir(exist_ok=True)
            scratch.replace(target)
    return target


def uploads() -> list[Upload]:
    """What is kept, the latest first.

    Raises:
        DataError: The folder can't be read.
    """
    with _writing():
        found = [
            _found(path)
            for path in _root().glob("*/*")
            if _HASH.fullmatch(path.parent.name) and not path.parent.is_symlink()
        ]
    kept = [upload for upload in found if upload]
    return sorted(kept, key=lambda upload: (upload.when, upload.name), reverse=True)


def delete_upload(path: Path) -> None:
    """Deletes a file that `uploads` lists, and no other.

    Raises:
        DataError: It is none of them, or can't be deleted.
    """
    if path not in [upload.path for upload in uploads()]:
        raise DataError(f"{path} is no upload (any more); choose one of those that are listed.")
    with _writing():
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


def delete_old(age: timedelta | None) -> int:
    """Deletes uploads that are older, and what a process that was killed left; how many uploads.

    Args:
        age: Since they were uploaded; None keeps all uploads.

    Raises:
        DataError: One can't be deleted.
    """
    now = datetime.now(timezone.utc)
    old = [] if age is None else [upload for upload in uploads() if now - upload.when > age]
    for upload in old:
        delete_upload(upload.path)
    with _writing():
        for path in _root().glob(".*"):
            about = _found(path)
            if about and now - about.when > _ABANDONED:
                path.unlink(missing_ok=True)
    return len(old)


def safe_name(name: str) -> str:
    """What is kept of a file's name: at most `LONGEST_NAME` bytes that any file system takes.

    It is the last part of a path of either kind, without characters that can't be seen and without
    leading dots. Suffixes, which tell format and compression, survive where it is cut.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    seen = "".join(c if c.isprintable() else " " for c in last)
    clean = _FORBIDDEN.sub("_", " ".join(seen.split())).rstrip(". ")
    suffixes = _SUFFIXES.search(clean)
    ending = suffixes[0] if suffixes else ""
    stem = clean.removesuffix(ending).strip(". ") or _UNNAMED
    if _RESERVED.match(stem + ending):
        stem = f"_{stem}"
    room = LONGEST_NAME - len(ending)
    return stem.encode()[:room].decode(errors="ignore").rstrip() + ending


def _root() -> Path:
    return (data_folder() / "uploads").absolute()


def _hash(content: BinaryIO) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for block in _blocks(content):
        digest.update(block)
    return digest.hexdigest()


def _copy(content: BinaryIO, path: Path) -> None:
    with path.open("wb") as file:
        for block in _blocks(content):
            file.write(block)


def _blocks(content: BinaryIO) -> Iterator[bytes]:
    content.seek(0)
    while block := content.read(BLOCK):
        yield block


def _check_unpacked(name: str, path: Path, limit: int) -> None:
    size = _unpacked_size(path, limit)
    if size > limit:
        raise DataError(
            f"{name!r} unpacks to {_megabytes(size)} or more, and at most {_megabytes(limit)} are "
            "taken. Upload a part of it."
        )


def _unpacked_size(path: Path, limit: int) -> int:
    """Bytes that a file unpacks to, counted until they pass the limit; 0 for one not compressed.

    A zip says its size; one that says too much isn't unpacked.
    """
    size = 0
    try:
        file = data_file(path)
        if file.compression == "zip":
            with zipfile.ZipFile(path) as archive:
                announced = sum(member.file_size for member in archive.infolist())
            if announced > limit:
                return announced
        for block in file.blocks() if file.compression else ():
            size += len(block)
            if size > limit:
                break
    except FileError:  # what can't be unpacked is no bomb; open_source tells what is wrong with it
        return size
    return size


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.3g} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"


def _found(path: Path) -> Upload | None:
    try:
        about = path.lstat()
    except FileNotFoundError:  # deleted by another visitor since it was listed
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    when = datetime.fromtimestamp(about.st_mtime, timezone.utc)
    return Upload(path.name, path, about.st_size, when)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A file beside the uploads, which is gone at the end unless it was renamed."""
    _root().mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", dir=_root())
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"The folder of uploads {_root()} can't be used ({error.strerror or error}). Free some "
            f"space there, make it writable, or name another folder in the environment variable "
            f"{FOLDER_SETTING}."
        ) from error
