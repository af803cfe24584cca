import io
import sys
from pathlib import Path

import pytest

from icaps.cli.main import main
from icaps.escaping import EscapedStream, escape_lines

HOSTILE = "a\x1b[31mb\x07\rc\u202ed\x9b2J"
ESCAPED = r"a\u001b[31mb\u0007\u000dc\u202ed\u009b2J"


def test_lines_and_tabs_stay() -> None:
    assert escape_lines(f"one\ttwo\n{HOSTILE}\n") == f"one\ttwo\n{ESCAPED}\n"
    stream = io.StringIO()
    print(HOSTILE, "é", file=EscapedStream(stream))
    assert stream.getvalue() == f"{ESCAPED} é\n"


def test_what_commands_print_of_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    row = '{"text": "rain \\u001b]0;owned\\u0007", "label": "sp\\u001b[31mort%s"}\n'
    path.write_text("".join(row % (n % 2) for n in range(20)))
    before = sys.stdout
    assert main(["data", "check", str(path)]) == 0
    assert sys.stdout is before
    assert main(["data", "check", str(path), "--text", "no\x1b[2Jne"]) == 2
    assert main(["data", "check", str(tmp_path / "no\x1b[2Jne")]) == 2
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert r"sp\u001b[31mort0" in printed.out
