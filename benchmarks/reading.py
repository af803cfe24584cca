"""Labelled texts per second that one core reads, by format.

    python -m benchmarks.reading [--rows 200000]

Processor time. For comparison, the csv and json modules alone are measured.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from icaps.data.check import check
from icaps.data.source import open_source

WORDS = (
    "the oil price rose again after talks in",
    "London,",
    "said",
    '"Reuters"',
    "as café owners",
)


def rows(count: int) -> Iterator[tuple[str, str]]:
    """Yields labels and texts of about 230 characters, as in AG's News."""
    rng = random.Random(1)
    for n in range(count):
        yield str(n % 4), f"{' '.join(rng.choices(WORDS, k=15))} {n}"


def write_files(folder: Path, count: int) -> dict[str, Path]:
    """Writes a file of these rows in each format; returns their paths."""
    paths = {name: folder / name for name in ("csv", "csv.gz", "jsonl", "json", "fasttext.txt")}
    for name, opener in (("csv", Path.open), ("csv.gz", gzip.open)):
        with opener(paths[name], "wt", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("label", "text"))
            writer.writerows(rows(count))
    objects = [json.dumps({"label": label, "text": text}) for label, text in rows(count)]
    paths["jsonl"].write_text("\n".join(objects))
    paths["json"].write_text(f"[{','.join(objects)}]")
    lines = (f"__label__{label} {text}\n" for label, text in rows(count))
    paths["fasttext.txt"].write_text("".join(lines), encoding="utf-8")
    labels, texts = zip(*rows(count), strict=True)
    table = pa.table({"label": labels, "text": texts})
    paths["parquet"] = folder / "parquet"
    pq.write_table(table, paths["parquet"])
    paths["arrow"] = folder / "arrow"
    with pa.ipc.new_file(paths["arrow"], table.schema) as writer:
        writer.write_table(table)
    return paths


def bare_csv(path: Path) -> Iterator[list[str]]:
    """Yields rows of the csv module alone."""
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.reader(file)


def bare_json(path: Path) -> Iterator[object]:
    """Yields objects of the json module alone."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def rate(read: Callable[[], Iterable[object]]) -> float:
    """Returns rows per second of processor time, the better of two readings."""
    rates = []
    for _ in range(2):
        started = time.process_time()
        count = sum(1 for _ in read())
        rates.append(count / (time.process_time() - started))
    return max(rates)


def main() -> None:
    """Writes the files, reads them, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), options.rows)
        rates = {name: rate(lambda path=path: open_source(path)) for name, path in paths.items()}
        rates["csv, the module alone"] = rate(lambda: bare_csv(paths["csv"]))
        rates["jsonl, json.loads alone"] = rate(lambda: bare_json(paths["jsonl"]))
        started = time.process_time()
        check(open_source(paths["csv"]))
        rates["csv, check"] = options.rows / (time.process_time() - started)
    if options.json:
        print(json.dumps({name: round(value) for name, value in rates.items()}))
        return
    print("| format | rows per second |\n|---|---|")
    for name, value in rates.items():
        print(f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
