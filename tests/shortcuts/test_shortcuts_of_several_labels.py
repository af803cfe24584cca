"""Shortcuts of a model of several labels per text, with a planted tag and hand-counted effects."""

import numpy as np
import pytest

from dashboard.shortcuts.predictions import predict_without
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set, label_set
from icaps.errors import DataError
from icaps.shortcuts.candidates import candidates, words_by_share
from icaps.shortcuts.find import find_shortcuts, measure_effects, strongest_words
from icaps.shortcuts.interventions import norms_without
from icaps.shortcuts.predicted_texts import PredictedTexts, predict_texts
from tests.conftest import make_texts
from tests.interpret.test_counts_of_several_labels import CLASSES, topics
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = [*mixed_texts(), "zzz", *make_texts(90, 21)[0]]
LABELLED = [(text, format_label_set(topics(text))) for text in TEXTS]


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


@pytest.fixture(scope="module")
def read(several: ICapsClassifier) -> PredictedTexts:
    return predict_texts(several, LABELLED)


def test_each_predicted_class_of_a_text_is_a_prediction(
    several: ICapsClassifier, read: PredictedTexts
) -> None:
    norms = several.class_norms(TEXTS)
    given = norms >= np.array(NORMS)
    known = [n for n, text in enumerate(TEXTS) if text != "zzz"]
    assert read.numbers.tolist() == known
    assert read.given.tolist() == given[known].tolist()
    pairs = [(n, j) for n, row in enumerate(given[known]) for j in np.flatnonzero(row).tolist()]
    found = zip(read.prediction_texts.tolist(), read.predicted.tolist(), strict=True)
    assert list(found) == pairs
    labels = np.array([[name in topics(text) for name in CLASSES] for text in TEXTS])[known]
    assert read.right.tolist() == (given[known] == labels).all(1).tolist()
    for j in range(3):
        both = given[known][:, j] & labels[:, j]
        assert read.right_as(j).tolist() == both.tolist()
        neither = ~given[known][:, j] & ~labels[:, j]
        assert read.right_without(j).tolist() == neither.tolist()
    start = 0
    for (n, j), kgrams, capsule, added in zip(
        pairs, read.kgrams, read.capsules, read.winner_shares, strict=True
    ):
        (explanation,) = several.explain([TEXTS[known[n]]], target=CLASSES[j])
        words = read.shares[start : start + len(explanation.words)]
        np.testing.assert_allclose(words, [w.share for w in explanation.words], atol=1e-5)
        start += len(explanation.words)
        assert len(kgrams) == len(explanation.kgrams)
        assert capsule == explanation.capsules[0].capsule
        assert added == pytest.approx(explanation.capsules[0].share, abs=1e-5)
    assert start == len(read.shares)


def test_the_share_of_a_word_is_over_the_texts_that_get_the_class(
    several: ICapsClassifier, read: PredictedTexts
) -> None:
    word, j = "bread", CLASSES.index("Cooking")
    total, count = 0.0, 0
    for explanation in several.explain(TEXTS, target="Cooking"):
        if "Cooking" in explanation.given_classes:
            shares = [
                one.share
                for one in explanation.words
                if explanation.text[one.start : one.end] == word
            ]
            total, count = total + sum(shares), count + bool(shares)
    share = read.share_of((several.vocabulary_.id(word),), j)
    assert share.total == pytest.approx(total, abs=1e-4)
    assert share.texts == count > 0


def test_effects_are_on_one_class_by_its_threshold(
    several: ICapsClassifier, read: PredictedTexts
) -> None:
    candidate = words_by_share(read)[0]
    masked, inserted = measure_effects(read, candidate)
    rows = candidate.rows[read.right_as(candidate.target)[candidate.rows]]
    norms = norms_without(read, rows, candidate.words)
    lost = norms[:, candidate.target] < NORMS[candidate.target]
    assert masked["unk"].texts == len(rows)
    assert masked["unk"].flips == pytest.approx(lost.mean())
    without = np.setdiff1d(np.flatnonzero(read.right_without(candidate.target)), candidate.rows)
    assert inserted.texts == min(len(without), 200)


def test_the_search_runs_and_its_texts_are_shown(
    several: ICapsClassifier, read: PredictedTexts
) -> None:
    for candidate in candidates(read):
        assert read.given[candidate.rows, candidate.target].any()
    findings = find_shortcuts(read) or strongest_words(read)
    for finding in findings[:3]:
        assert len(set(finding.rows.tolist())) == len(finding.rows)
        table = predict_without(several, read, finding)
        for row, number in zip(table.to_dict("records"), finding.rows.tolist(), strict=True):
            assert row["class"] == LABELLED[number][1]
            (explanation,) = several.explain([TEXTS[number]])
            assert set(label_set(row["with"]) or ()) == set(explanation.given_classes)
            without = set(label_set(row["without"]) or ())
            flips = (finding.label in explanation.given_classes) != (finding.label in without)
            assert row["flips"] == flips


def test_what_cannot_be_searched(several: ICapsClassifier, classifier: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="No class reaches its threshold"):
        predict_texts(several, [("the a and we", "[]")])
    with pytest.raises(DataError, match="several labels per text, and the model gives a text one"):
        predict_texts(classifier, LABELLED)
    with pytest.raises(DataError, match="knows no word"):
        predict_texts(several, [("zzz", "[]")])
