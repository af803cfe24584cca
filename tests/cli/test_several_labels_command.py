"""Commands for several labels per text: evaluate, compare, card, baseline, train."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.label_sets import label_set
from icaps.evaluate.predictions import load_scorer
from icaps.evaluate.scores import evaluate
from tests.baselines import test_several_labels
from tests.evaluate.test_label_set_predictions import labelled
from tests.several_labels import NORMS, with_thresholds


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def models(tmp_path: Path, classifier: ICapsClassifier) -> Path:
    with_thresholds(classifier, (0.3, 0.3, 0.3)).save(tmp_path / "models" / "eager")
    with_thresholds(classifier, NORMS).save(tmp_path / "models" / "several")
    return tmp_path / "models"


def write(path: Path, pairs: list[tuple[str, str]]) -> Path:
    rows = [{"label": list(label_set(label) or ()), "text": text} for text, label in pairs]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "sets.jsonl", labelled())


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def test_evaluate(
    models: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = models / "several"
    classifier = ICapsClassifier.load(model)
    arguments = ["evaluate", "--model", model, "--data", data, "--slices", "--errors", "3"]
    arguments += ["--compare", models / "eager", "--runs", models]
    facts = told(capsys, *arguments, "--csv", tmp_path / "out.csv")
    scores = evaluate(classifier, labelled())
    assert {name: facts[name] for name in scores} == scores
    assert {"chance", "intervals", "calibration", "blank", "left_out"} <= facts.keys()
    second = evaluate(ICapsClassifier.load(models / "eager"), labelled())
    assert facts["comparison"]["macro_f1"] == pytest.approx(second["macro_f1"] - scores["macro_f1"])
    assert [point["name"] for point in facts["learning"]] == []  # of one size
    assert {"kind", "name", "texts", "accuracy", "random"} <= facts["slices"][0].keys()
    assert len(facts["errors"]) == 3
    for row in facts["errors"]:
        given, predicted = set(row["class"]), set(row["predicted"])
        assert set(row["missed"]) == given - predicted
        assert set(row["extra"]) == predicted - given
        assert len(given ^ predicted) > 0
        wrong = {(name, "missed") for name in row["missed"]}
        wrong |= {(name, "extra") for name in row["extra"]}
        assert {(word["class"], word["kind"]) for word in row["misled_by"]} <= wrong
        assert all(word["contrast"] > 0 for word in row["misled_by"])
        assert set(row["probabilities"]) == set(scores["classes"])
    assert any(row["misled_by"] for row in facts["errors"])
    assert facts["misleading"][0]["kind"] in ("missed", "extra")
    assert facts["rejection"][0]["accuracy"] == pytest.approx(scores["subset_accuracy"])
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    assert any(row["misled by"] for row in rows)
    assert main([*map(str, arguments)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"25 texts, micro F1 {scores['micro_f1']:.2%} (")
    assert any(line.startswith("the second model: micro F1 ") for line in lines)
    assert any(line.startswith("   misled by “") for line in lines)
    number = facts["errors"][0]["text number"]
    assert any(
        line.startswith(f"text {number}: missed ") or line.startswith(f"text {number}: extra ")
        for line in lines
    )


def test_a_model_of_one_label_says_what_to_use(
    model_folder: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--model", str(model_folder), "--data", str(data)]) == 2
    assert "The data has several labels per text, and the model" in capsys.readouterr().err


def test_compare(models: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--model", models / "several", "--model", models / "eager"]
    facts = told(capsys, "compare", *pair, "--data", data, "--show", "2")
    assert facts["texts"] == 25
    first, second = facts["scores"]
    for row in (first, second):
        scores = evaluate(load_scorer(row["model"]), labelled())
        for name in ("macro_f1", "micro_f1", "subset_accuracy", "accuracy", "hamming_loss"):
            assert row[name] == pytest.approx(scores[name])
    assert first["difference"] is None
    assert second["difference"] == pytest.approx(second["macro_f1"] - first["macro_f1"])
    assert len(facts["disagreements"]) == 2
    reasons = facts["reasons"]  # of one network with two thresholds
    assert reasons["common"] == pytest.approx(1)
    assert reasons["random_common"] < 0.9
    assert len(reasons["texts"]) == 2
    assert main(["compare", *map(str, pair), "--data", str(data)]) == 0
    out = capsys.readouterr().out
    assert "predict the same classes for" in out
    assert f"macro F1 {first['macro_f1']:.2%} (" in out
    assert "where they agree, have 100.0% of what words add" in out


def test_card(models: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, card = models / "several", tmp_path / "card"
    arguments = ["card", "--model", str(model), "--data", str(data), "--limit", "4"]
    assert main([*arguments, "--out", str(card), "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    facts = json.loads((card / "model_card.json").read_text())
    scores = evaluate(ICapsClassifier.load(model), labelled())
    assert facts["evaluation"]["macro_f1"] == pytest.approx(scores["macro_f1"], abs=1e-4)
    assert facts["data"]["classes"] == {
        name: own["support"] for name, own in scores["per_class"].items()
    }
    assert "gives a text any number of 3 labels" in " ".join(page.split())
    for title in ("Micro F1", "Macro F1", "Average precision", "All labels right", "Threshold"):
        assert title in page
    assert "Texts by class (rows) and prediction" not in page  # there is no such matrix
    assert "<html" in (card / "model_card.html").read_text()
    with (card / "model_card.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {(row["part"], row["of"], row["what"]): row for row in csv.DictReader(file)}
    assert float(rows["evaluation", "", "micro_f1"]["value"]) == pytest.approx(
        scores["micro_f1"], abs=1e-4
    )
    assert ("evaluation", "Sailing", "threshold") in rows


def test_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(row.text, row.label) for row in test_several_labels.labelled(120, 2)]
    write(tmp_path / "data" / "train.jsonl", pairs)
    write(tmp_path / "data" / "test.jsonl", test_several_labels.TEST)
    out = tmp_path / "linear"
    arguments = ["baseline", "linear", "--data", str(tmp_path / "data"), "--out", str(out)]
    metrics = told(capsys, *arguments)
    assert metrics["test"] == evaluate(load_scorer(out), test_several_labels.TEST)
    assert metrics["validation_macro_f1"] > 0.8
    assert main(arguments) == 0
    assert f"test micro F1 {metrics['test']['micro_f1']:.2%}, macro F1" in capsys.readouterr().out


def test_train_scores_the_test_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(row.text, row.label) for row in test_several_labels.labelled(60, 2)]
    write(tmp_path / "data" / "train.jsonl", pairs)
    write(tmp_path / "data" / "test.jsonl", test_several_labels.TEST)
    out = tmp_path / "model"
    arguments = ["train", "--data", tmp_path / "data", "--out", out, "--set", "epochs=2"]
    arguments += ["--set", "max_words=30", "--device", "cpu"]
    assert main([*map(str, arguments)]) == 0
    scores = json.loads((out / "metrics.json").read_text())["test"]
    assert scores == evaluate(ICapsClassifier.load(out), test_several_labels.TEST)
    expected = f"test micro F1 {scores['micro_f1']:.2%}, macro F1 {scores['macro_f1']:.2%}, subset"
    assert expected in capsys.readouterr().err
