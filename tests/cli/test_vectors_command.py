"""`icaps vectors show` and `icaps vectors build`."""

import hashlib
import json
from pathlib import Path

import pytest

from icaps.cli.main import main
from icaps.text.vector_files import load_vectors

GLOVE = "the 1 2\nsea 3 4\nThe 1 2\ntide 30 40\n</s> 1 1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("glove.txt").write_text(GLOVE, encoding="utf-8")
    Path("texts.txt").write_text("The sea, the sea!\nDer Hafen.\n", encoding="utf-8")
    Path("data.csv").write_text('text,label\nThe tide,a\n"Sea, sea",b\n', encoding="utf-8")
    return tmp_path


def test_build_is_the_same_byte_by_byte(capsys: pytest.CaptureFixture[str]) -> None:
    for out in ("one.npz", "two.npz"):
        assert main(["vectors", "build", "glove.txt", "--out", out, "--words", "3"]) == 0
    content = Path("one.npz").read_bytes()
    assert Path("two.npz").read_bytes() == content
    assert hashlib.sha256(content).hexdigest() in capsys.readouterr().out
    vectors = load_vectors("one.npz")
    assert vectors.index_to_key == ["the", "sea", "The"]
    assert (vectors["sea"] * 64).tolist() == [27, 36]


def test_the_order_of_other_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    Path("order.txt").write_text("tide 1\nsea 1\n", encoding="utf-8")
    arguments = ["vectors", "build", "glove.txt", "--out", "own.npz", "--ranking", "order.txt"]
    assert main(arguments) == 0
    assert load_vectors("own.npz").index_to_key == ["tide", "sea"]
    assert capsys.readouterr().out.startswith("own.npz: 2 words, 1 rows of 2 numbers, 0.0 MB, SHA")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--words", "0"], "--words is 0; it must be at least 1."),
        (["--out", "nowhere/own.npz"], "nowhere/own.npz cannot be written: No such file"),
        (["--ranking", "missing.txt"], "There is no vectors file missing.txt."),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "build", "glove.txt", "--out", "own.npz", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("own.npz").exists()


def test_the_english_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "show"]) == 0
    assert capsys.readouterr().out == "english: 100,000 words, 300 dimensions\n"


def test_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    # Of sea, the, sea, Der, Hafen with The; then also of The, tide, Sea and sea.
    assert main(["vectors", "show", "glove.txt", "--unlabelled", "texts.txt"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "glove.txt: 5 words, 2 dimensions",
        "glove.txt: vectors for 67% of the running words. Words without one: Der, Hafen. Is it "
        "English? For other languages give vectors of that language: --vectors FILE, such as one "
        "of fastText.",
    ]
    both = ["--unlabelled", "texts.txt", "--data", "data.csv", "--json"]
    assert main(["vectors", "show", "glove.txt", "glove.txt", *both]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == second
    assert first["coverage"] == pytest.approx(8 / 10)
    assert (first["words"], first["dim"], first["missing"]) == (5, 2, ["Der", "Hafen"])
