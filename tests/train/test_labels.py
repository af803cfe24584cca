"""Labels survive saving and loading: class names and types."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.errors import CheckpointError, DataError
from icaps.evaluate.scores import evaluate
from icaps.train.checkpoint_files import CLASSES, CONFIG, read_classes, write_classes
from icaps.train.labels import encode_labels, read_labels
from tests.conftest import MODEL, TRAIN, make_texts

BRIEF = dataclasses.replace(TRAIN, epochs=1)
NAMES = st.lists(
    st.text(st.characters(exclude_characters="\0"), max_size=5), min_size=2, max_size=6, unique=True
)
ODD = ["a\u2028b", "a\x85b", "a\x0bb", "a\x1cb", "\ufeffa", " a ", "a\0b", "👩🏽‍🍳", "a\tb", "<b>"]


class Row(NamedTuple):
    text: str
    label: str


def fitted(labels: list[Any]) -> tuple[ICapsClassifier, list[str]]:
    """A classifier of texts with these labels in turn, and the texts."""
    texts, _ = make_texts(len(labels) * 8, seed=1)
    return ICapsClassifier(MODEL, BRIEF, device="cpu").fit(texts, labels * 8), texts


@given(NAMES)
@example(ODD)
@example(["a", ""])
@example(["a", "b\r"])
@example(["a", "\ud800"])
def test_class_names_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    try:
        classes, _ = encode_labels(["a text"] * len(names), names)
    except DataError:
        assert any(not name.strip() or set(name) & set("\n\r") or lone(name) for name in names)
        return
    path = tmp_path_factory.mktemp("names") / CLASSES
    write_classes(map(str, classes), path)
    assert read_classes(path) == tuple(sorted(names))


def lone(name: str) -> bool:
    """Whether a name has a lone surrogate."""
    return name.encode(errors="ignore").decode() != name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x\ny", r"'x\\ny' has a line end; rename the class"),
        ("x\r", r"'x\\r' has a line end; rename the class"),
        ("x\ud800", "half of a character .*; rename the class"),
        ("", "name '' is empty; give the class a name"),
        (" \t", r"name ' \\t' is empty"),
    ],
)
def test_an_unstorable_class_name_raises_before_training(name: str, message: str) -> None:
    texts, _ = make_texts(16, seed=1)
    with pytest.raises(DataError, match=message):
        ICapsClassifier(MODEL, TRAIN).fit(texts, ["z", name] * 8)
    with pytest.raises(DataError, match=message):
        read_labels(Row(text, label) for text, label in zip(texts, ["z", name] * 8, strict=True))


def test_odd_names_survive_a_checkpoint(tmp_path: Path) -> None:
    classifier, texts = fitted(ODD)
    classifier.save(tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model", "cpu")
    assert loaded.classes_.tolist() == sorted(ODD)
    assert loaded.predict(texts).tolist() == classifier.predict(texts).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        [-3, 10, 2],
        [True, False],
        [0.0, 1.0],
        np.array([0, 7, 250], np.uint8),
        np.array([False, True]),
        ["0", "1"],
        ["True", "False"],
    ],
    ids=repr,
)
def test_labels_retain_their_type(labels: Any, tmp_path: Path) -> None:
    given = np.tile(labels, 8) if isinstance(labels, np.ndarray) else list(labels) * 8
    texts, _ = make_texts(len(given), seed=1)
    classifier = ICapsClassifier(MODEL, BRIEF, device="cpu").fit(texts, given)
    classifier.save(tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model", "cpu")
    before, after = (model.predict(texts).tolist() for model in (classifier, loaded))
    assert before == after
    assert list(map(type, before)) == list(map(type, after))
    assert loaded.classes_.tolist() == sorted(np.unique(labels).tolist())
    assert loaded.score(texts, given) == classifier.score(texts, given)
    target = given[1]
    explained = [next(model.explain([texts[0]], target=target)) for model in (classifier, loaded)]
    assert explained[1].target == explained[0].target == str(target)
    assert explained[1].predicted == str(after[0])
    assert explained[1].scores == pytest.approx(explained[0].scores, abs=1e-6)
    # What reads labels from files compares names.
    names = [str(label) for label in np.asarray(given).tolist()]
    scores = evaluate(loaded, zip(texts, names, strict=True))
    assert scores["accuracy"] == classifier.score(texts, given)
    loaded.save(tmp_path / "again")
    read = [(tmp_path / name / CONFIG).read_text() for name in ("model", "again")]
    assert read[0] == read[1]


def test_a_checkpoint_without_a_type_has_text_labels(tmp_path: Path) -> None:
    classifier, _ = fitted([0, 1])
    classifier.save(tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    assert config.pop("label_type") == "int"
    (tmp_path / CONFIG).write_text(json.dumps(config))
    assert ICapsClassifier.load(tmp_path).classes_.tolist() == ["0", "1"]
    for wrong in ("bool", "complex", ["int"], None):
        (tmp_path / CONFIG).write_text(json.dumps(config | {"label_type": wrong}))
        with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
            ICapsClassifier.load(tmp_path)


@pytest.mark.parametrize(
    "labels", [["a", 1], [1, "1"], ["a", None], pd.Series(["a", 2.5]), [True, "True"]]
)
def test_labels_of_mixed_types_are_refused(labels: Any) -> None:
    with pytest.raises(DataError, match="mix text and other values, such as"):
        encode_labels(["x", "y"], labels)


def test_numbers_of_several_types_are_numbers() -> None:
    """numpy makes them one type, and they stay equal to what was given."""
    classes, numbers = encode_labels(["x", "y", "z"], [True, 2, 2.0])
    assert classes.tolist() == [1.0, 2.0]
    assert numbers.tolist() == [0, 1, 1]


def test_a_source_gives_names(tmp_path: Path) -> None:
    texts, _ = make_texts(4, seed=1)
    classes, numbers, _ = read_labels(open_source((texts, [1, 0, 1, 10])))
    assert classes.tolist() == ["0", "1", "10"]
    assert numbers.tolist() == [1, 0, 1, 2]
