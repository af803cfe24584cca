"""The layouts in which the data sets are published, and where one of them lies in a folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icaps.data.catalog import Dataset

PARTS = ("train", "test")
# "train.parquet", or the Hub's "train-00000-of-00004.parquet", at times with a hash at its end.
_PARQUET = re.compile(r"(train|test)(?:-(\d{5})-of-(\d{5})(?:-\w+)?)?\.parquet")


@dataclass(frozen=True)
class Layout:
    """Files of the parts "train" and "test".

    In an archive both parts are the archive; of parquet, a part may be several files, in order.
    """

    parts: dict[str, tuple[Path, ...]]

    @property
    def suffix(self) -> str:
        """Of the files: ".parquet", ".csv", ".tgz" or ".gz"."""
        return self.parts["train"][0].suffix


def find_layout(folder: Path, dataset: Dataset) -> Layout | None:
    """The data set's published files in a folder, or None where a part of them isn't there.

    Looked for, in this order: parquet files, in the folder or in the one below it that the Hub
    puts them in; the CSV files of Zhang et al. (2015), in the folder or in the one that their
    archive makes; the archive.
    """
    if not folder.is_dir():
        return None
    for place in (folder, *(folder / name for name in _hub_folders(dataset))):
        parquet = whole_parts(file.name for file in place.glob("*.parquet"))
        if parquet:
            return Layout({part: tuple(place / name for name in parquet[part]) for part in PARTS})
    for place in (folder, folder / dataset.archive):
        train, test = (place / f"{part}.csv" for part in PARTS)
        if train.is_file() and test.is_file():
            return Layout({"train": (train,), "test": (test,)})
    for suffix in (".tar.gz", ".tgz"):
        archive = folder / f"{dataset.archive}{suffix}"
        if archive.is_file():
            return Layout(dict.fromkeys(PARTS, (archive,)))
    return None


def _hub_folders(dataset: Dataset) -> tuple[str, ...]:
    """Where the Hub has parquet files: folders by the name of the configuration."""
    return ("data", "plain_text", *(dataset.hub or "").split("/")[1:])


def whole_parts(names: Iterable[str]) -> dict[str, tuple[str, ...]] | None:
    """The parquet files of each part, from the first folder that has both parts whole.

    Args:
        names: Paths with forward slashes, relative to the data set's folder.
    """
    folders: dict[PurePosixPath, list[str]] = defaultdict(list)
    for name in sorted(names):
        folders[PurePosixPath(name).parent].append(name)
    for files in folders.values():
        parts = {part: _whole_part(files, part) for part in PARTS}
        if all(parts.values()):
            return parts
    return None


def _whole_part(files: list[str], part: str) -> tuple[str, ...]:
    """The one file of a part, or its shards in order; empty where a shard isn't there."""
    shards = {}
    for name in files:
        match = _PARQUET.fullmatch(PurePosixPath(name).name)
        if match is None or match[1] != part:
            continue
        if match[2] is None:
            return (name,)
        shards[int(match[2]), int(match[3])] = name
    count = max((count for _, count in shards), default=0)
    wanted = [(number, count) for number in range(count)]
    return tuple(shards[key] for key in wanted) if all(key in shards for key in wanted) else ()
