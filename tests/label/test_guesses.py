"""A model's guesses: which are sure, which are accepted, what is marked, and what is taken back."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.errors import DataError
from icaps.label import guesses as guesses_module
from icaps.label.guesses import Guesses, by_model, is_by_model
from icaps.label.task import LabelTask
from tests.conftest import make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = [f"Text number {n} of the heap" for n in range(30)]


class Counting:
    """Text n is of class x with probability n / 30."""

    classes_ = np.array(["x", "y"], dtype=object)
    multilabel_, thresholds_ = False, None

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:
        share = np.array([int(text.split()[2]) for text in X]) / 30
        return np.stack([share, 1 - share], axis=1)

    def predict(self, X: Sequence[str]) -> NDArray[np.object_]:
        return self.classes_[self.predict_proba(X).argmax(1)]


def make(folder: Path, texts: Sequence[str] = TEXTS, **options: object) -> LabelTask:
    given = {"classes": ["x", "y"], "held_out": 6, "seed": 1} | options
    return LabelTask.create(folder / "task", texts, **given)  # type: ignore[arg-type]


def test_the_surest_are_accepted_and_marked(tmp_path: Path) -> None:
    task = make(tmp_path)
    held_out = set(task.held_out)
    others = [n for n in range(30) if n not in held_out]
    task.give(others[0], "y", by="Ada")
    task.skip(others[-1])
    guesses = task.guesses(Counting())
    expected = {n: max(n, 30 - n) / 30 for n in others[1:-1]}
    assert dict(zip(guesses.ids.tolist(), guesses.probabilities, strict=True)) == pytest.approx(
        expected
    )
    assert (np.diff(guesses.probabilities) <= 0).all()
    sure = guesses.from_probability(0.8)
    assert set(sure.ids.tolist()) == {n for n, chance in expected.items() if chance >= 0.8}
    assert sure.by_class() == {
        name: sum((n > 15) == (name == "x") for n in sure.ids.tolist()) for name in sure.by_class()
    }
    assert set(sure.by_class()) == {"x", "y"}
    batch = task.accept(sure, "mine")
    for n in sure.ids.tolist():
        one = task.label(n)
        assert one is not None
        assert (one.label, one.by) == ("x" if n > 15 else "y", "model mine")
        assert one.time
    rows = [json.loads(line) for line in task.export("jsonl").splitlines()]
    assert sorted({row["by"] for row in rows}) == ["Ada", "model mine"]
    progress = task.progress()
    assert (progress.by_models, progress.labelled) == (len(sure), len(sure) + 1)
    assert progress.held_out_labelled == 0
    (accepted,) = task.accepted()
    assert accepted[:2] == (batch, "model mine")
    assert accepted.texts == len(sure)
    # A person's later label stays when the others are taken back.
    task.give(int(sure.ids[0]), "y")
    assert set(task.undo(batch)) == set(sure.ids.tolist())
    assert {one.id for one in task.labels()} == {others[0], int(sure.ids[0])}
    assert task.accepted() == []


def test_held_out_texts_are_never_labelled_by_a_model(tmp_path: Path) -> None:
    task = make(tmp_path)
    guesses = task.guesses(Counting())
    assert not set(guesses.ids.tolist()) & set(task.held_out)
    first = task.held_out[0]
    chosen = Guesses(np.array([first]), np.array(["x"], object), np.array([1.0]))
    assert len(task.still_open(chosen)) == 0
    for label in (
        lambda: task.accept(chosen, "mine"),
        lambda: task.give(first, "x", by=by_model("mine")),
        lambda: task.import_labels([(TEXTS[first], "x")], by="model"),
    ):
        with pytest.raises(DataError, match="held-out text is not labelled by a model"):
            label()
    assert task.label(first) is None
    task.give(first, "x")


def test_texts_that_were_labelled_meanwhile_keep_their_label(tmp_path: Path) -> None:
    task = make(tmp_path)
    sure = task.guesses(Counting()).from_probability(0.9)
    task.give(int(sure.ids[0]), "y", by="Ada")
    assert int(sure.ids[0]) not in task.still_open(sure).ids
    assert set(task.still_open(sure, [int(sure.ids[1])]).ids.tolist()) == set(sure.ids[2:].tolist())
    task.accept(sure, "mine")
    kept = task.label(int(sure.ids[0]))
    assert kept is not None
    assert kept.by == "Ada"
    with pytest.raises(DataError, match="have a label already"):
        task.accept(sure, "mine")


def test_the_guesses_for_held_out_texts_are_checked(tmp_path: Path) -> None:
    task = make(tmp_path)
    assert np.isnan(task.check_guesses(Counting()).accuracy(0.5).value)
    for n in task.held_out:
        task.give(n, "x")
    checked = task.check_guesses(Counting())
    assert set(checked.guesses.ids.tolist()) == set(task.held_out)
    sure = [n for n in task.held_out if max(n, 30 - n) / 30 >= 0.7]
    assert checked.accuracy(0.7).value == np.mean([n > 15 for n in sure])


def test_a_batch_has_a_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = make(tmp_path)
    guesses = task.guesses(Counting())
    monkeypatch.setattr(guesses_module, "MOST", 3)
    assert guesses.from_probability(0).ids.tolist() == guesses.ids[:3].tolist()
    sample = guesses.sample(5)
    assert len(sample) == 5
    assert sample.ids.tolist() == guesses.sample(5).ids.tolist()
    assert (np.diff(sample.probabilities) <= 0).all()


def test_several_classes_per_text(classifier: ICapsClassifier, tmp_path: Path) -> None:
    model = with_thresholds(classifier, NORMS)
    names = [str(name) for name in model.classes_]
    texts = [*dict.fromkeys(mixed_texts()), "zzzz qqqq"]  # the last one has no known word
    task = make(tmp_path, texts, classes=names, several=True, held_out=3)
    guesses = task.guesses(model)
    open_ = [n for n in range(len(texts) - 1) if n not in task.held_out]
    assert sorted(guesses.ids.tolist()) == open_
    predicted, chances = model.predict(texts) > 0, model.predict_proba(texts)
    for n, chance in zip(guesses.ids.tolist(), guesses.probabilities, strict=True):
        assert chance == pytest.approx(np.where(predicted[n], chances[n], 1 - chances[n]).prod())
    task.accept(guesses, "mine")
    found = model.predict_labels(texts)
    assert {one.id: set(one.names) for one in task.labels()} == {n: set(found[n]) for n in open_}
    # Of a task of one class per text only guesses of one class are taken.
    other = make(tmp_path / "other", texts, classes=names, held_out=3)
    ids = other.guesses(model).ids.tolist()
    assert sorted(ids) == [n for n in open_ if len(found[n]) == 1]


def test_a_network_has_no_guess_for_a_text_without_known_words(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    texts = [*dict.fromkeys(make_texts(20, 3)[0]), "zzzz qqqq"]
    names = [str(name) for name in classifier.classes_]
    task = make(tmp_path, texts, classes=names, held_out=0)
    counts: list[int] = []
    guesses = task.guesses(classifier, counts.append)
    assert sorted(guesses.ids.tolist()) == list(range(len(texts) - 1))
    assert sum(counts) == len(texts)
    labels = dict(zip(guesses.ids.tolist(), guesses.labels, strict=True))
    predicted = classifier.predict(texts[:-1]).tolist()
    assert [labels[n] for n in range(len(texts) - 1)] == predicted


def test_who_is_a_model() -> None:
    assert is_by_model(by_model("a b"))
    assert is_by_model("model")
    assert not is_by_model("modeler")
    assert not is_by_model("person")
