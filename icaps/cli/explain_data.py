"""`icaps explain --data`: explanations of all rows of files, as a file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from icaps.cli.data_options import tab
from icaps.cli.options import read_explain_options
from icaps.errors import ConfigError
from icaps.escaping import escape_lines

# Options of `icaps explain` that are about texts on the command line, with their defaults.
_OF_SINGLE_TEXTS = {
    "texts": [],
    "json": False,
    "json_lines": False,
    "trust": False,
    "against": None,
    "format": None,
}
_OF_ROWS = (
    "part",
    "text",
    "delimiter",
    "keep",
    "no_text",
    "top_words",
    "jobs",
    "part_rows",
    "resume",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --data and the options on its rows to `icaps explain`."""
    group = parser.add_argument_group(
        "many texts", "--data explains all rows of files and writes them to --out"
    )
    group.add_argument(
        "--data",
        metavar="DATA",
        help="texts with or without labels: a file, a pattern, or a folder or name, of which one "
        "part is read",
    )
    group.add_argument(
        "--part", metavar="PART", help="part of a folder or name: test (default) or train"
    )
    group.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help="text column; repeat it to join several with a space",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        type=tab,
        help=r"character between the fields of a line; \t is a tab",
    )
    group.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="copy a column of the data, such as an id; may be repeated",
    )
    group.add_argument(
        "--no-text", action="store_true", help="leave the texts themselves out of the output"
    )
    group.add_argument(
        "--top-words",
        type=int,
        metavar="N",
        help="only the N words of a text that add or take away most, spelled out",
    )
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of processes, a core each; as many as there are cores by default",
    )
    group.add_argument(
        "--part-rows",
        type=int,
        metavar="N",
        help="rows that are computed and stored together; 2,000 by default",
    )
    group.add_argument(
        "--resume", action="store_true", help="continue the same command after it was stopped"
    )


def check_unused(options: argparse.Namespace) -> None:
    """Raises ConfigError if an option on the rows of --data is given without it."""
    for name in _OF_ROWS:
        if getattr(options, name) not in (None, False, []):
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag} is about the rows of --data; name these, or leave it out.")


def run(options: argparse.Namespace) -> int:
    """Explains the rows of --data and writes --out."""
    from icaps.bulk.explain_data import explain_data
    from icaps.bulk.options import PART_ROWS, BulkOptions
    from icaps.bulk.parts import PartsFolder
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.data.unlabelled import open_unlabelled

    if options.out is None:
        raise ConfigError("Name a file for the explanations of --data: --out reasons.parquet.")
    for name, default in _OF_SINGLE_TEXTS.items():
        if getattr(options, name) != default:
            flag = "a text" if name == "texts" else "--" + name.replace("_", "-")
            raise ConfigError(f"--data explains all rows of files, without {flag}; leave one out.")
    progress = Progress(sys.stderr)
    texts = open_unlabelled(
        resolve(options.data, progress),
        part=options.part or "test",
        text=options.text,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )
    bulk = BulkOptions(
        explain=read_explain_options(options),
        top_words=options.top_words,
        mute=tuple(sorted(set(options.mute))),
        keep=tuple(dict.fromkeys(options.keep)),
        with_text=not options.no_text,
        part_rows=PART_ROWS if options.part_rows is None else options.part_rows,
    )
    try:
        report = explain_data(
            options.model,
            texts,
            options.out,
            bulk,
            jobs=_cores() if options.jobs is None else options.jobs,
            resume=options.resume,
            progress=progress,
        )
    except KeyboardInterrupt:
        path = PartsFolder(Path(options.out)).path
        if path.exists():
            print(f"icaps: what is done is in {path}; continue with --resume", file=sys.stderr)
        raise
    for problem, rows in report.unexplained.most_common():
        print(f"without a prediction: {rows:,} rows ({escape_lines(problem)})", file=sys.stderr)
    print(f"{report.rows:,} rows in {escape_lines(str(options.out))}", file=sys.stderr)
    return 0


def _cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1
