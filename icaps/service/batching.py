"""Answers concurrent requests in batches: what arrives while a batch is computed is the next one.

A model computes a batch of texts several times faster than the texts one by one, and its work holds
the interpreter's lock. So each model has one thread, and requests wait for it in a queue of bounded
size. A batch is bounded, too: a large request is computed in parts, and others have their turn
between them. Results are encoded as soon as they are computed, since an explanation as JSON takes
a tenth of the memory that it takes as objects.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from icaps.config import ExplainOptions
from icaps.inference import predicted_sets
from icaps.service.limits import Limits
from icaps.trained_model import TrainedModel

# A batch, which has at least one text. Memory and the time that others wait grow with it.
BATCH_TEXTS, BATCH_CHARACTERS = 512, 200_000
WINDOW = 0.001  # seconds that a batch waits for clients who have just had their answers

Result = dict[str, Any]


class OverloadedError(Exception):
    """Too many texts wait already."""


class AnswerTooLargeError(Exception):
    """The results of a request are larger than an answer may be."""


@dataclass(eq=False)
class _Request:
    texts: Sequence[str]
    options: ExplainOptions | None
    answer: asyncio.Future[list[bytes]]
    results: list[bytes] = field(default_factory=list)
    size: int = 0  # of the results, in bytes

    def part(self, texts: int, characters: int) -> list[str]:
        """The next texts that have no result, within both bounds."""
        part = []
        for text in islice(self.texts, len(self.results), len(self.results) + texts):
            characters -= len(text)
            if characters < 0:
                break
            part.append(text)
        return part

    def add(self, results: list[bytes], limit: int) -> None:
        """Adds the results of the last part, and answers if they are all, or exceed the limit."""
        self.results += results
        self.size += sum(map(len, results))
        if self.answer.done():  # its client has gone
            return
        if self.size > limit:
            self.answer.set_exception(AnswerTooLargeError())
        elif len(self.results) == len(self.texts):
            self.answer.set_result(self.results)

    def fail(self, error: Exception) -> None:
        """Answers with an error."""
        if not self.answer.done():
            self.answer.set_exception(error)


_Batch = list[tuple[_Request, list[str]]]


class BatchedModel:
    """A model that answers concurrent requests in batches.

    Args:
        classifier: The model.
        limits: How many texts may wait, and how large an answer may be.
        on_batch: Called with the number of texts of each batch.
    """

    def __init__(
        self, classifier: TrainedModel, limits: Limits, on_batch: Callable[[int], None]
    ) -> None:
        self.classifier = classifier
        self._limits, self._on_batch = limits, on_batch
        self._pending: deque[_Request] = deque()
        self._arrived = asyncio.Event()
        self._waiting = 0  # texts
        self._thread = ThreadPoolExecutor(1)

    async def answer(self, texts: Sequence[str], options: ExplainOptions | None) -> list[bytes]:
        """The predictions of texts, or their explanations if options are given, as JSON.

        Raises:
            OverloadedError: Too many texts wait.
            AnswerTooLargeError: The results are larger than an answer may be.
            ICapsError: As `TrainedModel.predict` and `explain`.
        """
        if not texts:
            return []
        if self._waiting + len(texts) > self._limits.waiting:
            raise OverloadedError
        answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()
        self._waiting += len(texts)
        self._pending.append(_Request(texts, options, answer))
        self._arrived.set()
        try:
            return await answer
        finally:
            self._waiting -= len(texts)

    async def run(self) -> None:
        """Answers requests until it is cancelled."""
        batch: _Batch = []
        while True:
            await self._arrived.wait()
            if 1 < len(batch) > len(self._pending):  # else the fastest of them would be one alone
                await asyncio.sleep(WINDOW)
            batch = self._next_batch()
            self._on_batch(sum(len(part) for _, part in batch))
            await self._answer(batch)
            # Behind those that wait, so that a large request does not hold up small ones.
            self._pending += [request for request, _ in batch if not request.answer.done()]
            if not self._pending:
                self._arrived.clear()

    def _next_batch(self) -> _Batch:
        """The first request, and those that can be computed with it; they leave the queue."""
        first = self._pending[0]
        batch: _Batch = []
        others: deque[_Request] = deque()
        texts = BATCH_TEXTS
        characters = max(BATCH_CHARACTERS, len(first.texts[len(first.results)]))
        for request in self._pending:
            part = request.part(texts, characters) if request.options == first.options else []
            if part:
                batch.append((request, part))
                texts -= len(part)
                characters -= sum(map(len, part))
            else:
                others.append(request)
        self._pending = others
        return batch

    async def _answer(self, batch: _Batch) -> None:
        texts = [text for _, part in batch for text in part]
        try:
            results = await asyncio.get_running_loop().run_in_executor(
                self._thread, _compute_json, self.classifier, texts, batch[0][0].options
            )
        except Exception as error:  # noqa: BLE001 (the request has it as its answer)
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            for one in batch:  # so that only those fail that have a fault
                await self._answer([one])
            return
        remaining = iter(results)
        for request, part in batch:
            request.add(list(islice(remaining, len(part))), self._limits.answer)


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


def _compute_json(
    classifier: TrainedModel, texts: Sequence[str], options: ExplainOptions | None
) -> list[bytes]:
    return [_to_json(result) for result in compute(classifier, texts, options)]


def _to_json(result: Result) -> bytes:
    try:
        return to_json(result)
    except PydanticSerializationError:  # a lone surrogate, which only an escape can stand for
        return json.dumps(result).encode()
