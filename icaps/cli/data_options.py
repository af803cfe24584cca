"""Options of all commands that read texts: --data, its columns and encoding, bad rows, a sample."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from icaps.errors import ConfigError
from icaps.escaping import escape_lines

if TYPE_CHECKING:
    from icaps.cli.progress import Progress
    from icaps.data.problems import Problems
    from icaps.data.sample import Sample
    from icaps.evaluate.leakage import Leak


class _HasProblems(Protocol):
    """A source or an evaluation, with the rows that were left out."""

    @property
    def problems(self) -> Problems:
        """The rows that were left out."""


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds --text, --label and how it is read, --encoding, --delimiter and --corrections."""
    parser.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help="text column, by name, or by number in a file without a header; repeat it to join "
        "several with a space",
    )
    parser.add_argument(
        "--label",
        action=_OneOrMore,
        metavar="COLUMN",
        help="label column; repeat it for columns of 0 or 1, each of which is a class",
    )
    parser.add_argument(
        "--label-separator",
        metavar="TEXT",
        type=tab,
        help="what is between the labels in a cell, such as ';', if a text may have several",
    )
    parser.add_argument(
        "--multilabel",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether a text may have any number of labels; by default the first rows tell",
    )
    parser.add_argument(
        "--encoding", metavar="NAME", help="encoding of the text, such as utf-8 or cp1252"
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        type=tab,
        help=r"character between the fields of a line; \t is a tab",
    )
    parser.add_argument(
        "--corrections",
        metavar="FILE",
        help="labels that replace those of the same texts in the data; see `icaps corrections`",
    )


class _OneOrMore(argparse.Action):
    """Stores a value, or a list of them if the option is repeated."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Adds a value."""
        before = getattr(namespace, self.dest)
        earlier = [before] if isinstance(before, str) else before
        setattr(namespace, self.dest, [*earlier, values] if earlier else values)


def tab(value: str) -> str:
    """A character, or a tab for `\\t`, which is hard to type."""
    return "\t" if value == r"\t" else value


def add_bad_rows_option(parser: argparse.ArgumentParser) -> None:
    """Adds --on-bad-rows."""
    parser.add_argument(
        "--on-bad-rows",
        choices=("strict", "skip"),
        default="strict",
        help="stop at a row that cannot be read, or leave such rows out and count them",
    )


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Adds --data and --part, and the options for reading and for bad rows."""
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file; or a folder or name, of which one part is read",
    )
    parser.add_argument(
        "--part",
        default="test",
        help="part of a folder or name: test, train; or held_out: the texts of the data that the "
        "model was trained on which were held out of its training",
    )
    add_reading_options(parser)
    add_bad_rows_option(parser)


def add_sample_options(parser: argparse.ArgumentParser, limit: int) -> None:
    """Adds --limit and --seed, which `draw_texts` uses."""
    parser.add_argument(
        "--limit",
        type=int,
        default=limit,
        metavar="N",
        help="number of texts, a random sample of the data",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the sample and of everything random"
    )


def draw_texts(options: argparse.Namespace, progress: Progress) -> Sample:
    """A random sample of the data, by the options of `add_data_options` and `add_sample_options`.

    Rows that are left out are printed to stderr. The part HELD_OUT is that of --model.

    Raises:
        ConfigError: --limit is below 1.
        DataError: The data cannot be read.
    """
    from icaps.data.resolve import resolve
    from icaps.data.sample import draw_sample
    from icaps.train.parts import open_part

    if options.limit < 1:
        raise ConfigError(f"--limit is {options.limit}; it must be at least 1.")
    place, reading = resolve(options.data, progress), reading_options(options)
    source = open_part(place, options.part, reading, options.model)
    sample = draw_sample(source, options.limit, math.inf, options.seed)
    say_problems(source, options.part)
    return sample


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options for reading that the command has, as keyword arguments of `open_source`."""
    from icaps.data.fingerprint import OPTIONS

    names = (*OPTIONS, "on_bad_rows")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def find_leak(model: str | Path, texts: Iterable[str]) -> Leak | None:
    """How many of the texts were in a model's training; says so on stderr if any was.

    None if it is unknown; see `icaps.evaluate.leakage.seen_share`.
    """
    from icaps.evaluate.leakage import seen_share

    leak = seen_share(model, texts)
    say_leak(model, leak)
    return leak


def say_leak(model: str | Path, leak: Leak | None) -> None:
    """Prints to stderr how many texts were in a model's training, if any was."""
    if leak is None or not leak.training:
        return
    option = " (--part held_out)" if leak.serious and leak.held_out else ""
    print(f"{'WARNING' if leak.serious else 'note'}: {model}: {leak}{option}", file=sys.stderr)


def say_problems(source: _HasProblems, part: str) -> None:
    """Prints the rows that were left out to stderr: the first of each kind, and the counts."""
    spellings = getattr(source, "spellings", None)
    if spellings:
        from icaps.data.class_names import spelling_note

        print(escape_lines(f"{part}: {spelling_note(spellings)}"), file=sys.stderr)
    for problems in source.problems.first.values():
        for problem in problems:
            print(escape_lines(f"left out: {problem}"), file=sys.stderr)
    if source.problems:
        print(f"{part} rows left out: {source.problems.summary()}", file=sys.stderr)
