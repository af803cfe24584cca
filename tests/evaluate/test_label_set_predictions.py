"""Predictions of several labels per text: streamed, stored, and reported."""

import csv
import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set, label_set
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.evaluate import multilabel
from icaps.evaluate.evaluation import (
    EvaluationData,
    evaluate_data,
    evaluation_artifact,
)
from icaps.evaluate.multilabel import predict_sets, predicted_stream
from icaps.evaluate.multilabel_compare import compare_multilabel
from icaps.evaluate.multilabel_scores import OVERALL, multilabel_scores
from icaps.evaluate.predictions import predict_chunks, predict_stream
from icaps.evaluate.reliability import measure_reliability
from icaps.evaluate.report import (
    EvaluationReport,
    MultilabelReport,
    compare_evaluations,
    make_report,
)
from icaps.evaluate.scores import evaluate
from tests.conftest import TOPICS, make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

CLASSES = list(TOPICS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


def labelled() -> list[tuple[str, str]]:
    """Texts of one topic, two topics and none, a blank text, and a few wrong labels."""
    texts = mixed_texts()
    _, topics = make_texts(12, 6)
    sets = [{topic} for topic in topics]
    sets += [{*one, *other} for one, other in pairwise(sets)]
    sets += [set()]
    sets[0] = set(CLASSES) - sets[0]
    pairs = [(text, format_label_set(names)) for text, names in zip(texts, sets, strict=True)]
    return [*pairs, ("", format_label_set(CLASSES[:1]))]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "sets.jsonl"
    rows = [{"label": list(label_set(label) or ()), "text": text} for text, label in labelled()]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def stored(
    classifier: ICapsClassifier, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> MultilabelReport:
    """The report on `labelled`, as it is stored, whatever the texts are read from."""
    data = EvaluationData(folder, "test", {})

    class Texts:
        corrected = 0
        problems = type("none", (), {"counts": {}, "first": {}})

        def pairs(self) -> list[tuple[str, str]]:
            return labelled()

    monkeypatch.setattr(EvaluationData, "open", lambda _: Texts())
    report = make_report(evaluate_data(classifier, "weights", data))
    assert isinstance(report, MultilabelReport)
    return report


def test_they_are_what_the_classifier_predicts(
    several: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multilabel, "CHUNK", 10)
    pairs = labelled()
    texts = [text for text, _ in pairs]
    chunks = list(predict_sets(several, pairs, count_words=True))
    assert [len(chunk.texts) for chunk in chunks] == [10, 10, 5]
    assert all(chunk.words is not None and chunk.unknown is not None for chunk in chunks)
    with predicted_stream(several, pairs) as own:
        assert own.classes == tuple(CLASSES)
        assert own.probabilities == pytest.approx(several.predict_proba(texts), abs=1e-5)
        norms = several.class_norms(texts)
        assert several.network_.thresholds is not None
        assert np.array_equal(own.predicted, several.network_.thresholds.predicted(norms))
        assert [own.names(row) for row in own.labels] == [
            list(label_set(label) or ()) for _, label in pairs
        ]
        assert own.blank is not None
        assert np.flatnonzero(own.blank).tolist() == [len(pairs) - 1]
        assert {0, 1, 2} <= set(own.predicted.sum(1).tolist())
        scores = multilabel_scores(own)
    assert evaluate(several, pairs) == scores


def test_a_blank_text_is_predicted_nothing(classifier: ICapsClassifier) -> None:
    """Even if the logistic function of a norm of 0 is over the threshold."""
    eager = with_thresholds(classifier, (-1.0, -1.0, -1.0))
    with predicted_stream(eager, [("", format_label_set(CLASSES)), ("soup", "[]")]) as own:
        assert (own.probabilities[0] > own.thresholds).all()
        assert own.predicted.tolist() == [[False] * 3, [True] * 3]
        assert own.missed(0).tolist() == [0]
        assert own.extra(0).tolist() == [1]


def test_texts_with_one_label_are_sets_of_one(several: ICapsClassifier) -> None:
    texts, labels = make_texts(30, 1)
    pairs = list(zip(texts, labels, strict=True))
    sets = [(text, format_label_set([label])) for text, label in pairs]
    assert evaluate(several, pairs) == evaluate(several, sets)


def test_nothing_and_unknown_classes(several: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="no texts"):
        evaluate(several, [])
    with pytest.raises(DataError, match="'Stars', which the model lacks"):
        evaluate(several, [("soup", '["Stars"]')])


def test_models_and_data_of_other_numbers_of_labels(
    classifier: ICapsClassifier, several: ICapsClassifier
) -> None:
    with pytest.raises(DataError, match="data has several labels per text, and the model gives"):
        predict_stream(classifier, labelled())
    with pytest.raises(DataError, match="model gives a text several labels"):
        list(predict_chunks(several, [("soup", CLASSES[0])]))


def test_it_is_stored(
    several: ICapsClassifier, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stored(several, place, monkeypatch)
    monkeypatch.setattr(ICapsClassifier, "class_norms", lambda *_: pytest.fail("it was read again"))
    again = stored(several, place, monkeypatch)
    assert again.evaluation.folder == first.evaluation.folder
    for name in ("labels", "probabilities", "blank", "predicted"):
        one, other = (getattr(report.predictions, name) for report in (again, first))
        assert np.array_equal(one, other)
    assert isinstance(first.predictions.probabilities, np.memmap)
    assert first.evaluation.texts.take(np.arange(25)) == [text for text, _ in labelled()]
    (first.evaluation.folder / "blank.bin").write_bytes(b"1")
    with pytest.raises(DataError, match="not of one length"):
        evaluation_artifact(several, "weights", EvaluationData(place, "test", {})).load()


def test_the_report_in_all_forms(
    several: ICapsClassifier, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stored(several, place, monkeypatch)
    own, facts = report.predictions, report.to_dict()
    assert json.loads(report.to_json())["micro_f1"] == facts["micro_f1"]
    assert {*OVERALL, "accuracy", "chance", "intervals", "confusion", "calibration"} <= set(facts)
    assert facts["blank"] == 1
    for j, name in enumerate(CLASSES):
        expected = measure_reliability(own.probabilities[:, j], own.labels[:, j]).error.value
        assert facts["calibration"]["per_class"][name] == pytest.approx(expected)
    lines = report.to_text().split("\n")
    assert lines[0].startswith(f"25 texts, micro F1 {facts['micro_f1']:.2%} (")
    assert f"average precision {facts['average_precision']:.2%} (" in lines[0]
    assert f"(subset accuracy) {facts['accuracy']:.2%} (" in lines[1]
    assert f"in random order: micro F1 {facts['chance']['micro_f1']:.2%}" in lines[2]
    assert all(
        line.startswith(f"{name}: precision ")
        for name, line in zip(CLASSES, lines[4:], strict=True)
    )
    assert {part.kind for part in report.slices} == {"length", "unknown words"}
    assert sum(part.texts for part in report.slices if part.kind == "length") == 25
    report.write_csv(tmp_path / "texts.csv", several)
    with (tmp_path / "texts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["classes"] for row in rows] == [label for _, label in labelled()]
    row = rows[0]
    missed, extra = (set(label_set(row[kind]) or ()) for kind in ("missed", "extra"))
    given, predicted = (set(label_set(row[kind]) or ()) for kind in ("classes", "predicted"))
    assert (missed, extra) == (given - predicted, predicted - given)
    assert float(row[f"probability of {CLASSES[0]}"]) == pytest.approx(
        own.probabilities[0, 0], abs=1e-4
    )


def test_two_models_on_the_same_texts(classifier: ICapsClassifier) -> None:
    eager = with_thresholds(classifier, (0.3, 0.3, 0.3))
    with (
        predicted_stream(with_thresholds(classifier, NORMS), labelled()) as first,
        predicted_stream(eager, labelled()) as second,
    ):
        test = compare_multilabel(first, second)
        facts = test.to_dict()
        one, two = multilabel_scores(first), multilabel_scores(second)
        for name in OVERALL:
            assert facts[name] == pytest.approx(two[name] - one[name])
            low, high = facts[f"{name}_interval"]
            assert low <= facts[name] <= high
        assert facts["accuracy"] == facts["subset_accuracy"]
        assert test.both + test.only_first == first.correct.sum()
        assert test.both + test.only_second == second.correct.sum()
        assert test.both + test.only_first + test.only_second + test.neither == 25
        turned = second.ordered(CLASSES[::-1])
        assert turned.classes == tuple(CLASSES[::-1])
        assert compare_multilabel(first, turned) == test
        same = compare_multilabel(first, first)
        assert same.p_value == 1
        assert all(score == (0, 0, 0) for score in same.differences.values())
        with pytest.raises(DataError, match="different classes"):
            compare_multilabel(first, dataclasses.replace(first, classes=("a", "b", "c")))
        with pytest.raises(DataError, match="different texts"):
            compare_multilabel(first, dataclasses.replace(first, labels=~first.labels))


def test_a_model_of_one_label_is_not_compared_with_one_of_several(
    classifier: ICapsClassifier, several: ICapsClassifier, tmp_path: Path
) -> None:
    texts, labels = make_texts(20, 1)
    path = tmp_path / "texts.jsonl"
    rows = [{"label": n, "text": t} for t, n in zip(texts, labels, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = EvaluationData(path, "test", {})
    one, other = (
        evaluate_data(own, own_name, data) for own, own_name in ((classifier, "1"), (several, "2"))
    )
    assert isinstance(make_report(one), EvaluationReport)
    assert isinstance(make_report(other), MultilabelReport)
    assert compare_evaluations(one, one).p_value == compare_evaluations(other, other).p_value == 1
    for pair in ((one, other), (other, one)):
        with pytest.raises(DataError, match="One of the two models gives a text several labels"):
            compare_evaluations(*pair)


def test_labels_are_corrected(
    several: ICapsClassifier, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stored(several, place, monkeypatch)
    texts = [text for text, _ in labelled()]
    corrections = {text_hash(texts[0]): "[]", text_hash(texts[1]): format_label_set(CLASSES)}
    own = report.evaluation.with_corrections(corrections, "mine")
    assert own.corrected == 2
    assert own.key != report.evaluation.key
    assert own.predictions.labels[:2].tolist() == [[False] * 3, [True] * 3]
    assert np.array_equal(own.predictions.labels[2:], report.predictions.labels[2:])
    assert np.array_equal(own.predictions.predicted, report.predictions.predicted)
    with pytest.raises(DataError, match="'Stars', which the model lacks"):
        report.evaluation.with_corrections({text_hash(texts[0]): '["Stars"]'}, "wrong")
