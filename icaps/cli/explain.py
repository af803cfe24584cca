"""The `icaps explain` command: explanations as lines for a terminal, JSON lines or a report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli import explain_data
from icaps.cli.options import (
    Commands,
    add_explain_options,
    add_model,
    add_mute,
    read_explain_options,
)
from icaps.data.plain_json import parse_json
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.results import Explanation
    from icaps.trained_model import TrainedModel


READ_AHEAD = 256  # texts read from a file or pipe before they are explained
TEXT = "text"
REPORT_FORMATS = ("html", "markdown", "json", "csv")
_SUFFIXES = {"html": "html", "htm": "html", "md": "markdown", "json": "json", "csv": "csv"}


def add_parser(commands: Commands) -> None:
    """Adds `icaps explain`."""
    parser = commands.add_parser("explain", help="show why a text gets its class")
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, one line per text")
    parser.add_argument(
        "--json-lines",
        action="store_true",
        help='read one {"text": ...} per line, so that a text may contain line breaks',
    )
    add_explain_options(parser)
    parser.add_argument(
        "--trust",
        action="store_true",
        help="reason test: remove the shaded words, and random ones; find K-grams that flip it",
    )
    parser.add_argument(
        "--removal",
        choices=("deletion", "unk"),
        default="deletion",
        help="how --trust removes words: delete them, or mask them",
    )
    parser.add_argument(
        "--against",
        metavar="CLASS",
        help="why the explained class rather than CLASS: what each word adds to their difference",
    )
    add_mute(parser)
    explain_data.add_options(parser)
    parser.add_argument(
        "--format",
        choices=(TEXT, *REPORT_FORMATS),
        help="text: lines for a terminal (default); all others: a report on one text",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write the report to FILE, or all rows of --data; its suffix may give the format",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of standard input, or of --data, such as utf-8 or cp1252",
    )
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="without any, standard input is read, one text per line",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Explains the texts of the arguments, of files, or of standard input."""
    if options.data is not None:
        return explain_data.run(options)
    explain_data.check_unused(options)
    from icaps.terminal import escape, shows_color
    from icaps.trained_model import TrainedModel

    classifier = TrainedModel.load(options.model).without(options.mute)
    texts = (
        iter(options.texts)
        if options.texts
        else _read_texts(_input_lines(options.encoding), options.json_lines)
    )
    if options.out is not None or options.format not in (None, TEXT):
        _write_report(options, classifier, texts)
        return 0
    color = shows_color(sys.stdout, os.environ)
    while batch := list(islice(texts, READ_AHEAD if not sys.stdin.isatty() else 1)):
        for explanation in classifier.explain(batch, read_explain_options(options)):
            trust, tested = None, ""
            if options.trust:
                trust, tested = _test_reason(classifier, explanation, options.removal)
            contrast, contrasted = _contrast(explanation, options.against, color)
            if options.json:
                facts = explanation.to_dict()
                facts |= {"trust": trust} if options.trust else {}
                facts |= {"contrast": contrast} if options.against is not None else {}
                print(json.dumps(facts))
            else:
                lines = explanation.to_text(color) + "\n".join(map(escape, tested.split("\n")))
                print(lines, *contrasted, sep="\n")
        sys.stdout.flush()
    return 0


def _contrast(
    explanation: Explanation, other: str | None, color: bool
) -> tuple[dict[str, Any] | None, list[str]]:
    """Why the explained class rather than another, as plain data and as lines.

    None and no lines if no class is given, if the text is blank, or if the class is the explained
    one.

    Raises:
        ConfigError: There is no such class.
    """
    from icaps.terminal import account_lines

    account = explanation.word_account(rather_than=other)
    if account is None or other in (None, explanation.target) or explanation.blank:
        return None, []
    return explanation.contrast(other).to_dict(), account_lines(account, color)


def _test_reason(
    classifier: TrainedModel, explanation: Explanation, removal: str
) -> tuple[dict[str, Any] | None, str]:
    """The reason test of an explanation, as plain data and as lines; None and "" if blank."""
    from icaps.faithfulness.reason_results import trust_facts, trust_text
    from icaps.faithfulness.reason_test import flipping_set, try_reasons

    (test,) = try_reasons(classifier, [explanation], removal)
    if test is None:
        return None, ""
    flip = flipping_set(classifier, explanation, removal)
    return trust_facts(explanation, test, flip), "\n" + trust_text(explanation, test, flip)


def _write_report(
    options: argparse.Namespace, classifier: TrainedModel, texts: Iterator[str]
) -> None:
    """Writes or prints the report on one text.

    Raises:
        ConfigError: The options contradict each other.
        DataError: There is not exactly one text, or the file cannot be written.
    """
    from icaps.reports.files import model_name
    from icaps.reports.text_report import TextReport

    if options.against is not None:
        raise ConfigError("A report has no contrast of two classes; leave --against out.")
    format_ = _report_format(options)
    first_texts = list(islice(texts, 2))
    if len(first_texts) != 1:
        raise DataError("A report is on one text: give exactly one, or use --json for several.")
    explain_options = read_explain_options(options)
    (explanation,) = classifier.explain(first_texts, explain_options)
    report = TextReport(
        explanation,
        model_name(options.model),
        explain_options,
        muted=options.mute,
        trust=(
            _test_reason(classifier, explanation, options.removal)[0] if options.trust else None
        ),
    )
    content = report.to_bytes(format_)
    if options.out is None:
        print(content.decode("utf-8"), end="")
        return
    try:
        Path(options.out).write_bytes(content)
    except OSError as error:
        raise DataError(
            f"{options.out} cannot be written ({error}); choose another file."
        ) from error


def _report_format(options: argparse.Namespace) -> str:
    """The format of a report: --format, or the suffix of its file."""
    if options.json:
        raise ConfigError("--json prints one line per text and --format a report; give only one.")
    format_ = options.format or _SUFFIXES.get(Path(options.out).suffix.lower().lstrip("."))
    if format_ in (None, TEXT):
        raise ConfigError(f"Give the format of the report: --format {', '.join(REPORT_FORMATS)}.")
    return str(format_)


def _input_lines(encoding: str | None) -> Iterator[str]:
    """The lines of standard input without their ends."""
    from icaps.data.text_lines import read_lines, split_lines

    stream = getattr(sys.stdin, "buffer", None)
    return iter(split_lines(sys.stdin.read())) if stream is None else read_lines(stream, encoding)


def _read_texts(lines: Iterable[str], as_json: bool) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not as_json:
            yield line
        elif line.strip():
            yield _json_text(line, number)


def _json_text(line: str, number: int) -> str:
    try:
        value = parse_json(line)
    except ValueError as error:
        raise DataError(f"Line {number} is not JSON ({error}).") from error
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DataError(f'Line {number} must be an object with a text: {{"text": "..."}}.')
    return str(value["text"])
