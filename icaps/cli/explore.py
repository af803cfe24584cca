"""The `icaps explore` command."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.data import add_reading_options, reading_options
from icaps.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from icaps.cli.progress import Progress
    from icaps.explore.index import Index
    from icaps.explore.query import Query

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_WIDTH = 100  # characters of a text in a line for a person
_JUDGED = 1_000  # rows read at once to be judged
_BATCH = 50  # rows read at once to be printed


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Adds `icaps explore`."""
    parser = commands.add_parser(
        "explore", help="count what a data set holds, and find rows in it, whatever its size"
    )
    parser.add_argument("data", metavar="DATA", help="what --data of icaps train takes")
    add_reading_options(parser)
    parser.add_argument("--words", default="", metavar="WORDS", help="that a text has, in any case")
    parser.add_argument(
        "--regex", default="", metavar="PATTERN", help="of RE2, which a text has somewhere"
    )
    parser.add_argument(
        "--class",
        action="append",
        default=[],
        dest="classes",
        metavar="NAME",
        help="of the rows; may be repeated, for any of several",
    )
    parser.add_argument("--split", default="", metavar="NAME", help="train or test")
    parser.add_argument("--fewest-words", type=int, metavar="N", help="of a text")
    parser.add_argument("--most-words", type=int, metavar="N", help="of a text")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="of the rows that are printed"
    )
    parser.add_argument(
        "--save", metavar="NAME", help="keep all rows that are found as a data set of that name"
    )
    parser.add_argument(
        "--repeats", action="store_true", help="look for texts that recur, too, and keep that"
    )
    parser.add_argument(
        "--judge", metavar="DIR", help="let this model predict all rows, too, and keep that"
    )
    parser.add_argument(
        "--like",
        metavar="TEXT",
        help="print the training texts that --model finds nearest to it",
    )
    parser.add_argument("--model", metavar="DIR", help="of --like")
    parser.add_argument("--json", action="store_true", help="print JSON; of rows, an object a line")
    parser.set_defaults(command=_explore)
    return parser


def _explore(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.explore.index import make_index, open_index
    from icaps.explore.near_duplicates import make_repeats
    from icaps.explore.query import Query

    progress = Progress(sys.stderr)
    place = resolve(options.data, progress)
    if options.like is not None:
        return _like(options, place)
    index = open_index(make_index(place, reading_options(options), progress))
    if options.repeats:
        make_repeats(index, progress)
    if options.judge:
        _judge(index, options.judge, progress)
    query = Query(
        options.words,
        options.regex,
        tuple(options.classes),
        options.split,
        options.fewest_words,
        options.most_words,
    )
    if options.save:
        _save(index, query, options.save)
    elif query == Query():
        facts = index.facts
        print(json.dumps(facts.to_dict()) if options.json else facts.to_text())
    else:
        rows = index.find(query)
        _print_rows(index, rows[: max(options.limit, 0)], as_json=options.json)
        if not options.json:
            print(f"{len(rows):,} of {len(index):,} rows", file=sys.stderr)
    return 0


def _like(options: argparse.Namespace, place: Path) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.explore.neighbours import load_sample, make_sample, sample_home
    from icaps.interpret.global_view import weights_fingerprint

    if not options.model:
        raise ConfigError("--like asks how a model sees the text; name it with --model.")
    classifier = ICapsClassifier.load(options.model)
    reading = reading_options(options)
    home = sample_home(weights_fingerprint(options.model), place, reading)
    make_sample(classifier, place, reading, home)
    sample = load_sample(home)
    assert sample is not None
    found = sample.nearest(classifier, options.like)
    if options.json:
        print(json.dumps(found.to_dict()))
        return 0
    for neighbour in found.neighbours:
        print(f"{neighbour.similarity:.3f}\t{neighbour.label}\t{_shortened(neighbour.text)}")
    print(
        f"of {found.sampled:,} of {found.texts:,} training texts; two random ones: "
        f"{found.random:.3f}, two of one class: {found.random_alike:.3f}"
    )
    return 0


def _judge(index: Index, model: str, progress: Progress) -> None:
    from icaps.classifier import ICapsClassifier
    from icaps.explore.label_issues import judge, judged_folder

    classifier = ICapsClassifier.load(model)
    folder = judged_folder(index.folder, Path(model))
    texts = (
        text
        for start in range(0, len(index), _JUDGED)
        for text in index.text(range(start, min(start + _JUDGED, len(index))))
    )
    judge(classifier, texts, index.labels, index.classes, folder, progress.on_texts)


def _save(index: Index, query: Query, name: str) -> None:
    from icaps.explore.saved_slices import save_slice

    rows = index.find(query)
    path = save_slice(index, rows, name, {"query": query.to_dict()})
    print(f"saved {len(rows):,} rows", file=sys.stderr)
    print(path)


def _print_rows(index: Index, rows: NDArray[np.int64], *, as_json: bool) -> None:
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        for row, text in zip(some.tolist(), index.text(some), strict=True):
            label, split = index.classes[index.labels[row]], index.splits[index.split[row]]
            line = int(index.lines[row])
            if as_json:
                fields = {"row": row, "split": split, "line": line, "label": label, "text": text}
                print(json.dumps(fields))
            else:
                print(f"{row}\t{split}:{line}\t{label}\t{_shortened(text)}")


def _shortened(text: str) -> str:
    """A text in one line for a person."""
    shown = " ".join(text[: 2 * _WIDTH].split())
    return shown[:_WIDTH] + ("..." if len(shown) > _WIDTH else "")
