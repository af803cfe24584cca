"""Label issues: confident learning by hand, and wrong labels that were planted."""

import json
from pathlib import Path

import numpy as np
import pytest

from icaps.cli.main import main
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.explore import label_issues as module
from icaps.explore.index import Index
from icaps.explore.label_issues import (
    calibrated_joint,
    confidence_bounds,
    confident_classes,
    confident_issues,
    cross_validate,
    find_label_issues,
    label_issues_artifact,
)
from tests.conftest import make_texts
from tests.explore.indexed import indexed, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


# Of the first class in each row; three rows have the label 0, three the label 1.
FIRST = np.array([0.9, 0.8, 0.1, 0.2, 0.3, 0.95])
TWO = np.stack([FIRST, 1 - FIRST], axis=1)
LABELS = np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("block", [2, 100])
def test_confident_learning_by_hand(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    everything = np.ones(6, dtype=bool)
    # (0.9 + 0.8 + 0.1) / 3, and (0.8 + 0.7 + 0.05) / 3
    assert confidence_bounds(TWO, LABELS, everything) == pytest.approx([0.6, 1.55 / 3])
    issues = confident_issues(TWO, LABELS)
    assert issues.rows.tolist() == [5, 2]  # by margins of 0.9 and 0.8
    assert issues.given == pytest.approx([0.9, 0.8, 0.1, 0.8, 0.7, 0.05])
    assert issues.suggested.tolist() == [0, 0, 1, 1, 1, 0]
    assert issues.probability == pytest.approx([0.9, 0.8, 0.9, 0.8, 0.7, 0.95])
    assert issues.joint.tolist() == [[2, 1], [1, 2]]
    assert issues.estimate == 2
    assert issues.accuracy == pytest.approx(4 / 6)


def test_a_class_is_confident_above_its_own_bound_only() -> None:
    """As a class that models are rarely sure of has a low bound, and one without rows none."""
    bounds = np.array([0.9, 0.2, np.inf])
    rows = [[0.85, 0.1, 0.05], [0.7, 0.25, 0.05], [0.95, 0.3, 0.0], [0.1, 0.1, 0.8]]
    assert confident_classes(np.array(rows), bounds).tolist() == [-1, 1, 0, -1]


def test_predicted_wrong_is_not_yet_an_issue() -> None:
    """Row 3 is predicted as class 1, but with less than its bound of (0.6 + 0.9) / 2 = 0.75."""
    first = np.array([0.9, 0.8, 0.9, 0.4, 0.4, 0.1])
    issues = confident_issues(np.stack([first, 1 - first], axis=1), np.array([0, 0, 0, 0, 1, 1]))
    assert issues.rows.tolist() == []
    assert issues.accuracy == pytest.approx(5 / 6)
    assert issues.suggested.tolist() == [0, 0, 0, 0, 1, 1]  # that of the label


def test_the_joint_has_the_number_of_each_label() -> None:
    counts = np.array([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    joint = calibrated_joint(counts, np.array([8, 6, 5]))
    assert joint.tolist() == [[6, 2, 0], [3, 3, 0], [0, 0, 5]]


def test_rows_without_words_are_not_doubted() -> None:
    known = np.array([True, True, False, True, True, True])
    issues = confident_issues(TWO, LABELS, known)
    assert issues.rows.tolist() == [5]
    assert np.isnan(issues.given[2])
    assert issues.joint.sum() == 5


def planted(tmp_path: Path, count: int = 300) -> tuple[Index, list[int]]:
    """Texts of three topics of which each twentieth has the label of another one."""
    texts, names = make_texts(count, seed=6)
    wrong = list(range(0, count, 20))
    for n in wrong:
        names[n] = {"Sailing": "Cooking", "Cooking": "Gardens", "Gardens": "Sailing"}[names[n]]
    rows = list(zip(texts, names, strict=True))
    return indexed(write(tmp_path / "data", train=rows[:200], test=rows[200:])), wrong


def test_planted_labels_are_found(tmp_path: Path) -> None:
    index, wrong = planted(tmp_path)
    assert label_issues_artifact(index).load() is None
    issues = find_label_issues(index)
    found = set(issues.rows.tolist())
    assert len(found - set(wrong)) <= 2
    assert len(found & set(wrong)) >= 0.7 * len(wrong)
    assert issues.estimate == pytest.approx(len(wrong), abs=5)
    right = {"Sailing": "Gardens", "Cooking": "Sailing", "Gardens": "Cooking"}
    for row in found & set(wrong):
        given, suggested = (index.classes[codes[row]] for codes in (index.labels, issues.suggested))
        assert suggested == right[given]
        assert issues.probability[row] > issues.given[row]
    again = label_issues_artifact(index).load()
    assert again is not None
    for name in ("rows", "given", "suggested", "probability", "joint"):
        assert np.array_equal(getattr(again, name), getattr(issues, name), equal_nan=True)
    assert again.accuracy == issues.accuracy
    np.save(label_issues_artifact(index).home / "ready" / "given.npy", np.zeros(3))
    with pytest.raises(DataError, match="another number of rows"):
        label_issues_artifact(index).load()


def test_no_model_sees_a_row_that_it_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a row of the same text; each row with words is predicted once."""
    texts, names = make_texts(40, seed=8)
    rows = list(zip([*texts, *texts[:10], ""], [*names, *names[1:11], "Sailing"], strict=True))
    index = indexed(write(tmp_path / "data", train=rows))
    folds: list[tuple[set[int], set[int]]] = []
    predict = module._predict_fold

    def recorded(texts, labels, fitted, tested, *others) -> None:  # type: ignore[no-untyped-def]
        folds.append((set(fitted.tolist()), set(tested.tolist())))
        predict(texts, labels, fitted, tested, *others)

    monkeypatch.setattr(module, "_predict_fold", recorded)
    probabilities = np.full((51, 3), np.nan)
    known = cross_validate(index, probabilities)
    assert known.tolist() == [True] * 50 + [False]
    assert sorted(row for _, tested in folds for row in tested) == list(range(50))
    hashes = [text_hash(text) for text in index.texts]
    for fitted, tested in folds:
        assert not {hashes[row] for row in fitted} & {hashes[row] for row in tested}
        assert fitted | tested == set(range(50))
    assert probabilities[:50].sum(1) == pytest.approx(np.ones(50))
    assert np.isnan(probabilities[50]).all()


def test_too_few_rows(tmp_path: Path) -> None:
    rows = list(zip(*make_texts(19, seed=8), strict=True))
    with pytest.raises(DataError, match="19 rows with words are too few"):
        find_label_issues(indexed(write(tmp_path / "few", train=rows)))
    rows = [(text, "one") for text, _ in zip(*make_texts(50, seed=8), strict=True)]
    with pytest.raises(DataError, match="of two classes"):
        find_label_issues(indexed(write(tmp_path / "one", train=rows)))


def test_a_class_of_one_row(tmp_path: Path) -> None:
    """Its fold has no model that knows the class, so its label has a probability of 0."""
    rows = list(zip(*make_texts(60, seed=8), strict=True))
    index = indexed(write(tmp_path / "data", train=[*rows, ("a lone astronomer", "Space")]))
    issues = find_label_issues(index)
    assert issues.given[60] == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index, _ = planted(tmp_path)
    issues, data = find_label_issues(index), str(tmp_path / "data")
    assert main(["data", "issues", data, "--json", "--csv", str(tmp_path / "issues.csv")]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["rows"] == 300
    assert told["issues"] == len(issues.rows) > 5
    assert told["estimate"] == pytest.approx(issues.estimate)
    first = told["listed"][0]
    row = int(issues.rows[0])
    assert first["row"] == row
    assert first["text"] == index.text([row])[0]
    assert first["label"] == index.classes[index.labels[row]]
    assert first["suggested"] == index.classes[issues.suggested[row]]
    assert first["probability_of_label"] == pytest.approx(float(issues.given[row]))
    assert first["probability_of_suggested"] == pytest.approx(float(issues.probability[row]))
    lines = (tmp_path / "issues.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(issues.rows) + 1
    assert main(["data", "issues", data, "--limit", "2"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert f"{len(issues.rows)} of 300 labels are doubted" in err
