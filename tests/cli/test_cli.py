"""The command line: a training from start to end, exit codes, and messages."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.source import open_source
from icaps.interpret.global_view import load_view
from tests.conftest import make_texts

FAST = ["--set", "fixed_dim=8", "--set", "trained_dim=8", "--set", "region_dim=16"]
FAST += ["--set", "min_frequency=0", "--set", "learning_rate=0.01", "--set", "average_decay=0.9"]
FAST += ["--set", "batch_size=16"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for part, count, seed in (("train", 240, 1), ("test", 60, 2)):
        texts, labels = make_texts(count, seed)
        pd.DataFrame({"label": labels, "text": texts}).to_csv(tmp_path / f"{part}.csv", index=False)
    return tmp_path


def test_train_evaluate_explain(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = data / "model"
    arguments = ["train", "--data", str(data), "--out", str(out), "--seed", "3", *FAST]
    assert main([*arguments, "--set", "epochs=12"]) == 0
    log = capsys.readouterr().err
    assert "epoch 1: loss" in log
    metrics = json.loads((out / "metrics.json").read_text())
    accuracy, f1 = (metrics["test"][name] for name in ("accuracy", "macro_f1"))
    assert f"test accuracy {accuracy:.2%}, macro F1 {f1:.2%}" in log
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    for epoch in history:
        scores = epoch["validation_accuracy"], epoch["validation_macro_f1"]
        line = "validation accuracy {:.2%}, macro F1 {:.2%}".format(*scores)
        assert f"epoch {epoch['epoch']}: loss {epoch['loss']:.4f}, {line}" in log
    best = history[metrics["best_epoch"] - 1]
    last = f"epoch {best['epoch']}, the last, has validation accuracy"  # of few texts
    assert f"{last} {best['validation_accuracy']:.2%}" in log
    assert metrics["validation_macro_f1"] == best["validation_macro_f1"]
    assert metrics["seed"] == 3
    assert metrics["test"]["n"] == 60
    assert "counting what the capsules do with the test texts" in log
    capsules = ICapsClassifier.load(out).network_.config.num_capsules
    view = load_view(out, 3, capsules)
    assert view is not None
    assert (view.origin.part, view.tally.texts) == ("test", 60)

    assert main(["evaluate", "--model", str(out), "--data", str(data), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {name: scores[name] for name in metrics["test"]} == metrics["test"]
    assert scores["accuracy"] == sum(scores["confusion"][i][i] for i in range(3)) / 60 > 0.9

    assert main(["explain", "--model", str(out), "--json", "bread and soup", "anchor"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["text"] for row in rows] == ["bread and soup", "anchor"]
    assert [row["predicted"] for row in rows] == ["Cooking", "Sailing"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "--model", "nowhere", "x"], "There is no checkpoint folder nowhere"),
        (["train", "--data", "nowhere", "--out", "x"], "There is no file or folder nowhere"),
        (["train", "--data", "d", "--out", "x", "--preset", "agnews"], "no preset 'agnews'"),
        (["train", "--data", "d", "--out", "x", "--set", "dropout"], "--set takes KEY=VALUE"),
        (["train", "--data", "d", "--out", "x", "--set", "dropout=7"], "dropout is 7.0"),
        (["train", "--data", "d", "--out", "tests", "--seed", "1"], "choose another folder"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ag_news-short"]["max_words"] == 195
    assert main(["presets"]) == 0
    assert "ag_news-short min_frequency=5 fixed_dim=300" in capsys.readouterr().out


def test_usage_mistakes_exit_with_2() -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain"])
    assert stop.value.code == 2


def test_corrected_labels_are_counted(data: Path, tmp_path: Path) -> None:
    first = [next(iter(open_source(data, part))) for part in ("train", "test")]
    others = {"Cooking": "Sailing", "Gardens": "Cooking", "Sailing": "Gardens"}
    file = LabelFile(tmp_path / "corrections.jsonl")
    file.add(GivenLabel(row.text, others[row.label], row.label) for row in first)
    out = tmp_path / "out"
    arguments = ["train", "--data", str(data), "--out", str(out), "--corrections", str(file.path)]
    assert main([*arguments, *FAST, "--set", "epochs=1"]) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    given, corrected = (
        [[row.label for row in open_source(data, part, **reading)] for part in ("train", "test")]
        for reading in ({}, {"corrections": str(file.path)})
    )
    counts = [
        sum(x != y for x, y in zip(*pair, strict=True))
        for pair in zip(given, corrected, strict=True)
    ]
    assert min(counts) >= 1
    assert [metrics["corrected_texts"], metrics["corrected_test_texts"]] == counts


def test_a_class_that_only_the_test_has_costs_no_training(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (data / "test.csv").open("a") as file:
        file.write("Chess,The rook takes the bishop.\n")
    out = data / "model"
    assert main(["train", "--data", str(data), "--out", str(out), *FAST, "--set", "epochs=1"]) == 2
    assert "The data has the class 'Chess', which the model lacks" in capsys.readouterr().err
    assert main(["explain", "--model", str(out), "bread"]) == 0


def test_a_bad_row_of_the_test_is_found_before_the_training(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (data / "test.csv").open("a") as file:
        file.write(",The rook takes the bishop.\n")
    assert main(["train", "--data", str(data), "--out", str(data / "model"), *FAST]) == 2
    error = capsys.readouterr().err
    assert "test.csv" in error
    assert "epoch" not in error


def test_ctrl_c_saves_what_was_reached(data: Path) -> None:
    out = data / "model"
    process = subprocess.Popen(
        [sys.executable, "-m", "icaps", "train", "--data", str(data), "--out", str(out)]
        + [*FAST, "--set", "epochs=100000", "--set", "patience=100000"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "epoch 2" in line:
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert json.loads((out / "metrics.json").read_text())["interrupted"] is True
    assert (out / "last" / "state.safetensors").is_file()
    assert main(["explain", "--model", str(out), "bread"]) == 0
