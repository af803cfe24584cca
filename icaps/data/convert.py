"""Published files to the normalised ones: streamed, counted and checked."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from icaps.data.layouts import PARTS, Layout
from icaps.errors import DataError

if TYPE_CHECKING:
    from icaps.data.catalog import Dataset

SCHEMA = pa.schema({"text": pa.string(), "label": pa.int16()})
_ROWS = 16_384  # of a batch from parquet, and of a row group
_BLOCK = 8 << 20  # bytes of CSV in memory at once; longer than any text
# What pyarrow, tarfile and gzip raise for damaged files.
_DAMAGED = (pa.ArrowException, OSError, EOFError, tarfile.TarError, zlib.error)


def convert(layout: Layout, dataset: Dataset, folder: Path) -> None:
    """Writes train.parquet, test.parquet and classes.txt to a folder.

    The parquet files have the columns `text` and `label` (from 0). Texts of several fields are
    joined by a space, and line ends are as themselves where the data set escapes them.

    Raises:
        DataError: A file is damaged, has other columns, or not the rows and classes of the
            paper's Table 1.
        OSError: The folder can't be written.
    """
    for part in PARTS:
        write_part(folder / f"{part}.parquet", checked_batches(layout, dataset, part))
    write_classes(folder, dataset.classes)


def checked_batches(layout: Layout, dataset: Dataset, part: str) -> Iterator[pa.RecordBatch]:
    """The rows of a part by SCHEMA; the end is reached only where they are whole."""
    files, rows, labels = layout.parts[part], 0, set[int | None]()
    read = _parquet_batches if layout.suffix == ".parquet" else _csv_batches
    for file in files:
        try:
            for batch in read(file, dataset, part):
                rows += batch.num_rows
                labels.update(batch["label"].unique().to_pylist())
                yield batch
        except _DAMAGED as error:
            raise DataError(
                f"{file} can't be read as {part} texts of {dataset.name} ({error})."
            ) from error
    _check_whole(dataset, part, files[0].parent, rows, labels)


def write_part(file: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes batches of SCHEMA to a parquet file."""
    with pq.ParquetWriter(file, SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=_ROWS)


def write_classes(folder: Path, classes: Iterable[str]) -> None:
    """Writes classes.txt, a name a line."""
    text = "".join(f"{name}\n" for name in classes)
    (folder / "classes.txt").write_text(text, encoding="utf-8")


def _check_whole(
    dataset: Dataset, part: str, place: Path, rows: int, labels: set[int | None]
) -> None:
    if rows != dataset.rows[part]:
        raise DataError(
            f"{place} has {rows:,} {part} texts, and the whole {dataset.name} has "
            f"{dataset.rows[part]:,}."
        )
    odd = labels.symmetric_difference(range(len(dataset.classes)))
    if odd:
        shown = ", ".join(sorted(map(str, odd)))
        raise DataError(
            f"{place}: the labels of the {part} texts aren't the {len(dataset.classes)} classes "
            f"of {dataset.name}, by {shown} (counted from 0)."
        )


def _parquet_batches(file: Path, dataset: Dataset, part: str) -> Iterator[pa.RecordBatch]:
    # Buffering ahead would hold the whole file.
    with pq.ParquetFile(file, pre_buffer=False) as source:
        texts, label = dataset.hub_columns, dataset.label_column
        present = source.schema_arrow.names
        if not {*texts, label} <= set(present):
            texts, label = ("text",), "label"
        if not {*texts, label} <= set(present):
            raise pa.ArrowInvalid(f"it has the columns {', '.join(present)}")
        for batch in source.iter_batches(_ROWS, columns=[*texts, label]):
            yield _normalised([batch[name] for name in texts], batch[label], dataset)


def _csv_batches(file: Path, dataset: Dataset, part: str) -> Iterator[pa.RecordBatch]:
    columns = ("class", *dataset.csv_columns)
    with _open_csv(file, part) as source:
        reader = pyarrow.csv.open_csv(
            source,
            pyarrow.csv.ReadOptions(column_names=columns, block_size=_BLOCK),
            pyarrow.csv.ParseOptions(newlines_in_values=True),
            pyarrow.csv.ConvertOptions(
                column_types={"class": pa.int16(), **dict.fromkeys(columns[1:], pa.string())},
                strings_can_be_null=False,
            ),
        )
        with closing(reader):
            for batch in reader:
                label = pc.subtract(batch["class"], pa.scalar(1, pa.int16()))
                yield _normalised([batch[name] for name in columns[1:]], label, dataset)


@contextmanager
def _open_csv(file: Path, part: str) -> Iterator[IO[bytes]]:
    if file.suffix == ".csv":
        with file.open("rb") as source:
            yield source
        return
    # Read in place, and never extracted.
    with gzip.open(file) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for member in archive:
            inside = archive.extractfile(member)
            if inside is not None and PurePosixPath(member.name).name == f"{part}.csv":
                yield inside
                while stream.read(_BLOCK):  # gzip compares its checksum at the very end
                    pass
                return
    raise tarfile.ReadError(f"it has no {part}.csv")


def _normalised(fields: list[pa.Array], label: pa.Array, dataset: Dataset) -> pa.RecordBatch:
    """Fields (rows,) joined by a space, without the empty ones, and the label, by SCHEMA."""
    fields = [field.cast(pa.string()) for field in fields]
    kept = [
        pc.if_else(pc.equal(field, ""), pa.scalar(None, pa.string()), field) for field in fields
    ]
    text = pc.binary_join_element_wise(*kept, " ", null_handling="skip")
    if dataset.escaped_line_ends:
        text = pc.replace_substring(text, "\\n", "\n")
    return pa.RecordBatch.from_arrays([text, label.cast(pa.int16())], schema=SCHEMA)
