"""The seven data sets of the paper's Table 1, and their published files in a folder.

A data set is published as the Hub's Parquet files, as the CSV files of Zhang et al. (2015), or as
the archive of these.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from icaps.errors import DataError

PARTS = ("train", "test")
# "train.parquet", or the Hub's "train-00000-of-00004.parquet", sometimes with a hash at its end.
_PARQUET = re.compile(r"(train|test)(?:-(\d{5})-of-(\d{5})(?:-\w+)?)?\.parquet")
_POLARITY = ("negative", "positive")
_STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


@dataclass(frozen=True)
class Dataset:
    """A data set of Zhang et al. (2015), with the numbers of the paper's Table 1.

    Attributes:
        name: The name that users give it.
        classes: Class names in the order of the labels, which start at 0 (Hub) or 1 (CSV).
        train_rows, test_rows: Number of texts.
        archive: Stem of the archive of its CSV files.
        csv_columns: Text fields of a CSV row, after the class.
        hub: Repository on the Hugging Face Hub; None if it is not there, then `url` is downloaded.
        hub_columns: Text columns of the Parquet files, joined in this order.
        label_column: Their label column.
        url: Address of the archive, if there is no other source.
        escaped_line_ends: Whether a backslash and an "n" stand for a line end. In AG's News a line
            end is a backslash alone, so that the two may also precede a word that starts with "n".
    """

    name: str
    classes: tuple[str, ...]
    train_rows: int
    test_rows: int
    archive: str
    csv_columns: tuple[str, ...]
    hub: str | None = None
    hub_columns: tuple[str, ...] = ("text",)
    label_column: str = "label"
    url: str = ""
    escaped_line_ends: bool = True

    @property
    def rows(self) -> dict[str, int]:
        """Number of texts per part."""
        return {"train": self.train_rows, "test": self.test_rows}


_ALL = (
    Dataset(
        name="ag_news",
        classes=("World", "Sports", "Business", "Sci/Tech"),
        train_rows=120_000,
        test_rows=7_600,
        archive="ag_news_csv",
        csv_columns=("title", "description"),
        hub="fancyzhx/ag_news",
        escaped_line_ends=False,
    ),
    Dataset(
        name="dbpedia",
        classes=(
            "Company",
            "EducationalInstitution",
            "Artist",
            "Athlete",
            "OfficeHolder",
            "MeanOfTransportation",
            "Building",
            "NaturalPlace",
            "Village",
            "Animal",
            "Plant",
            "Album",
            "Film",
            "WrittenWork",
        ),
        train_rows=560_000,
        test_rows=70_000,
        archive="dbpedia_csv",
        csv_columns=("title", "content"),
        hub="fancyzhx/dbpedia_14",
        hub_columns=("title", "content"),
        escaped_line_ends=False,
    ),
    Dataset(
        name="yelp_polarity",
        classes=_POLARITY,
        train_rows=560_000,
        test_rows=38_000,
        archive="yelp_review_polarity_csv",
        csv_columns=("text",),
        hub="fancyzhx/yelp_polarity",
    ),
    Dataset(
        name="yelp_full",
        classes=_STARS,
        train_rows=650_000,
        test_rows=50_000,
        archive="yelp_review_full_csv",
        csv_columns=("text",),
        hub="Yelp/yelp_review_full",
    ),
    Dataset(
        name="yahoo_answers",
        classes=(
            "Society & Culture",
            "Science & Mathematics",
            "Health",
            "Education & Reference",
            "Computers & Internet",
            "Sports",
            "Business & Finance",
            "Entertainment & Music",
            "Family & Relationships",
            "Politics & Government",
        ),
        train_rows=1_400_000,
        test_rows=60_000,
        archive="yahoo_answers_csv",
        csv_columns=("question_title", "question_content", "best_answer"),
        hub="community-datasets/yahoo_answers_topics",
        hub_columns=("question_title", "question_content", "best_answer"),
        label_column="topic",
    ),
    Dataset(
        name="amazon_polarity",
        classes=_POLARITY,
        train_rows=3_600_000,
        test_rows=400_000,
        archive="amazon_review_polarity_csv",
        csv_columns=("title", "content"),
        hub="fancyzhx/amazon_polarity",
        hub_columns=("title", "content"),
    ),
    Dataset(
        name="amazon_full",
        classes=_STARS,
        train_rows=3_000_000,
        test_rows=650_000,
        archive="amazon_review_full_csv",
        csv_columns=("title", "content"),
        url="https://s3.amazonaws.com/fast-ai-nlp/amazon_review_full_csv.tgz",
    ),
)
DATASETS = {dataset.name: dataset for dataset in _ALL}


def get_dataset(name: str) -> Dataset:
    """The data set of that name.

    Raises:
        DataError: It does not exist.
    """
    if name not in DATASETS:
        raise DataError(f"There is no data set {name!r}. Choose one of {', '.join(DATASETS)}.")
    return DATASETS[name]


@dataclass(frozen=True)
class PublishedFiles:
    """Published files per part, "train" and "test".

    In an archive both parts are the archive. A part may be several Parquet files, in order.
    """

    parts: dict[str, tuple[Path, ...]]

    @property
    def suffix(self) -> str:
        """Suffix of the files: ".parquet", ".csv", ".tgz" or ".gz"."""
        return self.parts["train"][0].suffix


def find_published(folder: Path, dataset: Dataset) -> PublishedFiles | None:
    """Finds the published files of a data set in a folder; None unless both parts are complete.

    Checked in this order, by file names alone: Parquet files, in the folder or in the subfolder
    that the Hub puts them in; CSV files, in the folder or in the one that the archive unpacks to;
    the archive.
    """
    if not folder.is_dir():
        return None
    hub_folders = ("data", "plain_text", *(dataset.hub or "").split("/")[1:])  # by configuration
    for place in (folder, *(folder / name for name in hub_folders)):
        parquet = complete_parts(file.name for file in place.glob("*.parquet"))
        if parquet:
            return PublishedFiles(
                {part: tuple(place / name for name in parquet[part]) for part in PARTS}
            )
    for place in (folder, folder / dataset.archive):
        train, test = (place / f"{part}.csv" for part in PARTS)
        if train.is_file() and test.is_file():
            return PublishedFiles({"train": (train,), "test": (test,)})
    for suffix in (".tar.gz", ".tgz"):
        archive = folder / f"{dataset.archive}{suffix}"
        if archive.is_file():
            return PublishedFiles(dict.fromkeys(PARTS, (archive,)))
    return None


def complete_parts(names: Iterable[str]) -> dict[str, tuple[str, ...]] | None:
    """The Parquet files per part, of the first folder in which both parts are complete.

    Args:
        names: Paths with forward slashes, relative to the data set's folder.
    """
    folders: dict[PurePosixPath, list[str]] = defaultdict(list)
    for name in sorted(names):
        folders[PurePosixPath(name).parent].append(name)
    for files in folders.values():
        parts = {part: _complete_part(files, part) for part in PARTS}
        if all(parts.values()):
            return parts
    return None


def _complete_part(files: list[str], part: str) -> tuple[str, ...]:
    """The single file of a part, or its shards in order; empty if a shard is missing."""
    shards = {}
    for name in files:
        match = _PARQUET.fullmatch(PurePosixPath(name).name)
        if match is None or match[1] != part:
            continue
        if match[2] is None:
            return (name,)
        shards[int(match[2]), int(match[3])] = name
    count = max((count for _, count in shards), default=0)
    keys = [(number, count) for number in range(count)]
    return tuple(shards[key] for key in keys) if all(key in shards for key in keys) else ()
