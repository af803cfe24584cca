"""Other data sets of the Hugging Face Hub, through its `datasets` library if installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icaps.data.cache import data_folder, make_ready
from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.download import NETWORK_SETTING, offline
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.errors import DataError

_ROWS = 16_384  # rows in memory at once
# Splits of the Hub per part, in order of preference: the labels of a test split are often hidden.
_SPLITS = {"train": ("train",), "test": ("test", "validation")}


def load_dataset(name: str, progress: ProgressReporter = SILENT) -> Path:
    """Loads a data set by the `datasets` library to the cache, and returns its folder.

    The library's own settings apply, such as HF_ENDPOINT and HF_HOME; it executes no code from the
    Hub. A version that is in the cache is not converted again. If no test split has labels, the
    validation split becomes the test part.

    Args:
        name: `owner/name` on the Hub, or a folder with the files of one.
        progress: Receives a line if the validation split is used.

    Returns:
        A folder with train.parquet and test.parquet (text, label), as far as the data set has
        them, and classes.txt if it names its classes.

    Raises:
        DataError: The library is not installed, cannot load the data set, or has no part with a
            text and a label in it; the cache folder cannot be written; or downloads are forbidden
            and `name` is not a folder.
    """
    if offline() and not Path(name).is_dir():
        raise DataError(
            f"{_not_here(name)}{name} is not looked up on the Hub: {NETWORK_SETTING} forbids it. "
            "Give a file or a folder."
        )
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"{_not_here(name)}{name} can be read only with Hugging Face's library: "
            "pip install datasets"
        ) from error
    with _typed_errors(name):
        builder = datasets.load_dataset_builder(name)
    # The library's folder belongs to one version of one data set.
    version = hashlib.sha256(str(builder.cache_dir).encode()).hexdigest()[:12]
    home = data_folder() / "hub" / f"{Path(name).resolve().name}-{version}"

    def fill(folder: Path) -> None:
        with _typed_errors(name):
            builder.download_and_prepare()
            splits = builder.as_dataset()
        _write(splits, name, folder, progress)

    return make_ready(home, fill, progress)


@contextmanager
def _typed_errors(name: str) -> Iterator[None]:
    from datasets.exceptions import DatasetsError

    try:
        yield
    except (DatasetsError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise DataError(
            f"{_not_here(name)}Hugging Face's library cannot load {name} ({error}). Save it as "
            "train.parquet and test.parquet with the columns text and label, and give their folder."
        ) from error


def _not_here(name: str) -> str:
    """The start of a message: what looks like a name on the Hub may be meant as a path."""
    return "" if Path(name).exists() else f"There is no file or folder {name}. "


def _write(splits: Any, name: str, folder: Path, progress: ProgressReporter) -> None:
    written = {}
    for part, candidates in _SPLITS.items():
        for split in candidates:
            if split in splits and _write_part(splits[split], name, folder / f"{part}.parquet"):
                written[part] = split
                break
    if not written:
        raise DataError(
            f"{name} has the splits {', '.join(splits)}; none is a train, test or validation "
            "split with labels."
        )
    if written.get("test") == "validation":
        progress.say(f"{name} has no test split with labels; its validation split is used")


def _write_part(split: Any, name: str, file: Path) -> bool:
    """Writes text, label and class names; returns False, and writes none, if labels are hidden."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from datasets import ClassLabel

    from icaps.data.convert import write_class_names

    text, label = _columns(split.column_names, name)
    if isinstance(split.features[label], ClassLabel):
        highest = pc.max(split.data.column(label)).as_py()
        if highest is None or highest < 0:
            return False
        write_class_names(file.parent, split.features[label].names)
    fields = [split.data.schema.field(column) for column in (text, label)]
    schema = pa.schema([fields[0].with_name("text"), fields[1].with_name("label")])
    columns = split.select_columns([text, label]).with_format("arrow")
    with pq.ParquetWriter(file, schema) as writer:
        for table in columns.iter(_ROWS):
            writer.write_table(table.select([text, label]).rename_columns(["text", "label"]))
    return True


def _columns(present: list[str], name: str) -> tuple[str, str]:
    names = {column.lower(): column for column in present}
    text = next((names[column] for column in TEXT_COLUMNS if column in names), None)
    label = next((names[column] for column in LABEL_COLUMNS if column in names), None)
    if text is None or label is None:
        raise DataError(
            f"{name} has the columns {', '.join(present)}, none called text and label. Save it as "
            "train.parquet and test.parquet with such columns, and give their folder."
        )
    return text, label
