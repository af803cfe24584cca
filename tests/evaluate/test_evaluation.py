"""The evaluation of a model on a data set: predictions, where they are stored, the report."""

import copy
import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_file import GivenLabel, LabelFile, load_corrections
from icaps.data.saved_slices import slices
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.evaluate import predictions
from icaps.evaluate.evaluation import (
    Evaluation,
    EvaluationData,
    evaluate_data,
    evaluation_artifact,
)
from icaps.evaluate.predictions import predict_chunks, predict_stream
from icaps.evaluate.report import EvaluationReport
from icaps.evaluate.scores import evaluate
from icaps.explore.index import make_index
from icaps.explore.search import save_slice
from icaps.text.tokenizer import split_words
from icaps.train.checkpoint_files import weights_fingerprint
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


def made(classifier: ICapsClassifier, model_folder: Path, place: Path) -> Evaluation:
    weights = weights_fingerprint(model_folder)
    return evaluate_data(classifier, weights, EvaluationData(place, "test", {}))


def with_classes(classifier: ICapsClassifier, classes: Sequence[str]) -> ICapsClassifier:
    other = copy.copy(classifier)
    other.classes_ = np.array(list(classes), dtype=object)
    return other


def test_it_is_what_the_classifier_says(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "CHUNK", 40)
    texts, labels = labelled()
    pairs = list(zip(texts, labels, strict=True))
    found = predict_stream(classifier, pairs)
    chunks = list(predict_chunks(classifier, pairs, count_words=True))
    assert [chunk.texts for chunk in chunks] == [texts[:40], texts[40:80], texts[80:]]
    words = np.concatenate([chunk.words for chunk in chunks if chunk.words is not None])
    unknown = np.concatenate([chunk.unknown for chunk in chunks if chunk.unknown is not None])
    names = np.array(found.classes, dtype=object)
    assert names[found.predicted].tolist() == classifier.predict(texts).tolist()
    assert names[found.labels].tolist() == labels
    assert found.probabilities == pytest.approx(classifier.predict_proba(texts), abs=1e-6)
    assert np.flatnonzero(found.blank).tolist() == [7]
    assert found.confidence[7] == pytest.approx(1 / 3)
    assert words.tolist() == [len(split_words(text)) for text in texts]
    assert unknown[8] == 0.75
    assert unknown[7] == 0
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
    assert np.array_equal(again.predictions.labels, first.predictions.labels)
    assert np.array_equal(again.predictions.scores, first.predictions.scores)
    assert np.array_equal(again.words, first.words)
    assert np.array_equal(again.unknown, first.unknown)
    assert again.texts.take(np.arange(90)) == [
        r.text.replace("\ud83d", "\ufffd") for r in open_source(place)
    ]
    other = copy.copy(classifier)
    other.inverse_temperature_ = 100.0
    weights = weights_fingerprint(model_folder)
    hot = evaluation_artifact(other, weights, EvaluationData(place, "test", {})).load()
    assert hot is not None
    assert hot.folder == first.folder
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
        model = with_classes(classifier, classes).without(muted)
        return evaluation_artifact(model, weights, EvaluationData(at, part, reading)).home

    folder = tmp_path / "both"
    folder.mkdir()
    for part in ("train", "test"):
        shutil.copy(place, folder / f"{part}.jsonl")
    homes = [home(), home("v"), home(muted=(1,)), home(label="text"), home(on_bad_rows="skip")]
    homes += [home(classes="abc"), home(at=folder), home(at=folder, part="train")]
    assert len(set(homes)) == len(homes)
    assert home(part="train") == home()  # a file has no parts
    assert home(on_bad_rows="strict") == home()
    before = home()
    place.write_text(place.read_text() + '\n{"label": "Cooking", "text": "soup"}')
    assert home() != before


def test_texts_that_change_meanwhile(
    classifier: ICapsClassifier, model_folder: Path, place: Path
) -> None:
    data = EvaluationData(place, "test", {})

    def change(_: int) -> None:
        place.write_text('{"label": "Cooking", "text": "soup"}')

    artifact = evaluation_artifact(classifier, "w", data)
    with pytest.raises(DataError, match="was changed while it was read"):
        evaluate_data(classifier, "w", data, change)
    assert artifact.load() is None


def test_any_part_is_evaluated_anew_after_it_changed(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    """Also a part that is neither train nor test, and a text deep in a folder of its class."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.csv").write_text("text,label\nsoup,Cooking\nmast,Sailing\n")
    dev = folder / "dev.csv"
    dev.write_text("text,label\nbread and soup,Cooking\nanchor,Sailing\n")
    data = EvaluationData(folder, "dev", {})
    first = evaluate_data(classifier, "w", data)
    assert first.predictions.correct.all()
    dev.write_text("text,label\nbread and soup,Sailing\nanchor,Cooking\nmast,Sailing\n")
    again = evaluate_data(classifier, "w", data)
    assert len(again.predictions.labels) == 3
    assert again.predictions.correct.sum() <= 1
    for name in ("Cooking", "Sailing"):
        (folder / "valid" / name).mkdir(parents=True)
        (folder / "valid" / name / "1.txt").write_text("soup")
    data = EvaluationData(folder, "valid", {})
    first = evaluate_data(classifier, "w", data)
    (folder / "valid" / "Sailing" / "2.txt").write_text("anchor")
    assert len(evaluate_data(classifier, "w", data).predictions.labels) == 3


@pytest.mark.parametrize(
    "name", ["facts.json", "scores.bin", "texts.arrow", "labels.bin", "words.bin"]
)
def test_damage_is_told(
    classifier: ICapsClassifier, model_folder: Path, place: Path, name: str
) -> None:
    folder = made(classifier, model_folder, place).folder
    (folder / name).write_bytes(b"")
    with pytest.raises(DataError, match=r"can't be read .* Delete the folder"):
        made(classifier, model_folder, place)
    np.zeros(3, np.int32).tofile(folder / "labels.bin")
    with pytest.raises(DataError, match="can't be read"):
        made(classifier, model_folder, place)


def test_rows_left_out_are_remembered(
    classifier: ICapsClassifier, model_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,label\nsoup,Cooking\nanchor\nmast,Sailing\n")
    data = EvaluationData(path, "test", {"on_bad_rows": "skip"})
    for _ in range(2):
        found = evaluate_data(classifier, "w", data)
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
    index = make_index(place, {})
    save_slice(index, np.array([3, 20, 21]), "mine", {})
    other = tmp_path / "other.csv"
    other.write_text("text,label\nunheard of,Cooking\n")
    save_slice(make_index(other, {}), np.array([0]), "theirs", {})
    (found,) = report.saved_slices(slices())
    assert (found.kind, found.name, found.texts) == ("saved slice", "mine", 3)
    assert found.accuracy.value == report.predictions.correct[[3, 20, 21]].mean()


def test_corrected_labels_need_no_new_predictions(
    classifier: ICapsClassifier, model_folder: Path, place: Path, tmp_path: Path
) -> None:
    given = made(classifier, model_folder, place)
    first, second = given.texts.take(np.array([0, 1]))
    names = [str(name) for name in classifier.classes_]
    labels = [names[number] for number in given.predictions.labels]
    other = next(name for name in names if name != labels[0])
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add([GivenLabel(first.upper(), other), GivenLabel(second, labels[1])])
    corrections = load_corrections(file.path)
    corrected = given.with_corrections(corrections, "a name")
    reading = {"corrections": str(file.path)}
    weights = weights_fingerprint(model_folder)
    whole = evaluate_data(classifier, weights, EvaluationData(place, "test", reading))
    assert corrected.predictions.labels.tolist() == whole.predictions.labels.tolist()
    changed = np.flatnonzero(corrected.predictions.labels != given.predictions.labels)
    assert 0 in changed
    assert corrected.corrected == whole.corrected == len(changed)
    assert given.corrected == 0
    assert len({given.key, corrected.key, whole.key}) == 3
    assert EvaluationReport(corrected).to_dict() == EvaluationReport(whole).to_dict()
    assert "labels are corrected" in EvaluationReport(corrected).to_text()
    file.add([GivenLabel(first, "Brand new")])
    with pytest.raises(DataError, match="has the class 'Brand new', which the model lacks"):
        given.with_corrections(load_corrections(file.path), "another name")
