import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from icaps.data import synthetic
from icaps.data.source import read_part
from icaps.data.synthetic import GENERAL, SENTENCES, TOPICS

PLACES = ("person", "thing", "place", "verb", "adjective")
# Of these texts. If they change, the version in synthetic.py must change, too.
FINGERPRINT = (1, "a15429b896188405b9ddff1feaf6c4d139cfb63cc2cfbf81e808fd8a491fe403")


@pytest.fixture(scope="module")
def rows() -> dict[str, list[tuple[str, int]]]:
    return synthetic.generate()


def test_the_texts_are_the_same_everywhere(rows: dict[str, list[tuple[str, int]]]) -> None:
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert (synthetic._VERSION, digest) == FINGERPRINT


def test_sizes(rows: dict[str, list[tuple[str, int]]]) -> None:
    assert {part: len(part_rows) for part, part_rows in rows.items()} == {
        "train": 3000,
        "test": 600,
    }
    texts = [text for part_rows in rows.values() for text, _ in part_rows]
    assert len(set(texts)) == 3600
    lengths = [len(text.split()) for text in texts]
    assert min(lengths) == 8
    assert max(lengths) == 40
    words = Counter(word.strip(".,?").lower() for text in texts for word in text.split())
    content = {word for topic in (*TOPICS.values(), GENERAL) for p in PLACES for word in topic[p]}
    assert len(content & set(words)) > 400


def test_two_percent_of_the_labels_are_wrong(
    rows: dict[str, list[tuple[str, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "LABEL_NOISE", 0)
    right = dict(synthetic.generate()["train"])
    assert sum(right[text] != label for text, label in rows["train"]) == 60
    assert Counter(right.values()) == dict.fromkeys(range(5), 600)


def test_a_linear_model_finds_it_neither_easy_nor_hopeless(
    rows: dict[str, list[tuple[str, int]]],
) -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=5, max_iter=500))
    (texts, labels), (test_texts, test_labels) = (zip(*rows[part], strict=True) for part in rows)
    accuracy = model.fit(texts, labels).score(test_texts, test_labels)
    assert accuracy == pytest.approx(0.935, abs=0.005)  # as the docstring says
    shuffled = np.random.default_rng(0).permutation(labels)
    assert model.fit(texts, shuffled).score(test_texts, test_labels) < 0.3


def test_the_sentences_have_the_words_that_fit() -> None:
    for topic in (*TOPICS.values(), GENERAL):
        assert all(verb.endswith("ed") for verb in topic["verb"])
        for place in PLACES:
            words = topic[place]
            assert len(set(words)) == len(words)
    for sentence in SENTENCES:
        text = synthetic._sentence(synthetic.random.Random(0), sentence, [GENERAL], [1])
        assert "{" not in text
        assert text[0].isupper()
        assert not any(f" a {vowel}" in text.lower() for vowel in "aeio")


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    folder = synthetic.make()
    assert folder == tmp_path / "synthetic-1" / "ready"
    for part, rows in synthetic.generate().items():
        data = read_part(folder, part)
        assert data.classes == ("Food", "Travel", "Sports", "Music", "Science")
        assert list(zip(data.texts, data.labels, strict=True)) == [
            (text, data.classes[label]) for text, label in rows
        ]
    before = (folder / "train.parquet").stat().st_mtime_ns
    assert synthetic.make() == folder
    assert (folder / "train.parquet").stat().st_mtime_ns == before
