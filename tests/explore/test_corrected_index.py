"""An index with corrected labels is that of data which is read with the corrections."""

from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.evaluate.predictions import UNKNOWN_CLASS
from icaps.explore.corrected_index import (
    CorrectedIndex,
    correct_index,
    duplicates_with_labels_of,
    labels_by_hash,
    make_text_hashes,
    text_hashes_artifact,
    without_corrected,
)
from icaps.explore.label_issues import confident_issues, find_label_issues, label_issues_artifact
from icaps.explore.near_duplicates import find_duplicates
from icaps.explore.predicted_rows import predict_rows, with_labels_of
from icaps.explore.search import Query, search
from tests.conftest import make_texts
from tests.explore.indexed import indexed, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = list(zip(*make_texts(60, seed=1), strict=True))
    test = [*zip(*make_texts(20, seed=2), strict=True), rows[0], ("", "Cooking")]
    return write(tmp_path / "data", train=rows, test=test)


def corrected(place: Path, *labels: GivenLabel) -> tuple[CorrectedIndex, Path]:
    file = LabelFile(place.parent / "corrections.jsonl")
    file.add(labels)
    index = indexed(place)
    return correct_index(index, file.path), file.path


def test_it_is_the_index_of_the_corrected_data(place: Path) -> None:
    texts = indexed(place).text([0, 1, 2])
    labels = [GivenLabel(texts[0].upper(), "Sailing"), GivenLabel(texts[2], "Brand new")]
    index, file = corrected(place, *labels, GivenLabel("Elsewhere", "Sailing"))
    whole = indexed(place, corrections=str(file))
    assert index.classes == whole.classes == ("Brand new", "Cooking", "Gardens", "Sailing")
    assert index.labels.tolist() == whole.labels.tolist()
    assert index.facts.splits == whole.facts.splits
    everything = np.arange(len(index))
    assert list(index.labelled(everything)) == list(whole.labelled(everything))
    for name in index.classes:
        assert index.distinctive_words(name) == whole.distinctive_words(name)
    query = Query(classes=("Brand new",))
    assert search(index, query).tolist() == search(whole, query).tolist() == [2]
    changed = [row for row in everything if index.given.labels[row] != index.labels[row] - 1]
    assert np.flatnonzero(index.corrected).tolist() == changed
    assert {0, 2} <= set(changed) <= {0, 2, 80}  # 80: the same text in the test part


def test_a_class_whose_only_row_is_corrected_is_gone(tmp_path: Path) -> None:
    rows = [*zip(*make_texts(30, seed=1), strict=True), ("A typo of a label", "Cookng")]
    place = write(tmp_path / "data", train=rows)
    index, file = corrected(place, GivenLabel("A typo of a label", "Cooking"))
    assert index.classes == ("Cooking", "Gardens", "Sailing")
    assert index.facts.splits == indexed(place, corrections=str(file)).facts.splits


def test_hashes_are_stored_once(place: Path) -> None:
    index = indexed(place)
    hashes = make_text_hashes(index)
    assert text_hashes_artifact(index).exists
    assert make_text_hashes(index).tolist() == hashes.tolist()
    by_hash = labels_by_hash(index, hashes)
    assert len(by_hash) == len(set(hashes.tolist())) < len(index) + 1
    assert by_hash[0] == "Cooking"  # of the text without characters


def test_predictions_have_the_new_labels(place: Path, classifier: ICapsClassifier) -> None:
    (text,) = indexed(place).text([3])
    index, _ = corrected(place, GivenLabel(text, "Brand new"))
    given = predict_rows(classifier, "weights", index.given)
    predictions = with_labels_of(given, index)
    assert predictions.labels[3] == UNKNOWN_CLASS
    others = np.arange(len(index)) != 3
    assert (predictions.labels[others] == given.labels[others]).all()
    assert (predictions.scores == given.scores).all()


def test_issues_of_corrected_labels_are_those_of_the_corrected_data(place: Path) -> None:
    given = find_label_issues(indexed(place))
    text = indexed(place).text([5])[0]
    wrong = "Sailing" if indexed(place).label_of(5) != "Sailing" else "Cooking"
    index, file = corrected(place, GivenLabel(text, wrong))
    assert label_issues_artifact(index).load() is None  # those of before are others
    issues = find_label_issues(index)
    whole = find_label_issues(indexed(place, corrections=str(file)))
    assert issues.rows.tolist() == whole.rows.tolist() != given.rows.tolist()
    assert issues.given == pytest.approx(whole.given, nan_ok=True)
    assert 5 in issues.rows
    again = label_issues_artifact(indexed(place)).load()
    assert again is not None
    assert again.rows.tolist() == given.rows.tolist()


def test_corrected_rows_are_doubted_no_more(tmp_path: Path) -> None:
    rows = [("one", "b"), ("two", "b"), ("three", "b"), ("four", "c"), ("five", "c"), ("six", "c")]
    place = write(tmp_path / "data", train=rows)
    first = np.array([0.9, 0.8, 0.1, 0.2, 0.3, 0.95])
    issues = confident_issues(np.stack([first, 1 - first], 1), np.array([0, 0, 0, 1, 1, 1]))
    assert issues.rows.tolist() == [5, 2]
    index, _ = corrected(place, GivenLabel("six", "b"), GivenLabel("one", "a"))
    left = without_corrected(issues, index)
    assert left.rows.tolist() == [2]
    names = np.array(index.classes)[left.suggested]
    assert names.tolist() == ["b", "b", "c", "c", "c", "b"]
    index, _ = corrected(place, *(GivenLabel(text, "b") for text, label in rows if label == "c"))
    assert without_corrected(issues, index).rows.tolist() == []  # no row is of class c any more


def test_duplicates_have_the_new_labels(tmp_path: Path) -> None:
    rows = [("The sails and the masts", name) for name in ("x", "x", "y")]
    place = write(
        tmp_path / "data", train=[*rows, ("Bread and soup", "x"), ("bread and soup", "y")]
    )
    index, _ = corrected(place, GivenLabel("Bread and soup", "z"))
    given = find_duplicates(index.given)
    assert (given.exact["train"].total, given.exact["train"].differing) == (2, 1)
    pairs = duplicates_with_labels_of(given, index).exact["train"]
    assert (pairs.total, pairs.differing) == (2, 1)
    index, _ = corrected(place, GivenLabel("The sails and the masts", "x"))
    pairs = duplicates_with_labels_of(given, index).exact["train"]
    assert (pairs.total, pairs.differing) == (2, 0)
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([0, 0], [1, 2])
