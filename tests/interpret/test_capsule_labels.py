"""What capsules are called, from the counts to the explanation of a text."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.interpret.capsule_labels import (
    FOLDER,
    LABEL_WORDS,
    VIEW,
    automatic_label,
    load_label_words,
)
from icaps.interpret.corpus import Tally
from icaps.interpret.tables import label_words
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import CAPSULES, WEIGHTS


@pytest.fixture
def folder(interpreted: Path, tmp_path: Path) -> Path:
    return shutil.copytree(interpreted, tmp_path / "model")


def facts_of(folder: Path) -> dict[str, object]:
    facts: dict[str, object] = json.loads((folder / FOLDER / VIEW).read_text(encoding="utf-8"))
    return facts


def write(folder: Path, facts: dict[str, object]) -> None:
    (folder / FOLDER / VIEW).write_text(json.dumps(facts), encoding="utf-8")


def test_a_label_is_the_number_and_two_words() -> None:
    assert automatic_label(13, ["NASA", "scientists", "space"]) == "13 NASA scientists"
    assert automatic_label(0, ["oil"]) == "0 oil"
    assert automatic_label(7, []) == ""


def test_words_of_an_older_view_are_those_counted_most() -> None:
    """Without stop words and punctuation."""
    counts = np.zeros((1, 2), np.int64)
    tally = Tally(counts, counts, counts.astype(float), counts.astype(float), blank=0, dropped=0)
    vocabulary = Vocabulary(["<pad>", "<unk>", "the", "oil", "gas", ","], [0, 0, 9, 5, 4, 9])
    tally.words.update({(0, 0): Counter({2: 9, 3: 5, 4: 1, 5: 9}), (0, 1): Counter({4: 3})})
    assert label_words(tally, None, vocabulary, 0)[:1] == ["oil"]
    assert set(label_words(tally, None, vocabulary, 0)) == {"oil", "gas"}
    assert label_words(tally, None, vocabulary, 1) == ["gas"]


def test_labels_are_loaded_with_the_model_and_given_names_come_first(folder: Path) -> None:
    words = facts_of(folder)[LABEL_WORDS]
    assert isinstance(words, list)
    assert load_label_words(folder) == words
    (folder / CAPSULES).write_text(json.dumps({"0": "bread & soup"}))
    classifier = ICapsClassifier.load(folder, device="cpu")
    labels = classifier.capsule_labels_
    automatic = [automatic_label(i, row) or f"capsule {i}" for i, row in enumerate(words)]
    assert labels == ["bread & soup", *automatic[1:]]
    assert any(label != f"capsule {i}" for i, label in enumerate(labels[1:], start=1))
    (explanation,) = classifier.explain(["a text of words"])
    assert explanation.capsule_labels == tuple(labels)
    assert all(part.label == labels[part.capsule] for part in explanation.capsules)
    assert all(kgram.capsule_label == labels[kgram.capsule] for kgram in explanation.kgrams)


def test_a_model_that_nothing_was_counted_for_has_numbers(model_folder: Path) -> None:
    labels = ICapsClassifier.load(model_folder, device="cpu").capsule_labels_
    assert labels == [f"capsule {i}" for i in range(len(labels))]


def test_counts_of_an_older_version_give_the_same_labels(folder: Path) -> None:
    labels = ICapsClassifier.load(folder, device="cpu").capsule_labels_
    facts = facts_of(folder)
    del facts[LABEL_WORDS]
    write(folder, facts)
    assert load_label_words(folder) is None
    assert ICapsClassifier.load(folder, device="cpu").capsule_labels_ == labels


def test_counts_of_other_weights_or_damaged_ones_give_none(folder: Path) -> None:
    plain = [f"capsule {i}" for i in range(len(facts_of(folder)[LABEL_WORDS]))]  # type: ignore[arg-type]
    facts = facts_of(folder)
    write(folder, facts | {LABEL_WORDS: [["one"]]})  # of one capsule
    assert ICapsClassifier.load(folder, device="cpu").capsule_labels_ == plain
    (folder / FOLDER / VIEW).write_text("{", encoding="utf-8")
    assert load_label_words(folder) == []
    assert ICapsClassifier.load(folder, device="cpu").capsule_labels_ == plain
    write(folder, facts)
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes() + b" ")
    assert load_label_words(folder) == []
