"""`icaps explain --data` on many texts: speed, memory, and a run that is killed in the middle.

    python -m benchmarks.large_batches [--texts 1000000] [--data DATA] [--model FOLDER] [--json]

The texts are those of a data set, again and again, each after a running number, in a Parquet file.
They are explained twice: on one core by one process, and on two cores by two, which are killed
(kill -9, in the middle of the texts) and resumed. The two outputs must be the same bytes.

Memory is the resident memory of all processes of the command together, in which pages that they
share count several times. `until 100,000` is its peak until so many texts are done, and `peak` that
of the whole run, the joining of the parts included. Texts per second are those from the first
stored part to the last one, without the start of the processes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import show
from icaps.bulk.options import PART_ROWS
from icaps.bulk.parts import PartsFolder
from icaps.data.resolve import resolve
from icaps.data.unlabelled import open_unlabelled

ROOT = Path(__file__).resolve().parents[1]
EARLY = 100_000  # texts
INTERVAL = 0.25  # seconds between two looks at the processes
BATCH = 10_000  # texts that are written at a time


def write_texts(data: str, count: int, path: Path) -> None:
    """Writes the texts of a data set, again and again, until there are `count`."""
    place = resolve(data)
    repeated = chain.from_iterable(open_unlabelled(place, part=part) for part in _parts_forever())
    texts = (f"{number} {text}" for number, text in enumerate(islice(repeated, count)))
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        while batch := list(islice(texts, BATCH)):
            writer.write_table(pa.table({"text": batch}))


def _parts_forever() -> Iterator[str]:
    while True:
        yield from ("test", "train")


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and of all that it started, directly or not."""
    total = 0
    with suppress(OSError):  # it may end meanwhile
        total = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(map(resident_bytes, map(int, (task / "children").read_text().split())))
    return total


class Run:
    """One run of the command on some cores, watched from outside.

    Attributes:
        samples: Seconds since the start, rows that are done, and resident bytes.
    """

    def __init__(self, model: str, data: Path, out: Path, cores: Sequence[int]) -> None:
        self.samples: list[tuple[float, int, int]] = []
        self._folder = PartsFolder(out)
        self._cores = cores
        self._command = [sys.executable, "-m", "icaps", "explain", "--model", model]
        self._command += ["--data", str(data), "--out", str(out), "--jobs", str(len(cores))]

    def go(self, *options: str, kill_at: float = float("inf")) -> None:
        """Runs the command to its end, or kills it when `kill_at` rows are done."""
        started = time.monotonic()
        process = subprocess.Popen(
            [*self._command, *options],
            stderr=subprocess.PIPE,
            preexec_fn=partial(os.sched_setaffinity, 0, self._cores),
        )
        while process.poll() is None:
            rows = len(self._folder.done()) * PART_ROWS
            sample = time.monotonic() - started, rows, resident_bytes(process.pid)
            self.samples.append(sample)
            if rows >= kill_at:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return
            time.sleep(INTERVAL)
        if process.returncode:
            assert process.stderr is not None
            raise RuntimeError(process.stderr.read().decode())
        self.samples.append((time.monotonic() - started, 0, 0))

    def megabytes(self, rows: float = float("inf")) -> float:
        """The peak of the memory until so many rows are done."""
        return round(max(size for _, done, size in self.samples if done <= rows) / 1e6)

    @property
    def texts_per_second(self) -> float:
        """From the first sample with a new part to the one with the last."""
        growing = [after for before, after in pairwise(self.samples) if after[1] > before[1]]
        (start, first, _), (end, last, _) = growing[0], growing[-1]
        return round((last - first) / (end - start))

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return round(self.samples[-1][0], 1)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    content = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            content.update(block)
    return content.hexdigest()


def measure(model: str, data: str, count: int, folder: Path) -> dict[str, Any]:
    """All figures."""
    texts = folder / "texts.parquet"
    write_texts(data, count, texts)
    one, two = folder / "one.parquet", folder / "two.parquet"
    first, second = sorted(os.sched_getaffinity(0))[:2]
    unbroken = Run(model, texts, one, [first])
    unbroken.go()
    killed, resumed = (Run(model, texts, two, [first, second]) for _ in range(2))
    killed.go(kill_at=count / 2)
    rows_at_kill = len(PartsFolder(two).done()) * PART_ROWS
    resumed.go("--resume")
    figures = {
        "texts": pq.read_metadata(one).num_rows,
        "one_core_texts_per_second": unbroken.texts_per_second,
        "one_core_seconds": unbroken.seconds,
        "one_core_mb_until_100000": unbroken.megabytes(EARLY),
        "one_core_mb_peak": unbroken.megabytes(),
        "two_cores_texts_per_second": killed.texts_per_second,
        "two_cores_texts_per_second_resumed": resumed.texts_per_second,
        "two_cores_mb_until_100000": killed.megabytes(EARLY),
        "two_cores_mb_peak": max(killed.megabytes(), resumed.megabytes()),
        "texts_done_when_killed": rows_at_kill,
        "seconds_until_killed": killed.seconds,
        "seconds_resumed": resumed.seconds,
        "same_bytes": digest(one) == digest(two),
        "output_mb": round(one.stat().st_size / 1e6),
        "load": os.getloadavg()[1],
    }
    # Imported last, as it imports torch.
    from benchmarks.machine import machine

    return {**figures, "machine": machine()}


def main() -> None:
    """Runs the command and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--data", default="ag_news", help="a path or a name")
    parser.add_argument("--model", default=str(ROOT / "checkpoints" / "ag_news"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(measure(options.model, options.data, options.texts, Path(folder)), options.json)


if __name__ == "__main__":
    main()
