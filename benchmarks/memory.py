"""Peak memory of `icaps train` on a small and on a large file; it must not grow with the data.

    python -m benchmarks.memory [--lines 100000 2000000] [--json]

Each training runs in its own process, from reading the file to saving the model, with one epoch of
a very small network, so that the memory of the network does not hide that of the data. Resident
memory is that of the largest process; the processes that encode texts are counted separately.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETTINGS = ("epochs=1", "batch_size=2048", "fixed_dim=0", "region_dim=16", "kernel_size=1")
CLASSES, WORDS_OF_A_CLASS, WORDS_OF_A_TEXT = 4, 1_000, 10


def write_texts(path: Path, lines: int) -> None:
    """Writes a CSV file of labelled texts; neighbouring classes share words."""
    rng = random.Random(1)
    words = [f"w{number}" for number in range((CLASSES + 1) * WORDS_OF_A_CLASS)]
    with path.open("w", encoding="utf-8") as file:
        file.write("label,text\n")
        for _ in range(lines):
            label = rng.randrange(CLASSES)
            first = label * WORDS_OF_A_CLASS
            text = rng.choices(words[first : first + 2 * WORDS_OF_A_CLASS], k=WORDS_OF_A_TEXT)
            file.write(f"{label},{' '.join(text)}\n")


def train(lines: int) -> tuple[float, float]:
    """Peak memory in megabytes, and seconds, of a training on so many lines."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_texts(folder / "texts.csv", lines)
        command = [sys.executable, "-m", "icaps", "train", "--data", str(folder / "texts.csv")]
        command += ["--out", str(folder / "model")]
        command += [word for setting in SETTINGS for word in ("--set", setting)]
        started = time.perf_counter()
        process = subprocess.Popen(command, env=os.environ | {"ICAPS_DATA": str(folder / "cache")})
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise RuntimeError("the training failed")
        return usage.ru_maxrss / 1024, time.perf_counter() - started


def main() -> None:
    """Trains on each number of lines and prints the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    if not options.json:
        print("| lines | peak, MB | against the first | seconds |\n|---|---|---|---|")
    for lines in options.lines:
        peak, seconds = train(lines)
        rows.append({"lines": lines, "peak_mb": round(peak, 1), "seconds": round(seconds, 1)})
        if not options.json:
            growth = rows[-1]["peak_mb"] / rows[0]["peak_mb"] - 1
            print(f"| {lines:,} | {peak:.0f} | {growth:+.1%} | {seconds:.0f} |", flush=True)
    # Imported last, as it imports torch: the peak of a child process includes that of its parent.
    from benchmarks.machine import machine

    if options.json:
        print(json.dumps({"machine": machine(), "rows": rows}))
    else:
        print(f"\n{machine()}")


if __name__ == "__main__":
    main()
