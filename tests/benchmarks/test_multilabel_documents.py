"""The documents of several labels that a benchmark builds from texts of one label each."""

from collections import Counter

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.multilabel import join_texts, linear, scores


def test_each_text_is_in_one_document_with_its_label() -> None:
    texts = [f"text {n}" for n in range(200)]
    labels = ["abcd"[n % 4] for n in range(200)]
    documents = join_texts(texts, labels, seed=3)
    parts = [document.split("\n") for document in documents.texts]
    assert sorted(text for part in parts for text in part) == sorted(texts)
    label_of = dict(zip(texts, labels, strict=True))
    for part, names in zip(parts, documents.labels, strict=True):
        assert names == sorted({label_of[text] for text in part})
        assert len(names) == len(part)
    assert set(Counter(map(len, parts))) == {1, 2}
    assert join_texts(texts, labels, seed=3) == documents
    assert join_texts(texts, labels, seed=4) != documents


def test_documents_of_one_class_are_not_joined() -> None:
    assert join_texts(["x", "y", "z"], ["a"] * 3, seed=0).labels == [["a"]] * 3


def test_scores_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth, predicted = random.random((2, 50, 3)) < 0.4
    found = scores(truth, predicted, random.random((50, 3)))
    assert abs(found["macro F1"] - 100 * f1_score(truth, predicted, average="macro")) < 1e-9
    assert abs(found["Hamming loss"] - 100 * (truth != predicted).mean()) < 1e-9


def test_the_svms_learn() -> None:
    words = {"a": "red green", "b": "soup bread", "c": "wind sail"}
    labels = ["abc"[n % 3] for n in range(300)]
    documents = join_texts([f"{words[label]} the and" for label in labels], labels, seed=1)
    results = linear(documents, documents, seed=0)
    assert results["SVMs, thresholds fitted"]["macro F1"] == 100
