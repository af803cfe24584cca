"""Uploaded files of visitors, stored where a training in another process can read them.

uploads/HASH/NAME    a hash of the content, so that a file is stored once under each name

NAME is a file, or a folder with the files of a train and a test part.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from icaps.data.cache import FOLDER_SETTING, data_folder
from icaps.data.correction_files import delete_corrections
from icaps.data.formats.detect import SUFFIXES
from icaps.data.problems import FileError
from icaps.data.streams import BLOCK, COMPRESSED_SUFFIXES, data_file
from icaps.errors import DataError

LIMIT = 10**9  # bytes of a file
UNPACKED_LIMIT = 4 * 10**9  # bytes of a compressed one; texts usually have ten times less
_ABANDONED = timedelta(days=1)  # age of unfinished files of a process that was killed
LONGEST_NAME = 80  # bytes in UTF-8, far below any file system's 255
_HASH = re.compile(r"[0-9a-f]{32}")
_SUFFIXES = re.compile(r"(?:\.[A-Za-z0-9]{1,8}){0,2}\Z")  # format and compression
_FORBIDDEN = re.compile(r'[<>:"|?*]')  # in names on Windows; slashes are removed before
# Names of devices on Windows; and the file that would be read as class names.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)|classes\.txt\Z", re.IGNORECASE)
_UNNAMED = "upload"


@dataclass(frozen=True)
class Upload:
    """A stored file or folder: its safe name, its path, its size and the time of upload (UTC)."""

    name: str
    path: Path
    bytes: int
    when: datetime


def store_upload(
    name: str, content: BinaryIO, limit: int = LIMIT, unpacked_limit: int = UNPACKED_LIMIT
) -> Path:
    """Stores a file atomically, once for the same name and content.

    Only its size is checked here: `open_source` reports content that cannot be read.

    Args:
        name: Name on the visitor's computer, which `safe_name` cleans.
        content: A stream that can seek; it is read from its start.
        limit: Maximum size in bytes.
        unpacked_limit: Maximum size in bytes after decompression, if it is compressed.

    Returns:
        The path of the stored file.

    Raises:
        DataError: It is empty, too large, or too large after decompression; or it cannot be
            written.
    """
    name = safe_name(name)
    _check_size(name, content, limit)
    target = _root() / _hash(content) / name
    if not target.is_file():
        with _writing(), _scratch() as scratch:
            _copy(content, scratch)
            _check_unpacked(name, scratch, unpacked_limit)
            target.parent.mkdir(exist_ok=True)
            scratch.replace(target)
    return target


def store_parts(
    files: Mapping[str, tuple[str, BinaryIO]],
    limit: int = LIMIT,
    unpacked_limit: int = UNPACKED_LIMIT,
) -> Path:
    """Stores files as the parts of one data set, atomically, once for the same names and contents.

    Args:
        files: For each part, such as "train" and "test", a name and a content as for
            `store_upload`.
        limit, unpacked_limit: As for `store_upload`, for each file.

    Returns:
        The path of the folder, which `open_source` reads by its parts; it is named after the files.

    Raises:
        DataError: A file is empty or too large, or can't be written.
    """
    names = {part: safe_name(name) for part, (name, _) in files.items()}
    for part, (_, content) in files.items():
        _check_size(names[part], content, limit)
    hashes = [f"{part} {names[part]} {_hash(content)}" for part, (_, content) in files.items()]
    digest = hashlib.blake2b("\n".join(hashes).encode(), digest_size=16).hexdigest()
    folder = safe_name(" + ".join(name.split(".")[0] for name in names.values()))
    target = _root() / digest / folder
    if target.is_dir():
        return target
    with _writing():
        _root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=_root()) as scratch:
            filled = Path(scratch) / folder
            filled.mkdir()
            for part, (_, content) in files.items():
                path = filled / f"{part}{_data_suffix(names[part])}"
                _copy(content, path)
                _check_unpacked(names[part], path, unpacked_limit)
            target.parent.mkdir(exist_ok=True)
            if not target.is_dir():  # or stored by another visitor meanwhile
                filled.replace(target)
    return target


def is_upload(path: Path) -> bool:
    """Whether this is the path of a stored file or folder."""
    return path.parent.parent == _root() and bool(_HASH.fullmatch(path.parent.name))


def uploads() -> list[Upload]:
    """The stored files and folders, the latest first.

    Raises:
        DataError: The folder cannot be read.
    """
    with _writing():
        candidates = [
            _upload(path)
            for path in _root().glob("*/*")
            if _HASH.fullmatch(path.parent.name) and not path.parent.is_symlink()
        ]
    stored = [upload for upload in candidates if upload]
    return sorted(stored, key=lambda upload: (upload.when, upload.name), reverse=True)


def delete_upload(path: Path) -> None:
    """Deletes a file or folder that `uploads` lists, and no other, with its corrections.

    Raises:
        DataError: It is not listed, or cannot be deleted.
    """
    if path not in [upload.path for upload in uploads()]:
        raise DataError(f"{path} is not an upload (any more); choose a listed one.")
    delete_corrections(path)
    with _writing():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


def delete_old(age: timedelta | None) -> int:
    """Deletes uploads older than `age`, and unfinished files of processes that were killed.

    Args:
        age: Time since the upload; None keeps all uploads.

    Returns:
        The number of deleted uploads.

    Raises:
        DataError: One cannot be deleted.
    """
    now = datetime.now(timezone.utc)
    old = [] if age is None else [upload for upload in uploads() if now - upload.when > age]
    for upload in old:
        delete_upload(upload.path)
    with _writing():
        for path in _root().glob(".*"):
            unfinished = _upload(path)
            if unfinished and now - unfinished.when > _ABANDONED:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return len(old)


def safe_name(name: str) -> str:
    """A safe file name of at most `LONGEST_NAME` bytes that every file system accepts.

    It is the last part of a path of either kind, without invisible characters and leading dots.
    If it is cut, its suffixes (format and compression) stay.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    visible = "".join(c if c.isprintable() else " " for c in last)
    clean = _FORBIDDEN.sub("_", " ".join(visible.split())).rstrip(". ")
    suffixes = _SUFFIXES.search(clean)
    ending = suffixes[0] if suffixes else ""
    stem = clean.removesuffix(ending).strip(". ") or _UNNAMED
    if _RESERVED.match(stem + ending):
        stem = f"_{stem}"
    room = LONGEST_NAME - len(ending)
    return stem.encode()[:room].decode(errors="ignore").rstrip() + ending


def _check_size(name: str, content: BinaryIO, limit: int) -> None:
    size = content.seek(0, io.SEEK_END)
    if size == 0:
        raise DataError(f"{name!r} is empty (0 bytes); choose a file with texts and labels.")
    if size > limit:
        raise DataError(
            f"{name!r} has {_megabytes(size)}, and at most {_megabytes(limit)} are accepted. "
            "Upload a part of it, or compress it."
        )


def _data_suffix(name: str) -> str:
    """The suffixes by which a folder's parts are found; the format is detected by the content."""
    path = Path(name.lower())
    packed = path.suffix if path.suffix in COMPRESSED_SUFFIXES else ""
    suffix = Path(path.name.removesuffix(packed)).suffix
    return (suffix if suffix in SUFFIXES else ".txt") + packed


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
            "accepted. Upload a part of it."
        )


def _unpacked_size(path: Path, limit: int) -> int:
    """The decompressed size in bytes, counted up to the limit; 0 if not compressed.

    A zip archive states its size; one that states too much is not decompressed.
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
    except FileError:  # a file that cannot be unpacked is no bomb; open_source reports it
        return size
    return size


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.3g} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"


def _upload(path: Path) -> Upload | None:
    try:
        info = path.lstat()
        inside = list(path.iterdir()) if stat.S_ISDIR(info.st_mode) else []
    except FileNotFoundError:  # deleted by another visitor since it was listed
        return None
    if not stat.S_ISREG(info.st_mode) and not inside:
        return None
    size = sum(file.bytes for file in map(_upload, inside) if file) or info.st_size
    when = datetime.fromtimestamp(info.st_mtime, timezone.utc)
    return Upload(path.name, path, size, when)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Creates a file beside the uploads, which is deleted at the end unless it was renamed."""
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
            f"The folder of uploads {_root()} cannot be used ({error.strerror or error}). Free "
            f"some space there, make it writable, or name another folder in the environment "
            f"variable {FOLDER_SETTING}."
        ) from error
