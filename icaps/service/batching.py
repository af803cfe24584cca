"""Answers concurrent requests in batches: what arrives while a batch is computed is the next one.

A model computes a batch of texts several times faster than the texts one by one, and its work holds
the interpreter's lock. So each model has one thread, and requests wait for it in a queue of bounded
size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import compress
from typing import Any, NamedTuple

from icaps.config import ExplainOptions
from icaps.inference import predicted_sets
from icaps.trained_model import TrainedModel

BATCH = 512  # texts that are computed at a time, or one request if it has more

Result = dict[str, Any]


class OverloadedError(Exception):
    """Too many texts wait already."""


class _Request(NamedTuple):
    texts: Sequence[str]
    options: ExplainOptions | None
    answer: asyncio.Future[list[Result]]


class BatchedModel:
    """A model that answers concurrent requests in batches.

    Args:
        classifier: The model.
        max_waiting: Number of texts that may wait.
        on_batch: Called with the number of texts of each batch.
    """

    def __init__(
        self, classifier: TrainedModel, max_waiting: int, on_batch: Callable[[int], None]
    ) -> None:
        self.classifier = classifier
        self._max_waiting, self._on_batch = max_waiting, on_batch
        self._queue: asyncio.Queue[_Request] = asyncio.Queue()
        self._waiting = 0  # texts
        self._thread = ThreadPoolExecutor(1)

    async def answer(self, texts: Sequence[str], options: ExplainOptions | None) -> list[Result]:
        """The predictions of texts, or their explanations if options are given.

        Raises:
            OverloadedError: Too many texts wait.
            ICapsError: As `TrainedModel.predict` and `explain`.
        """
        if self._waiting + len(texts) > self._max_waiting:
            raise OverloadedError
        answer: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        self._waiting += len(texts)
        self._queue.put_nowait(_Request(texts, options, answer))
        try:
            return await answer
        finally:
            self._waiting -= len(texts)

    async def run(self) -> None:
        """Answers requests until it is cancelled."""
        held: _Request | None = None
        loop = asyncio.get_running_loop()
        while True:
            batch = [held or await self._queue.get()]
            held, size = None, len(batch[0].texts)
            while not self._queue.empty():
                held = self._queue.get_nowait()
                if held.options != batch[0].options or size + len(held.texts) > BATCH:
                    break  # it starts the next batch
                size += len(held.texts)
                batch.append(held)
                held = None
            texts = [text for request in batch for text in request.texts]
            self._on_batch(len(texts))
            try:
                results = await loop.run_in_executor(
                    self._thread, compute, self.classifier, texts, batch[0].options
                )
            except Exception as error:  # noqa: BLE001 (each request gets it)
                for request in batch:
                    if not request.answer.done():
                        request.answer.set_exception(error)
                continue
            for request in batch:
                own, results = results[: len(request.texts)], results[len(request.texts) :]
                if not request.answer.done():  # its client may have gone
                    request.answer.set_result(own)


def describe(models: Mapping[str, TrainedModel]) -> Result:
    """The models by name: their classes, and whether a text may have several."""
    return {
        name: {"classes": [str(label) for label in model.classes_], "several": model.multilabel_}
        for name, model in models.items()
    }


def compute(
    classifier: TrainedModel, texts: Sequence[str], options: ExplainOptions | None
) -> list[Result]:
    """Predictions or explanations of texts as plain data."""
    if options is not None:
        return [explanation.to_dict() for explanation in classifier.explain(texts, options)]
    classes = [str(name) for name in classifier.classes_]
    norms = classifier.class_norms(texts)
    if classifier.multilabel_:
        sets = predicted_sets(classifier.network_, norms)
        labels: list[Any] = [list(compress(classes, row)) for row in sets.tolist()]
    else:
        labels = [classes[number] for number in norms.argmax(1)]
    return [
        {
            "predicted": label,
            "scores": dict(zip(classes, scores, strict=True)),
            "probabilities": dict(zip(classes, chances, strict=True)),
        }
        for label, scores, chances in zip(
            labels, norms.tolist(), classifier.calibrated(norms).tolist(), strict=True
        )
    ]
