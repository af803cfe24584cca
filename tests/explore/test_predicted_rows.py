"""Rows whose label a model contradicts."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_file import GivenLabel, LabelFile, load_corrections
from icaps.data.label_sets import format_label_set, label_set
from icaps.errors import DataError
from icaps.evaluate import predictions as predictions_module
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.evaluate.predictions import UNKNOWN_CLASS, Predictions
from icaps.explore import index as index_module
from icaps.explore.corrected_index import CorrectedIndex, make_text_hashes
from icaps.explore.index import Index, make_index
from icaps.explore.predicted_rows import (
    is_right,
    predict_rows,
    predicted_labels,
    row_predictions,
    with_labels_of,
)
from tests.conftest import make_texts
from tests.evaluate.test_label_set_predictions import labelled
from tests.explore.indexed import indexed, write
from tests.several_labels import NORMS, with_thresholds

WEIGHTS = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Texts of three topics in two splits; two blank ones, and two of a class of their own."""
    texts, names = make_texts(60, seed=4)
    texts[7], texts[8] = "", "zzzz qqqq"
    names[9] = names[10] = "Stars"
    rows = list(zip(texts, names, strict=True))
    return indexed(write(tmp_path / "data", train=rows[:40], test=rows[40:]))


def test_they_are_what_the_classifier_predicts(classifier: ICapsClassifier, index: Index) -> None:
    made = predict_rows(classifier, WEIGHTS, index)
    texts = index.text(range(len(index)))
    predicted, probabilities = classifier.predict(texts), classifier.predict_proba(texts)
    column = {name: n for n, name in enumerate(classifier.classes_)}
    assert made.classes == tuple(classifier.classes_)
    assert len(made.labels) == len(index) == 60
    for n in range(len(texts)):
        assert made.blank[n] == (n in (7, 8))
        assert made.classes[made.predicted[n]] == predicted[n]
        assert made.confidence[n] == pytest.approx(probabilities[n].max(), abs=1e-6)
        name = index.classes[index.labels[n]]
        if name == "Stars":
            assert made.labels[n] == UNKNOWN_CLASS
            assert np.isnan(made.label_probability[n])
        else:
            expected = probabilities[n, column[name]]
            assert made.classes[made.labels[n]] == name
            assert made.label_probability[n] == pytest.approx(expected, abs=1e-6)
    assert made.confidence[7] == pytest.approx(1 / 3)


@pytest.mark.parametrize("size", [1, 7, 59, 60, 61])
def test_chunks_make_no_difference(
    classifier: ICapsClassifier, index: Index, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    whole = predict_rows(classifier, WEIGHTS, index)
    monkeypatch.setattr(predictions_module, "CHUNK", size)
    monkeypatch.setattr(predictions_module, "_ROWS", size)
    monkeypatch.setattr(index_module, "_BATCH", size)
    counts: list[int] = []
    parts = predict_rows(classifier, f"x{WEIGHTS}", index, counts.append)
    assert np.array_equal(whole.predicted, parts.predicted)
    assert whole.scores == pytest.approx(np.array(parts.scores), abs=1e-6)
    assert whole.confidence == pytest.approx(parts.confidence, abs=1e-6)
    assert whole.label_probability == pytest.approx(parts.label_probability, abs=1e-6, nan_ok=True)
    assert max(counts) <= size
    assert sum(counts) == 60


def test_texts_are_streamed(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a chunk is read before it is predicted and written."""
    monkeypatch.setattr(predictions_module, "CHUNK", 5)
    read = itertools.count()
    done = 0

    def labelled() -> Iterator[tuple[str, str]]:
        for _ in range(20):
            assert next(read) < done + 5
            yield "soup", "Cooking"

    def on_chunk(texts: list[str]) -> None:
        nonlocal done
        done += len(texts)

    chunks = predictions_module.predict_chunks(classifier, labelled())
    assert predictions_module.write_predictions(chunks, tmp_path, on_chunk) == done == 20


def test_they_are_computed_once(
    classifier: ICapsClassifier, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert row_predictions(classifier, WEIGHTS, index).load() is None
    first = predict_rows(classifier, WEIGHTS, index)
    monkeypatch.setattr(ICapsClassifier, "class_norms", lambda *_: pytest.fail("computed again"))
    again = predict_rows(classifier, WEIGHTS, index)
    assert np.array_equal(first.predicted, again.predicted)
    artifact = row_predictions(classifier, WEIGHTS, index)
    assert index.folder.parent in artifact.home.parents
    assert row_predictions(classifier, f"x{WEIGHTS}", index).load() is None


def test_a_class_that_the_data_lack(classifier: ICapsClassifier, tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=[("anchor sail", "Cooking")]))
    made = predict_rows(classifier, WEIGHTS, index)
    assert made.classes[made.predicted[0]] == "Sailing"
    assert not is_right(made)[0]


def test_damage_is_reported(classifier: ICapsClassifier, index: Index) -> None:
    predict_rows(classifier, WEIGHTS, index)
    artifact = row_predictions(classifier, WEIGHTS, index)
    file = artifact.home / "ready" / "labels.bin"
    np.zeros(3, np.int32).tofile(file)
    with pytest.raises(DataError, match=r"can't be read .* Delete the folder"):
        artifact.load()
    file.unlink()
    with pytest.raises(DataError, match="can't be read"):
        predict_rows(classifier, WEIGHTS, index)


def by_hand() -> Predictions:
    """Right, wrong by .5, wrong by .8, blank, of an unknown class, wrong by .5."""
    probabilities = [[0.9, 0.1], [0.25, 0.75], [0.9, 0.1], [0.5, 0.5], [0.01, 0.99], [0.75, 0.25]]
    scores = np.log(probabilities)
    scores[3] = 0
    labels = np.array([0, 0, 1, 1, UNKNOWN_CLASS, 1])
    return Predictions(("a", "b"), labels, scores)


def test_what_is_right() -> None:
    assert is_right(by_hand()).tolist() == [True, False, False, False, False, False]


def test_a_blank_text_is_never_right() -> None:
    blank = Predictions(("a", "b"), np.array([0]), np.zeros((1, 2)))
    assert blank.correct.tolist() == [True]  # the first class, as `predict` returns
    assert is_right(blank).tolist() == [False]


def test_several_labels_per_text(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = with_thresholds(classifier, NORMS)
    texts = [text or "zzzz qqqq" for text, _ in labelled()]
    sets = [{*(label_set(label) or ())} for _, label in labelled()]
    sets[3] = {*several.predict_labels(texts)[3], "Stars"}  # a class that the model lacks
    rows = [{"text": t, "label": sorted(s)} for t, s in zip(texts, sets, strict=True)]
    place = tmp_path / "sets.jsonl"
    place.write_text("\n".join(map(json.dumps, rows)))
    index = make_index(place, {})
    made = predict_rows(several, WEIGHTS, index)
    assert isinstance(made, MultilabelPredictions)
    predicted = [set(names) for names in several.predict_labels(texts)]
    right = [a == b for a, b in zip(predicted, sets, strict=True)]
    right[-1] = False  # without a known word
    assert is_right(made).tolist() == right
    assert 0 < sum(right) < len(right)
    assert made.wrong[3] == 1  # the class that it lacks
    some = np.array([3, len(texts) - 1, 0])
    names = [format_label_set(predicted[n]) for n in some]
    assert predicted_labels(made, some) == [names[0], "", names[2]]
    # Other thresholds are other predictions of the same weights.
    eager = predict_rows(with_thresholds(classifier, (0.1, 0.1, 0.1)), WEIGHTS, index)
    assert eager.predicted.sum() > made.predicted.sum()
    # A correction changes what is right, and not what is predicted.
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add([GivenLabel(texts[3], names[0])])
    corrections = load_corrections(file.path)
    corrected = CorrectedIndex(index, make_text_hashes(index), corrections, "new")
    now = is_right(with_labels_of(made, corrected))
    assert now.tolist() == [n == 3 or one for n, one in enumerate(right)]


def test_a_model_of_one_label_refuses_rows_of_several(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    place = tmp_path / "sets.jsonl"
    place.write_text('{"text": "oven", "label": ["a", "b"]}\n{"text": "sail", "label": ["a"]}')
    with pytest.raises(DataError, match="several labels per text"):
        predict_rows(classifier, WEIGHTS, make_index(place, {}))
