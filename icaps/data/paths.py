"""Paths as users write them: a name may be no possible path, or of a home that does not exist."""

from __future__ import annotations

from pathlib import Path

from icaps.errors import DataError


def expand_user(path: str | Path) -> Path:
    """The path with a leading ~ replaced by the home folder; unchanged without such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def exists(path: Path) -> bool:
    """Whether the file or folder exists; False for a name that is not a possible path."""
    try:
        return path.exists()
    except (OSError, ValueError):  # such as a name too long for the file system, or with a NUL
        return False


def check_regular(path: Path) -> None:
    """Raises DataError if the path is a folder, a pipe or a device, which may block a reader."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is not a regular file; remove it, or copy its content to one.")
