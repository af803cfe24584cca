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
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from icaps.config import ModelSettings, TrainConfig, TrainSettings
from icaps.data.cache import Artifact, artifact_home
from icaps.data.label_sets import format_label_set, indicator, is_multilabel, names_in
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


class NumberedLabels(NamedTuple):
    """The labels of texts as numbers.

    Attributes:
        classes: (J,), the distinct labels, sorted.
        labels: (texts,), class numbers; with several labels per text, rows of `label_sets`.
        label_sets: (sets, J), whether a set of labels has a class; None: one label per text.
    """

    classes: NDArray[Any]
    labels: Numbers
    label_sets: NDArray[np.bool_] | None = None

    def names(self) -> Iterator[str]:
        """The label of each text as one string, several as `data.label_sets` writes them."""
        if self.label_sets is None:
            return (str(name) for name in self.classes[self.labels])
        rows = [format_label_set(map(str, self.classes[row])) for row in self.label_sets]
        return (rows[number] for number in self.labels.tolist())


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


def encode_label_sets(texts: Sequence[str], y: Any) -> NumberedLabels:
    """Encodes several labels per text.

    Args:
        texts: The texts.
        y: An indicator matrix (texts, J), dense or sparse, as `MultiLabelBinarizer` returns it,
            whose classes are 0 to J - 1; or per text a list, a tuple or a set of labels.

    Raises:
        DataError: The labels cannot be used, their number is not that of the texts, there are
            fewer than two classes, or a class name cannot be stored in a checkpoint.
    """
    y = _matrix_or_lists(y)
    if isinstance(y, list):
        _check_one_type([label for labels in y for label in labels])
        classes: NDArray[Any] = np.unique([label for labels in y for label in labels])
        rows = indicator_matrix(y, classes.tolist())
    else:
        classes, rows = np.arange(y.shape[1]), y
    if len(texts) != len(rows):
        raise DataError(f"{len(texts)} texts have {len(rows)} sets of labels; give one per text.")
    if len(classes) < 2:
        raise DataError(
            f"The labels of {len(texts)} texts name {len(classes) or 'no'} class; a classifier "
            "needs two."
        )
    check_class_names(map(str, classes))
    label_sets, labels = np.unique(rows, axis=0, return_inverse=True)
    return NumberedLabels(classes, labels.reshape(-1).astype(np.int64), label_sets)


def has_label_sets(y: Any) -> bool:
    """Whether `y` has several labels per text, in one of the forms of `encode_label_sets`."""
    if y is None or isinstance(y, str):
        return False
    if sp.issparse(y) or (isinstance(y, np.ndarray) and y.dtype != object):
        return len(y.shape) == 2 and y.shape[1] > 1
    if hasattr(y, "columns"):  # a frame of pandas
        return len(y.columns) > 1
    kinds = {type(labels) for labels in y}
    if kinds == {str}:
        return is_multilabel(y)
    return any(issubclass(kind, list | tuple | set | frozenset | np.ndarray) for kind in kinds)


def indicator_matrix(y: Any, classes: Sequence[Any]) -> NDArray[np.bool_]:
    """Several labels per text as a matrix (texts, J): whether a text has a class.

    Args:
        y: In one of the forms of `encode_label_sets`.
        classes: (J,), the labels. A label may be given as a string, whatever its type.

    Raises:
        DataError: A label is none of the classes, or a matrix has another number of columns.
    """
    given = _matrix_or_lists(y)
    if not isinstance(given, list):
        if given.shape[1] != len(classes):
            raise DataError(f"The labels have {given.shape[1]} columns for {len(classes)} classes.")
        return given
    number_of: dict[Any, int] = {str(label): number for number, label in enumerate(classes)}
    number_of |= {label: number for number, label in enumerate(classes)}
    rows = np.zeros((len(given), len(classes)), dtype=bool)
    for row, labels in zip(rows, given, strict=True):
        for label in labels:
            if label not in number_of:
                known = ", ".join(map(str, classes))
                raise DataError(f"The label {label!r} is none of the classes: {known}.")
            row[number_of[label]] = True
    return rows


def _matrix_or_lists(y: Any) -> NDArray[np.bool_] | list[list[Any]]:
    """Several labels per text as a matrix (texts, J), or as a list of labels per text.

    Raises:
        DataError: A matrix has other values than 0 and 1.
    """
    rows: Any = y
    if sp.issparse(y):
        rows = y.toarray()
    elif not hasattr(y, "columns") and not (isinstance(y, np.ndarray) and y.ndim == 2):
        lists = [list(names_in(labels) if isinstance(labels, str) else labels) for labels in y]
        width = len(lists[0]) if lists else 0
        if width < 2 or any(len(row) != width or not set(row) <= {0, 1} for row in lists):
            return lists
        rows = lists  # as labels, each text would have 0 and 1, or one of them several times
    matrix: NDArray[Any] = np.asarray(rows)
    if not np.isin(matrix, (0, 1)).all():
        raise DataError(
            "The labels are a matrix with other values than 0 and 1; give an indicator matrix as "
            "scikit-learn's MultiLabelBinarizer returns it, or a list of labels per text."
        )
    truth: NDArray[np.bool_] = matrix.astype(bool)
    return truth


def number_labels(
    records: Iterable[Labelled], sample: SpacedSample | None = None
) -> tuple[NumberedLabels, str]:
    """Reads a stream: the labels as numbers, and a hash of all texts and labels.

    The texts are also added to the sample, if there is one. Several labels per text are known by
    the form of the labels (`data.label_sets`).

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
    distinct = sorted(number_of)
    several = is_multilabel(distinct)
    names = (
        sorted({name for label in distinct for name in names_in(label)}) if several else distinct
    )
    classes = np.array(names, dtype=object)
    if len(classes) < 2:
        raise DataError(f"All {len(numbers)} texts have one class; a classifier needs two.")
    check_class_names(classes)
    sorted_number = {label: number for number, label in enumerate(distinct)}
    renumbered = np.array([sorted_number[label] for label in number_of], dtype=np.int32)
    labels = renumbered[np.frombuffer(numbers, np.intc)]
    label_sets = indicator(distinct, names) if several else None
    return NumberedLabels(classes, labels, label_sets), content


def read_labels(
    records: Iterable[Labelled], sample: SpacedSample | None = None
) -> tuple[NDArray[Any], Numbers, str]:
    """As `number_labels`, of one label per text: classes (J,), class numbers (texts,), hash.

    Raises:
        DataError: As in `number_labels`, or the texts have several labels.
    """
    (classes, labels, label_sets), content = number_labels(records, sample)
    if label_sets is not None:
        raise DataError("The texts have several labels each, and this needs one label per text.")
    return classes, labels, content


def split(
    labels: Numbers,
    classes: int,
    train: TrainConfig,
    label_sets: NDArray[np.bool_] | None = None,
) -> tuple[Numbers, Numbers]:
    """Splits texts at random, stratified by class: positions of training and validation texts.

    Texts with several labels are stratified by the rarest of their classes.

    Raises:
        DataError: There are too few texts.
    """
    if label_sets is not None:
        return _split_sets(labels, label_sets, train)
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


def _split_sets(
    labels: Numbers, label_sets: NDArray[np.bool_], train: TrainConfig
) -> tuple[Numbers, Numbers]:
    """`split` of texts with several labels.

    The strata are the rarest class of each text, and the texts without a label. A text that is
    alone in its stratum is a training text.
    """
    classes = label_sets.shape[1]
    counts = np.bincount(labels, minlength=len(label_sets)) @ label_sets  # texts per class (J,)
    rarest = np.where(label_sets, counts, len(labels) + 1).argmin(1)
    strata = np.where(label_sets.any(1), rarest, classes)[labels]
    sizes = np.bincount(strata, minlength=classes + 1)
    alone = sizes[strata] == 1
    several = np.flatnonzero(~alone)
    share = max(math.ceil(train.validation_share * len(labels)), int((sizes > 1).sum()))
    try:
        training, validation = train_test_split(
            several, test_size=share, stratify=strata[several], random_state=train.seed
        )
    except ValueError as error:
        raise DataError(
            f"{len(labels)} texts of {classes} classes cannot be split into a training and a "
            f"validation part ({error}). Give at least two texts per class."
        ) from error
    training = np.concatenate([training, np.flatnonzero(alone)])
    return training.astype(np.int32), validation.astype(np.int32)


def split_as(
    other: TextHashes | None,
    hashes: NDArray[np.uint64],
    labels: Numbers,
    classes: int,
    train: TrainConfig,
    label_sets: NDArray[np.bool_] | None = None,
) -> tuple[Numbers, Numbers]:
    """As `split`, but holds out the texts that were held out of another training, if there are any.

    Args:
        other: Of the other training; None splits at random.
        hashes: (texts,), of the texts.
        labels, classes, train, label_sets: See `split`.

    Raises:
        DataError: There are too few texts.
    """
    if other is not None:
        mask = other.in_held_out(hashes)
        if label_sets is None:
            present = len(np.unique(labels[~mask]))
        else:
            present = int(label_sets[np.unique(labels[~mask])].any(0).sum())
        if mask.any() and present == classes:
            return np.flatnonzero(~mask).astype(np.int32), np.flatnonzero(mask).astype(np.int32)
    return split(labels, classes, train, label_sets)


def content_hash(labelled: Iterable[tuple[str, str]]) -> str:
    """A hash (BLAKE2) of texts and labels in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for text, label in labelled:
        line = f"{len(text)}\n{text}\n{label}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
