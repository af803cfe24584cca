"""How many news-sized texts a second are split into words and encoded to files, by processes.

    python -m benchmarks.encoding [--texts 100000]

Wall time, with the start of the processes; the texts have about 38 words, as in AG's News.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from benchmarks.reading import rows
from icaps.config import ModelConfig
from icaps.corpus_files import write_corpus
from icaps.text import Vocabulary


def main() -> None:
    """Encodes the same texts with one process and with one a core, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=100_000)
    count = parser.parse_args().texts
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process is one core
    started = time.perf_counter()
    vocabulary = Vocabulary.build((text for _, text in rows(count)), 1)
    print("| step | processes | texts a second |\n|---|---|---|")
    print(f"| vocabulary | 1 | {count / (time.perf_counter() - started):,.0f} |")
    texts = [text for _, text in rows(count)]
    for workers in (1, os.cpu_count() or 1):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            write_corpus(texts, vocabulary, ModelConfig(), Path(folder), workers)
            rate = count / (time.perf_counter() - started)
        print(f"| encoding | {workers} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
