"""Labelled texts as a network read and answered them, in memory, and where K-grams are in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.data.records import class_numbers
from icaps.errors import DataError
from icaps.inference import read
from icaps.interpret.local import spot_kgrams
from icaps.model import ICapsNet
from icaps.text.batch import TokenBatch
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

Words = tuple[int, ...]  # word ids
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Answered:
    """Those of some labelled texts that the network knows a word of.

    Attributes:
        network, vocabulary, classes: Of the model.
        numbers: (texts,), where each was among the texts that were given.
        encoded: As the network reads them.
        labels: (texts,), class numbers.
        norms: (texts, J).
        capsules: (texts,), the capsule that won (section 2.6).
        kgrams: Of each text those that explain its prediction, the winner's first one first.
    """

    network: ICapsNet
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    numbers: Numbers
    encoded: TokenBatch
    labels: Numbers
    norms: NDArray[np.floating]
    capsules: Numbers
    kgrams: tuple[tuple[Words, ...], ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def predicted(self) -> Numbers:
        """(texts,), class numbers."""
        return np.asarray(self.norms.argmax(1))

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """(texts,)"""
        return np.asarray(self.predicted == self.labels)

    @property
    def ids(self) -> NDArray[np.integer]:
        """(tokens,), all texts end to end."""
        return self.encoded.ids

    @cached_property
    def text_of(self) -> Numbers:
        """(tokens,), the text of each."""
        return np.repeat(np.arange(len(self)), self.encoded.words_per_text)

    @property
    def starts(self) -> Numbers:
        """(texts,), the place of each one's first token among all."""
        return self.encoded.word_offsets[:-1]

    def places(self, words: Words) -> Numbers:
        """(occurrences,), where a K-gram begins among all tokens; it is within a sentence."""
        last = len(words) - 1
        here = np.flatnonzero(self.ids[: len(self.ids) - last] == words[0])
        for offset, word in enumerate(words[1:], start=1):
            here = here[self.ids[here + offset] == word]
        return np.asarray(here[self._sentence_of[here] == self._sentence_of[here + last]])

    def covered(self, words: Words) -> NDArray[np.bool_]:
        """(tokens,), the words of all its occurrences."""
        found = np.zeros(len(self.ids), dtype=bool)
        here = self.places(words)
        for offset in range(len(words)):
            found[here + offset] = True
        return found

    def spell(self, words: Sequence[int]) -> tuple[str, ...]:
        """Words as the vocabulary has them."""
        return tuple(self.vocabulary.words[word] for word in words)

    @cached_property
    def _sentence_of(self) -> Numbers:
        lengths = self.encoded.words_per_sentence
        return np.repeat(np.arange(len(lengths)), lengths)


def answer(
    classifier: ICapsClassifier,
    labelled: Sequence[tuple[str, str]],
    on_texts: Callable[[int], None] = lambda _: None,
) -> Answered:
    """Reads texts, whose class names the labels are, with what the model says of them.

    Args:
        classifier: Fitted.
        labelled: In memory.
        on_texts: Told after each batch how many texts it had.

    Raises:
        DataError: No text has a word that the model knows, or a label is none of its classes.
    """
    network, vocabulary = classifier.network_, classifier.vocabulary_
    classes = tuple(str(name) for name in classifier.classes_)
    labels = class_numbers((label for _, label in labelled), classes)
    given = [text for text, _ in labelled]
    known: list[int] = []
    encoded: list[TokenBatch] = []
    norms, capsules, kgrams = [], [], []
    for batch in read(network, encode(vocabulary, given, network.config, spans=False)):
        for reading in batch:
            if reading.blank[0]:
                continue
            target = int(reading.activity.class_norms.argmax())
            spotted = spot_kgrams(reading, target, network.config.kernel_size, ExplainOptions())
            ids = reading.tokens.ids.tolist()
            known.append(int(reading.numbers[0]))
            encoded.append(reading.tokens)
            norms.append(reading.activity.class_norms[0].numpy())
            capsules.append(spotted[0].capsule)
            kgrams.append(tuple(tuple(ids[kgram.first : kgram.last]) for kgram in spotted))
        on_texts(len(batch))
    if not known:
        raise DataError("The model knows no word of these texts; give it texts of its own kind.")
    numbers = np.array(known)
    return Answered(
        *(network, vocabulary, classes, numbers, TokenBatch.join(encoded), labels[numbers]),
        *(np.stack(norms), np.array(capsules), tuple(kgrams)),
    )
