"""Search for the files of a part: from a path (a file, a folder or a pattern) to files."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path

from icaps.data.formats.detect import SUFFIXES
from icaps.data.formats.plain import class_folders
from icaps.data.paths import expand_user
from icaps.data.streams import COMPRESSED_SUFFIXES
from icaps.errors import DataError


def find_files(places: str | Path | Sequence[str | Path], part: str) -> list[Path]:
    """Finds the files of a part, in order; for a folder of texts by class, the folder itself.

    Args:
        places: A file, a pattern such as "data/*.csv", or several of them, which are read whatever
            `part` is. Or a folder with a file of the part ("train.csv", "test.jsonl.gz",
            "train-00000-of-00002.parquet" and its like), with a folder of it ("train/CLASS/*"), or
            with a subfolder per class, which is its train part.
        part: Name of the part, such as "train" or "test".

    Raises:
        DataError: They do not exist, or some are missing.
    """
    if not isinstance(places, (str, Path)):
        files = [file for place in places for file in find_files(place, part)]
        if not files:
            raise DataError("The list of files is empty; name one.")
        return files
    path = expand_user(places)
    if path.is_dir():
        if files := _in_folder(path, part):
            return files
        raise DataError(
            f"{path} has no {part} file; put {part} there as one of {', '.join(SUFFIXES)}, or as a "
            "folder with a subfolder of text files per class."
        )
    if path.exists():
        return [path]
    # Path.glob takes no absolute pattern.
    matching = map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207
    if files := sorted(path for path in matching if path.is_file()):
        return files
    raise DataError(f"There is no file or folder {places}.")


def has_part(place: str | Path | Sequence[str | Path], part: str) -> bool:
    """Whether `place` is a folder with this part; several places are none.

    Raises:
        DataError: The folder has some shards of the part, but not all.
    """
    if not isinstance(place, (str, Path)):
        return False
    folder = expand_user(place)
    return folder.is_dir() and bool(_in_folder(folder, part))


def is_class_folder(path: Path) -> bool:
    """Whether `path` is a folder with a subfolder per class, and without parts."""
    parts = any((path / part).is_dir() for part in ("train", "test"))
    return path.is_dir() and not parts and bool(class_folders(path))


def _in_folder(folder: Path, part: str) -> list[Path]:
    if (folder / "dataset_dict.json").is_file():  # of `DatasetDict.save_to_disk`
        return _saved(folder / part)
    if (folder / "state.json").is_file():
        return _saved(folder) if part == "train" else []
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
    counts = {int(match[1]) for file in files if (match := pattern.fullmatch(file.name))}
    if files and counts != {len(files)}:
        raise DataError(
            f"{folder} has {len(files)} of the files {part}-...{suffix}, of which there should "
            f"be {' or '.join(map(str, sorted(counts)))}; add the others."
        )
    return files


def _saved(folder: Path) -> list[Path]:
    """The files of a data set that the `datasets` library saved; empty if there is none."""
    return _shards(folder, "data", ".arrow") if folder.is_dir() else []
