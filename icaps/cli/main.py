"""The `icaps` command: builds the parser of all commands and runs one of them.

Each command is a module of this package with `add_parser(commands)` and `run(options)`; a command's
libraries are imported when it runs, so that `icaps --help` is fast.

Exit codes: 0 success; 1 a check failed (`icaps check`); 2 a user's mistake, reported on stderr in
one line; 130 stopped by Ctrl-C, with the progress of a training saved.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from icaps.cli import (
    app,
    baseline,
    card,
    compare,
    corrections,
    data,
    evaluate,
    explain,
    explore,
    export,
    faithfulness,
    interpret,
    label,
    mcp,
    plausibility,
    presets,
    pull,
    push,
    repair,
    serve,
    shortcuts,
    train,
    vectors,
)
from icaps.errors import ICapsError
from icaps.escaping import EscapedStream, escape_lines

COMMANDS = (  # in the order of `icaps --help`
    app,
    train,
    evaluate,
    explain,
    interpret,
    faithfulness,
    plausibility,
    shortcuts,
    repair,
    explore,
    baseline,
    compare,
    card,
    export,
    push,
    pull,
    serve,
    mcp,
    presets,
    data,
    corrections,
    label,
    vectors,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = make_parser().parse_args(given, argparse.Namespace(given=given))
    # A text may have characters that the terminal's encoding lacks; they are printed escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        # The lines of `explain` may be coloured; it escapes what it prints itself.
        output: Any = sys.stdout if options.command is explain.run else EscapedStream(sys.stdout)
        with redirect_stdout(output):
            code: int = options.command(options)
        sys.stdout.flush()
    except ICapsError as error:
        print(f"icaps: {escape_lines(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # a training handles it itself; a download resumes at the next call
        print("icaps: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has closed it
        sys.stderr.close()
        return 0
    return code


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="icaps", description="Text classification with capsules that show their reasons."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
