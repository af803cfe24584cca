"""From what a user names, a file, a folder or a pattern, to the files that hold one part."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path

from icaps.data.formats.detect import SUFFIXES
from icaps.data.formats.plain import class_folders
from icaps.data.streams import COMPRESSED_SUFFIXES
from icaps.errors import DataError


def find_files(places: str | Path | Sequence[str | Path], part: str) -> list[Path]:
    """The files of that part, in order; a folder of texts by class stands for itself.

    Args:
        places: A file, a pattern such as "data/*.csv", or several of them, which are read whatever
            `part` is. Or a folder with a file of the part ("train.csv", "test.jsonl.gz",
            "train-00000-of-00002.parquet" and its like), or with a folder of it ("train/CLASS/*"),
            or with a folder a class, which is its train part.
        part: Such as "train" or "test".

    Raises:
        DataError: Nothing is there, or not all of it.
    """
    if not isinstance(places, (str, Path)):
        files = [file for place in places for file in find_files(place, part)]
        if not files:
            raise DataError("There is no file in an empty list; name one.")
        return files
    path = Path(places)
    if path.is_dir():
        if found := _in_folder(path, part):
            return found
        raise DataError(
            f"{path} has no {part} file; put {part} there as one of {', '.join(SUFFIXES)}, or as a "
            "folder with a folder of text files a class."
        )
    if path.exists():
        return [path]
    # Path.glob takes no absolute pattern.
    matching = map(Path, glob.glob(str(places), recursive=True))  # noqa: PTH207
    if found := sorted(path for path in matching if path.is_file()):
        return found
    raise DataError(f"There is no file or folder {places}.")


def has_part(place: str | Path, part: str) -> bool:
    """Whether `place` is a folder that holds this part.

    Raises:
        DataError: It holds some of its files, and their names say that there are more.
    """
    return Path(place).is_dir() and bool(_in_folder(Path(place), part))


def is_class_folder(path: Path) -> bool:
    """Whether `path` is a folder with a folder a class, which has no parts."""
    parts = any((path / part).is_dir() for part in ("train", "test"))
    return path.is_dir() and not parts and bool(class_folders(path))


def _in_folder(folder: Path, part: str) -> list[Path]:
    for suffix in SUFFIXES:
        for packed in ("", *COMPRESSED_SUFFIXES):
            file = folder / f"{part}{suffix}{packed}"
            if file.is_file():
                return [file]
            if shards := _shards(folder, part, suffix + packed):
                return shards
    if (folder / part).is_dir() and class_folders(folder / part):
        return [folder / part]
    if part == "train" and is_class_folder(folder):
        return [folder]
    return []


def _shards(folder: Path, part: str, suffix: str) -> list[Path]:
    pattern = re.compile(rf"{re.escape(part)}-\d+-of-(\d+){re.escape(suffix)}")
    files = sorted(file for file in folder.iterdir() if pattern.fullmatch(file.name))
    counts = {int(found[1]) for file in files if (found := pattern.fullmatch(file.name))}
    if files and counts != {len(files)}:
        raise DataError(
            f"{folder} has {len(files)} of the files {part}-...{suffix}, which say that there are "
            f"{' or '.join(map(str, sorted(counts)))}; put the others there."
        )
    return files
