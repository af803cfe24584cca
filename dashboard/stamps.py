"""Stamps of data: they change when it does, so what is kept of it is read anew."""

from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[tuple[str, int, int], ...]


def of_data(value: str) -> Stamp:
    """Changes when the file does, or the folder or a file right in it; empty for a name."""
    path = Path(value)
    if not path.exists():
        return ()
    return of_files((path, *(path.iterdir() if path.is_dir() else ())))


def of_files(paths: Iterable[Path]) -> Stamp:
    """Changes when one of the files does."""
    states = [(path, path.stat()) for path in paths]
    return tuple(sorted((str(path), state.st_size, state.st_mtime_ns) for path, state in states))
