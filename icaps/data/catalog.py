"""The seven data sets of the paper's Table 1 by name: found in a folder, or fetched."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from icaps.data.cache import DOWNLOADS, data_folder, make_ready, ready_folder
from icaps.data.layouts import find_layout
from icaps.data.reporting import SILENT, DownloadProgress
from icaps.errors import DataError

_POLARITY = ("negative", "positive")
_STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


@dataclass(frozen=True)
class Dataset:
    """A data set of Zhang et al. (2015), by the numbers of the paper's Table 1.

    Attributes:
        name: By which it is asked for.
        classes: Names in the order of the labels, which count from 0 at the Hub and from 1 in CSV.
        train_rows, test_rows: How many texts there are.
        archive: Stem of the archive of its CSV files.
        csv_columns: The text fields of a CSV row, after the class.
        hub: Name at the Hugging Face Hub; None where it isn't there, and `url` is fetched.
        hub_columns: Text columns of the parquet files, joined in this order.
        label_column: Their column of labels.
        url: Address of the archive, where there is no other source.
        escaped_line_ends: Whether a backslash and an "n" stand for a line end. AG's News has them
            before a word that starts with "n", as its line ends are a backslash alone.
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
        """How many texts each part has."""
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
        hub_columns=("text",),
        escaped_line_ends=False,
    ),
    Dataset(
        name="dbpedia",
        classes=(
            *("Company", "EducationalInstitution", "Artist", "Athlete", "OfficeHolder"),
            *("MeanOfTransportation", "Building", "NaturalPlace", "Village", "Animal", "Plant"),
            *("Album", "Film", "WrittenWork"),
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
        hub_columns=("text",),
    ),
    Dataset(
        name="yelp_full",
        classes=_STARS,
        train_rows=650_000,
        test_rows=50_000,
        archive="yelp_review_full_csv",
        csv_columns=("text",),
        hub="Yelp/yelp_review_full",
        hub_columns=("text",),
    ),
    Dataset(
        name="yahoo_answers",
        classes=(
            *("Society & Culture", "Science & Mathematics", "Health", "Education & Reference"),
            *("Computers & Internet", "Sports", "Business & Finance", "Entertainment & Music"),
            *("Family & Relationships", "Politics & Government"),
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
        DataError: There is none.
    """
    if name not in DATASETS:
        raise DataError(f"There is no data set {name!r}. Choose one of {', '.join(DATASETS)}.")
    return DATASETS[name]


def locate(name: str, folder: str | Path | None = None) -> Path | None:
    """The folder in which the data set's files are, normalised or as published, or None.

    Names of files are looked at alone; `prepare` checks what they hold.

    Args:
        name: One of DATASETS.
        folder: Looked in, and before in what it has under that name; without it, the cache folder
            and `data` in the current one are.

    Raises:
        DataError: There is no data set of that name.
    """
    dataset = get_dataset(name)
    places = [data_folder() / name, Path("data") / name]
    if folder is not None:
        places = [Path(folder) / name, Path(folder)]
    for place in places:
        ready = ready_folder(place)
        if ready or find_layout(place, dataset):
            return ready or place
    return None


def prepare(name: str, place: Path, progress: DownloadProgress = SILENT) -> Path:
    """The normalised folder in the cache, made of the files in `place` unless it is there.

    Returns:
        A folder with train.parquet, test.parquet (text, label from 0) and classes.txt.

    Raises:
        DataError: The files aren't there or aren't whole, or the cache folder can't be written.
    """
    dataset = get_dataset(name)
    todo = (
        f"Put the whole {name} there, or take it away to have it fetched, or use what is there by "
        f"its path: --data {place}"
    )

    def fill(folder: Path) -> None:
        with _advice(todo):
            _convert(dataset, place, folder, progress)

    return make_ready(data_folder() / name, fill, progress)


def fetch(name: str, progress: DownloadProgress = SILENT) -> Path:
    """The normalised folder in the cache, downloaded unless it is there.

    A download that was cut off goes on where it ended. Two processes may ask at once: one waits.
    Files that were put into the cache folder by hand are taken first.

    Returns:
        A folder with train.parquet, test.parquet (text, label from 0) and classes.txt.

    Raises:
        DataError: There is no data set of that name, it can't be downloaded or isn't what was
            published, or the cache folder can't be written.
    """
    dataset = get_dataset(name)
    home = data_folder() / name
    if find_layout(home, dataset):
        return prepare(name, home, progress)

    def fill(folder: Path) -> None:
        with _advice(_by_hand(dataset, home)):
            _download(dataset, home / DOWNLOADS, progress)
            try:
                _convert(dataset, home / DOWNLOADS, folder, progress)
            except DataError:
                shutil.rmtree(home / DOWNLOADS)  # so that the next call brings them again
                raise
            shutil.rmtree(home / DOWNLOADS)

    return make_ready(home, fill, progress)


def _download(dataset: Dataset, folder: Path, progress: DownloadProgress) -> None:
    from icaps.data.download import download, is_whole
    from icaps.data.remote import list_files

    if find_layout(folder, dataset):  # only the conversion was interrupted
        return
    files = list_files(dataset)
    _check_space(folder.parent, dataset.name, sum(file.size or 0 for file in files))
    for file in files:
        if not is_whole(folder / file.name, file):
            download(file, folder / file.name, progress)


def _check_space(folder: Path, name: str, size: int) -> None:
    """Room for the downloads, `size` bytes, and the normalised files, which take about as much."""
    free = shutil.disk_usage(folder).free
    if free < 2 * size:
        needs = f"{name} takes {2 * size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
        raise OSError(errno.ENOSPC, needs)


def _convert(dataset: Dataset, place: Path, folder: Path, progress: DownloadProgress) -> None:
    from icaps.data.convert import convert

    layout = find_layout(place, dataset)
    if layout is None:
        raise DataError(f"{place} has no files of a train and a test part.")
    progress.say(f"converting {dataset.name} from {place}")
    convert(layout, dataset, folder)


@contextmanager
def _advice(text: str) -> Iterator[None]:
    """Adds what to do to the message of an error."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{error} {text}") from error


def _by_hand(dataset: Dataset, home: Path) -> str:
    source = dataset.url
    parquet = ""
    if dataset.hub:
        source = "Zhang et al. 2015"
        parquet = (
            ", or all of the files train-*.parquet and test-*.parquet of "
            f"https://huggingface.co/datasets/{dataset.hub}"
        )
    return (
        f"To do without the download, put in {home} either {dataset.archive}.tar.gz ({source}), or "
        f"the files train.csv and test.csv from it{parquet}."
    )
