"""Explanations by a model of several labels per text: each predicted class has its account."""

import json
from dataclasses import replace

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.results import Explanation
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = mixed_texts()


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


@pytest.fixture(scope="module")
def explained(several: ICapsClassifier) -> list[Explanation]:
    return list(several.explain([*TEXTS, "zzz"]))


def test_predicted_classes_reach_their_thresholds_and_are_ordered(
    explained: list[Explanation],
) -> None:
    numbers = set()
    for explanation in explained[:-1]:
        chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
        reached = sorted((name for name in chances if chances[name] >= 0.5), key=chances.get)
        assert explanation.predicted_classes == tuple(reversed(reached))
        numbers.add(len(reached))
        first = reached[-1] if reached else max(chances, key=chances.get)
        assert explanation.predicted == explanation.target == first
    assert {0, 2} <= numbers
    assert explained[-1].blank
    assert explained[-1].predicted_classes == ()


def test_each_class_of_a_text_has_an_account_that_adds_up(
    several: ICapsClassifier, explained: list[Explanation]
) -> None:
    explanation = next(one for one in explained if len(one.given_classes) > 1)
    np.testing.assert_allclose(explanation.account.totals, explanation.scores, atol=1e-6)
    for name in explanation.given_classes:
        (own,) = several.explain([explanation.text], target=name)
        assert own.predicted_classes == explanation.predicted_classes
        j = own.classes.index(name)
        np.testing.assert_allclose(
            sum(word.share for word in own.words) + own.bias, own.scores[j], atol=1e-6
        )
        np.testing.assert_allclose(own.capsule_account.totals.sum(), own.scores[j], atol=1e-6)
        assert own.margin == pytest.approx(own.scores[j] - several.network_.thresholds.norms[j])
        assert own.margin >= 0
        assert own.kgrams


def test_json_has_the_predicted_classes_as_a_list_and_is_read_again(
    explained: list[Explanation],
) -> None:
    for explanation in explained:
        values = json.loads(json.dumps(explanation.to_dict(), sort_keys=True))
        assert values["predicted"] == list(explanation.predicted_classes)
        assert values["thresholds"] == dict.fromkeys(explanation.classes, 0.5)
        assert Explanation.from_dict(values) == explanation


def test_json_of_one_label_is_what_it_was(classifier: ICapsClassifier) -> None:
    (explanation,) = classifier.explain(["bread and butter"])
    values = explanation.to_dict()
    assert values["predicted"] == "Cooking"
    assert not {"predicted_classes", "thresholds"} & values.keys()
    assert Explanation.from_dict(json.loads(json.dumps(values))).predicted_classes is None


def test_the_verdict_names_every_class(explained: list[Explanation]) -> None:
    one = replace(
        explained[0],
        blank=False,
        classes=("Art", "Bees", "Cars", "Dogs"),
        predicted="Cars",
        target="Cars",
        probabilities=(0.61, 0.2, 0.93, 0.75),
        thresholds=(0.5, 0.5, 0.5, 0.5),
        predicted_classes=("Cars", "Dogs", "Art"),
    )
    assert one.verdict == "Cars (93% probability), Dogs (75%) and Art (61%)."
    assert replace(one, target="Art").verdict == (
        "Cars (93% probability), Dogs (75%) and Art (61%); the explanation is for Art."
    )
    assert replace(one, target="Bees", predicted_classes=("Cars",)).verdict == (
        "Cars (93% probability); the explanation is for Bees (20%)."
    )
    none = replace(one, predicted_classes=(), thresholds=(0.7, 0.3, 0.95, 0.8))
    assert none.verdict == (
        "No class reaches its threshold; the most probable is Cars (93%, threshold 95%)."
    )
    assert explained[-1].verdict == "The model knows none of the words, so no class is predicted."
