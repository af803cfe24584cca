"""How many news-sized texts per second are tokenized and encoded to files, by number of processes.

    python -m benchmarks.encoding [--texts 100000]

Wall time, including the start of the processes. The texts have about 44 words, a few more than AG's
News. As there, all are ASCII and a third have damaged entities; a second set has "é" in nearly all.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from benchmarks.reading import rows
from icaps.config import ModelConfig
from icaps.text.vocabulary import Vocabulary
from icaps.train.token_store import write_tokens


def ascii_text(number: int, text: str) -> str:
    """The text as it might stand in AG's News."""
    text = text.replace("é", "e")
    return text if number % 3 else text.replace('"Reuters"', "quot;Reuters quot;")


def measure(name: str, texts: list[str]) -> None:
    """Encodes the same texts with one process and with one per core, and prints the rows."""
    started = time.perf_counter()
    vocabulary = Vocabulary.build(texts, 1)
    rate = len(texts) / (time.perf_counter() - started)
    print(f"| {name} | vocabulary | 1 | {rate:,.0f} |", flush=True)
    for workers in (1, os.cpu_count() or 1):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            write_tokens(texts, vocabulary, ModelConfig(), Path(folder), workers)
            rate = len(texts) / (time.perf_counter() - started)
        print(f"| {name} | encoding | {workers} | {rate:,.0f} |", flush=True)


def main() -> None:
    """Prints the table of both kinds of texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=100_000)
    texts = [text for _, text in rows(parser.parse_args().texts)]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process is one core
    print("| texts | step | processes | texts per second |\n|---|---|---|---|")
    measure("ASCII", [ascii_text(number, text) for number, text in enumerate(texts)])
    measure("with é", texts)


if __name__ == "__main__":
    main()
