"""Training data: checks labels, splits off a validation part, builds the vocabulary, encodes."""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from icaps.config import ModelSettings, TrainConfig, TrainSettings
from icaps.data.cache import Artifact, artifact_home
from icaps.data.sample import SpacedSample
from icaps.data.text_hash import text_hash
from icaps.text.batch import UNK, TokenBatch
from icaps.text.sentences import encode
from icaps.text.vectors import FrozenVectors, LoadedVectors
from icaps.text.vocabulary import Vocabulary
from icaps.train.labels import Labelled, NumberedLabels, Numbers, content_hash, number_labels
from icaps.train.recipe import Recipe, recipe_for
from icaps.train.split import split, split_as
from icaps.train.text_hashes import TextHashes, as_array, hash_texts, hashing
from icaps.train.token_store import open_tokens, write_tokens

_VERSION = 3  # of the format of an encoded corpus in the cache


class Sliceable(Protocol):
    """An array, or a file that is read in slices (`token_store.NumberFile`)."""

    def __getitem__(self, where: slice, /) -> NDArray[Any]:
        """The numbers from `where.start` up to `where.stop`."""


@dataclass(frozen=True)
class Corpus:
    """Labelled texts as word ids, in memory or in files; selecting texts copies nothing.

    Attributes:
        ids: (words,), of all texts, concatenated.
        sentence_offsets: (sentences + 1,), words before each sentence.
        text_offsets: (all texts + 1,), sentences before each text.
        all_labels: (all texts,), class numbers; with several labels per text, rows of `label_sets`.
        texts: (texts,), the numbers of the selected texts, in their order.
        label_sets: (sets, J), whether a set of labels has a class; None: one label per text.
        masked: Words and K-grams, as word ids, that copies of texts are read without. In `texts`
            the number of all texts and n is the copy of text n.
    """

    ids: Sliceable
    sentence_offsets: Sliceable
    text_offsets: Sliceable
    all_labels: Numbers
    texts: Numbers
    label_sets: NDArray[np.bool_] | None = None
    masked: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def from_tokens(
        cls,
        tokens: TokenBatch,
        labels: Sequence[int],
        label_sets: NDArray[np.bool_] | None = None,
    ) -> Corpus:
        """A corpus in memory; `labels` are those of `all_labels` (texts,)."""
        return cls(
            ids=tokens.ids,
            sentence_offsets=np.concatenate([[0], tokens.words_per_sentence.cumsum()]),
            text_offsets=tokens.sentence_offsets,
            all_labels=np.array(labels, dtype=np.int64),
            texts=np.arange(len(tokens)),
            label_sets=label_sets,
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class numbers (texts,); with several labels per text, rows of `label_sets`."""
        labels: NDArray[np.int64] = self.all_labels[self._rows].astype(np.int64)
        return labels

    @property
    def targets(self) -> NDArray[Any]:
        """What the loss compares with: class numbers (texts,).

        With several labels per text, float32 (texts, J): 1 for each class of a text and else 0.
        """
        if self.label_sets is None:
            return self.labels
        return self.label_sets[self.labels].astype(np.float32)

    @property
    def class_numbers(self) -> NDArray[np.int64]:
        """The class of each pair of a text and one of its labels (pairs,)."""
        if self.label_sets is None:
            return self.labels
        return np.nonzero(self.label_sets[self.labels])[1]

    def class_counts(self, classes: int) -> NDArray[np.int64]:
        """Number of texts of each class (J,)."""
        return np.bincount(self.class_numbers, minlength=classes)

    def select(self, positions: Numbers) -> Corpus:
        """The texts at these positions, in this order."""
        return dataclasses.replace(self, texts=self.texts[positions])

    def select_all(self) -> Corpus:
        """All texts, in their order."""
        return dataclasses.replace(self, texts=np.arange(len(self.all_labels)))

    def tokens(self) -> TokenBatch:
        """The texts as one batch, without spans."""
        offsets = [self._offsets(text) for text in self._rows.tolist()]
        ids = [self.ids[part[0] : part[-1]] for part in offsets]
        lengths = [np.diff(part) for part in offsets]
        tokens = TokenBatch(
            np.concatenate([np.zeros(0, np.int32), *ids]),
            np.concatenate([np.zeros(0, np.int64), *lengths]),
            np.array([len(part) for part in lengths], np.int64),
        )
        copies = self.texts >= len(self.all_labels)
        if not copies.any():
            return tokens
        dropped = np.repeat(copies, tokens.words_per_text)
        return tokens.without(dropped & self.with_masked_words(tokens))

    def with_masked_words(self, tokens: TokenBatch) -> NDArray[np.bool_]:
        """Whether each word of a batch (words,) is one of those that copies are read without."""
        covered = np.zeros(len(tokens.ids), dtype=bool)
        for sequence in self.masked:
            covered |= tokens.covered(sequence)
        return covered

    def iterate_ids(self) -> Iterator[NDArray[Any]]:
        """The ids of each text."""
        for position, text in enumerate(self.texts.tolist()):
            if text >= len(self.all_labels):
                yield self.select(np.array([position])).tokens().ids
                continue
            offsets = self._offsets(text)
            yield self.ids[offsets[0] : offsets[-1]]

    @property
    def _rows(self) -> Numbers:
        """The number among all texts of each text or copy (texts,)."""
        return self.texts % len(self.all_labels) if self.masked else self.texts

    def _offsets(self, text: int) -> NDArray[Any]:
        """Number of words before each sentence of a text, and at its end (sentences + 1,)."""
        first, last = self.text_offsets[text : text + 2]
        return self.sentence_offsets[first : last + 1]


@dataclass(frozen=True)
class KnownWords:
    """Iterates over the texts of a corpus as lists of their trained words, for gensim."""

    corpus: Corpus
    vocabulary: Vocabulary

    def __iter__(self) -> Iterator[list[str]]:
        words, trained = self.vocabulary.words, self.vocabulary.trained_words
        for ids in self.corpus.iterate_ids():
            yield [words[i] for i in ids.tolist() if UNK < i < trained]


@dataclass(frozen=True)
class TrainingData:
    """The input of a training.

    Attributes:
        content: A hash of all texts and labels.
        classes: (J,), the labels by class number; with several labels per text, the names of which
            each text has some or none.
        vocabulary: Of the training texts.
        vectors: Of its words, from all sources that were loaded.
        training, validation: The two parts of the texts.
        recipe: The settings.
        hashes: Of the texts of both parts.
    """

    content: str
    classes: NDArray[Any]
    vocabulary: Vocabulary
    vectors: FrozenVectors
    training: Corpus
    validation: Corpus
    recipe: Recipe
    hashes: TextHashes

    @property
    def multilabel(self) -> bool:
        """Whether a text may have several labels."""
        return self.training.label_sets is not None


class ExtraTexts(NamedTuple):
    """Texts that are added to the training part, after all labelled texts, with class numbers."""

    texts: Sequence[str] = ()
    labels: Numbers = np.zeros(0, np.int64)


def prepare_texts(
    texts: Sequence[str],
    classes: NDArray[Any],
    labels: Numbers,
    model: ModelSettings = None,
    train: TrainSettings = None,
    load: Callable[[], LoadedVectors] | None = None,
    extra: ExtraTexts = ExtraTexts(),  # noqa: B008 (immutable)
    label_sets: NDArray[np.bool_] | None = None,
) -> TrainingData:
    """Splits and encodes texts in memory.

    Args:
        texts: The texts.
        classes: (J,), labels by class number.
        labels: (texts,), class numbers; with several labels per text, rows of `label_sets`.
        model, train: All settings, or single ones that replace those of the recipe.
        load: Loads word vectors, see `_build_vocabulary`.
        extra: More training texts.
        label_sets: As in `NumberedLabels`.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or range.
        DataError: There are too few texts to hold out a validation part.
        VectorsError: The vectors cannot be loaded.
    """
    recipe = recipe_for(SpacedSample(texts).texts, labels, model, train, label_sets)
    training, validation = split(labels, len(classes), recipe.train, label_sets)
    training = _with_extra(training, len(labels), extra)
    texts, labels = [*texts, *extra.texts], np.concatenate([labels, extra.labels])
    vocabulary, vectors = _build_vocabulary((texts[n] for n in training), recipe.train, load)
    tokens = encode(vocabulary, texts, recipe.model, spans=False)
    corpus = Corpus.from_tokens(tokens, labels.tolist(), label_sets)
    names = NumberedLabels(classes, labels, label_sets).names()
    content = content_hash(zip(texts, names, strict=True))
    return TrainingData(
        content=content,
        classes=classes,
        vocabulary=vocabulary,
        vectors=vectors,
        training=corpus.select(training),
        validation=corpus.select(validation),
        recipe=recipe,
        hashes=TextHashes.of(hash_texts(texts), training, validation),
    )


def prepare_stream(
    records: Iterable[Labelled],
    model: ModelSettings = None,
    train: TrainSettings = None,
    workers: int = 1,
    load: Callable[[], LoadedVectors] | None = None,
    extra: ExtraTexts = ExtraTexts(),  # noqa: B008 (immutable)
    held_out: TextHashes | None = None,
) -> TrainingData:
    """Splits and encodes a stream of any number of texts; word ids are stored in the cache.

    The stream is iterated three times: for labels, for the vocabulary, and for word ids.

    Args:
        records: Labelled texts, the same in each iteration.
        model, train: All settings, or single ones that replace those of the recipe.
        workers: Number of processes that encode.
        load: Loads word vectors, see `_build_vocabulary`.
        extra: More training texts.
        held_out: Of another training, whose held-out texts are held out here as well, see
            `split_as`.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or range.
        DataError: A text cannot be read, there are too few, all are of one class, or the cache
            cannot be written.
        VectorsError: The vectors cannot be loaded.
    """
    sample, hashes = SpacedSample(), array("Q")
    (classes, labels, label_sets), content = number_labels(hashing(records, hashes), sample)
    recipe = recipe_for(sample.texts, labels, model, train, label_sets)
    model, train = recipe.model, recipe.train
    training, validation = split_as(
        held_out, as_array(hashes), labels, len(classes), train, label_sets
    )
    if extra.texts:
        training = _with_extra(training, len(labels), extra)
        labels = np.concatenate([labels, extra.labels.astype(labels.dtype)])
        names = map(str, classes[extra.labels])
        content += content_hash(zip(extra.texts, names, strict=True))
        hashes.extend(map(text_hash, extra.texts))
    in_training = np.zeros(len(labels), dtype=bool)
    in_training[training] = True

    def texts() -> Iterator[str]:
        return chain((record.text for record in records), extra.texts)

    vocabulary, vectors = _build_vocabulary(compress(texts(), in_training), train, load)

    def fill(folder: Path) -> None:
        write_tokens(texts(), vocabulary, model, folder, workers)

    reading = [model.hierarchical, model.max_words, model.max_sentences, model.language]
    words = hashlib.blake2b("\n".join(vocabulary.words).encode(), digest_size=16).hexdigest()
    home = artifact_home("encoded", _VERSION, content, words, vocabulary.backs_off, reading)
    files = Artifact(home, lambda folder: open_tokens(folder, len(labels))).make(fill)
    corpus = Corpus(*files, labels, np.arange(len(labels), dtype=np.int32), label_sets)
    return TrainingData(
        content=content,
        classes=classes,
        vocabulary=vocabulary,
        vectors=vectors,
        training=corpus.select(training),
        validation=corpus.select(validation),
        recipe=recipe,
        hashes=TextHashes.of(as_array(hashes), training, validation),
    )


def _build_vocabulary(
    texts: Iterable[str], train: TrainConfig, load: Callable[[], LoadedVectors] | None
) -> tuple[Vocabulary, FrozenVectors]:
    """The vocabulary of the training texts, and the vectors of its words.

    The vectors are loaded here and dropped, except those of the vocabulary, as files of vectors are
    large. Without `load`, the words of the texts are read as they are, and nothing else.
    """
    if load is None:
        vocabulary = Vocabulary.build(texts, train.min_frequency)
        return vocabulary, FrozenVectors.join([], vocabulary)
    loaded = load()
    vocabulary = loaded.build_vocabulary(texts, train.min_frequency)
    return vocabulary, loaded.select(vocabulary, train.min_coverage)


def _with_extra(training: Numbers, labelled: int, extra: ExtraTexts) -> Numbers:
    """The positions of the training texts, when extra texts follow the labelled ones."""
    added = np.arange(labelled, labelled + len(extra.texts), dtype=training.dtype)
    return np.concatenate([training, added])
