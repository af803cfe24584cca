"""The commands `icaps data check`, `head`, `fetch`, `issues` and `list`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands


def add_parser(commands: Commands) -> None:
    """Adds `icaps data` with its subcommands."""
    data = commands.add_parser(
        "data", help="check, show, fetch and list data sets; find wrong labels"
    )
    actions = data.add_subparsers(metavar="ACTION", required=True)

    _add_check(actions)
    _add_head(actions)
    fetch = actions.add_parser("fetch", help="download a data set, and print its folder")
    fetch.add_argument(
        "name", metavar="NAME", help="a name from icaps data list, or owner/name on the Hub"
    )
    fetch.set_defaults(command=_fetch)

    _add_issues(actions)
    listing = actions.add_parser("list", help="list the data sets that have a name")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_list)


def _add_check(commands: Commands) -> None:
    check = commands.add_parser(
        "check", help="check whether texts can be trained on; exit code 2 if not"
    )
    check.add_argument("data", metavar="DATA", help="as --data of icaps train")
    check.add_argument(
        "--test", metavar="PATH", help="test texts; by default those of a folder's test file"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    add_reading_options(check)
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.check import check
    from icaps.data.part_files import has_part
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source

    reading = reading_options(options)
    place = resolve(options.data, Progress(sys.stderr))
    train = open_source(place, "train", **reading)
    test = None
    if options.test:
        test = open_source(options.test, "test", **reading, train=train)
    elif has_part(place, "test"):
        test = open_source(place, "test", **reading)
    report = check(train, test)
    print(json.dumps(report.to_dict()) if options.json else report.to_text())
    return 0 if report.usable else 2


def _add_head(commands: Commands) -> None:
    head = commands.add_parser(
        "head", help="print how a data set is read, and its first texts with their labels"
    )
    head.add_argument("data", metavar="DATA", help="as --data of icaps train")
    head.add_argument("--part", default="train", help="part of a folder or name: train or test")
    head.add_argument("--limit", type=int, default=10, metavar="N", help="rows to print (10)")
    head.add_argument(
        "--json", action="store_true", help="print an object per row; several labels are a list"
    )
    add_reading_options(head)
    head.set_defaults(command=_head)


def _head(options: argparse.Namespace) -> int:
    from itertools import islice

    from icaps.cli.progress import Progress
    from icaps.data.check import describe_file
    from icaps.data.label_sets import label_set, shown_label
    from icaps.data.problems import Problem
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source

    place = resolve(options.data, Progress(sys.stderr))
    source = open_source(place, options.part, **reading_options(options))
    for file in source.describe().files:
        print(describe_file(file), file=sys.stderr)
    for row in islice(source.scan(), max(options.limit, 0)):
        if isinstance(row, Problem):
            print(f"bad row: {row}", file=sys.stderr)
        elif options.json:
            names = label_set(row.label)
            label = row.label if names is None else list(names)
            print(json.dumps({"line": row.line, "label": label, "text": row.text}))
        else:
            print(f"{row.line}\t{one_line(shown_label(row.label))}\t{one_line(row.text)}")
    return 0


def _add_issues(commands: Commands) -> None:
    issues = commands.add_parser(
        "issues",
        help="list rows whose label is probably wrong, by linear models that did not see it "
        "(cross-validation, confident learning)",
    )
    issues.add_argument("data", metavar="DATA", help="as --data of icaps train")
    issues.add_argument("--limit", type=int, default=20, metavar="N", help="rows to print (20)")
    issues.add_argument("--csv", metavar="FILE", help="write all of them to a file")
    issues.add_argument("--json", action="store_true", help="print JSON")
    add_reading_options(issues)
    issues.set_defaults(command=_issues)


def _issues(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.errors import DataError
    from icaps.explore.corrected_index import correct_index
    from icaps.explore.index import make_index
    from icaps.explore.label_issues import find_label_issues, issue_table
    from icaps.reports.files import to_csv

    progress = Progress(sys.stderr)
    reading = reading_options(options)
    corrections = reading.pop("corrections", None)
    index = make_index(resolve(options.data, progress), reading, progress)
    if corrections:
        index = correct_index(index, corrections)
    issues = find_label_issues(index, progress)
    if options.csv:
        try:
            Path(options.csv).write_bytes(to_csv(issue_table(index, issues, issues.rows)))
        except OSError as error:
            raise DataError(f"{options.csv} cannot be written ({error}).") from error
        progress.say(f"wrote {options.csv}")
    listed = issue_table(index, issues, issues.rows[: max(options.limit, 0)]).to_dict("records")
    if options.json:
        facts = {
            "data": options.data,
            "rows": len(index),
            "issues": len(issues.rows),
            "estimate": issues.estimate,
            "accuracy": issues.accuracy,
            "joint": issues.joint.tolist(),
            "classes": list(index.classes),
            "listed": listed,
        }
        print(json.dumps(facts))
        return 0
    for row in listed:
        print(
            f"{row['row']}\t{row['split']}:{row['line']}\t{row['label']} "
            f"{row['probability_of_label']:.0%} -> {row['suggested']} "
            f"{row['probability_of_suggested']:.0%}\t{one_line(row['text'])}"
        )
    print(
        f"{len(issues.rows):,} of {len(index):,} labels are doubted; about {issues.estimate:,.0f} "
        "are wrong by this estimate. Linear models that did not see a label predict "
        f"{issues.accuracy:.1%} of the labels.",
        file=sys.stderr,
    )
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import by_name

    print(by_name(options.name, Progress(sys.stderr)))
    return 0


def _list(options: argparse.Namespace) -> int:
    from icaps.data.resolve import available

    rows = available()
    if options.json:
        print(json.dumps([row.to_dict() for row in rows]))
        return 0
    for row in rows:
        kind = "synthetic texts" if row.synthetic else "texts"
        counts = f"{row.train_rows:,} train, {row.test_rows:,} test {kind}"
        place = row.place or ("generated on request" if row.synthetic else "not here")
        print(f"{row.name:16} {len(row.classes):2} classes  {counts:38} {place}")
    return 0
