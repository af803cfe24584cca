"""Whether files of other programs, encodings and vectors are read rightly, asked about or misread.

    python -m benchmarks.reading_faults [--files N] [--vectors N] [--seed N]

The oracle is the writer: each file is written from rows that are known, perhaps damaged, and read.
Prints the shares that were read rightly, asked about or stopped with a typed error, and misread; a
table over the commonest single-byte encodings; and the peak of memory. The exit code is 1 if
anything was misread, or raised another error.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import re
import resource
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from icaps.data.class_names import class_name
from icaps.data.source import open_source
from icaps.data.western import is_plainly_western
from icaps.errors import ICapsError
from icaps.text.vector_files import load_vectors
from tests.data.languages import ENCODINGS, SENTENCES

_PIECES = [
    *("rain fell on the hills", "dough must rest", "a, b; c|d", '"quoted"', "it's", "back\\slash"),
    *(
        "two\nlines",
        "of\r\nWindows",
        "a\ttab",
        "",
        " ",
        "\\N",
        "café",
        "中文",
        "😀",
        "=1+1",
        "\u2028",
    ),
    *("label", "1", "0.5", "nan", "2020-01-01 10:00", "http://example.org/x", "{}", "[1]", "#"),
]
_LABELS = [("sport", "money"), ("0", "1"), ("Café", "cafe"), ("2nd", "a b"), ("1.0", "2.0")]
Rows = list[tuple[str, str]]


def rows(draw: random.Random) -> Rows:
    """Random texts with one of two class names."""
    labels = draw.choice(_LABELS)
    count = draw.choice((2, 12, 60))
    return [
        (labels[n % 2], " ".join(draw.choices(_PIECES, k=draw.randrange(1, 6))) + f" {n}")
        for n in range(count)
    ]


def table(draw: random.Random, labelled: Rows) -> tuple[str, bytes]:
    """The rows as a program writes them, and a suffix."""
    kind = draw.choice(("csv", "tsv", "excel", "id", "headerless", "jsonl", "split", "table"))
    frame = pd.DataFrame(labelled, columns=["label", "text"])
    encoding = draw.choice(("utf-8", "utf-8-sig", "utf-16"))
    if kind in ("split", "table", "jsonl"):
        options = {"orient": "records", "lines": True} if kind == "jsonl" else {"orient": kind}
        return ".json" + "l" * (kind == "jsonl"), frame.to_json(**options).encode()
    stream = io.StringIO(newline="")
    delimiter = {"csv": ",", "tsv": "\t", "excel": ";"}.get(kind, ",")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=draw.choice(("\n", "\r\n")))
    header, extra = ["label", "text"], kind == "excel"
    for n, row in enumerate([header, *labelled] if kind != "headerless" else labelled):
        first = [("id", n)[n > 0]] if kind == "id" else []
        writer.writerow([*first, *row, *([""] * 2 if extra else [])])
    if extra:
        writer.writerow([""] * 4)
    return ".tsv" if kind == "tsv" else ".csv", stream.getvalue().encode(encoding)


def damaged(draw: random.Random, data: bytes) -> bytes:
    """The bytes with a part cut off at the end, as an interrupted copy leaves them."""
    return data[: draw.randrange(len(data) // 2, len(data))]


def files(count: int, draw: random.Random, folder: Path) -> Iterator[str]:
    """Yields the outcome of each file."""
    for n in range(count):
        labelled = rows(draw)
        suffix, data = table(draw, labelled)
        cut = draw.random() < 0.2
        path = folder / f"{n}{suffix}"
        path.write_bytes(damaged(draw, data) if cut else data)
        expected = [(_name(label), text) for label, text in labelled]

        def read(path: Path = path, expected: Rows = expected, cut: bool = cut) -> bool:
            found = [(_name(record.label), record.text) for record in open_source(path)]
            if cut:  # the last row may end anywhere
                return found[:-1] == expected[: max(len(found) - 1, 0)]
            return found == expected

        yield outcome(read, str(path))
        path.unlink()


def _name(label: str) -> str:
    return class_name(label).removesuffix(".0")


def vector_files(count: int, draw: random.Random, folder: Path) -> Iterator[str]:
    """Yields the outcome of each file of word vectors, some of which are damaged."""
    for n in range(count):
        words = [f"w{i}" for i in range(draw.choice((3, 200)))]
        dim = draw.choice((2, 5, 50))
        values = [[draw.randrange(-64, 64) / 32 for _ in range(dim)] for _ in words]
        header = f"{len(words)} {dim}\n".encode()
        if draw.random() < 0.3:
            body = b"".join(
                word.encode() + b" " + struct.pack(f"<{dim}f", *row) + b"\n"
                for word, row in zip(words, values, strict=True)
            )
            data = header + body
        else:
            lines = [
                f"{word} {' '.join(map(str, row))}\n".encode()
                for word, row in zip(words, values, strict=True)
            ]
            if draw.random() < 0.5:
                odd = draw.choice((b"\n", b"  1 2\n", b"odd 1,5\n", b"caf\xe9 1 2\n"))
                lines.insert(draw.randrange(len(lines)), odd)
            data = b"".join([header] * (draw.random() < 0.5) + lines)
        path = folder / f"{n}.vec"
        cut = draw.random() < 0.2
        path.write_bytes(damaged(draw, data) if cut else data)
        expected = dict(zip(words, values, strict=True))

        def read(
            path: Path = path, expected: dict[str, list[float]] = expected, cut: bool = cut
        ) -> bool:
            vectors = load_vectors(path)
            found = list(zip(vectors.index_to_key, vectors.vectors.tolist(), strict=True))
            whole = found[:-1] if cut else found  # the last number may end anywhere
            return all(expected.get(word) == row for word, row in whole)

        yield outcome(read, str(path))
        path.unlink()


def outcome(read: Callable[[], bool], what: str) -> str:
    """Whether a file was read rightly, asked about or stopped at, or misread."""
    try:
        right = read()
    except ICapsError:
        return "asked or stopped"
    except Exception as error:  # noqa: BLE001 (it is printed, and the exit code is 1)
        print(f"{what}: {error!r:.300}", file=sys.stderr)
        return "OTHER ERROR"
    return "right" if right else "MISREAD"


def encodings() -> Iterator[tuple[str, Counter[str]]]:
    """Yields the outcomes for sentences, and each three words, of the languages of an encoding."""
    for encoding, languages in ENCODINGS.items():
        counts: Counter[str] = Counter()
        for text in map(SENTENCES.__getitem__, languages):
            words = text.split()
            threes = (" ".join(words[n : n + 3]) for n in range(len(words) - 2))
            for piece in (text, text * 30, *re.split(r"(?<=[.!?…]) ", text), *threes):
                data = piece.encode(encoding, "ignore")
                if not data.isascii():
                    western = is_plainly_western(data)
                    right = western and data.decode("cp1252") == data.decode(encoding)
                    counts["right" if right else "MISREAD" if western else "asked"] += 1
        yield encoding, counts


def main() -> int:
    """Runs all parts and prints their outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--vectors", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for kind, outcomes in (
            ("files", files(options.files, draw, Path(name))),
            ("vectors", vector_files(options.vectors, draw, Path(name))),
        ):
            counts = Counter(outcomes)
            total += counts
            print(f"{kind}: {dict(counts)}")
    for encoding, counts in encodings():
        total += counts
        shares = (f"{counts[k] / counts.total():7.1%}" for k in ("right", "asked", "MISREAD"))
        print(f"{encoding:12}", *shares)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak of memory: {peak:,.0f} MB")
    return int(bool(total["MISREAD"] or total["OTHER ERROR"]))


if __name__ == "__main__":
    sys.exit(main())
