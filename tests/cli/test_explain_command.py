"""`icaps explain`: JSON, texts from standard input, reports, and mistakes."""

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from icaps.cli.main import main
from tests.conftest import make_texts

TEXT = "Simmer <b>the</b> onion soup, then bake bread with butter."


def test_the_json_contract(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Fresh bread &amp; soup"
    arguments = ["explain", "--model", str(model_folder), "--json", "--top-capsules", "1"]
    assert main([*arguments, "--top-kgrams", "3", "--target", "Gardens", text]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["text"] == text
    assert row["target"] == "Gardens"
    assert set(row["scores"]) == {"Cooking", "Gardens", "Sailing"}
    assert len(row["kgrams"]) == 3
    for kgram in row["kgrams"]:
        keys = {"text", "start", "end", "capsule", "routing", "attention"}
        named = {"sentence", "sentence_attention", "capsule_name", "contribution", "share"}
        assert keys | named == set(kgram)
        assert text[kgram["start"] : kgram["end"]] == kgram["text"]
    assert [text[word["start"] : word["end"]] for word in row["words"]] == [
        "Fresh",
        "bread",
        "&amp;",
        "soup",
    ]
    assert row["unknown_share"] == 0.5
    assert row["truncated"] is False


@pytest.mark.parametrize("ranking", ["routing", "account"])
def test_shares_and_bias_add_up_to_the_score_of_each_class(
    model_folder: Path, ranking: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [TEXT, "bread", "zzyzx", "", " ".join(make_texts(40, 4)[0])]
    arguments = ["explain", "--model", str(model_folder), "--json", "--ranking", ranking]
    assert main([*arguments, *texts]) == 0
    for text, line in zip(texts, capsys.readouterr().out.splitlines(), strict=True):
        row = json.loads(line)
        assert (row["text"], row["ranking"]) == (text, ranking)
        shares = [word["share"] for word in row["words"]]
        total = row["bias"] + sum(shares)
        assert row["scores"][row["target"]] == pytest.approx(total, abs=1e-5)
        assert set(row["account"]) == set(row["scores"])
        for name, score in row["scores"].items():
            account = row["account"][name]
            assert len(account["shares"]) == len(row["words"])
            total = account["bias"] + sum(account["shares"])
            assert score == pytest.approx(total, abs=1e-5)
        assert row["account"][row["target"]] == {"bias": row["bias"], "shares": shares}
        for kgram in row["kgrams"]:
            inside = [
                word["share"]
                for word in row["words"]
                if kgram["start"] <= word["start"] < kgram["end"]
            ]
            assert kgram["share"] == pytest.approx(sum(inside), abs=1e-6)


@pytest.mark.parametrize(("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colors_in_a_terminal_alone(
    model_folder: Path, environment: dict[str, str], colored: bool
) -> None:
    """Under a pseudo-terminal, as a user's shell has it."""
    command = [sys.executable, "-m", "icaps", "explain", "--model", str(model_folder), TEXT]
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    outer, inner = pty.openpty()
    done = subprocess.run(
        command,
        stdin=inner,
        stdout=inner,
        env={**clean, "TERM": "xterm", **environment},
        check=True,
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # how Linux says that the other end is closed
        while part := os.read(outer, 65_536):
            shown += part
    os.close(outer)
    assert done.returncode == 0
    assert (b"\x1b[" in shown) == colored
    assert b"All together, with bias" in shown
    piped = subprocess.run(command, stdout=subprocess.PIPE, env=clean, check=True)
    assert b"\x1b" not in piped.stdout
    assert b"All together, with bias" in piped.stdout


def test_why_one_class_rather_than_another(
    model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", "--model", str(model_folder), "--target", "Cooking"]
    assert main([*arguments, "--against", "Sailing", "--json", TEXT, "zzyzx"]) == 0
    row, blank = map(json.loads, capsys.readouterr().out.splitlines())
    contrast = row["contrast"]
    assert (contrast["target"], contrast["other"], blank["contrast"]) == (
        "Cooking",
        "Sailing",
        None,
    )
    difference = row["scores"]["Cooking"] - row["scores"]["Sailing"]
    assert contrast["total"] == pytest.approx(difference)
    shares = [word["share"] for word in contrast["words"]]
    assert contrast["bias"] + sum(shares) == pytest.approx(difference, abs=1e-5)
    assert main([*arguments, TEXT]) == 0
    without = capsys.readouterr().out
    assert main([*arguments, "--against", "Sailing", TEXT]) == 0
    with_contrast = capsys.readouterr().out
    assert with_contrast.startswith(without)
    assert "For Cooking rather than Sailing: " in with_contrast
    assert main([*arguments, "--against", "Cooking", TEXT]) == 0  # the explained class itself
    assert capsys.readouterr().out == without
    assert main([*arguments, "--against", "Chess", TEXT]) != 0
    assert "'Chess' is not one of the classes" in capsys.readouterr().err
    assert main([*arguments, "--against", "Sailing", "--format", "html", TEXT]) != 0
    assert "leave --against out" in capsys.readouterr().err


def test_texts_are_piped_a_line_each(
    model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["explain", "--model", str(model_folder), "--json"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("bread\n\nanchor\n"))
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["bread", "", "anchor"]
    surrogate = json.dumps({"text": "a\nb \ud800 bread"})
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{surrogate}\n\n"))
    assert main([*arguments, "--json-lines"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "a\nb \ud800 bread"


@pytest.mark.parametrize("line", ["{", "[]", '{"text": 3}', '{"texts": ""}'])
def test_bad_json_lines(
    model_folder: Path,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "bread"}\n' + line + "\n"))
    assert main(["explain", "--model", str(model_folder), "--json", "--json-lines"]) == 2
    assert "Line 2" in capsys.readouterr().err


def test_a_reader_that_closes_the_pipe_is_no_error(model_folder: Path) -> None:
    command = f"yes bread | head -2000 | {sys.executable} -m icaps explain --model {model_folder}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Cooking")
    assert "Traceback" not in done.stderr


def test_a_report_is_printed_without_a_file(
    model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", "--model", str(model_folder), "--format"]
    assert main([*arguments, "json", TEXT]) == 0
    assert json.loads(capsys.readouterr().out)["explanation"]["text"] == TEXT
    assert main([*arguments, "text", TEXT, TEXT]) == 0
    assert capsys.readouterr().out.count("Cooking (> 99% probability)") == 2
    assert main([*arguments, "markdown", "--trust", TEXT]) == 0
    assert "## Can this be trusted?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "html", "one", "two"], "A report is on one text"),
        (["--out", "report.pdf", "one"], "Give the format of the report: --format html"),
        (["--out", "report.html", "--json", "one"], "give only one"),
        (["--out", "nowhere/report.html", "one"], "cannot be written"),
    ],
)
def test_options_that_contradict(
    arguments: list[str], message: str, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--model", str(model_folder), *arguments]) == 2
    assert message in capsys.readouterr().err
