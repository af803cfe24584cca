"""`icaps evaluate`, whole."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.storage import save_baseline
from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.source import open_source
from icaps.evaluate.scores import evaluate
from icaps.train.text_hashes import load_hashes
from tests.conftest import MODEL, TRAIN, make_texts


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


def test_all_that_it_tells(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the first two labels exchanged, so that there are errors."""
    lines = data_file.read_text(encoding="utf-8").splitlines()
    (one, first), (other, second) = (line.rsplit(",", 1) for line in lines[1:3])
    path = tmp_path / "texts.csv"
    path.write_text("\n".join([lines[0], f"{one},{second}", f"{other},{first}", *lines[3:]]))
    models = tmp_path / "models"
    shutil.copytree(model_folder, models / "a")
    shutil.copytree(model_folder, models / "b")
    metrics = json.loads((models / "b" / "metrics.json").read_text())
    metrics["training_texts"] = 1000
    (models / "b" / "metrics.json").write_text(json.dumps(metrics))
    arguments = ["evaluate", "--model", str(models / "a"), "--data", str(path), "--slices"]
    arguments += ["--errors", "2", "--compare", str(models / "b"), "--runs", str(models)]
    assert main([*arguments, "--json", "--csv", str(tmp_path / "out.csv")]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert f"wrote {tmp_path / 'out.csv'}" in err
    scores = evaluate(classifier, open_source(path).pairs())
    assert {name: told[name] for name in scores} == scores
    assert told["comparison"]["p_value"] == 1
    assert told["comparison"]["both"] == round(scores["accuracy"] * 120)
    assert [point["name"] for point in told["learning"]] == ["a", "b"]
    assert {"kind", "name", "texts", "accuracy", "random"} <= told["slices"][0].keys()
    assert len(told["errors"]) == 2
    for row in told["errors"]:
        assert row["class"] != row["predicted"]
        assert not row["right"]
        assert row["kgrams"]
        assert all(kgram in row["text"] for kgram in row["kgrams"])
        names = [str(name) for name in classifier.classes_]
        (explanation,) = classifier.explain([row["text"]])
        columns = explanation.account.shares[:, [names.index(row["predicted"])]]
        contrast = columns[:, 0] - explanation.account.shares[:, names.index(row["class"])]
        contrasts: dict[str, float] = {}
        for word, value in zip(explanation.words, contrast.tolist(), strict=True):
            name = explanation.text[word.start : word.end]
            contrasts[name] = contrasts.get(name, 0) + value
        first = max(contrasts, key=lambda name: contrasts[name])
        assert 1 <= len(row["misled_by"]) <= 5
        assert row["misled_by"][0]["word"] == first
        assert row["misled_by"][0]["contrast"] == pytest.approx(contrasts[first], abs=1e-6)
        assert set(row["misled_by"][0]) == {"word", "count", "share", "share_of_class", "contrast"}
    totals = {(row["word"], row["predicted"]): row for row in told["misleading"]}
    assert 1 <= len(totals) <= 20
    assert (told["errors"][0]["misled_by"][0]["word"], told["errors"][0]["predicted"]) in totals
    summed = [row["contrast"] for row in told["misleading"]]
    assert summed == sorted(summed, reverse=True)
    sure = [row["probability"] for row in told["errors"]]
    assert sure == sorted(sure, reverse=True)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["right"] == "True" for row in rows) == round(scores["accuracy"] * 120)
    by_number = {int(row["text number"]): row for row in rows}
    for row in told["errors"]:
        words = [f"{w['word']} {w['contrast']:+.3f}" for w in row["misled_by"]]
        assert by_number[row["text number"]]["misled by"] == "; ".join(words)
    assert not any(row["misled by"] for row in rows if row["right"] == "True")

    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"120 texts, accuracy {scores['accuracy']:.2%} (")
    assert any(line.startswith("Cooking: precision ") for line in lines)
    assert any(line.startswith("length, ") for line in lines)
    assert any("McNemar p 1.000" in line for line in lines)
    row = told["errors"][0]
    assert any(f"text {row['text number']}: {row['class']}, predicted as" in line for line in lines)
    word = row["misled_by"][0]
    assert any(f"misled by “{word['word']}” {word['contrast']:+.2f}" in line for line in lines)
    word = told["misleading"][0]
    assert f"  “{word['word']}” for {word['predicted']}: {word['contrast']:+.2f} in " in "\n".join(
        lines
    )
    # Without --errors, the file is as it was.
    plain = ["evaluate", "--model", str(models / "a"), "--data", str(path)]
    assert main([*plain, "--csv", str(tmp_path / "plain.csv")]) == 0
    assert "misled" not in (tmp_path / "plain.csv").read_text(encoding="utf-8").splitlines()[0]
    capsys.readouterr()


def test_a_part_of_a_folder(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part, text in (("train", "soup,Cooking\nmast,Sailing"), ("test", "mast,Sailing")):
        (tmp_path / f"{part}.csv").write_text(f"text,label\n{text}\n")
    counts = []
    for more in ([], ["--part", "train"]):
        arguments = ["evaluate", "--model", str(model_folder), "--data", str(tmp_path)]
        assert main([*arguments, *more, "--json"]) == 0
        counts.append(json.loads(capsys.readouterr().out)["n"])
    assert counts == [1, 2]


def test_models_of_other_classes_are_not_compared(
    model_folder: Path, data_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(model_folder, other)
    (other / "classes.txt").write_text("Cooking\nGardens\nStars\n")
    arguments = ["evaluate", "--model", str(model_folder), "--data", str(data_file)]
    assert main([*arguments, "--compare", str(other)]) == 2
    assert "'Sailing', which the model lacks" in capsys.readouterr().err


def test_texts_that_were_trained_on_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels = make_texts(150, seed=5)
    path, model, again = tmp_path / "own.csv", str(tmp_path / "model"), str(tmp_path / "linear")
    rows = (f'"{text}",{label}\n' for text, label in zip(texts, labels, strict=True))
    path.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    assert len(set(texts)) == len(texts)
    train = replace(TRAIN, epochs=2)
    classifier = ICapsClassifier(MODEL, train, device="cpu").fit(texts, labels)
    classifier.save(model)
    save_baseline(fit_baseline("linear", open_source(path), train), again)
    hashes = load_hashes(model)
    assert hashes is not None
    training, held_out = len(hashes.training), len(hashes.held_out)
    assert (training, held_out) == (135, 15)
    warning = (
        "135 of 150 texts (90%) were in this model's training; scores on them say little. "
        "Use the held-out 15."
    )
    data = ["--data", str(path), "--json"]
    leak = {"texts": 150, "training": 135, "held_out": 15, "share": 0.9, "warning": warning}

    for command in ("evaluate", "shortcuts", "faithfulness"):
        extra = ["--rankings", "random"] if command == "faithfulness" else []
        assert main([command, "--model", model, *data, *extra]) == 0
        out, err = capsys.readouterr()
        told = json.loads(out)
        assert (told["leaks"][model] if command == "evaluate" else told["leak"]) == leak
        assert f"WARNING: {model}: {warning} (--part held_out)" in err

    both = ["--model", model, "--model", again]
    assert main(["compare", *both, *data]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["leaks"] == {model: leak, again: leak}
    assert told["scores"][1]["p_value"] is None
    assert told["scores"][1]["difference"] is not None
    assert f"WARNING: {again}: {warning}" in err
    assert main(["compare", *both, "--data", str(path)]) == 0
    assert "no test, as one of them was trained on these texts" in capsys.readouterr().out

    chosen = [*data, "--part", "held_out"]
    assert main(["evaluate", "--model", model, *chosen]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["n"] == 15
    assert told["accuracy"] == classifier.metrics_["validation_accuracy"]
    assert told["leaks"][model] == {
        "texts": 15, "training": 0, "held_out": 15, "share": 0, "warning": "",
    }  # fmt: skip
    assert "WARNING" not in err
    assert main(["compare", *both, *chosen]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["texts"] == 15
    assert told["scores"][1]["p_value"] is not None
