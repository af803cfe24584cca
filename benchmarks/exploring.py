"""Time and memory of indexing and searching a large data set.

    python -m benchmarks.exploring [--rows 1000000] [--repeats] [--json]

The texts are synthetic: 40 words on average, with the word frequencies of English (Zipf), in four
classes with words of their own; one in a hundred is a near-copy of the preceding one. The index is
built in one process and searched in another, so that the memory of the second is what a dashboard
would need; the memory of the libraries alone is reported, too.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.machine import peak
from icaps.explore.index import load_index, make_index
from icaps.explore.near_duplicates import find_duplicates
from icaps.explore.search import Query, search

CLASSES, DIFFERENT, LENGTH = 4, 400_000, 40
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
QUERIES = {
    "a frequent word": Query(words="the"),
    "a rare word": Query(words="Fasufo"),
    "three words": Query(words="the of a"),
    "a plain pattern": Query(regex="fasufo"),
    "a pattern in any case": Query(regex=r"(?i)\bBO\w*\b.*\bba"),
    "a pattern that never matches": Query(regex=r"[0-9]{3}-[0-9]{4}"),
    "a class": Query(classes=("class 1",)),
    "all conditions": Query("the", r"\bba", ("class 1",), "train", 20, 60),
}
TIMES = 5  # measurements per search


def words() -> list[str]:
    """Different words, the most frequent first."""
    frequent = ["the", "of", "a", "and", "to", "in", ",", "is", "it", "was"]
    made = []
    for number in range(DIFFERENT - len(frequent)):
        word, rest = "", number + len(SYLLABLES)
        while rest:
            rest, syllable = divmod(rest, len(SYLLABLES))
            word += SYLLABLES[syllable]
        made.append(word.capitalize() if number % 7 == 6 else word)
    return frequent + made


def rows(count: int) -> Iterator[tuple[str, str]]:
    """Classes and texts."""
    rng = np.random.default_rng(1)
    vocabulary = np.array(words(), dtype=object)
    before = "the first text"
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        lengths = rng.poisson(LENGTH, size)
        ids = (DIFFERENT ** rng.random(lengths.sum())).astype(int) - 1
        ends = lengths.cumsum()
        labels = rng.integers(0, CLASSES, size)
        for label, end, length in zip(labels.tolist(), ends, lengths, strict=True):
            own = ids[end - length : end]
            own = np.where(own % 50 == 17, own // 200 * 4 + label, own)
            text = f"{' '.join(vocabulary[own])}."
            if rng.random() < 0.01:
                text = f"{before} Again"
            before = text
            yield f"class {label}", text


def write_files(folder: Path, count: int) -> None:
    """A train file of these rows, and a test file of a twentieth of them."""
    stream = rows(count)
    for part, size in (("train", count - count // 20), ("test", count // 20)):
        with (folder / f"{part}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("label", "text"))
            writer.writerows(row for _, row in zip(range(size), stream, strict=False))


def timed(action: Callable[[], object]) -> float:
    """The median time in seconds."""
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def memory() -> float:
    """The resident memory of this process in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def build(place: Path) -> dict[str, float]:
    """Builds the index: time, peak memory and size."""
    started = time.perf_counter()
    index = make_index(place, {})
    size = sum(file.stat().st_size for file in index.folder.iterdir())
    return {
        "index: seconds": time.perf_counter() - started,
        "index: MB at the peak": peak(),
        "index: MB on the disk": size / 1e6,
    }


def measure(place: Path, *, repeats: bool) -> dict[str, float]:
    """Opens the index and searches it: time and memory."""
    figures = {"libraries: MB": memory()}
    started = time.perf_counter()
    index = load_index(place, {})
    assert index is not None
    figures["open: seconds"] = time.perf_counter() - started
    figures["open: MB"] = memory()
    rng = np.random.default_rng(2)
    figures["random page of 50: seconds"] = timed(
        lambda: index.text(rng.integers(0, len(index), 50))
    )
    for name, query in QUERIES.items():
        started = time.perf_counter()
        count = len(search(index, query))
        figures[f"find {name}: first time, seconds"] = time.perf_counter() - started
        figures[f"find {name}: seconds"] = timed(lambda query=query: search(index, query))
        figures[f"find {name}: rows"] = count
    figures["search: MB at the peak"] = peak()
    if repeats:
        started = time.perf_counter()
        result = find_duplicates(index)
        figures["repeats: seconds"] = time.perf_counter() - started
        figures["repeats: near pairs in train"] = result.near["train"].total
        figures["repeats: MB at the peak"] = peak()
    return figures


def main() -> None:
    """Writes the files, indexes and searches them, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", action="store_true", help="also find duplicates")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--step", choices=("build", "search"), help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        place = options.place
        step = build(place) if options.step == "build" else measure(place, repeats=options.repeats)
        print(json.dumps(step))
        return
    figures: dict[str, float] = {"rows": options.rows}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.rows)
        environment = os.environ | {"ICAPS_DATA": str(Path(folder) / "cache")}
        for step in ("build", "search"):
            command = [sys.executable, "-m", "benchmarks.exploring", "--step", step]
            command += ["--place", folder, *(["--repeats"] if options.repeats else [])]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            figures |= json.loads(done.stdout)
    if options.json:
        print(json.dumps(figures))
        return
    print("| figure | value |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:,.3f} |" if value < 10 else f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
