from pathlib import Path

import numpy as np
import pytest

from icaps.explore.cluster_labels import label_clusters
from tests.explore.indexed import indexed, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


TOPICS = ("the bread and Soup", "the tide and Sail")


def test_clusters_are_named_by_their_words(tmp_path: Path) -> None:
    rows = [(f"{TOPICS[n % 2]} , it {n}", "ab"[n % 2]) for n in range(400)]
    index = indexed(write(tmp_path / "data", train=rows))
    numbers = np.arange(400)
    random = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [100.0, 0.0]])[numbers % 2] + random.normal(size=(400, 2))
    labels = label_clusters(index, numbers, places, words=9)
    assert sum(label.texts for label in labels) <= 400
    for label in labels:  # of k-means, some halves of the two groups
        topic = TOPICS[int(label.x > 50)].lower().split()
        assert set(label.words) <= {topic[1], topic[3]}
    assert {label.x > 50 for label in labels} == {True, False}
    sizes = [label.texts for label in labels]
    assert sizes == sorted(sizes, reverse=True)


def test_without_clusters_there_are_no_names(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=[(f"bread {n}", "a") for n in range(40)]))
    numbers = np.arange(40)
    assert label_clusters(index, numbers, np.zeros((40, 2))) == []  # all in one place
    assert label_clusters(index, numbers[:9], np.arange(18.0).reshape(9, 2)) == []  # too few
    places = np.random.default_rng(0).normal(size=(40, 2))
    assert label_clusters(index, numbers, places) == []  # the same words in all


def test_texts_without_words(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=[("", "a"), *[("...", "b")] * 39]))
    assert label_clusters(index, np.arange(40), np.arange(80.0).reshape(40, 2)) == []
