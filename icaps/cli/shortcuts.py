"""The commands `icaps shortcuts` and `icaps check`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.data_options import (
    add_data_options,
    add_sample_options,
    draw_texts,
    find_leak,
    reading_options,
)
from icaps.cli.options import Commands, add_model
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.cli.progress import Progress
    from icaps.evaluate.leakage import Leak
    from icaps.shortcuts.find import Finding
    from icaps.shortcuts.predicted_texts import PredictedTexts


def add_parser(commands: Commands) -> None:
    """Adds `icaps shortcuts` and `icaps check`."""
    shortcuts = commands.add_parser(
        "shortcuts", help="find words off the topic that predictions depend on"
    )
    _add_data(shortcuts)
    shortcuts.add_argument(
        "--save-check", metavar="FILE", help="write the findings as checks for `icaps check`"
    )
    shortcuts.add_argument(
        "--save-slice", metavar="NAME", help="save the texts of a finding as a data set"
    )
    shortcuts.add_argument(
        "--finding",
        type=int,
        default=1,
        metavar="N",
        help="number of the finding that --save-slice saves; 1 by default",
    )
    shortcuts.set_defaults(command=run)
    check = commands.add_parser(
        "check", help="run saved checks on a model; exits with 1 if one fails"
    )
    check.add_argument("file", metavar="FILE", help="a file of `icaps shortcuts --save-check`")
    _add_data(check)
    check.set_defaults(command=_check)


def _add_data(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_data_options(parser)
    add_sample_options(parser, 5_000)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Finds shortcuts of a model on a sample of texts."""
    from icaps.cli.progress import Progress
    from icaps.shortcuts.checks import dump_checks, make_checks
    from icaps.shortcuts.find import find_shortcuts
    from icaps.shortcuts.findings_table import findings_lines

    progress = Progress(sys.stderr)
    labelled, texts, leak = _predict(options, progress)

    def say(done: int, total: int) -> None:
        if done % 10 == 0 or done == total:
            progress.say(f"{done} of {total} K-grams measured")

    findings = find_shortcuts(texts, options.seed, say)
    if options.save_slice:
        _save_slice(options, labelled, findings)
        progress.say(f"saved the slice {options.save_slice}")
    if options.save_check:
        checks = make_checks(findings)
        if not checks:
            raise DataError("No K-gram was found that could be checked; no file was written.")
        try:
            Path(options.save_check).write_text(dump_checks(checks), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{options.save_check} cannot be written ({error}).") from error
        progress.say(f"wrote {options.save_check}")
    if options.json:
        about = {"model": options.model, "data": options.data, "seed": options.seed}
        about |= {
            "texts": len(texts),
            "blank": len(labelled) - len(texts),
            "leak": leak and leak.to_dict(),
        }
        print(json.dumps({**about, "findings": [finding.to_dict() for finding in findings]}))
    else:
        print("\n".join(findings_lines(texts, findings, options.seed)))
    return 0


def _check(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.shortcuts.checks import load_checks, run_checks

    checks = load_checks(options.file)
    _, texts, _ = _predict(options, Progress(sys.stderr))
    outcomes = run_checks(texts, checks, options.seed)
    if options.json:
        print(json.dumps([outcome.to_dict() for outcome in outcomes]))
    else:
        print("\n".join(outcome.to_text() for outcome in outcomes))
    return 0 if all(outcome.holds for outcome in outcomes) else 1


def _predict(
    options: argparse.Namespace, progress: Progress
) -> tuple[list[tuple[str, str]], PredictedTexts, Leak | None]:
    """A sample of the texts with class names, the model's predictions, and `find_leak` of it."""
    from icaps.classifier import ICapsClassifier
    from icaps.shortcuts.predicted_texts import predict_texts

    classifier = ICapsClassifier.load(options.model)
    labelled = draw_texts(options, progress).pairs()
    leak = find_leak(options.model, (text for text, _ in labelled))
    return labelled, predict_texts(classifier, labelled), leak


def _save_slice(
    options: argparse.Namespace, labelled: list[tuple[str, str]], findings: list[Finding]
) -> None:
    from icaps.data.saved_slices import save_texts

    if not 1 <= options.finding <= len(findings):
        raise ConfigError(f"There is no finding {options.finding}; there are {len(findings)}.")
    finding = findings[options.finding - 1]
    origin = {"data": options.data, "reading": reading_options(options), "shortcut": finding.name}
    rows = [labelled[row] for row in finding.rows]
    save_texts(rows, len(rows), options.save_slice, origin)
