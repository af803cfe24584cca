"""The `icaps` command: train, evaluate, explain, interpret, explore, baseline, compare and more.

Exit codes: 0 done; 1 a check has failed (`icaps check`); 2 a mistake in what was asked for, told in
one line on stderr; 130 ended by Ctrl-C with what was reached saved.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from icaps.cli.baseline import add_parser
from icaps.cli.card import add_parser as add_card
from icaps.cli.card import add_report_options, wants_report, write_text_report
from icaps.cli.compare import add_parser as add_compare
from icaps.cli.data import add_parser as add_data_commands
from icaps.cli.evaluate import add_parser as add_evaluate
from icaps.cli.explain_options import add_explain_options, read_explain_options
from icaps.cli.explore import add_parser as add_explore
from icaps.cli.faithfulness import add_parser as add_faithfulness
from icaps.cli.interpret import add_parser as add_interpret
from icaps.cli.shortcuts import add_parsers
from icaps.cli.train import add_parser as add_train
from icaps.cli.train import add_timeout
from icaps.config import PRESETS
from icaps.errors import DataError, ICapsError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.results import Explanation

READ_AHEAD = 256  # texts read from a file or pipe before they are answered


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given, argparse.Namespace(given=given))
    # A text may hold what the terminal's encoding can't say; it is then shown escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code: int = options.command(options)
        sys.stdout.flush()
    except ICapsError as error:
        print(f"icaps: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # training ends by itself; a download goes on at the next call
        print("icaps: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="icaps", description="Text classification with capsules that show their reasons."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    add_train(commands)

    evaluate = add_evaluate(commands)
    _add_mute(evaluate)
    add_timeout(evaluate)

    explain = commands.add_parser("explain", help="say why a text gets its class")
    explain.add_argument("--model", required=True, metavar="DIR")
    explain.add_argument("--json", action="store_true", help="print JSON, a line a text")
    explain.add_argument(
        "--json-lines",
        action="store_true",
        help='read {"text": ...} a line, so that a text may hold line ends',
    )
    add_explain_options(explain)
    explain.add_argument(
        "--trust",
        action="store_true",
        help="try the reason: the shaded words removed, beside random ones, and what flips it",
    )
    explain.add_argument(
        "--removal",
        choices=("deletion", "unk"),
        default="deletion",
        help="what --trust does with words: deletes them, or masks them",
    )
    _add_mute(explain)
    add_report_options(explain)
    explain.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="without one, standard input is read, a text a line",
    )
    explain.set_defaults(command=_explain)

    add_timeout(add_interpret(commands))
    add_faithfulness(commands)
    add_parsers(commands)
    add_explore(commands)
    add_parser(commands)
    add_compare(commands)
    add_card(commands)

    presets = commands.add_parser("presets", help="list the paper's settings")
    presets.add_argument("--json", action="store_true", help="print JSON")
    presets.set_defaults(command=_presets)

    add_data_commands(commands)
    return parser


def _add_mute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mute",
        action="append",
        type=int,
        default=[],
        metavar="CAPSULE",
        help="switch off a primary capsule, by number; may be repeated",
    )


def _explain(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier

    classifier = ICapsClassifier.load(options.model).without(options.mute)
    texts = iter(options.texts) if options.texts else _read_texts(sys.stdin, options.json_lines)
    if wants_report(options):
        check = (lambda told: _try(classifier, told, options.removal)[0]) if options.trust else None
        return write_text_report(options, classifier, texts, check)
    while batch := list(islice(texts, READ_AHEAD if not sys.stdin.isatty() else 1)):
        for explanation in classifier.explain(batch, read_explain_options(options)):
            facts = explanation.to_dict()
            lines = explanation.to_text()
            if options.trust:
                facts["trust"], tried = _try(classifier, explanation, options.removal)
                lines += tried
            print(json.dumps(facts) if options.json else lines)
        sys.stdout.flush()
    return 0


def _try(
    classifier: ICapsClassifier, explanation: Explanation, removal: str
) -> tuple[dict[str, Any] | None, str]:
    """What came of trying a reason, as plain data and as lines; None for a blank text."""
    from icaps.faithfulness.reason_test import flipping_set, try_reasons
    from icaps.reports.render import trial_text
    from icaps.results import trust_facts

    (trial,) = try_reasons(classifier, [explanation], removal)
    if trial is None:
        return None, ""
    flip = flipping_set(classifier, explanation, removal)
    return trust_facts(trial, flip), "\n" + trial_text(explanation, trial, flip)


def _presets(options: argparse.Namespace) -> int:
    rows = [preset.to_dict() for preset in PRESETS.values()]
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(row.pop("name"), *(f"{key}={value}" for key, value in row.items()))
    return 0


def _read_texts(lines: Iterable[str], as_json: bool) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not as_json:
            yield line.removesuffix("\n")
            continue
        if line.strip():
            yield _text_of(line, number)


def _text_of(line: str, number: int) -> str:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"Line {number} is no JSON ({error}).") from error
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DataError(f'Line {number} must be an object with a text: {{"text": "..."}}.')
    return str(value["text"])
