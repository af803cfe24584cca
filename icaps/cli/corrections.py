"""The `icaps corrections` command: shows, adds, undoes and exports corrected labels."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.formatting import one_line
from icaps.cli.options import Commands
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.data.label_file import GivenLabel, LabelFile

KINDS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


def add_parser(commands: Commands) -> None:
    """Adds `icaps corrections`."""
    parser = commands.add_parser(
        "corrections",
        help="show, add, undo or export corrected labels",
        description="A file of corrections has labels that replace those of the same texts "
        "wherever data is read with --corrections FILE; the data itself stays as it is.",
    )
    parser.add_argument("file", metavar="FILE", help="the file of corrections")
    parser.add_argument(
        "--add",
        metavar="DATA",
        help="add the labels of these labelled texts, a file or a folder, as one batch",
    )
    parser.add_argument("--by", default="person", help="who gave them; 'person' by default")
    parser.add_argument("--undo", metavar="BATCH", help="undo a batch, by its name")
    parser.add_argument(
        "--out", metavar="FILE", help="export the labels that count: .csv, .jsonl or .parquet"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Changes a file of corrections as the options say, and prints what is in it."""
    from icaps.data.label_file import LabelFile

    file = LabelFile(options.file)
    if not (options.add or file.path.is_file()):
        raise DataError(f"There is no file of corrections {options.file}; --add starts one.")
    if options.undo:
        file.undo(options.undo)
    if options.add:
        file.add(_labels(options))
    if options.out:
        _export(file, Path(options.out))
    labels = file.labels()
    if options.json:
        facts = {
            "labels": [label.to_dict() for label in labels],
            "texts": sum(bool(label.label) for label in file.current().values()),
        }
        print(json.dumps(facts))
        return 0
    for line in _lines(labels):
        print(line)
    return 0


def _labels(options: argparse.Namespace) -> list[GivenLabel]:
    from icaps.data.label_file import GivenLabel
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source

    records = open_source(resolve(options.add)).pairs()
    return [GivenLabel(text, label, by=options.by) for text, label in records]


def _export(file: LabelFile, path: Path) -> None:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"--out is {path}; its name must end in {', '.join(KINDS)}.")
    try:
        path.write_bytes(file.to_bytes(kind))
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error}).") from error


def _lines(labels: list[GivenLabel]) -> list[str]:
    from icaps.data.label_sets import shown_label

    batches = Counter(label.batch for label in labels)
    lines = [f"{len(labels):,} labels in {len(batches):,} batches"]
    first = {label.batch: label for label in reversed(labels)}
    for batch, count in batches.items():
        one = first[batch]
        label = shown_label(one.label) if one.label else "skipped"
        change = f"{shown_label(one.before)} → {label}" if one.before else label
        more = f" and {count - 1:,} more" if count > 1 else ""
        lines.append(f"{batch} {one.time} by {one.by}: {change}: {one_line(one.text, 50)}{more}")
    return lines
