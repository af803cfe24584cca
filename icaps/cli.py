"""The `icaps` command: train, evaluate, explain, interpret, explore, presets, data.

Exit codes: 0 done; 2 a mistake in what was asked for, told in one line on stderr; 130 ended by
Ctrl-C with what was reached saved.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from icaps.config import PRESETS
from icaps.data.commands import (
    add_bad_rows_option,
    add_reading_options,
    reading_options,
    say_problems,
)
from icaps.data.commands import add_parser as add_data_commands
from icaps.errors import DataError, ICapsError
from icaps.explore.commands import add_parser as add_explore
from icaps.interpret.commands import add_parser as add_interpret
from icaps.train_command import add_parser as add_train
from icaps.train_command import add_timeout

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

    evaluate = commands.add_parser("evaluate", help="score a model on labelled texts")
    evaluate.add_argument("--model", required=True, metavar="DIR")
    evaluate.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file, or a folder or a name whose test file is taken",
    )
    add_reading_options(evaluate)
    add_bad_rows_option(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    _add_mute(evaluate)
    add_timeout(evaluate)
    evaluate.set_defaults(command=_evaluate)

    explain = commands.add_parser("explain", help="say why a text gets its class")
    explain.add_argument("--model", required=True, metavar="DIR")
    explain.add_argument("--json", action="store_true", help="print JSON, a line a text")
    explain.add_argument(
        "--json-lines",
        action="store_true",
        help='read {"text": ...} a line, so that a text may hold line ends',
    )
    explain.add_argument("--top-capsules", type=int, default=2, metavar="K1")
    explain.add_argument("--top-kgrams", type=int, default=2, metavar="K2")
    explain.add_argument(
        "--top-sentences", type=int, default=1, metavar="N", help="for models of long texts"
    )
    _add_mute(explain)
    explain.add_argument("--target", metavar="CLASS", help="explain this class, not the predicted")
    explain.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="without one, standard input is read, a text a line",
    )
    explain.set_defaults(command=_explain)

    add_timeout(add_interpret(commands))
    add_explore(commands)

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


def _evaluate(options: argparse.Namespace) -> int:
    from icaps import distributed
    from icaps.classifier import ICapsClassifier
    from icaps.data.names import resolve
    from icaps.data.source import open_source
    from icaps.metrics import evaluate
    from icaps.progress import Progress

    with distributed.process_group("auto", options.timeout):
        classifier = ICapsClassifier.load(options.model).without(options.mute)
        place = resolve(options.data, Progress(sys.stderr))
        source = open_source(place, "test", **reading_options(options))
        scores = evaluate(classifier, source.pairs())
        first = distributed.rank() == 0
    if first:
        say_problems(source, "test")
        _print_scores(scores, options.json)
    return 0


def _print_scores(scores: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(scores))
        return
    print(
        f"{scores['n']} texts, accuracy {scores['accuracy']:.2%}, macro F1 {scores['macro_f1']:.2%}"
    )
    for name, values in scores["per_class"].items():
        print(
            f"{name}: precision {values['precision']:.2%}, recall {values['recall']:.2%}, "
            f"F1 {values['f1']:.2%} of {values['support']}"
        )


def _explain(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier

    classifier = ICapsClassifier.load(options.model).without(options.mute)
    texts = iter(options.texts) if options.texts else _read_texts(sys.stdin, options.json_lines)
    while batch := list(islice(texts, READ_AHEAD if not sys.stdin.isatty() else 1)):
        for explanation in classifier.explain(
            batch,
            target=options.target,
            top_capsules=options.top_capsules,
            top_kgrams=options.top_kgrams,
            top_sentences=options.top_sentences,
        ):
            print(json.dumps(explanation.to_dict()) if options.json else explanation.to_text())
        sys.stdout.flush()
    return 0


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
