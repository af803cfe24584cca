"""The commands `icaps vectors show` and `icaps vectors build`."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.options import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = 100_000  # of a table that is built, if not stated
_SAMPLE = 20_000  # texts whose words are counted


def add_parser(commands: Commands) -> None:
    """Adds `icaps vectors` with its subcommands."""
    vectors = commands.add_parser("vectors", help="show or build tables of word vectors")
    actions = vectors.add_subparsers(metavar="ACTION", required=True)

    show = actions.add_parser("show", help="size of word vectors, and how much of texts they cover")
    show.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="as --vectors of icaps train; by default the English table that comes with iCaps",
    )
    show.add_argument("--data", metavar="DATA", help="training texts, as --data of icaps train")
    show.add_argument("--unlabelled", metavar="FILE", help="texts without labels")
    add_reading_options(show)
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(command=_show)

    build = actions.add_parser(
        "build", help="build a compact table: a byte per number, equal vectors stored once"
    )
    build.add_argument("source", metavar="SOURCE", help="as --vectors of icaps train")
    build.add_argument("--out", required=True, metavar="FILE", help="the table, such as own.npz")
    build.add_argument(
        "--words",
        type=int,
        default=_WORDS,
        metavar="N",
        help=f"the most frequent words that are taken ({_WORDS:,})",
    )
    build.add_argument(
        "--ranking",
        metavar="SOURCE",
        help="other vectors, in the order of whose words the words are taken; by default that of "
        "SOURCE",
    )
    build.set_defaults(command=_build)


def _show(options: argparse.Namespace) -> int:
    """Prints the size of each source and its coverage of the texts."""
    from icaps.text.coverage import vector_coverage
    from icaps.text.vector_files import ENGLISH, load_vectors
    from icaps.text.vectors import source_names

    counts = _count_words(options)
    for source in options.sources or [ENGLISH]:
        vectors = load_vectors(source, lambda line: print(line, file=sys.stderr))
        words = len(vectors.index_to_key)
        facts: dict[str, Any] = {"source": source, "words": words, "dim": vectors.vector_size}
        line = f"{source_names(source)}: {words:,} words, {vectors.vector_size} dimensions"
        if counts:
            coverage = vector_coverage(counts, [vectors.key_to_index], source_names(source))
            facts |= {"coverage": coverage.share, "missing": list(coverage.missing)}
            line += f"\n{coverage.advice}"
        print(json.dumps(facts) if options.json else line)
    return 0


def _count_words(options: argparse.Namespace) -> Counter[str]:
    from icaps.text.tokenizer import words_of

    counts: Counter[str] = Counter()
    for text in _texts(options):
        counts.update(words_of(text))
    return counts


def _texts(options: argparse.Namespace) -> Iterator[str]:
    from icaps.data.resolve import resolve
    from icaps.data.sample import draw_sample
    from icaps.data.source import open_source
    from icaps.data.unlabelled import open_unlabelled

    reading = reading_options(options)
    if options.data:
        source = open_source(resolve(options.data), "train", **reading)
        yield from draw_sample(source, _SAMPLE, float("inf")).texts
    if options.unlabelled:
        yield from open_unlabelled(options.unlabelled, text=options.text)


def _build(options: argparse.Namespace) -> int:
    """Builds a table and prints its size and SHA-256."""
    from icaps.errors import ConfigError, VectorsError
    from icaps.text.build_vectors import build_table
    from icaps.text.vector_files import load_vectors

    if options.words < 1:
        raise ConfigError(f"--words is {options.words}; it must be at least 1.")
    vectors = load_vectors(options.source)
    ranking = load_vectors(options.ranking).index_to_key if options.ranking else ()
    table = build_table(vectors, options.words, ranking)
    out = Path(options.out)
    try:
        table.save(out)
        content = out.read_bytes()
    except OSError as error:
        raise VectorsError(f"{out} cannot be written: {error.strerror}.") from error
    rows, dim = table.vectors.shape
    print(
        f"{out}: {len(table.words):,} words, {rows:,} rows of {dim} numbers, "
        f"{len(content) / 1e6:.1f} MB, SHA-256 {hashlib.sha256(content).hexdigest()}"
    )
    return 0
