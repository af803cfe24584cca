import json
from pathlib import Path

import pytest

from icaps.cli.main import main
from tests.conftest import make_texts


def write(path: Path, count: int, seed: int, header: str = "label,text") -> Path:
    path.parent.mkdir(exist_ok=True)
    rows = [f'{label},"{text}"' for text, label in zip(*make_texts(count, seed), strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "train.csv", 30, 1)
    assert main(["data", "check", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("train: 30 rows\n")
    assert "class Cooking: 10\n" in out
    assert out.endswith("usable\n")
    assert "\ntest" not in out
    write(tmp_path / "test.csv", 9, 2)
    assert main(["data", "check", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["usable"], report["train"]["rows"], report["test"]["rows"]) == (True, 30, 9)
    other = write(tmp_path / "other.csv", 6, 1)
    assert main(["data", "check", str(tmp_path), "--test", str(other), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["test"]["rows"], report["leaks"]) == (6, 6)


def test_check_says_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "x.csv", 30, 1)
    path.write_text(path.read_text() + "Cooking\n")
    assert main(["data", "check", str(path)]) == 2
    out = capsys.readouterr().out
    assert "train: 30 rows, 1 bad\n" in out
    assert "error: train: ragged row: 1, the first: " in out
    assert main(["data", "check", str(tmp_path / "nowhere")]) == 2
    assert "icaps: There is no file or folder" in capsys.readouterr().err


def test_how_it_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.txt"
    rows = ["kind\tx\ty\tid", *(f"{'ab'[n % 2]}\té{n}\tç{n}\t{n}" for n in range(8))]
    path.write_bytes("\n".join(rows).encode("utf-16-le"))
    arguments = ["data", "check", str(path), "--text", "x", "--text", "y", "--label", "kind"]
    arguments += ["--encoding", "utf-16-le", "--delimiter", r"\t", "--json"]
    assert main(arguments) == 0
    (about,) = json.loads(capsys.readouterr().out)["train"]["source"]["files"]
    assert about["text"] == ["x", "y"]
    assert about["label"] == "kind"
    assert about["encoding"] == "utf-16-le"
    assert main([*arguments, "--delimiter", "ab"]) == 2
    assert "The delimiter is 'ab'; it must be one character" in capsys.readouterr().err


def test_train_and_evaluate_read_alike(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "x.csv", 30, 3, header="kind,words")
    path.write_text(path.read_text() + "Cooking\n")
    arguments = ["evaluate", "--model", str(model_folder), "--data", str(path), "--json"]
    assert main(arguments) == 2
    assert "line 32, column 8: the row has 1 fields, not 2" in capsys.readouterr().err
    arguments += ["--text", "words", "--label", "kind", "--on-bad-rows", "skip"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n"] == 30
    assert f"left out: {path}, line 32, column 8" in captured.err
    assert "test rows left out: 1 ragged row" in captured.err

    out = tmp_path / "model"
    arguments = ["train", "--data", str(path), "--out", str(out), "--label", "kind", "--text"]
    arguments += ["words", "--set", "epochs=1", "--set", "fixed_dim=8", "--set", "trained_dim=8"]
    assert main(arguments) == 2
    assert "1 of 31 rows cannot be read" in capsys.readouterr().err
    assert not out.exists()
    assert main([*arguments, "--on-bad-rows", "skip", "--set", "min_frequency=0"]) == 0
    captured = capsys.readouterr()
    assert "train rows left out: 1 ragged row" in captured.err
    assert (out / "classes.txt").read_text().split() == ["Cooking", "Gardens", "Sailing"]


def test_a_folder_of_classes_is_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n, (text, label) in enumerate(zip(*make_texts(60, 1), strict=True)):
        (tmp_path / "texts" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / label / f"{n}.txt").write_text(text)
    arguments = ["train", "--data", str(tmp_path / "texts"), "--out", str(tmp_path / "model")]
    arguments += ["--set", "epochs=1", "--set", "fixed_dim=8", "--set", "trained_dim=8"]
    assert main([*arguments, "--set", "min_frequency=0"]) == 0
    assert "saved to" in capsys.readouterr().err
