"""Training data: checks labels, splits off a validation part, builds the vocabulary, encodes."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from icaps.config import ModelSettings, TrainConfig, TrainSettings
from icaps.data.cache import Artifact, artifact_home
from icaps.data.sample import SpacedSample
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.text.batch import UNK, TokenBatch
from icaps.text.sentences import encode
from icaps.text.vectors import FrozenVectors, LoadedVectors
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import check_class_names
from icaps.train.recipe import Recipe, recipe_for
from icaps.train.text_hashes import TextHashes, as_array, hash_texts, hashing
from icaps.train.token_store import open_tokens, write_tokens

_VERSION = 3  # of the format of an encoded corpus in the cache

Numbers = NDArray[np.integer[Any]]


class Labelled(Protocol):
    """A text and the name of its class."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def label(self) -> str:
        """The name of its class."""


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
        all_labels: (all texts,), class numbers.
        texts: (texts,), the numbers of the selected texts, in their order.
    """

    ids: Sliceable
    sentence_offsets: Sliceable
    text_offsets: Sliceable
    all_labels: Numbers
    texts: Numbers

    @classmethod
    def from_tokens(cls, tokens: TokenBatch, labels: Sequence[int]) -> Corpus:
        """A corpus in memory; `labels` are the class numbers (texts,)."""
        return cls(
            ids=tokens.ids,
            sentence_offsets=np.concatenate([[0], tokens.words_per_sentence.cumsum()]),
            text_offsets=tokens.sentence_offsets,
            all_labels=np.array(labels, dtype=np.int64),
            texts=np.arange(len(tokens)),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class numbers (texts,)."""
        labels: NDArray[np.int64] = self.all_labels[self.texts].astype(np.int64)
        return labels

    def select(self, positions: Numbers) -> Corpus:
        """The texts at these positions, in this order."""
        return dataclasses.replace(self, texts=self.texts[positions])

    def tokens(self) -> TokenBatch:
        """The texts as one batch, without spans."""
        offsets = [self._offsets(text) for text in self.texts.tolist()]
        ids = [self.ids[part[0] : part[-1]] for part in offsets]
        lengths = [np.diff(part) for part in offsets]
        return TokenBatch(
            np.concatenate([np.zeros(0, np.int32), *ids]),
            np.concatenate([np.zeros(0, np.int64), *lengths]),
            np.array([len(part) for part in lengths], np.int64),
        )

    def iterate_ids(self) -> Iterator[NDArray[Any]]:
        """The ids of each text."""
        for text in self.texts.tolist():
            offsets = self._offsets(text)
            yield self.ids[offsets[0] : offsets[-1]]

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
        classes: (J,), the labels by class number.
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
) -> TrainingData:
    """Splits and encodes texts in memory.

    Args:
        texts: The texts.
        classes: (J,), labels by class number.
        labels: (texts,), class numbers.
        model, train: All settings, or single ones that replace those of the recipe.
        load: Loads word vectors, see `_build_vocabulary`.
        extra: More training texts.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or range.
        DataError: There are too few texts to hold out a validation part.
        VectorsError: The vectors cannot be loaded.
    """
    recipe = recipe_for(SpacedSample(texts).texts, labels, model, train)
    training, validation = split(labels, len(classes), recipe.train)
    training = _with_extra(training, len(labels), extra)
    texts, labels = [*texts, *extra.texts], np.concatenate([labels, extra.labels])
    vocabulary, vectors = _build_vocabulary((texts[n] for n in training), recipe.train, load)
    tokens = encode(vocabulary, texts, recipe.model, spans=False)
    corpus = Corpus.from_tokens(tokens, labels.tolist())
    names = (str(name) for name in classes[labels])
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
    classes, labels, content = read_labels(hashing(records, hashes), sample)
    recipe = recipe_for(sample.texts, labels, model, train)
    model, train = recipe.model, recipe.train
    training, validation = split_as(held_out, as_array(hashes), labels, len(classes), train)
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
    corpus = Corpus(*files, labels, np.arange(len(labels), dtype=np.int32))
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


def encode_labels(texts: Sequence[str], y: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Encodes labels as class numbers: classes (J,), sorted, and numbers (texts,).

    Raises:
        DataError: The labels are not categorical or of mixed types, their number is not that of
            the texts, all are equal, or a class name cannot be stored in a checkpoint.
    """
    if y is None:
        raise DataError("This classifier requires y to be passed, but the target y is None.")
    try:
        given: NDArray[Any] = column_or_1d(y, warn=True)
        _check_one_type(y)
        assert_all_finite(given, input_name="y")
        check_classification_targets(given)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"The labels cannot be used: {error}") from error
    if len(texts) != len(given):
        raise DataError(f"{len(texts)} texts have {len(given)} labels; give one per text.")
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"All {len(texts)} texts have one class; a classifier needs two.")
    check_class_names(map(str, classes))
    return classes, labels.astype(np.int64)


def _check_one_type(y: Any) -> None:
    """DataError if text and other labels are mixed, which numpy would turn into text."""
    if getattr(getattr(y, "dtype", None), "kind", "O") != "O":
        return
    labels = np.asarray(y, dtype=object).ravel()
    examples = {isinstance(label, str): label for label in labels}
    if len(examples) > 1:
        raise DataError(
            f"The labels mix text and other values, such as {examples[True]!r} and "
            f"{examples[False]!r}; give labels of one type."
        )


def read_labels(
    records: Iterable[Labelled], sample: SpacedSample | None = None
) -> tuple[NDArray[Any], Numbers, str]:
    """Reads a stream: classes (J,), sorted, class numbers (texts,), hash of all texts and labels.

    The texts are also added to the sample, if there is one.

    Raises:
        DataError: A text cannot be read, all are of one class, or a class name cannot be stored in
            a checkpoint.
    """
    number_of: dict[str, int] = {}  # in the order in which classes appear
    numbers = array("i")

    def pairs() -> Iterator[tuple[str, str]]:
        for record in records:
            numbers.append(number_of.setdefault(record.label, len(number_of)))
            if sample is not None:
                sample.add(record.text)
            yield record.text, record.label

    content = content_hash(pairs())
    classes = np.array(sorted(number_of), dtype=object)
    if len(classes) < 2:
        raise DataError(f"All {len(numbers)} texts have one class; a classifier needs two.")
    check_class_names(classes)
    sorted_number = {name: number for number, name in enumerate(classes)}
    renumbered = np.array([sorted_number[name] for name in number_of], dtype=np.int32)
    return classes, renumbered[np.frombuffer(numbers, np.intc)], content


def split(labels: Numbers, classes: int, train: TrainConfig) -> tuple[Numbers, Numbers]:
    """Splits texts at random, stratified by class: positions of training and validation texts.

    Raises:
        DataError: There are too few texts.
    """
    share = math.ceil(train.validation_share * len(labels))
    try:
        training, validation = train_test_split(
            np.arange(len(labels)),
            test_size=max(share, classes),  # at least one per class, also in small data
            stratify=labels,
            random_state=train.seed,
        )
    except ValueError as error:
        raise DataError(
            f"{len(labels)} texts of {classes} classes cannot be split into a training and a "
            f"validation part ({error}). Give at least two texts per class."
        ) from error
    return training.astype(np.int32), validation.astype(np.int32)  # half of the memory of int64


def split_as(
    other: TextHashes | None,
    hashes: NDArray[np.uint64],
    labels: Numbers,
    classes: int,
    train: TrainConfig,
) -> tuple[Numbers, Numbers]:
    """As `split`, but holds out the texts that were held out of another training, if there are any.

    Args:
        other: Of the other training; None splits at random.
        hashes: (texts,), of the texts.
        labels, classes, train: See `split`.

    Raises:
        DataError: There are too few texts.
    """
    if other is not None:
        mask = other.in_held_out(hashes)
        if mask.any() and len(np.unique(labels[~mask])) == classes:
            return np.flatnonzero(~mask).astype(np.int32), np.flatnonzero(mask).astype(np.int32)
    return split(labels, classes, train)


def content_hash(labelled: Iterable[tuple[str, str]]) -> str:
    """A hash (BLAKE2) of texts and labels in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for text, label in labelled:
        line = f"{len(text)}\n{text}\n{label}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
