"""Streams of bytes of a file, decompressed while they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO, cast

import pyarrow as pa

from icaps.data.problems import FileError

BLOCK = 1 << 18  # bytes read at once
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # one without members
}
_HIDDEN = ("__MACOSX", "Thumbs.db", "desktop.ini", "Icon\r")
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


@dataclass(frozen=True)
class DataFile:
    """A file as its decompressed bytes.

    `name` is that of the file, or of the member of a zip, without the suffix of the compression.
    """

    path: Path
    compression: str | None
    name: str

    @property
    def suffix(self) -> str:
        """The suffix of the format in lower case, such as ".csv"."""
        return PurePosixPath(self.name).suffix.lower()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Opens a stream of the decompressed bytes; it can seek only if nothing is compressed.

        Raises:
            FileError: It cannot be read, or its compressed content is damaged.
        """
        with self._typed_errors(), ExitStack() as stack:
            raw = stack.enter_context(self.path.open("rb"))
            yield stack.enter_context(_decompressed(raw, self.compression, stack))

    def blocks(self) -> Iterator[bytes]:
        """Yields the decompressed bytes in blocks of at most `BLOCK`, never empty ones.

        Raises:
            FileError: It cannot be read, or its compressed content is damaged.
        """
        with self.open() as stream:
            while block := stream.read(BLOCK):
                yield block

    def head(self) -> bytes:
        """The first block; empty for an empty file."""
        return next(self.blocks(), b"")

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """Opens a stream that can seek; compressed bytes go through a temporary file, not memory.

        Raises:
            FileError: It cannot be read, is damaged, or would fill half of the free disk.
        """
        if self.compression is None:
            with self.open() as stream:
                yield stream
            return
        with tempfile.TemporaryFile() as spool:
            left = shutil.disk_usage(tempfile.gettempdir()).free // 2
            for block in self.blocks():
                left -= len(block)
                if left < 0:
                    raise FileError(
                        "too large",
                        str(self.path),
                        f"decompressed it needs more than half of the free disk in "
                        f"{tempfile.gettempdir()}; decompress it yourself elsewhere.",
                    )
                spool.write(block)
            spool.seek(0)
            yield cast(BinaryIO, spool)

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGED as error:
            cause = isinstance(error, OSError) and error.strerror
            reason = f"it cannot be read ({cause or error}). "
            advice = "Copy or download it again." if self.compression else "Fix that first."
            raise FileError("unreadable file", str(self.path), reason + advice) from error


def is_hidden(path: PurePath) -> bool:
    """Whether a path inside a folder or an archive is a file that an operating system left."""
    return any(part.startswith(".") or part in _HIDDEN for part in path.parts)


def data_file(path: Path) -> DataFile:
    """Detects the compression of a file by its first bytes.

    Raises:
        FileError: It cannot be read, is not a regular file, or is a zip archive of more or less
            than one file.
    """
    if path.exists() and not path.is_file():  # reading a pipe or a device might never end
        reason = "it is not a regular file; copy its content to one."
        raise FileError("unreadable file", str(path), reason)
    plain = DataFile(path, None, path.name)
    with plain.open() as stream:
        start = stream.read(8)
    compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
    if compression is None:
        return plain
    if compression == "zip":
        with plain.open() as stream, zipfile.ZipFile(stream) as archive:
            return DataFile(path, compression, _only_member(path, archive).filename)
    name = path.name
    return DataFile(path, compression, name if path.suffix == "" else path.stem)


def _decompressed(raw: BinaryIO, compression: str | None, stack: ExitStack) -> BinaryIO:
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if compression == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    if compression == "zstd":
        stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
        return cast(BinaryIO, io.BufferedReader(stream))
    if compression == "zip":
        archive = stack.enter_context(zipfile.ZipFile(raw))
        return cast(BinaryIO, archive.open(_only_member(Path(raw.name), archive)))
    return raw


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not is_hidden(PurePosixPath(member.filename))
    ]
    names = [member.filename for member in members]
    if "[Content_Types].xml" in names:
        raise FileError(
            "binary file", str(path), "it is an Office document; save its sheet as CSV (UTF-8)."
        )
    if len(members) != 1:
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise FileError(
            "zip archive",
            str(path),
            f"it has {len(members)} files{f' ({listed})' if names else ''}; "
            "unpack it, or make an archive of a single file.",
        )
    if members[0].flag_bits & 1:
        raise FileError("zip archive", str(path), "it needs a password; unpack it first.")
    return members[0]
