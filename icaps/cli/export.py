"""The `icaps export` command: a trained model as one HTML file, or as ONNX."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.options import Commands, add_model
from icaps.errors import CheckpointError, ConfigError

TEXTS = 2_000  # on which the file is compared with the model, unless --limit says otherwise


def add_parser(commands: Commands) -> None:
    """Adds `icaps export`."""
    parser = commands.add_parser(
        "export", help="write a model as one HTML file that explains texts by itself, or as ONNX"
    )
    add_model(parser)
    parser.add_argument("--html", metavar="FILE", help="write one HTML file")
    parser.add_argument(
        "--onnx", metavar="FOLDER", help="write ONNX with words and settings, to run without torch"
    )
    parser.add_argument(
        "--data", metavar="DATA", help="texts on which what is written is compared with the model"
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
    """Writes the page or the folder, and says how large it is and how far it agrees."""
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.train.parts import open_part

    if options.html is None and options.onnx is None:
        raise ConfigError("Give what to write: --html FILE, --onnx FOLDER, or both.")
    texts: list[str] = []
    if options.data is not None:
        place = resolve(options.data, Progress(sys.stderr))
        source = open_part(place, options.part, reading_options(options), options.model)
        texts = [text for text, _ in islice(source.pairs(), options.limit)]
    if options.html is not None:
        _write_page(options, texts)
    if options.onnx is not None:
        _write_onnx(options, texts)
    return 0


def _write_page(options: argparse.Namespace, texts: Sequence[str]) -> None:
    """Writes the HTML file, which says itself how far it agrees with the model."""
    from icaps.classifier import ICapsClassifier
    from icaps.portable.live_page import live_page

    classifier = ICapsClassifier.load(options.model)
    page = live_page(classifier, options.model, texts, Path(options.data or "").name)
    try:
        Path(options.html).write_bytes(page)
    except OSError as error:
        raise CheckpointError(f"{options.html} cannot be written: {error.strerror}.") from error
    print(f"{options.html}: {len(page) / 1e6:.1f} MB; open it in a browser, no network is needed.")


def _write_onnx(options: argparse.Namespace, texts: Sequence[str]) -> None:
    """Writes the folder of ONNX, and compares it with the model."""
    from icaps.portable.onnx_export import export_onnx, largest_differences
    from icaps.portable.onnx_runner import OnnxClassifier
    from icaps.trained_model import TrainedModel

    model = TrainedModel.load(options.model)
    export_onnx(model, options.onnx)
    size = sum(path.stat().st_size for path in Path(options.onnx).iterdir())
    print(f"{options.onnx}: {size / 1e6:.1f} MB; icaps.OnnxClassifier reads it without torch.")
    if texts:
        scores, shares = largest_differences(model, OnnxClassifier(options.onnx), texts)
        print(
            f"On {len(texts):,} texts scores differ from the model's by at most {scores:.1e}, and "
            f"shares of words by at most {shares:.1e}."
        )
