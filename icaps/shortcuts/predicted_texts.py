"""Labelled texts in memory with a model's predictions, and the occurrences of K-grams in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.data.label_sets import indicator, numbers_of_one
from icaps.errors import DataError
from icaps.inference import each_prediction, predicted_sets, read
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import changes, top_kgrams
from icaps.model import ICapsNet
from icaps.text.batch import TokenBatch, ranges
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary

Words = tuple[int, ...]  # word ids
Numbers = NDArray[np.int64]


class ShareTotal(NamedTuple):
    """What something adds to the norm of a class: in total, and the number of texts."""

    total: float
    texts: int

    @classmethod
    def of(cls, shares: NDArray[np.floating]) -> ShareTotal:
        """The total of one share per text."""
        return cls(float(shares.sum(dtype=float)), len(shares))

    @property
    def mean(self) -> float:
        """The mean per text; 0 without texts."""
        return self.total / self.texts if self.texts else 0.0


@dataclass(frozen=True)
class PredictedTexts:
    """Labelled texts with a known word, and a model's predictions for them.

    Attributes:
        network, vocabulary, classes: Those of the model.
        numbers: (texts,), positions among the given texts.
        tokens: The texts as the network reads them.
        labels: (texts,), class numbers; all 0 if texts have several labels.
        norms: (texts, J).
        capsules: (predictions,), the capsule that won (section 2.6).
        winner_shares: (predictions,), what that capsule adds to the norm of the predicted class.
        shares: (words of the predictions,), what each word adds to the norm of the predicted class.
        kgrams: For each prediction the K-grams that explain it, that of the winner first.
        label_sets: (texts, J), which classes each text has; None with one label per text.

    A prediction is a class that a text gets. With one label per text they are the texts, in their
    order; else a text has one for each of its predicted classes (`prediction_texts`), or none.
    """

    network: ICapsNet
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    numbers: Numbers
    tokens: TokenBatch
    labels: Numbers
    norms: NDArray[np.floating]
    capsules: Numbers
    winner_shares: NDArray[np.floating]
    shares: NDArray[np.floating]
    kgrams: tuple[tuple[Words, ...], ...]
    label_sets: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def given(self) -> NDArray[np.bool_]:
        """Which classes each text gets (texts, J)."""
        if self.label_sets is None:
            return np.asarray(self.norms.argmax(1)[:, None] == np.arange(len(self.classes)))
        return predicted_sets(self.network, self.norms)

    @cached_property
    def prediction_texts(self) -> Numbers:
        """The text of each prediction (predictions,)."""
        return np.asarray(self.given.nonzero()[0])

    @cached_property
    def predicted(self) -> Numbers:
        """The class number of each prediction (predictions,)."""
        return np.asarray(self.given.nonzero()[1])

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each text gets the class that it has, or all of them and no others (texts,)."""
        if self.label_sets is not None:
            return np.asarray((self.given == self.label_sets).all(1))
        return np.asarray(self.predicted == self.labels)

    def right_as(self, target: int) -> NDArray[np.bool_]:
        """Whether each text has a class and gets it (texts,)."""
        if self.label_sets is not None:
            return np.asarray(self.given[:, target] & self.label_sets[:, target])
        return np.asarray(self.right & (self.labels == target))

    def right_without(self, target: int) -> NDArray[np.bool_]:
        """Whether each text neither has nor gets a class (texts,); with one label, gets its own."""
        if self.label_sets is not None:
            return ~(self.given[:, target] | self.label_sets[:, target])
        return np.asarray(self.right & (self.labels != target))

    def gets(self, norms: NDArray[np.floating], target: int) -> NDArray[np.bool_]:
        """Whether changed texts get a class (...), from their norms (..., J).

        With one label per text, a text without any vote gets the first class.
        """
        if self.label_sets is not None:
            return predicted_sets(self.network, norms)[..., target]
        return np.asarray(norms.argmax(-1) == target)

    @cached_property
    def prediction_words(self) -> Numbers:
        """The number of each word of the predictions among the words of the texts."""
        texts = self.prediction_texts
        return ranges(self.starts[texts], self.tokens.words_per_text[texts])

    @cached_property
    def prediction_of(self) -> Numbers:
        """The prediction of each of `prediction_words`."""
        lengths = self.tokens.words_per_text[self.prediction_texts]
        return np.repeat(np.arange(len(lengths)), lengths)

    @cached_property
    def text_of(self) -> Numbers:
        """The text of each word (words,)."""
        return np.repeat(np.arange(len(self)), self.tokens.words_per_text)

    @property
    def starts(self) -> Numbers:
        """Number of the first word of each text (texts,)."""
        return self.tokens.word_offsets[:-1]

    def places(self, kgram: Words) -> Numbers:
        """The number of the first word of each occurrence of a K-gram within a sentence (n,)."""
        ids, last = self.tokens.ids, len(kgram) - 1
        places = np.flatnonzero(ids[: len(ids) - last] == kgram[0])
        for offset, word in enumerate(kgram[1:], start=1):
            places = places[ids[places + offset] == word]
        same_sentence = self._sentence_of[places] == self._sentence_of[places + last]
        return np.asarray(places[same_sentence])

    def rows_with(self, kgram: Words) -> Numbers:
        """The numbers of the texts that contain a K-gram (n,)."""
        return np.unique(self.text_of[self.places(kgram)])

    def covered(self, kgram: Words) -> NDArray[np.bool_]:
        """Whether each word is in an occurrence of a K-gram (words,)."""
        return self.tokens.covered(kgram)

    def share_of(self, kgram: Words, target: int) -> ShareTotal:
        """What the words of a K-gram add to the norm of a class, in the texts that get it."""
        mask = self.covered(kgram)[self.prediction_words]
        mask &= self.predicted[self.prediction_of] == target
        texts = np.unique(self.prediction_of[mask])
        return ShareTotal(float(self.shares[mask].sum(dtype=float)), len(texts))

    def spell(self, kgram: Sequence[int]) -> tuple[str, ...]:
        """The words of a K-gram."""
        return tuple(self.vocabulary.words[word] for word in kgram)

    @cached_property
    def _sentence_of(self) -> Numbers:
        lengths = self.tokens.words_per_sentence
        return np.repeat(np.arange(len(lengths)), lengths)


def predict_texts(
    classifier: ICapsClassifier,
    labelled: Sequence[tuple[str, str]],
    on_texts: Callable[[int], None] = lambda _: None,
) -> PredictedTexts:
    """Predicts labelled texts (pairs of a text and the name of its class), with their K-grams.

    Args:
        classifier: A fitted classifier.
        labelled: The pairs, in memory.
        on_texts: Called after each batch with its number of texts.

    Raises:
        DataError: No text has a word of the vocabulary, or none has a predicted class, or a label
            is none of the classes.
    """
    network, vocabulary = classifier.network_, classifier.vocabulary_
    classes = tuple(str(name) for name in classifier.classes_)
    names, label_sets = [label for _, label in labelled], None
    if network.thresholds is None:
        labels = numbers_of_one(names, classes)
    else:
        labels, label_sets = np.zeros(len(names), np.int64), indicator(names, classes)
    texts = [text for text, _ in labelled]
    numbers, norms, capsules, winner_shares, shares = [], [], [], [], []
    kgrams: list[tuple[Words, ...]] = []
    tokens = encode(vocabulary, texts, network.config, spans=False)
    for whole_batch in read(network, tokens):
        batch_norms = whole_batch.activity.class_norms.numpy()  # (B, J)
        read_texts = np.flatnonzero(~whole_batch.blank)
        numbers.append(whole_batch.numbers[read_texts])
        norms.append(batch_norms[read_texts])
        on_texts(len(whole_batch))
        batch, predicted = each_prediction(network, whole_batch)
        if not len(batch):
            continue
        account = BatchAccount(network, batch)
        weights, counted = account.weights(predicted), account.windows_count(predicted)
        top = top_kgrams(batch, *weights, network.config.kernel_size, ExplainOptions(), counted)
        known = np.flatnonzero(~batch.blank)
        winners = top.capsule[changes(top.text)]  # of each text's first K-gram
        capsules.append(winners)
        winner_shares.append(account.capsule_shares(predicted)[known, winners])
        of_known = np.repeat(~batch.blank, batch.tokens.words_per_text)
        shares.append(account.word_shares(predicted)[of_known])
        ids = batch.tokens.ids.tolist()
        by_text: list[list[Words]] = [[] for _ in range(len(batch))]
        for text, first, last in zip(
            top.text.tolist(), top.first.tolist(), top.last.tolist(), strict=True
        ):
            by_text[text].append(tuple(ids[first:last]))
        kgrams += [tuple(by_text[text]) for text in known]
    if not kgrams and any(map(len, numbers)):
        raise DataError(
            "No class reaches its threshold for any of these texts; use texts similar to the "
            "model's training texts."
        )
    if not kgrams:
        raise DataError(
            "The model knows no word of these texts; use texts similar to its training texts."
        )
    positions = np.concatenate(numbers)
    return PredictedTexts(
        network=network,
        vocabulary=vocabulary,
        classes=classes,
        numbers=positions,
        tokens=tokens.select(~tokens.blank),
        labels=labels[positions],
        norms=np.concatenate(norms),
        capsules=np.concatenate(capsules),
        winner_shares=np.concatenate(winner_shares),
        shares=np.concatenate(shares),
        kgrams=tuple(kgrams),
        label_sets=None if label_sets is None else label_sets[positions],
    )
