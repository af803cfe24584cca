"""Batches are bounded and fair, and the fault of one request is not that of the others."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.service import batching
from icaps.service.batching import AnswerTooLargeError, BatchedModel
from icaps.service.limits import DEFAULTS, Limits
from tests.conftest import make_texts
from tests.coroutines import finish

TEXTS = make_texts(12, seed=4)[0]


class Watched:
    """A model that notes its batches, and fails for a batch with the text "poison"."""

    def __init__(self, classifier: ICapsClassifier) -> None:
        self.classifier = classifier
        self.batches: list[list[str]] = []

    def class_norms(self, texts: Sequence[str]) -> Any:
        self.batches.append(list(texts))
        if "poison" in texts:
            raise ArithmeticError("it cannot be computed")
        return self.classifier.class_norms(texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.classifier, name)


def answers(
    classifier: Any, *requests: Sequence[str], limits: Limits = DEFAULTS, options: Any = None
) -> list[Any]:
    """What each request is answered, all of them at once: results, or an exception."""

    async def ask() -> list[Any]:
        model = BatchedModel(classifier, limits, lambda _: None)
        asked = [asyncio.create_task(model.answer(texts, options)) for texts in requests]
        await asyncio.sleep(0)
        worker = asyncio.create_task(model.run())
        result = await asyncio.gather(*asked, return_exceptions=True)
        worker.cancel()
        return result

    return finish(ask())


def test_a_large_request_lets_others_pass(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "BATCH_TEXTS", 3)
    watched = Watched(classifier)
    large, small, other = answers(watched, TEXTS[:5], TEXTS[5:6], TEXTS[6:8])
    assert watched.batches == [
        TEXTS[:3],
        [TEXTS[5], *TEXTS[6:8]],
        TEXTS[3:5],
    ]
    for found, texts in ((large, TEXTS[:5]), (small, TEXTS[5:6]), (other, TEXTS[6:8])):
        assert [json.loads(one)["predicted"] for one in found] == list(classifier.predict(texts))


def test_batches_are_bounded_in_characters(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "BATCH_CHARACTERS", 10)
    watched = Watched(classifier)
    texts = ["soup", "bread", "a" * 11, "b", "c" * 9, "d"]
    (found,) = answers(watched, texts)
    assert watched.batches == [["soup", "bread"], ["a" * 11], ["b", "c" * 9], ["d"]]
    assert len(found) == 6


def test_explanations_do_not_split_batches_of_predictions(classifier: ICapsClassifier) -> None:
    watched = Watched(classifier)

    async def ask() -> None:
        model = BatchedModel(watched, DEFAULTS, lambda _: None)  # type: ignore[arg-type]
        options = [None if n % 2 else ExplainOptions() for n in range(8)]
        asked = [
            asyncio.create_task(model.answer([text], option))
            for text, option in zip(TEXTS, options, strict=False)
        ]
        await asyncio.sleep(0)
        worker = asyncio.create_task(model.run())
        await asyncio.gather(*asked)
        worker.cancel()

    finish(ask())
    assert watched.batches == [TEXTS[1:8:2]]


def test_a_fault_is_that_of_one_request(classifier: ICapsClassifier) -> None:
    good, bad, other = answers(Watched(classifier), TEXTS[:2], ["poison"], TEXTS[2:3])
    assert [json.loads(one)["predicted"] for one in good] == list(classifier.predict(TEXTS[:2]))
    assert isinstance(bad, ArithmeticError)
    assert len(other) == 1


def test_an_answer_is_bounded(classifier: ICapsClassifier) -> None:
    limits = Limits(answer=20_000)
    large, small = answers(
        classifier, TEXTS * 3, TEXTS[:1], limits=limits, options=ExplainOptions()
    )
    assert isinstance(large, AnswerTooLargeError)
    assert len(small) == 1
