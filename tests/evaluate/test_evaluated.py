"""A model's judgement of texts: what it says, where it is kept, and what becomes of it."""

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.evaluate import predictions
from icaps.evaluate.cache import Evaluated, Evaluation, evaluate_kept, load_evaluated
from icaps.evaluate.metrics import evaluate
from icaps.evaluate.predictions import predict_stream
from icaps.evaluate.report import EvaluationReport
from icaps.explore.index import make_index, open_index
from icaps.explore.saved_slices import save_slice, slices
from icaps.interpret.global_view import weights_fingerprint
from icaps.text.clean import split_words
from tests.conftest import TOPICS, make_texts

CLASSES = list(TOPICS)
STRANGE = '=1+1, "quoted"\r\nand \ud83d more'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def labelled() -> tuple[list[str], list[str]]:
    """Texts of three topics, some of a wrong class; a blank one, unknown words, a strange one."""
    texts, labels = make_texts(90, seed=4)
    texts[7], texts[8], texts[9] = "", "zzzz bread qqqq xxxx", STRANGE
    labels[:6] = labels[1:7]
    return texts, labels


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [{"label": n, "text": t} for t, n in zip(*labelled(), strict=True)]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def made(classifier: ICapsClassifier, model_folder: Path, place: Path) -> Evaluated:
    evaluation = Evaluation(weights_fingerprint(model_folder), CLASSES, place, "test", {})
    return evaluate_kept(classifier, evaluation)


def test_it_is_what_the_classifier_says(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "CHUNK", 40)
    texts, labels = labelled()
    kept: list[str] = []
    told: list[int] = []
    found = predict_stream(classifier, zip(texts, labels, strict=True), kept.append, told.append)
    assert kept == texts
    assert told == [40, 40, 10]
    names = np.array(found.classes, dtype=object)
    assert names[found.predicted].tolist() == classifier.predict(texts).tolist()
    assert names[found.labels].tolist() == labels
    assert found.probabilities == pytest.approx(classifier.predict_proba(texts), abs=1e-6)
    assert np.flatnonzero(found.blank).tolist() == [7]
    assert found.confidence[7] == pytest.approx(1 / 3)
    assert found.words.tolist() == [len(split_words(text)) for text in texts]
    assert found.unknown[8] == 0.75
    assert found.unknown[7] == 0
    scores = evaluate(classifier, zip(texts, labels, strict=True))
    assert found.confusion.tolist() == scores["confusion"]
    assert found.correct.mean() == scores["accuracy"]


def test_errors_come_by_confidence(classifier: ICapsClassifier) -> None:
    texts, labels = labelled()
    found = predict_stream(classifier, zip(texts, labels, strict=True))
    wrong = [n for n in range(90) if classifier.predict([texts[n]])[0] != labels[n]]
    assert sorted(found.errors.tolist()) == wrong
    assert len(wrong) >= 6
    sure = found.confidence[found.errors]
    assert (np.diff(sure) <= 0).all()
    for i in range(3):
        for j in range(3):
            cell = found.cell(i, j)
            assert len(cell) == found.confusion[i, j]
            assert set(found.labels[cell].tolist()) <= {i}


def test_nothing_and_unknown_classes(classifier: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="no texts"):
        predict_stream(classifier, [])
    with pytest.raises(DataError, match="'Stars', which the model lacks"):
        predict_stream(classifier, [("soup", "Stars")])


def test_it_is_kept(
    classifier: ICapsClassifier,
    model_folder: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = made(classifier, model_folder, place)
    monkeypatch.setattr(ICapsClassifier, "class_norms", lambda *_: pytest.fail("it was read again"))
    again = made(classifier, model_folder, place)
    assert again.folder == first.folder
    for name in ("labels", "norms", "words", "unknown"):
        values = getattr(again.predictions, name)
        assert np.array_equal(values, getattr(first.predictions, name))
    assert again.texts.take(np.arange(90)) == [
        r.text.replace("\ud83d", "\ufffd") for r in open_source(place)
    ]
    hot = load_evaluated(first.folder.parent, 100.0)
    assert hot is not None
    assert hot.predictions.confidence.mean() > first.predictions.confidence.mean()


def test_other_texts_weights_and_options_have_another_place(
    classifier: ICapsClassifier, model_folder: Path, place: Path, tmp_path: Path
) -> None:
    def home(
        weights: str = "w",
        part: str = "test",
        at: Path = place,
        muted: tuple[int, ...] = (),
        classes: Sequence[str] = CLASSES,
        **reading: str,
    ) -> Path:
        return Evaluation(weights, classes, at, part, reading, muted).home()

    folder = tmp_path / "both"
    folder.mkdir()
    for part in ("train", "test"):
        shutil.copy(place, folder / f"{part}.jsonl")
    homes = [home(), home("v"), home(muted=(1,)), home(label="text"), home(on_bad_rows="skip")]
    homes += [home(classes="ab"), home(at=folder), home(at=folder, part="train")]
    assert len(set(homes)) == len(homes)
    assert home(part="train") == home()  # a file has no parts
    assert home(on_bad_rows="strict") == home()
    before = home()
    place.write_text(place.read_text() + '\n{"label": "Cooking", "text": "soup"}')
    assert home() != before


def test_texts_that_change_meanwhile(
    classifier: ICapsClassifier, model_folder: Path, place: Path
) -> None:
    evaluation = Evaluation("w", CLASSES, place, "test", {})

    def change(_: int) -> None:
        place.write_text('{"label": "Cooking", "text": "soup"}')

    home = evaluation.home()
    with pytest.raises(DataError, match="was changed while it was read"):
        evaluate_kept(classifier, evaluation, change)
    assert load_evaluated(home, 1.0) is None


@pytest.mark.parametrize("name", ["facts.json", "norms.npy", "texts.arrow", "labels.npy"])
def test_damage_is_told(
    classifier: ICapsClassifier, model_folder: Path, place: Path, name: str
) -> None:
    folder = made(classifier, model_folder, place).folder
    (folder / name).write_bytes(b"")
    with pytest.raises(DataError, match=r"can't be read .* Delete the folder"):
        load_evaluated(folder.parent, 1.0)
    np.save(folder / "labels.npy", np.zeros(3))
    with pytest.raises(DataError, match="can't be read"):
        load_evaluated(folder.parent, 1.0)


def test_rows_left_out_are_remembered(
    classifier: ICapsClassifier, model_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,label\nsoup,Cooking\nanchor\nmast,Sailing\n")
    evaluation = Evaluation("w", CLASSES, path, "test", {"on_bad_rows": "skip"})
    for _ in range(2):
        found = evaluate_kept(classifier, evaluation)
        assert len(found.predictions.labels) == 2
        assert found.problems.total == 1
        (problem,) = found.problems.first.popitem()[1]
        assert problem.line == 3


def test_the_report(
    classifier: ICapsClassifier, model_folder: Path, place: Path, tmp_path: Path
) -> None:
    report = EvaluationReport(made(classifier, model_folder, place))
    texts = [record.text for record in open_source(place)]
    told = json.loads(report.to_json())
    scores = evaluate(classifier, zip(texts, labelled()[1], strict=True))
    assert {name: told[name] for name in scores} == scores
    assert told["blank"] == 1
    low, high = told["intervals"]["accuracy"]
    assert low < told["accuracy"] < high
    assert told["intervals"]["per_class"].keys() == told["per_class"].keys()
    kinds = [part["kind"] for part in told["slices"]]
    assert set(kinds) == {"length", "unknown words"}
    assert sum(part["texts"] for part in told["slices"] if part["kind"] == "length") == 90
    path = tmp_path / "all.csv"
    report.write_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == [t.replace("\ud83d", "\ufffd") for t in texts]
    assert [row["class"] for row in rows] == labelled()[1]
    assert rows[7]["predicted"] == ""
    assert float(rows[0]["probability"]) == pytest.approx(
        classifier.predict_proba([texts[0]]).max(), abs=1e-4
    )
    assert "90 texts, accuracy" in report.to_text()
    with pytest.raises(DataError, match="can't be written"):
        report.write_csv(tmp_path / "nowhere" / "all.csv")


def test_the_table_comes_in_blocks(
    classifier: ICapsClassifier,
    model_folder: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = EvaluationReport(made(classifier, model_folder, place))
    monkeypatch.setattr("icaps.evaluate.report._BLOCK", 40)
    parts = list(report.tables())
    assert [len(part) for part in parts] == [40, 40, 10]
    pd.testing.assert_frame_equal(
        pd.concat(parts, ignore_index=True), report.table(range(90)), check_dtype=False
    )


def test_saved_slices(
    classifier: ICapsClassifier, model_folder: Path, place: Path, tmp_path: Path
) -> None:
    """Those that were saved of these texts are found in them, and those of others are not."""
    report = EvaluationReport(made(classifier, model_folder, place))
    index = open_index(make_index(place, {}))
    save_slice(index, np.array([3, 20, 21]), "mine", {})
    other = tmp_path / "other.csv"
    other.write_text("text,label\nunheard of,Cooking\n")
    save_slice(open_index(make_index(other, {})), np.array([0]), "theirs", {})
    (found,) = report.saved_slices(slices())
    assert (found.kind, found.name, found.texts) == ("saved slice", "mine", 3)
    assert found.accuracy.value == report.predictions.correct[[3, 20, 21]].mean()
