"""Which data the tools for assistants may read: some folders, and data sets that have a name."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from icaps.data.paths import exists, expand_user
from icaps.data.resolve import available, is_hub_name, resolve
from icaps.errors import DataError


def resolve_readable(data: str, folders: Sequence[Path]) -> Path:
    """As `icaps.data.resolve.resolve`, for data inside of some folders and for names.

    An assistant names what it was told to, perhaps by a text that it has read. So a file outside is
    refused before anything is read, and in the same words whether or not it exists.

    Args:
        data: A path, a pattern, the name of a data set, or owner/name on the Hub.
        folders: Those whose files may be read, links resolved.

    Raises:
        DataError: The data may not be read, does not exist or cannot be downloaded.
    """
    path = expand_user(data)
    is_name = data in {row.name for row in available()} or is_hub_name(data)
    if not (_inside(path, folders) or (is_name and not exists(path))):
        places = ", ".join(map(str, folders)) or "no folder: start `icaps mcp` with --data FOLDER"
        raise DataError(
            f"{data[:200]!r} may not be read. Name a data set of `icaps data list`, or a path in "
            f"{places}."
        )
    return resolve(data)


def _inside(path: Path, folders: Sequence[Path]) -> bool:
    """Whether what a path or a pattern names, and all links below, are inside of the folders."""
    try:
        named = [path]
        if not exists(path) and glob.has_magic(str(path)):
            named += map(Path, glob.iglob(str(path), recursive=True))  # noqa: PTH207
        roots = [folder.resolve() for folder in folders]
        if not all(_below(one, roots) for one in named):
            return False
        links = (child for one in named for child in one.rglob("*") if child.is_symlink())
        return all(_below(link, roots) for link in links)
    except (OSError, ValueError, RuntimeError):  # not a path, or a loop of links
        return False


def _below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.resolve().is_relative_to(root) for root in roots)
