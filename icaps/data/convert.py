"""Conversion of published files to the cached format: Parquet with text and label, checked."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from icaps.data.catalog import PARTS, Dataset, PublishedFiles
from icaps.data.encoding import lines, text_blocks
from icaps.data.formats.csv_rows import CsvRows
from icaps.data.problems import FileError, Problem
from icaps.data.streams import BLOCK, DataFile
from icaps.errors import DataError

SCHEMA = pa.schema({"text": pa.string(), "label": pa.int16()})
_ROWS = 16_384  # rows of a batch, and of a row group
# Exceptions of pyarrow, tarfile and gzip for damaged files.
_DAMAGED = (pa.ArrowException, OSError, EOFError, tarfile.TarError, zlib.error)


def convert(published: PublishedFiles, dataset: Dataset, folder: Path) -> None:
    r"""Writes train.parquet, test.parquet and classes.txt to a folder.

    The Parquet files have the columns `text` and `label` (from 0). Texts of several fields are
    joined by a space, and where the data set writes line ends as "\n" (a backslash and an n) they
    become line ends.

    Raises:
        DataError: A file is damaged or has other columns, or its rows or classes differ from the
            paper's Table 1.
        OSError: The folder cannot be written.
    """
    for part in PARTS:
        write_part(folder / f"{part}.parquet", _checked_batches(published, dataset, part))
    write_class_names(folder, dataset.classes)


def write_part(file: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes batches of SCHEMA to a Parquet file."""
    with pq.ParquetWriter(file, SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=_ROWS)


def write_class_names(folder: Path, classes: Iterable[str]) -> None:
    """Writes classes.txt, one name per line."""
    text = "".join(f"{name}\n" for name in classes)
    (folder / "classes.txt").write_text(text, encoding="utf-8")


def _checked_batches(
    published: PublishedFiles, dataset: Dataset, part: str
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a part in SCHEMA; raises at the end unless they are complete."""
    files, rows, labels = published.parts[part], 0, set[int | None]()
    read = _parquet_batches if published.suffix == ".parquet" else _csv_batches
    for file in files:
        try:
            for batch in read(file, dataset, part):
                rows += batch.num_rows
                labels.update(batch["label"].unique().to_pylist())
                yield batch
        except FileError as error:
            raise DataError(
                f"{error} The file cannot be read as {part} texts of {dataset.name}."
            ) from error
        except _DAMAGED as error:
            raise DataError(
                f"{file} cannot be read as {part} texts of {dataset.name} ({error})."
            ) from error
    _check_complete(dataset, part, files[0].parent, rows, labels)


def _check_complete(
    dataset: Dataset, part: str, place: Path, rows: int, labels: set[int | None]
) -> None:
    if rows != dataset.rows[part]:
        raise DataError(
            f"{place} has {rows:,} {part} texts, and the whole {dataset.name} has "
            f"{dataset.rows[part]:,}."
        )
    odd = labels.symmetric_difference(range(len(dataset.classes)))
    if odd:
        listed = ", ".join(sorted(map(str, odd)))
        raise DataError(
            f"{place}: the labels of the {part} texts are not the {len(dataset.classes)} classes "
            f"of {dataset.name}; these are missing or unknown: {listed} (counted from 0)."
        )


def _parquet_batches(file: Path, dataset: Dataset, part: str) -> Iterator[pa.RecordBatch]:
    # With pre_buffer the whole file would be held in memory.
    with pq.ParquetFile(file, pre_buffer=False) as source:
        texts, label = dataset.hub_columns, dataset.label_column
        present = source.schema_arrow.names
        if not {*texts, label} <= set(present):
            texts, label = ("text",), "label"
        if not {*texts, label} <= set(present):
            raise pa.ArrowInvalid(f"it has the columns {', '.join(present)}")
        for batch in source.iter_batches(_ROWS, columns=[*texts, label]):
            yield _normalized([batch[name] for name in texts], batch[label], dataset)


def _csv_batches(file: Path, dataset: Dataset, part: str) -> Iterator[pa.RecordBatch]:
    rows = _csv_rows(file, dataset, part)
    while batch := list(islice(rows, _ROWS)):
        labels, *texts = (pa.array(column, pa.string()) for column in zip(*batch, strict=True))
        label = pc.subtract(labels.cast(pa.int16()), pa.scalar(1, pa.int16()))  # to count from 0
        yield _normalized(texts, label, dataset)


def _csv_rows(file: Path, dataset: Dataset, part: str) -> Iterator[list[str]]:
    """Yields the class and the text fields of each row of a CSV file or of the archive."""
    source = DataFile(file, None, file.name)
    if file.suffix != ".csv":
        source = _ArchiveMember(file, "gzip", f"{part}.csv")
    width = 1 + len(dataset.csv_columns)
    text = lines(text_blocks(source, "utf-8"), str(file))
    reader = CsvRows(text, str(file), delimiter=",", quoted=True)
    for item in reader:
        if isinstance(item, Problem):
            raise FileError.of(item)
        if len(item[1]) != width:
            raise FileError.of(reader.ragged(item[1], width))
        yield item[1]


@dataclass(frozen=True)
class _ArchiveMember(DataFile):
    """The file `name` inside a .tar.gz archive, read in place: nothing is extracted to disk."""

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with (
            gzip.open(self.path) as stream,
            tarfile.open(fileobj=stream, mode="r:") as archive,
        ):
            for member in archive:
                inside = archive.extractfile(member)
                if inside is not None and PurePosixPath(member.name).name == self.name:
                    yield cast(BinaryIO, inside)
                    while stream.read(BLOCK):  # gzip compares its checksum at the very end
                        pass
                    return
        raise tarfile.ReadError(f"it has no {self.name}")


def _normalized(fields: list[pa.Array], label: pa.Array, dataset: Dataset) -> pa.RecordBatch:
    """A batch of SCHEMA: the text fields (rows,) that are not empty, joined by a space."""
    texts = [field.cast(pa.string()) for field in fields]
    texts = [pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text) for text in texts]
    text = pc.binary_join_element_wise(*texts, " ", null_handling="skip")
    if dataset.escaped_line_ends:
        text = pc.replace_substring(text, "\\n", "\n")
    return pa.RecordBatch.from_arrays([text, label.cast(pa.int16())], schema=SCHEMA)
