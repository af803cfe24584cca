"""`icaps label`: a task is created, labels are imported, shown and exported, and train a model."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from tests.conftest import make_texts


def write(path: Path, rows: list[tuple[str, str]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(path)


def test_a_task_from_creation_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts, labels = make_texts(60, seed=3)
    pairs = list(dict(zip(texts, labels, strict=True)).items())
    some = [(text, label if n < 5 else "") for n, (text, label) in enumerate(pairs)]
    data, task = write(tmp_path / "data.csv", some), str(tmp_path / "task")
    create = ["label", "create", task, "--data", data, "--class", "Fishing", "--held-out", "10"]
    assert main([*create, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["texts"], status["labelled"], status["given"]) == (len(pairs), 5, 5)
    assert status["held_out"] == 10
    assert status["by_class"].keys() == {"Fishing", "Cooking", "Gardens", "Sailing"}
    assert main(create) == 2
    assert main(["label", "next", task, "--order", "random", "--limit", "3"]) == 0
    assert capsys.readouterr().out.count("held-out") == 3
    more = write(tmp_path / "more.csv", [*pairs[10:40], ("Of no task.", "Cooking")])
    assert main(["label", "import", task, "--data", more, "--by", "Ada"]) == 0
    assert "30 labels were given; 1 texts are not in the task" in capsys.readouterr().out
    assert main(["label", "status", task]) == 0
    assert f"35 of {len(pairs)} texts are labelled" in capsys.readouterr().out
    assert main(["label", "export", task, "--out", str(tmp_path / "out.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {(row["text"], row["label"]) for row in rows} == {*pairs[:5], *pairs[10:40]}
    assert sorted({row["by"] for row in rows}) == ["Ada", "given"]
    assert main(["label", "export", task, "--out", str(tmp_path / "out.xlsx")]) == 2
    assert main(["label", "data", task]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert {path.name for path in folder.iterdir()} == {"train.jsonl", "test.jsonl"}
    assert main(["data", "check", str(folder)]) == 0


def test_the_surest_guesses_are_accepted(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels = make_texts(40, seed=3)
    data, task = write(tmp_path / "data.csv", [(text, "") for text in texts]), tmp_path / "task"
    names = [f"--class={name}" for name in dict.fromkeys(labels)]
    assert main(["label", "create", str(task), "--data", data, *names, "--held-out", "10"]) == 0
    chances = ICapsClassifier.load(model_folder).predict_proba(texts).max(1)
    accept = ["label", "accept", str(task), "--model", str(model_folder)]
    accept += ["--at-least", str(np.median(chances))]
    capsys.readouterr()
    assert main([*accept, "--dry-run", "--json"]) == 0
    dry = json.loads(capsys.readouterr().out)
    assert (dry["accepted"], dry["batch"]) == (0, None)
    assert 0 < dry["sure"] < dry["texts"] <= 30
    assert dry["held_out_accuracy"]["value"] is None
    assert main([*accept, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["accepted"] == dry["sure"] == sum(facts["by_class"].values())
    assert main(["label", "status", str(task), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["by_models"], status["held_out_labelled"]) == (facts["accepted"], 0)
    assert main(["label", "undo", str(task), "--batch", facts["batch"]]) == 0
    assert f"{facts['accepted']} labels are taken back" in capsys.readouterr().out
    assert main([*accept, "--show", "2"]) == 0
    out = capsys.readouterr().out
    assert f"{facts['accepted']} of {facts['texts']} texts have got a label" in out
    assert len(out.splitlines()) == 4  # with two texts and how to take them back
    assert main([*accept[:-1], "1.5"]) == 2
    assert "from 0 to 1" in capsys.readouterr().err
