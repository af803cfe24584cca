"""The `icaps export` command: a trained model as a file that runs without Python."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.options import Commands, add_model
from icaps.errors import CheckpointError

TEXTS = 2_000  # on which the file is compared with the model, unless --limit says otherwise


def add_parser(commands: Commands) -> None:
    """Adds `icaps export`."""
    parser = commands.add_parser(
        "export", help="write a model as one HTML file that explains texts by itself"
    )
    add_model(parser)
    parser.add_argument("--html", metavar="FILE", required=True, help="the file to write")
    parser.add_argument(
        "--data", metavar="DATA", help="texts on which the file is compared with the model"
    )
    parser.add_argument(
        "--part", default="test", help="part of the data, as in `icaps evaluate`; test by default"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=TEXTS,
        metavar="N",
        help=f"number of these texts; {TEXTS:,} by default",
    )
    add_reading_options(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Writes the page, and says how large it is and how far it agrees with the model."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.portable.live_page import live_page
    from icaps.train.parts import open_part

    classifier = ICapsClassifier.load(options.model)
    progress, texts = Progress(sys.stderr), []
    if options.data is not None:
        place = resolve(options.data, progress)
        source = open_part(place, options.part, reading_options(options), options.model)
        texts = [text for text, _ in islice(source.pairs(), options.limit)]
    page = live_page(classifier, options.model, texts, Path(options.data or "").name)
    try:
        Path(options.html).write_bytes(page)
    except OSError as error:
        raise CheckpointError(f"{options.html} cannot be written: {error.strerror}.") from error
    print(f"{options.html}: {len(page) / 1e6:.1f} MB; open it in a browser, no network is needed.")
    return 0
