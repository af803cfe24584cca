"""Each of the seven data sets with a few texts, in every form in which it is published."""

import csv
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from icaps.data.catalog import DATASETS, Dataset

COUNTS = {"train": 3, "test": 2}  # texts per class


def small(name: str) -> Dataset:
    """The record of a data set with COUNTS texts per class."""
    dataset = DATASETS[name]
    classes = len(dataset.classes)
    return replace(dataset, train_rows=3 * classes, test_rows=2 * classes)


def fields(dataset: Dataset, part: str, columns: tuple[str, ...]) -> list[tuple[int, list[str]]]:
    """(label from 0, one text per column) of every row, with everything that is special in CSV."""
    rows = []
    for n in range(COUNTS[part] * len(dataset.classes)):
        label = n % len(dataset.classes)
        texts = [f'{part} {n}: a "quoted" {column}, naïve\\now' for column in columns]
        rows.append((label, texts))
    if len(columns) > 2:
        rows[0][1][1] = ""  # many questions have only a title
    return rows


def joined(dataset: Dataset, texts: list[str]) -> str:
    """The text that is expected after reading."""
    text = " ".join(text for text in texts if text)
    return text.replace("\\n", "\n") if dataset.escaped_line_ends else text


def csv_bytes(dataset: Dataset, part: str) -> bytes:
    """As Zhang et al. publish it: no header, classes from 1, quotes around all and doubled."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for label, texts in fields(dataset, part, dataset.csv_columns):
        writer.writerow([label + 1, *texts])
    return out.getvalue().encode()


def archive_bytes(dataset: Dataset) -> bytes:
    """The archive with its folder, its readme and its classes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(dataset.archive))
        files = {"readme.txt": b"of test.csv", "classes.txt": b"a\nb\n"}
        files |= {f"{part}.csv": csv_bytes(dataset, part) for part in ("test", "train")}
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{dataset.archive}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def parquet_bytes(
    dataset: Dataset, part: str, shard: int = 0, shards: int = 1, metadata: bytes = b""
) -> bytes:
    """A shard as on the Hub: its own columns and order, int64 labels, and one more column."""
    rows = fields(dataset, part, dataset.hub_columns)
    rows = rows[len(rows) * shard // shards : len(rows) * (shard + 1) // shards]
    columns = {"id": list(range(len(rows))), dataset.label_column: [label for label, _ in rows]}
    for n, column in enumerate(dataset.hub_columns):
        columns[column] = [texts[n] for _, texts in rows]
    table = pa.table(columns).replace_schema_metadata({"padding": metadata})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def hub_files(dataset: Dataset, shards: int = 1, padding: int = 0) -> dict[str, bytes]:
    """Content by path in the repository; the train part has `shards` shards."""
    files = {"data/test-00000-of-00001.parquet": parquet_bytes(dataset, "test")}
    for shard in range(shards):
        name = f"data/train-{shard:05d}-of-{shards:05d}.parquet"
        files[name] = parquet_bytes(dataset, "train", shard, shards, b"." * padding)
    return files


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Writes files below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
