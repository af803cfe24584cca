"""Faithfulness and the reason test of a model of several labels per text: each class by itself."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.errors import DataError
from icaps.faithfulness.choices import covered_words
from icaps.faithfulness.eraser import measure
from icaps.faithfulness.reason_results import decided_class, flip_sentence, trust_facts
from icaps.faithfulness.reason_test import DELETE, flipping_set, scores_after, try_reasons
from icaps.faithfulness.reason_test import words_under as under
from icaps.faithfulness.texts import common_texts, read_explained
from tests.faithfulness.test_reason_test import changed
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = mixed_texts()


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


def test_a_text_is_explained_for_each_predicted_class(several: ICapsClassifier) -> None:
    texts = read_explained(several, [*TEXTS, "zzz", ""])
    norms = several.class_norms(TEXTS)
    expected = [(text, j) for text, row in zip(TEXTS, norms, strict=True) for j in reached(row)]
    found = [(reading.texts[0], target) for reading, target in texts]
    assert found == expected
    assert texts.blank == 2
    assert texts.undecided == sum(not reached(row) for row in norms) > 0
    assert common_texts(texts, texts) == [(n, n) for n in range(len(texts))]


def test_texts_without_a_class_cannot_be_tested(several: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="No class reaches its threshold"):
        read_explained(several, ["the a and we", "zzz"])


def test_a_flip_is_a_class_below_its_threshold_whatever_the_others(
    several: ICapsClassifier,
) -> None:
    texts = read_explained(several, TEXTS)
    choices = covered_words(texts, ExplainOptions(top_capsules=1, top_kgrams=1))
    effects = measure(texts, choices, "deletion")
    flips = []
    for (reading, target), (chosen,) in zip(texts, choices, strict=True):
        (explanation,) = several.explain([reading.texts[0]])
        norms = scores_after(several, explanation, np.flatnonzero(chosen).tolist(), DELETE)
        flips.append(float(norms[target] < NORMS[target]))
    assert effects.flips.tolist() == flips
    assert 0 < sum(flips) < len(flips)


@pytest.mark.parametrize("index", range(12, 23))
def test_the_flipping_set_is_the_smallest_without_which_the_class_is_lost(
    several: ICapsClassifier, index: int
) -> None:
    (first,) = several.explain([TEXTS[index]])
    for target in first.given_classes:
        (explanation,) = several.explain([TEXTS[index]], target=target, top_kgrams=2)
        assert decided_class(explanation) == target
        j = explanation.classes.index(target)
        flip = flipping_set(several, explanation)
        kgrams = list({(k.start, k.end): k for k in explanation.kgrams}.values())
        sizes = [
            size
            for size in range(1, len(kgrams) + 1)
            for chosen in combinations(kgrams, size)
            if scores_after(several, explanation, under(explanation, chosen), DELETE)[j] < NORMS[j]
        ]
        assert (flip is None) == (not sizes)
        if flip is not None:
            assert len(flip.kgrams) == min(sizes)
            scores = scores_after(several, explanation, under(explanation, flip.kgrams), DELETE)
            names = {explanation.classes[n] for n in reached(np.array(scores))}
            assert set(flip.predicted) == names
            assert target not in names
            assert f"{target} is no longer predicted" in flip_sentence(explanation, flip)
            assert flip.to_dict()["predicted"] == list(flip.predicted)


def test_a_text_without_a_class_has_none_to_lose(several: ICapsClassifier) -> None:
    (explanation,) = several.explain(["the a and we"])
    assert explanation.given_classes == ()
    assert flipping_set(several, explanation) is None
    assert flip_sentence(explanation, None) == (
        "No class is predicted, so there is none that a K-gram decides."
    )
    (test,) = try_reasons(several, [explanation])
    assert test.predicted == ()
    assert trust_facts(explanation, test, None)["predicted"] == []


def test_the_reason_test_is_of_the_explained_class(several: ICapsClassifier) -> None:
    explanations = list(several.explain(TEXTS, ranking="account"))
    for explanation, test in zip(
        explanations, try_reasons(several, explanations, draws=8), strict=True
    ):
        j = explanation.classes.index(explanation.target)
        shaded = [n for n, word in enumerate(explanation.words) if word.count]
        without = scores_after(several, explanation, shaded, DELETE)
        assert test.without == pytest.approx(without[j], abs=1e-6)
        assert set(test.predicted_without) == {
            explanation.classes[n] for n in reached(np.array(without))
        }
        assert test.flips == ((explanation.scores[j] >= NORMS[j]) != (without[j] >= NORMS[j]))
        assert test.to_dict()["predicted"] == list(explanation.predicted_classes)


@pytest.mark.parametrize(
    ("values", "level", "verdict"),
    [
        (
            {"predicted_without": ("World",)},
            "flips",
            "Without these words Sports is no longer predicted.",
        ),
        (
            {"predicted_without": ()},
            "flips",
            "Without these words Sports is no longer predicted.",
        ),
        (
            {"predicted_without": ("Sports",)},
            "matters",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; Sports stays predicted.",
        ),
        (
            {"predicted": ("World",), "predicted_without": ()},
            "matters",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; Sports is still not predicted.",
        ),
        (
            {"predicted": (), "predicted_without": ("Sports",)},
            "flips",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; Sports is then predicted.",
        ),
    ],
)
def test_the_verdict_is_on_one_class(values: dict[str, object], level: str, verdict: str) -> None:
    test = changed(**{"predicted": ("World", "Sports"), "predicted_alone": ()} | values)
    sentences = test.to_sentences()
    assert sentences[0] == verdict
    assert test.level == level
    assert "and Sports changes in 2 of 50" in sentences[1]


def test_the_classes_that_are_left_are_named(several: ICapsClassifier) -> None:
    (explanation,) = several.explain([TEXTS[0]])
    flip = flipping_set(several, explanation)
    assert flip is not None
    sentence = flip_sentence(explanation, replace(flip, predicted=("A", "B")))
    assert sentence.endswith(f"{explanation.target} is no longer predicted; A, B still are.")
    sentence = flip_sentence(explanation, replace(flip, predicted=("A",)))
    assert sentence.endswith(f"{explanation.target} is no longer predicted; A still is.")


def reached(norms: np.ndarray) -> list[int]:
    return [j for j, norm in enumerate(norms) if norm >= NORMS[j]]
