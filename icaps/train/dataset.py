"""From labelled texts to what training reads: classes, split, vocabulary, encoded corpus."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from icaps.config import ModelConfig, TrainConfig
from icaps.errors import DataError
from icaps.text.batch import UNK
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary
from icaps.train.corpus import Corpus
from icaps.train.corpus_files import open_corpus, write_corpus

Numbers = NDArray[np.integer[Any]]


class Labelled(Protocol):
    """A text and the name of its class."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def label(self) -> str:
        """The name of its class."""


@dataclass(frozen=True)
class Prepared:
    """What a training reads.

    Attributes:
        content: A hash of all texts and labels.
        classes: (J,), the labels by class number.
        vocabulary: Of the training texts.
        training, validation: The texts as numbers.
    """

    content: str
    classes: NDArray[Any]
    vocabulary: Vocabulary
    training: Corpus
    validation: Corpus


@dataclass(frozen=True)
class Words:
    """The known words of a corpus, a list a text, as often as they are asked for."""

    corpus: Corpus
    vocabulary: Vocabulary

    def __iter__(self) -> Iterator[list[str]]:
        words, corpus = self.vocabulary.words, self.corpus
        for text in corpus.texts.tolist():
            offsets = corpus.offsets_of(text)
            ids = corpus.ids[offsets[0] : offsets[-1]]
            yield [words[i] for i in ids.tolist() if i != UNK]


def prepare_texts(
    texts: Sequence[str],
    classes: NDArray[Any],
    labels: Numbers,
    model: ModelConfig,
    train: TrainConfig,
) -> Prepared:
    """Texts that are in memory, with their class numbers (texts,).

    Raises:
        DataError: There are too few texts to hold a part out.
    """
    training, held_out = split(labels, len(classes), train)
    vocabulary = Vocabulary.build((texts[n] for n in training), train.min_frequency)
    corpus = Corpus.from_tokens(encode(vocabulary, texts, model, spans=False), labels.tolist())
    names = (str(name) for name in classes[labels])
    content = content_hash(zip(texts, names, strict=True))
    return Prepared(content, classes, vocabulary, corpus.select(training), corpus.select(held_out))


def prepare_stream(
    records: Iterable[Labelled],
    model: ModelConfig,
    train: TrainConfig,
    make_folder: Callable[[str, Callable[[Path], None]], Path],
    workers: int,
) -> Prepared:
    """Texts of any number, read as a stream three times; what they come to lies in files.

    Args:
        records: Gives the same texts each time.
        model: Says how texts are split and cut.
        train: Says how the vocabulary and the held-out part are chosen.
        make_folder: Gives the folder of a key, filled by the function unless it is there already.
        workers: Processes that encode.

    Raises:
        DataError: A text can't be read, there are too few, or they are of one class.
    """
    classes, labels, content = read_labels(records)
    training, held_out = split(labels, len(classes), train)
    chosen = np.zeros(len(labels), dtype=bool)
    chosen[training] = True
    texts = (record.text for record in records)
    vocabulary = Vocabulary.build(compress(texts, chosen), train.min_frequency)

    def fill(folder: Path) -> None:
        write_corpus((record.text for record in records), vocabulary, model, folder, workers)

    folder = make_folder(_key(content, vocabulary, model), fill)
    corpus = open_corpus(folder, labels)
    return Prepared(content, classes, vocabulary, corpus.select(training), corpus.select(held_out))


def split(labels: Numbers, classes: int, train: TrainConfig) -> tuple[Numbers, Numbers]:
    """Positions of the training and of the held-out texts, stratified by class.

    Raises:
        DataError: There are too few texts for it.
    """
    share = math.ceil(train.validation_share * len(labels))
    try:
        training, held_out = train_test_split(
            np.arange(len(labels)),
            test_size=max(share, classes),  # one of each class, in small data too
            stratify=labels,
            random_state=train.seed,
        )
    except ValueError as error:
        raise DataError(
            f"{len(labels)} texts of {classes} classes can't be split into a training and a "
            f"validation part ({error}). Give two texts a class or more."
        ) from error
    return training.astype(np.int32), held_out.astype(np.int32)  # half the memory, for 2^31 texts


def read_labels(records: Iterable[Labelled]) -> tuple[NDArray[Any], Numbers, str]:
    """The classes, sorted; the class number of each text; a hash of all texts and labels.

    Raises:
        DataError: A text can't be read, or all are of one class.
    """
    seen: dict[str, int] = {}
    numbers = array("i")

    def counted() -> Iterator[tuple[str, str]]:
        for record in records:
            numbers.append(seen.setdefault(record.label, len(seen)))
            yield record.text, record.label

    content = content_hash(counted())
    classes = np.array(sorted(seen), dtype=object)
    if len(classes) < 2:
        raise DataError(f"All {len(numbers)} texts have one class; a classifier needs two.")
    order = {name: number for number, name in enumerate(classes)}
    sorted_numbers = np.array([order[name] for name in seen], dtype=np.int32)
    return classes, sorted_numbers[np.frombuffer(numbers, np.intc)], content


def content_hash(labelled: Iterable[tuple[str, str]]) -> str:
    """The same for the same texts and labels in the same order, and practically for no others."""
    digest = hashlib.blake2b(digest_size=16)
    for text, label in labelled:
        line = f"{len(text)}\n{text}\n{label}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _key(content: str, vocabulary: Vocabulary, model: ModelConfig) -> str:
    """A name for the encoded corpus: of the texts, the vocabulary and how texts are split."""
    reading = model.hierarchical, model.max_words, model.max_sentences, model.language
    words = hashlib.blake2b("\n".join(vocabulary.words).encode(), digest_size=16).hexdigest()
    parts = f"1 {content} {words} {reading}"  # 1 is the version of the files
    return hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()
