"""Each baseline learns several labels per text, is saved, and comes back the same."""

import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from icaps.baselines import fasttext, linear
from icaps.baselines.base import BASELINES, LINEAR, Baseline
from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.linear import fit_linear
from icaps.baselines.storage import load_baseline, save_baseline
from icaps.data.label_sets import format_label_set
from icaps.data.records import Record
from icaps.errors import CheckpointError
from icaps.evaluate.scores import evaluate
from tests.baselines.small import QUICK
from tests.conftest import make_texts


def labelled(count: int, seed: int) -> list[Record]:
    """Texts of one topic, and of two that follow each other."""
    texts, topics = make_texts(count, seed)
    one = list(zip(texts, ([topic] for topic in topics), strict=True))
    two = [(f"{a} {b}", [*first, *second]) for (a, first), (b, second) in pairwise(one)]
    return [
        Record(text, format_label_set(names), "file", line)
        for line, (text, names) in enumerate([*one, *two])
    ]


TEST = [(record.text, record.label) for record in labelled(60, 9)]
TEXTS = [text for text, _ in TEST]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Baseline]:
    settings = dataclasses.replace(QUICK, seed=1, epochs=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasttext, "BUCKETS", 1_000)
        return {kind: fit_baseline(kind, labelled(360, 1), settings) for kind in BASELINES}


@pytest.mark.parametrize("kind", BASELINES)
def test_it_learns_the_topics(fitted: dict[str, Baseline], kind: str) -> None:
    baseline = fitted[kind]
    assert baseline.multilabel_
    scores = evaluate(baseline, TEST)
    assert scores["macro_f1"] > 0.9
    assert scores["macro_f1"] >= scores["accuracy"] > 0.6
    assert baseline.metrics_["validation_macro_f1"] > 0.9
    assert baseline.metrics_["training_texts"] + baseline.metrics_["validation_texts"] == 719
    probabilities, predicted = baseline.predict_proba(TEXTS), baseline.predict(TEXTS)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert not np.allclose(probabilities.sum(1), 1)
    assert baseline.thresholds_ is not None
    assert np.array_equal(predicted, probabilities >= baseline.thresholds_)
    assert set(predicted.sum(1).tolist()) >= {1, 2}
    assert baseline.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize("kind", BASELINES)
def test_a_folder_gives_the_same_answers(
    fitted: dict[str, Baseline], kind: str, tmp_path: Path
) -> None:
    baseline = fitted[kind]
    save_baseline(baseline, tmp_path / "a")
    loaded = load_baseline(tmp_path / "a")
    assert loaded.multilabel_
    assert loaded.predict_proba(TEXTS).tolist() == baseline.predict_proba(TEXTS).tolist()
    assert loaded.predict(TEXTS).tolist() == baseline.predict(TEXTS).tolist()


def test_damaged_thresholds_are_reported(fitted: dict[str, Baseline], tmp_path: Path) -> None:
    save_baseline(fitted[LINEAR], tmp_path / "a")
    path = tmp_path / "a" / "baseline.json"
    content = json.loads(path.read_text())
    assert content["format_version"] == 2  # an earlier iCaps must not read it as one label
    content["settings"]["multilabel"]["thresholds"].pop()
    path.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="damaged"):
        load_baseline(tmp_path / "a")


def test_the_margins_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "STRENGTHS", (0.5,))
    records = labelled(120, 2)
    texts = [record.text for record in records]
    labels = np.array(
        [[name in record.label for name in ("Cooking", "Gardens", "Sailing")] for record in records]
    )
    labels = np.column_stack([labels, np.zeros(len(texts), bool), np.ones(len(texts), bool)])
    classes = np.array(list("abcde"), dtype=object)
    own = fit_linear(classes, (texts, labels), (texts[:50], labels[:50]), 3, lambda _: None)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    features = vectorizer.fit_transform(texts)
    svm = OneVsRestClassifier(LinearSVC(C=0.5, random_state=3)).fit(features, labels[:, :3])
    expected = svm.decision_function(vectorizer.transform(TEXTS))
    margins = own.decision_function(TEXTS)
    assert margins[:, :3] == pytest.approx(expected, abs=1e-4)
    assert (margins[:, 3:] == [-1, 1]).all()  # no text has the class, all have it
