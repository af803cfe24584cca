"""OnnxClassifier: predicts and explains by a model that was exported as ONNX, without torch.

It imports numpy, onnxruntime and the tokenizer, and reads a folder of `onnx_export`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.data.atomic import COPY_AGAIN, check_regular_files
from icaps.data.texts import check_texts
from icaps.errors import CheckpointError, ConfigError, DataError
from icaps.portable.onnx_files import NETWORK, SETTINGS, Session, Settings, read_network
from icaps.text.batch import UNK, TokenBatch
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import CLASSES, VOCABULARY, read_classes

_CHUNK = 512  # texts that are tokenized at a time, and sorted by length
# Of numbers per tap in a run of the network, which has at least one text: some 2 MB, for the cache.
_NUMBERS = 600_000
MAX_NUMBERS = 50_000_000  # of one text, which bounds memory

Numbers = NDArray[np.int64]
Shares = NDArray[np.float32]


class Word(NamedTuple):
    """A word of a text: `text[start:end]`, its share of the target's score, and if it is known."""

    start: int
    end: int
    share: float
    known: bool


@dataclass(frozen=True, eq=False)
class OnnxExplanation:
    """Why a text has its class: what each word adds to the score of each class.

    Attributes:
        predicted: The most probable class; the first one if the text is blank.
        target: The class that is explained.
        scores: Norms of the class capsules, by class; 0 if the text is blank.
        probabilities: Calibrated, by class.
        words: With their shares for the target.
        bias: What is added to the score of the target whatever the words are.
        predicted_classes: With several labels per text, the predicted ones, the most probable
            first; else None.
        shares: (W, J), of each word for each class; a score is the sum of its column and of its
            bias, or 0 where an edit of the model makes that negative.
        biases: (J,).
        blank: Whether none of the words is known.
        truncated: Whether words beyond the limit of the model were not read.
    """

    predicted: str
    target: str
    scores: dict[str, float]
    probabilities: dict[str, float]
    words: tuple[Word, ...]
    bias: float
    predicted_classes: tuple[str, ...] | None
    shares: Shares
    biases: Shares
    blank: bool
    truncated: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; shares for the target alone."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        del content["shares"], content["biases"]
        return content | {"words": [word._asdict() for word in self.words]}


class OnnxClassifier:
    """A model that was exported as ONNX.

    Args:
        folder: That of `export_onnx`.
        threads: Number of threads of a run of the network; None: as onnxruntime chooses.

    Attributes:
        classes: Names of the J classes.
        config: Settings of the network.
        vocabulary: Its words.
        thresholds: Of the classes of a model with several labels per text; else None.

    Raises:
        CheckpointError: A file is missing, damaged, of another version or does not fit the others.
        ConfigError: onnxruntime is not installed.
    """

    def __init__(self, folder: str | Path, threads: int | None = None) -> None:
        folder = Path(folder)
        if not folder.is_dir():
            raise CheckpointError(
                f"There is no folder {folder}; give one that `icaps export --onnx` wrote."
            )
        check_regular_files(folder)
        self.classes = read_classes(folder / CLASSES)
        settings = Settings.read(folder / SETTINGS, len(self.classes))
        self.config, self.thresholds = settings.config, settings.thresholds
        self._inverse_temperature, self._neutral = settings.inverse_temperature, settings.neutral
        self.vocabulary = Vocabulary.load(
            folder / VOCABULARY, settings.vector_words, settings.backs_off
        )
        self._numbers_per_cell = self.config.num_capsules * (1 + self.config.query_dim)
        network = read_network(folder / NETWORK, settings.network_sha256)
        self._session = Session(network, folder / NETWORK, threads)
        if self._session.sizes != (len(self.vocabulary), len(self.classes)):
            raise CheckpointError(
                f"{folder / NETWORK} does not fit {VOCABULARY} and {CLASSES}. {COPY_AGAIN}"
            )

    def class_norms(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Norms of the class capsules (texts, J), at least 0 and below 1; 0 for a blank text."""
        read = [result.scores for result in self._read(texts, spans=False)]
        return np.array(read, np.float64).reshape(-1, len(self.classes))

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Calibrated probabilities (texts, J), as those of `TrainedModel.predict_proba`."""
        return self._calibrated(self.class_norms(texts))

    def predict(self, texts: Iterable[str]) -> list[str]:
        """The most probable class of each text; the first one for a blank text."""
        norms = self.class_norms(texts)
        probabilities = self._calibrated(norms)
        return [self.classes[n] for n in self._most_probable(norms, probabilities)]

    def predict_labels(self, texts: Iterable[str]) -> list[tuple[str, ...]]:
        """The names of all predicted classes of each text, which are several or none if it may be.

        They are in the order of `classes`.
        """
        norms = self.class_norms(texts)
        if self.thresholds is None:
            return [(self.classes[n],) for n in norms.argmax(1)]
        names = np.array(self.classes, dtype=object)
        return [tuple(names[row]) for row in self.thresholds.predicted(norms)]

    def explain(self, texts: Iterable[str], target: str | None = None) -> Iterator[OnnxExplanation]:
        """Explains texts, one by one.

        Args:
            texts: Strings.
            target: The class to explain; None: the most probable one of each text.

        Raises:
            ConfigError: There is no such class.
            DataError: `texts` are no texts, or one is too long (`MAX_NUMBERS`).
        """
        if target is not None and target not in self.classes:
            raise ConfigError(
                f"The model has no class {target!r}; choose {', '.join(self.classes)}."
            )
        return self._explain(texts, target)

    def _explain(self, texts: Iterable[str], target: str | None) -> Iterator[OnnxExplanation]:
        for result in self._read(texts):
            norms = result.scores.astype(np.float64)
            probabilities = self._calibrated(norms[None])[0]
            predicted = int(self._most_probable(norms[None], probabilities[None])[0])
            explained = predicted if target is None else self.classes.index(target)
            tokens, shares = result.tokens, result.shares[:, explained].tolist()
            assert tokens.spans is not None
            assert tokens.truncated is not None
            known = (tokens.ids != UNK).tolist()
            several = None
            if self.thresholds is not None:
                reached = self.thresholds.predicted(norms)
                order = np.argsort(-probabilities, kind="stable")
                several = tuple(self.classes[j] for j in order if reached[j])
            yield OnnxExplanation(
                predicted=self.classes[predicted],
                target=self.classes[explained],
                scores=dict(zip(self.classes, norms.tolist(), strict=True)),
                probabilities=dict(zip(self.classes, probabilities.tolist(), strict=True)),
                words=tuple(map(Word, *tokens.spans.T.tolist(), shares, known)),
                bias=float(result.bias[explained]),
                predicted_classes=several,
                shares=result.shares,
                biases=result.bias,
                blank=bool(tokens.blank[0]),
                truncated=bool(tokens.truncated[0]),
            )

    def _calibrated(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities of norms (texts, J)."""
        if self.thresholds is not None:
            return self.thresholds.probabilities(norms)
        scaled = norms * self._inverse_temperature
        weights = np.exp(scaled - scaled.max(1, keepdims=True))
        probabilities: NDArray[np.float64] = weights / weights.sum(1, keepdims=True)
        return probabilities

    def _most_probable(
        self, norms: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> Numbers:
        """The number of the most probable class (texts,), a predicted one if there are any."""
        if self.thresholds is None:
            return np.asarray(norms.argmax(1))
        return np.asarray((probabilities + self.thresholds.predicted(norms)).argmax(1))

    def _read(self, texts: Iterable[str], spans: bool = True) -> Iterator[_Result]:
        """What the network computes for each text, in their order."""
        remaining = iter(check_texts(texts))
        while chunk := list(islice(remaining, _CHUNK)):
            tokens = encode(self.vocabulary, chunk, self.config, spans=spans)
            results: dict[int, _Result] = {}
            for numbers in _batches(tokens, self._numbers_per_cell):
                batch = self._run(tokens.take(numbers))
                results |= zip(numbers.tolist(), batch, strict=True)
            yield from (results[n] for n in range(len(chunk)))

    def _run(self, tokens: TokenBatch) -> Iterator[_Result]:
        """Runs the network on a batch."""
        words, numbers = np.unique(tokens.ids, return_inverse=True)
        places, shape = _places(tokens)
        cells = np.full(shape, -1, np.int64)
        cells[places] = numbers
        inputs: dict[str, NDArray[Any]] = {"word_ids": words.astype(np.int64), "cells": cells}
        if self._neutral:
            counts = np.ones((*shape, len(self.classes)), dtype=bool)
            counts[places] = ~self._are_neutral(tokens)
            inputs["counts"] = counts
        scores, shares, bias = self._session.run(inputs)
        of_texts = np.split(shares[places], tokens.word_offsets[1:-1])
        return map(_Result, scores, of_texts, bias, tokens)

    def _are_neutral(self, tokens: TokenBatch) -> NDArray[np.bool_]:
        """Whether each word is neutral for each class (words, J)."""
        neutral = np.zeros((len(tokens.ids), len(self.classes)), dtype=bool)
        for ids, classes in self._neutral:
            neutral[tokens.covered(ids)] |= classes
        return neutral


class _Result(NamedTuple):
    """The output of the network for one text of W words.

    Attributes:
        scores, bias: (J,).
        shares: (W, J).
        tokens: The text as word ids.
    """

    scores: Shares
    shares: Shares
    bias: Shares
    tokens: TokenBatch


def _batches(tokens: TokenBatch, numbers_per_cell: int) -> Iterator[Numbers]:
    """The positions of the texts of each batch: texts of similar sizes, within `_NUMBERS`.

    Raises:
        DataError: A text alone takes more than `MAX_NUMBERS`.
    """
    sentences = tokens.sentences_per_text
    text_of_sentence = np.repeat(np.arange(len(tokens)), sentences)
    longest = np.ones(len(tokens), np.int64)  # words of the longest sentence
    np.maximum.at(longest, text_of_sentence, tokens.words_per_sentence)
    cells = sentences.clip(1) * longest
    if cells.max(initial=0) > (limit := MAX_NUMBERS // numbers_per_cell):
        largest = cells.argmax()
        raise DataError(
            f"A text of {sentences[largest]:,} sentences of up to {longest[largest]:,} words takes "
            f"{cells[largest]:,} cells, and there are at most {limit:,}; split the text."
        )
    batch: list[int] = []
    width = height = 0
    for number in np.lexsort((longest, cells)).tolist():
        height, width = max(height, int(sentences[number])), max(width, int(longest[number]))
        if batch and (len(batch) + 1) * max(height, 1) * width * numbers_per_cell > _NUMBERS:
            yield np.array(batch)
            batch, height, width = [], int(sentences[number]), int(longest[number])
        batch.append(number)
    yield np.array(batch)


def _places(tokens: TokenBatch) -> tuple[tuple[Numbers, Numbers, Numbers], tuple[int, int, int]]:
    """The cell of each word: text, sentence in it and place in that (T,); and B, M and N."""
    lengths = tokens.words_per_sentence
    texts = np.repeat(np.arange(len(tokens)), tokens.sentences_per_text)  # (S,)
    sentences = np.arange(len(lengths)) - tokens.sentence_offsets[texts]  # (S,)
    words = np.arange(len(tokens.ids)) - np.repeat(lengths.cumsum() - lengths, lengths)  # (T,)
    shape = len(tokens), int(sentences.max(initial=0)) + 1, max(int(lengths.max(initial=0)), 1)
    return (np.repeat(texts, lengths), np.repeat(sentences, lengths), words), shape
