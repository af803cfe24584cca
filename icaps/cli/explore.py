"""The `icaps explore` command: statistics of a data set, search, duplicates, neighbours."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands
from icaps.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from icaps.cli.progress import Progress
    from icaps.explore.index import Index
    from icaps.explore.search import Query
_BATCH = 50  # rows in memory at a time


def add_parser(commands: Commands) -> None:
    """Adds `icaps explore`."""
    parser = commands.add_parser(
        "explore", help="statistics of a data set of any size, and a search for rows in it"
    )
    parser.add_argument("data", metavar="DATA", help="a data set, as --data of icaps train")
    add_reading_options(parser)
    parser.add_argument(
        "--words", default="", metavar="WORDS", help="words that a text contains, ignoring case"
    )
    parser.add_argument(
        "--regex",
        default="",
        metavar="PATTERN",
        help="a regular expression (RE2) that matches in the text",
    )
    parser.add_argument(
        "--class",
        action="append",
        default=[],
        dest="classes",
        metavar="NAME",
        help="class of the rows; repeat it for rows with one of several classes",
    )
    parser.add_argument("--split", default="", metavar="NAME", help="split: train or test")
    parser.add_argument("--fewest-words", type=int, metavar="N", help="least number of words")
    parser.add_argument("--most-words", type=int, metavar="N", help="largest number of words")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="rows to print (20)")
    parser.add_argument(
        "--save", metavar="NAME", help="save all matching rows as a data set of that name"
    )
    parser.add_argument(
        "--repeats", action="store_true", help="also find duplicate texts, and store the result"
    )
    parser.add_argument(
        "--judge", metavar="DIR", help="also predict all rows with this model, and store the result"
    )
    parser.add_argument(
        "--like",
        metavar="TEXT",
        help="print the training texts that are most similar to it for --model",
    )
    parser.add_argument("--model", metavar="DIR", help="the model for --like")
    parser.add_argument(
        "--json", action="store_true", help="print JSON; for rows, an object per line"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Builds the index of a data set, unless it is cached, and prints statistics or rows."""
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.explore.index import make_index
    from icaps.explore.near_duplicates import find_duplicates
    from icaps.explore.search import Query, search

    progress = Progress(sys.stderr)
    place = resolve(options.data, progress)
    if options.like is not None:
        return _print_neighbours(options, place, progress)
    index = make_index(place, reading_options(options), progress)
    if options.repeats:
        find_duplicates(index, progress)
    if options.judge:
        _predict(index, options.judge, progress)
    query = Query(
        words=options.words,
        regex=options.regex,
        classes=tuple(options.classes),
        split=options.split,
        fewest_words=options.fewest_words,
        most_words=options.most_words,
    )
    if options.save:
        _save(index, query, options.save)
    elif query == Query():
        facts = index.facts
        print(json.dumps(facts.to_dict()) if options.json else facts.to_text())
    else:
        rows = search(index, query)
        _print_rows(index, rows[: max(options.limit, 0)], as_json=options.json)
        if not options.json:
            print(f"{len(rows):,} of {len(index):,} rows", file=sys.stderr)
    return 0


def _print_neighbours(options: argparse.Namespace, place: Path, progress: Progress) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.data.label_sets import shown_label
    from icaps.explore.neighbours import make_sample
    from icaps.train.checkpoint_files import weights_fingerprint

    if not options.model:
        raise ConfigError("--like compares texts by a model; name it with --model.")
    classifier = ICapsClassifier.load(options.model)
    weights = weights_fingerprint(options.model)
    sample = make_sample(classifier, weights, place, reading_options(options), progress)
    nearest = sample.nearest(classifier, options.like)
    if options.json:
        print(json.dumps(nearest.to_dict()))
        return 0
    for neighbour in nearest.neighbours:
        label = one_line(shown_label(neighbour.label))
        print(f"{neighbour.similarity:.3f}\t{label}\t{one_line(neighbour.text)}")
    print(
        f"of {nearest.sampled:,} of {nearest.texts:,} training texts; two random ones: "
        f"{nearest.random:.3f}, two of one class: {nearest.random_alike:.3f}"
    )
    return 0


def _predict(index: Index, model: str, progress: Progress) -> None:
    from icaps.classifier import ICapsClassifier
    from icaps.explore.predicted_rows import predict_rows
    from icaps.train.checkpoint_files import weights_fingerprint

    classifier = ICapsClassifier.load(model)
    progress.expect_texts(len(index))
    predict_rows(classifier, weights_fingerprint(model), index, progress.on_texts)


def _save(index: Index, query: Query, name: str) -> None:
    from icaps.explore.search import save_slice, search

    rows = search(index, query)
    path = save_slice(index, rows, name, {"query": query.to_dict()})
    print(f"saved {len(rows):,} rows", file=sys.stderr)
    print(path)


def _print_rows(index: Index, rows: NDArray[np.int64], *, as_json: bool) -> None:
    from icaps.data.label_sets import label_set, shown_label

    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        for row, text in zip(batch.tolist(), index.text(batch), strict=True):
            label, split = index.label_of(row), index.splits[index.split[row]]
            line = int(index.lines[row])
            if as_json:
                names = label_set(label)
                plain = label if names is None else list(names)
                fields = {"row": row, "split": split, "line": line, "label": plain, "text": text}
                print(json.dumps(fields))
            else:
                shown = one_line(shown_label(label))
                print(f"{row}\t{split}:{line}\t{shown}\t{one_line(text)}")
