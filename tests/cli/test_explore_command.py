import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from icaps.cli.explore import add_parser
from icaps.data.source import open_source
from icaps.errors import DataError
from tests.explore.indexed import write

ROWS = [("The oil\nprice rose", "Business"), ("oil on ice, " + "very " * 40, "Sports"), ("x", "9")]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write(tmp_path / "data", train=ROWS, test=[("oil", "Business")]))


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["explore", *arguments])
    code: int = options.command(options)
    return code


def test_facts(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data) == 0
    out, err = capsys.readouterr()
    assert "train: 3 rows" in out
    assert "  class Business: 1" in out
    assert f"reading {data}" in err
    assert run(data, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["splits"][1]["rows"] == 1
    assert err == ""


def test_rows_as_json(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data, "--words", "OIL", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["row"] for row in rows] == [0, 1, 3]
    assert rows[0] == {
        "row": 0,
        "split": "train",
        "line": 1,
        "label": "Business",
        "text": "The oil\nprice rose",
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (["--regex", "^oil"], [1, 3]),
        (["--class", "Business", "--class", "9"], [0, 2, 3]),
        (["--split", "test"], [3]),
        (["--words", "oil", "--limit", "1"], [0]),
        (["--fewest-words", "2", "--most-words", "9"], [0]),
        (["--limit", "0", "--split", "train"], []),
    ],
)
def test_queries(
    data: str, query: list[str], found: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data, *query) == 0
    out, err = capsys.readouterr()
    assert [int(line.split("\t")[0]) for line in out.splitlines()] == found
    assert " of 4 rows" in err


def test_rows_as_text(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(data, "--words", "oil", "--split", "train")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "0\ttrain:1\tBusiness\tThe oil price rose"
    assert second.endswith(" very ver...")
    assert len(second) < 130


def test_save(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data, "--words", "oil", "--limit", "1", "--save", "about oil") == 0
    out, err = capsys.readouterr()
    assert "saved 3 rows" in err
    records = [(record.text, record.label) for record in open_source(out.strip())]
    assert records == [ROWS[0], ROWS[1], ("oil", "Business")]


def test_mistakes(data: str) -> None:
    with pytest.raises(DataError, match="mistake at character 1"):
        run(data, "--regex", "(")
    with pytest.raises(DataError, match="no class 'Busines'"):
        run(data, "--class", "Busines")


def test_it_brings_no_torch(data: str) -> None:
    code = (
        "import argparse, sys; from icaps.cli.explore import add_parser\n"
        "import icaps.explore.near_duplicates, icaps.data.saved_slices\n"
        "print(sorted({'torch', 'sklearn', 'gensim', 'streamlit'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ,
    )
    assert done.stdout.strip() == "[]"
