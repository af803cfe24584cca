"""The corrections of a data set in the cache: one file of labels for each data set.

corrections/NAME-HASH.jsonl    see `label_file`

A slice, and texts that were selected, have those of the data set that they are from: corrections
belong to texts, wherever these are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from icaps.data.cache import data_folder
from icaps.data.label_file import EXPORTED, GivenLabel, LabelFile
from icaps.data.label_sets import label_set
from icaps.data.paths import exists
from icaps.data.saved_slices import origin_of
from icaps.data.source import open_source
from icaps.data.text_hash import text_hash
from icaps.errors import DataError

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")  # in the name of a file
_LONGEST = 40  # characters of the data's name in it
_MOST = 1_000_000  # texts of a file that is added


def corrected_data(value: str) -> str:
    """The data set whose corrections are those of some data: its own, or that of a slice.

    Args:
        value: A path or a name, as `--data` takes it.
    """
    seen = set[str]()
    while value not in seen:
        seen.add(value)
        value = origin_of(Path(value)) or value
    return value


def corrections_of(value: str) -> LabelFile:
    """The file of corrections of a data set, which exists once there is one.

    Args:
        value: A path or a name, as `--data` takes it.
    """
    own = corrected_data(value)
    path = Path(own)
    key = str(path.resolve()) if exists(path) else own
    name = _UNFIT.sub("-", path.name)[:_LONGEST].strip("-.") or "data"
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return LabelFile(data_folder() / "corrections" / f"{name}-{digest}.jsonl")


def delete_corrections(path: Path) -> None:
    """Deletes the corrections of data that is deleted, as they hold its texts.

    Args:
        path: The file or folder, which still exists.

    Raises:
        DataError: They cannot be deleted.
    """
    file = corrections_of(str(path))
    try:
        file.path.unlink(missing_ok=True)
        file.lock_path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{file.path} cannot be deleted ({error}).") from error


def read_corrections(path: Path, given: Mapping[int, str], by: str) -> Iterator[GivenLabel]:
    """The labels of a file, for the texts of a data set whose present label is another one.

    Args:
        path: A file of corrections, or labelled texts in a file of any format, as
            `LabelFile.to_bytes` writes them.
        given: The labels that the texts of the data set have, by the hashes of the texts.
        by: Who gave the labels, where the file does not say it.

    Raises:
        DataError: The file cannot be read, has none of these texts or too many texts, or has
            several labels per text where the data set has one, or the reverse.
    """
    several = bool(given) and label_set(next(iter(given.values()))) is not None
    count = known = 0
    for label in _labels_in(path, by):
        count += 1
        if count > _MOST:
            raise DataError(f"{path.name} has more than {_MOST:,} texts; correct fewer at a time.")
        before = given.get(text_hash(label.text))
        if before is None or not label.label:
            continue
        if (label_set(label.label) is not None) != several:
            raise DataError(
                f"{path.name} gives a text the label {label.label}, but the texts of this data set "
                + ("have several labels each." if several else "have one label each.")
            )
        known += 1
        if label.label != before:
            yield GivenLabel(label.text, label.label, before, label.by, label.time)
    if not known:
        raise DataError(f"{path.name} has none of the texts of this data set.")


def _labels_in(path: Path, by: str) -> Iterable[GivenLabel]:
    """The labels in a file of corrections, or in labelled texts."""
    table = _exported(path)
    if table is not None:
        return (GivenLabel(*row) for row in table.itertuples(index=False, name=None))
    try:
        labels = list(LabelFile(path).current().values())
    except DataError:  # it is no file of corrections
        labels = []
    if labels:
        return labels
    return (GivenLabel(text, label, by=by) for text, label in open_source(path).pairs())


def _exported(path: Path) -> pd.DataFrame | None:
    """A table that `LabelFile.to_bytes` wrote as CSV or Parquet; None for another file."""
    try:
        if path.suffix.lower() == ".csv":
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
        elif path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
        else:
            return None
    except (OSError, ValueError):  # which its reading as data explains
        return None
    if list(table.columns) != list(EXPORTED) or not table.map(lambda x: isinstance(x, str)).all(
        axis=None
    ):
        return None
    return table
