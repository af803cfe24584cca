"""Atomic replacement of folders, and reading of JSON and text with typed errors."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icaps.errors import CheckpointError

COPY_AGAIN = "Copy the folder again from where it came, or train the model again."
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yields a new, empty folder that takes the place of `folder` if the block raises nothing."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield scratch
        _replace(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def updated_folder(folder: Path, written: Sequence[str]) -> Iterator[Path]:
    """Like `replaced_folder`, but all files other than `written` are carried over.

    They become hard links where the file system has these, so that a log that another process
    writes goes on.

    Raises:
        CheckpointError: The folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replaced_folder(folder) as scratch:
            if folder.exists():
                shutil.copytree(
                    folder,
                    scratch,
                    ignore=shutil.ignore_patterns(*written),
                    copy_function=_link_or_copy,
                    dirs_exist_ok=True,
                )
            yield scratch
    except OSError as error:
        raise CheckpointError(f"The checkpoint cannot be written to {folder}: {error}") from error


def check_regular_files(folder: Path) -> None:
    """Raises CheckpointError if the folder has a pipe or a device, which may block a reader."""
    for path in folder.rglob("*"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"{path} is not a regular file. {COPY_AGAIN}")


def write_json(value: dict[str, Any], path: Path) -> None:
    """Writes an object as indented JSON.

    Raises:
        OSError: The file cannot be written.
    """
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_text(path: Path) -> str:
    """The text of a file; CheckpointError if it is missing or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing. {COPY_AGAIN}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}). {COPY_AGAIN}") from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file; CheckpointError if it holds none."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged (it holds no object). {COPY_AGAIN}")
    return value


def _replace(scratch: Path, folder: Path) -> None:
    """Puts `scratch` in the place of `folder`; rename cannot replace a folder that isn't empty."""
    scratch.chmod(0o755)
    if not folder.exists():
        scratch.rename(folder)
    elif not _exchange(scratch, folder):  # if exchanged, `scratch` is the old folder, to be deleted
        old = folder.with_name(f"{scratch.name}-old")
        folder.rename(old)
        scratch.rename(folder)
        shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders in one system call; False where that is not possible (only Linux has it).

    A training replaces its folder after each epoch while other processes read it. With two renames
    there is a moment without the folder: a reader fails, and a training that is killed there is
    lost with its model and its state.
    """
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    paths = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
    return bool(rename(*paths, _RENAME_EXCHANGE) == 0)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # the file system has no hard links
        shutil.copy2(source, target)
