"""What a model says of the texts of a data set."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError, DataError
from icaps.explore import label_issues
from icaps.explore.label_issues import (
    BLANK,
    Judged,
    correct,
    judge,
    judged_folder,
    load_judged,
    suspicious,
)
from tests.conftest import make_texts
from tests.explore.indexed import indexed, write

CLASSES = ("Sailing", "Stars", "Cooking", "Gardens")  # another order, and one that is not known


@pytest.fixture
def rows() -> tuple[list[str], np.ndarray]:
    """Texts of three topics with their labels; two blank ones, two of an unknown class."""
    texts, names = make_texts(60, seed=4)
    texts[7], texts[8] = "", "zzzz qqqq"
    names[9] = names[10] = "Stars"
    return texts, np.array([CLASSES.index(name) for name in names], np.int32)


def judged(classifier: ICapsClassifier, rows: tuple[list[str], np.ndarray], folder: Path) -> Judged:
    judge(classifier, iter(rows[0]), rows[1], CLASSES, folder, lambda _: None)
    made = load_judged(folder)
    assert made is not None
    return made


def test_it_is_what_the_classifier_says(
    classifier: ICapsClassifier, rows: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    texts, labels = rows
    made = judged(classifier, rows, tmp_path / "judged")
    predicted, probabilities = classifier.predict(texts), classifier.predict_proba(texts)
    column = {name: n for n, name in enumerate(classifier.classes_)}
    assert made.classes == CLASSES
    assert made.predicted.dtype == np.int16
    assert made.probability.dtype == made.label_probability.dtype == np.float32
    for n in range(len(texts)):
        blank = n in (7, 8)
        assert made.predicted[n] == (BLANK if blank else CLASSES.index(predicted[n]))
        assert made.probability[n] == pytest.approx(probabilities[n].max(), abs=1e-6)
        name = CLASSES[labels[n]]
        if name == "Stars":
            assert np.isnan(made.label_probability[n])
        else:
            expected = probabilities[n, column[name]]
            assert made.label_probability[n] == pytest.approx(expected, abs=1e-6)
    assert made.probability[7] == pytest.approx(1 / 3)


@pytest.mark.parametrize("size", [1, 7, 59, 60, 61])
def test_chunks_make_no_difference(
    classifier: ICapsClassifier,
    rows: tuple[list[str], np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    whole = judged(classifier, rows, tmp_path / "whole")
    monkeypatch.setattr(label_issues, "CHUNK", size)
    told: list[int] = []
    judge(classifier, rows[0], rows[1], CLASSES, tmp_path / "parts", told.append)
    parts = load_judged(tmp_path / "parts")
    assert parts is not None
    assert np.array_equal(whole.predicted, parts.predicted)
    assert whole.probability == pytest.approx(np.array(parts.probability), abs=1e-6)
    assert max(told) <= size
    assert sum(told) == 60


def test_texts_are_streamed(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a chunk is read before it is judged."""
    monkeypatch.setattr(label_issues, "CHUNK", 5)
    read = itertools.count()
    done = 0

    def texts() -> Iterator[str]:
        for _ in range(20):
            assert next(read) < done + 5
            yield "soup"

    def progress(count: int) -> None:
        nonlocal done
        done += count

    judge(classifier, texts(), np.zeros(20, int), CLASSES, tmp_path / "judged", progress)
    assert done == 20


def test_it_is_done_once(
    classifier: ICapsClassifier, rows: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    assert load_judged(tmp_path / "judged") is None
    first = judged(classifier, rows, tmp_path / "judged")
    never = (pytest.fail("it was read again") for _ in range(1))
    judge(classifier, never, rows[1], CLASSES, tmp_path / "judged", lambda _: None)
    again = load_judged(tmp_path / "judged")
    assert again is not None
    assert np.array_equal(first.predicted, again.predicted)


def test_a_class_that_the_data_lack(classifier: ICapsClassifier, tmp_path: Path) -> None:
    judge(classifier, ["anchor sail"], np.array([0]), ["Cooking"], tmp_path / "j", lambda _: None)
    made = load_judged(tmp_path / "j")
    assert made is not None
    assert made.classes == ("Cooking", "Gardens", "Sailing")
    assert made.classes[made.predicted[0]] == "Sailing"


def test_nothing_to_judge(classifier: ICapsClassifier, tmp_path: Path) -> None:
    made = judged(classifier, ([], np.zeros(0, int)), tmp_path / "judged")
    assert made.predicted.shape == suspicious(made, np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize("texts", [1, 3, 5_000])
def test_texts_and_labels_must_match(
    classifier: ICapsClassifier, tmp_path: Path, texts: int
) -> None:
    labels = np.zeros(2, int)
    with pytest.raises(ValueError, match="labels"):
        judge(classifier, ["soup"] * texts, labels, CLASSES, tmp_path / "j", lambda _: None)
    assert load_judged(tmp_path / "j") is None


def test_damage_is_told(
    classifier: ICapsClassifier, rows: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    judged(classifier, rows, tmp_path / "judged")
    file = tmp_path / "judged" / "ready" / "probability.npy"
    np.save(file, np.zeros(3, np.float32))
    with pytest.raises(DataError, match=r"can't be read .* Delete the folder .*judged,"):
        load_judged(tmp_path / "judged")
    file.write_bytes(b"")
    with pytest.raises(DataError, match="can't be read"):
        load_judged(tmp_path / "judged")


def test_an_index_and_a_model_have_a_folder(
    classifier: ICapsClassifier, model_folder: Path, tmp_path: Path
) -> None:
    texts, labels = make_texts(12, seed=5)
    index = indexed(write(tmp_path / "data", train=list(zip(texts, labels, strict=True))))
    folder = judged_folder(index.folder, model_folder)
    assert index.folder.parent in folder.parents
    stream = (index.text([n])[0] for n in range(len(index)))
    judge(classifier, stream, index.labels, index.classes, folder, lambda _: None)
    made = load_judged(folder)
    assert made is not None
    assert [made.classes[n] for n in made.predicted] == classifier.predict(texts).tolist()
    with pytest.raises(CheckpointError, match="can't be read"):
        judged_folder(index.folder, tmp_path)


def by_hand() -> tuple[Judged, np.ndarray]:
    """Right, wrong by .5, wrong by .8, blank, of an unknown class, wrong by .5."""
    nan = float("nan")
    made = Judged(
        ("a", "b", "c"),
        np.array([0, 1, 0, BLANK, 1, 0], np.int16),
        np.array([0.9, 0.7, 0.9, 0.5, 0.99, 0.75], np.float32),
        np.array([0.9, 0.2, 0.1, 0.5, nan, 0.25], np.float32),
    )
    return made, np.array([0, 0, 1, 0, 2, 1])


def test_suspicious_ones_come_by_confidence() -> None:
    made, labels = by_hand()
    assert suspicious(made, labels).tolist() == [2, 1, 5]
    assert suspicious(made, labels).dtype == np.int64


def test_what_is_correct() -> None:
    made, labels = by_hand()
    assert correct(made, labels).tolist() == [True, False, False, False, False, False]


def test_changed_labels_are_found(classifier: ICapsClassifier, tmp_path: Path) -> None:
    """Of texts of which the model is sure, those of another topic's label."""
    texts, names = make_texts(90, seed=6)
    labels = np.array([CLASSES.index(name) for name in names])
    changed = [3, 30, 61]
    labels[changed] = [
        CLASSES.index("Sailing" if names[n] != "Sailing" else "Cooking") for n in changed
    ]
    made = judged(classifier, (texts, labels), tmp_path / "judged")
    assert set(changed) <= set(suspicious(made, labels)[:6].tolist())
