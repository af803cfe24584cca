"""Frozen word vectors: from a file, by a gensim-data name, or trained on the texts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import VECTOR_STEP
from icaps.errors import VectorsError
from icaps.text.batch import UNK
from icaps.text.coverage import VectorCoverage, vector_coverage
from icaps.text.vector_files import ENGLISH, load_vectors
from icaps.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

TEXTS = "texts"  # the source for vectors that are trained on the training texts
DEFAULT_SOURCES = (ENGLISH,)

MAX_VECTOR_WORDS_BYTES = 8_000_000  # of the different vectors of words that are not trained
MAX_VECTOR_WORDS = 100_000  # such words, which may share vectors

Sources = str | Path | Sequence[str | Path] | None

_ROOT_MEAN_SQUARE = 0.5  # of the numbers of a vector, about that of GloVe
_CHUNK = 8_192  # words whose vectors are scaled at a time


@dataclass(frozen=True)
class AlignedVectors:
    """Vectors in the order of a vocabulary.

    Attributes:
        matrix: (V, dim).
        found: (V,), whether a word has a vector.
        counts: (V,), how often a word occurs in the training texts.
    """

    matrix: NDArray[np.float32]
    found: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @property
    def vocabulary_coverage(self) -> float:
        """Share of the vocabulary's words that have a vector; 0 for an empty vocabulary."""
        return float(self.found[2:].mean()) if len(self.found) > 2 else 0.0

    @property
    def token_coverage(self) -> float:
        """Share of the training texts' running words that have a vector."""
        return float(self.counts[self.found].sum() / max(int(self.counts.sum()), 1))


class FrozenVectors(NamedTuple):
    """Frozen vectors of the words of a vocabulary, all scaled to one length (`equal_lengths`).

    Attributes:
        trained: (V_t, dim), of the trained words.
        others: (V_x, dim), of the vector words, int8 multiples of `VECTOR_STEP`.
        found: (V_t,), whether a trained word has a vector.
        low: Whether so few of the running words have a vector that the texts are probably in
            another language (`VectorCoverage.low`).
    """

    trained: NDArray[np.float32]
    others: NDArray[np.int8]
    found: NDArray[np.bool_]
    low: bool = False

    @classmethod
    def join(cls, parts: Sequence[FrozenVectors], vocabulary: Vocabulary) -> FrozenVectors:
        """Concatenates vectors of the same words, so that `dim` is the sum; there may be none."""
        words = vocabulary.trained_words
        trained = [np.zeros((words, 0), np.float32), *(part.trained for part in parts)]
        others = [np.zeros((vocabulary.vector_words, 0), np.int8), *(part.others for part in parts)]
        found = [np.zeros(words, np.bool_), *(part.found for part in parts)]
        return cls(np.hstack(trained), np.hstack(others), np.any(found, axis=0))

    @property
    def coverage(self) -> float:
        """Share of the trained words that have a vector; 0 if there is none."""
        return float(self.found[2:].mean()) if len(self.found) > 2 else 0.0


def list_sources(vectors: Sources, low: bool = False) -> tuple[str | Path, ...]:
    """The sources as a tuple; None means `DEFAULT_SOURCES`.

    With None and `low` (`FrozenVectors.low`), `TEXTS` is added: vectors of another language say
    little. For English texts it brought nothing (benchmarks/README.md).
    """
    if vectors is None:
        return (*DEFAULT_SOURCES, TEXTS) if low else DEFAULT_SOURCES
    return (vectors,) if isinstance(vectors, str | Path) else tuple(vectors)


def source_names(vectors: Sources, low: bool = False) -> str:
    """The names of `list_sources`, joined by " + "; files without their folders."""
    return " + ".join(
        "the training texts" if source == TEXTS else Path(source).name
        for source in list_sources(vectors, low)
    )


class LoadedVectors:
    """The vectors of all sources but `TEXTS`, whole; they are needed only until `select`.

    Args:
        vectors: `ENGLISH`, a path or gensim-data name, `TEXTS`, or several of these; None means
            `DEFAULT_SOURCES`.
        log: Called with one line per step.

    Raises:
        VectorsError: Vectors cannot be loaded.
    """

    def __init__(self, vectors: Sources, log: Callable[[str], None]) -> None:
        self._log = log
        # Vectors of the texts complete the default, and others beside which they are named.
        self._alone = vectors is not None and TEXTS not in list_sources(vectors)
        self._tables = [
            (source_names(source), load_vectors(source, log))
            for source in list_sources(vectors)
            if source != TEXTS
        ]

    @property
    def dim(self) -> int:
        """Size of the concatenated vectors."""
        return sum(int(table.vector_size) for _, table in self._tables)

    @property
    def words(self) -> list[str]:
        """All words that have a vector: those of the first source in their order there, etc."""
        return list(dict.fromkeys(chain(*(table.index_to_key for _, table in self._tables))))

    @property
    def max_vector_words(self) -> int:
        """The number of first words with different vectors of `MAX_VECTOR_WORDS_BYTES` in total.

        Words that share a vector in all sources, as most in `ENGLISH` do, add nothing.
        """
        return self._first_words()[0]

    @property
    def vector_words_bytes(self) -> int:
        """Size of the different vectors of these words, a byte per number."""
        return self._first_words()[1] * self.dim

    def _first_words(self) -> tuple[int, int]:
        """The number of first words that may become vector words, and of their vectors."""
        most = MAX_VECTOR_WORDS_BYTES // self.dim if self.dim else 0
        words = self.words[:MAX_VECTOR_WORDS]
        different = set[tuple[int | None, ...]]()
        for count, word in enumerate(words):
            vector = tuple(table.key_to_index.get(word) for _, table in self._tables)
            if len(different) == most and vector not in different:
                return count, most
            different.add(vector)
        return len(words), len(different)

    def build_vocabulary(self, texts: Iterable[str], min_frequency: int) -> Vocabulary:
        """The vocabulary of a network with these vectors; see `Vocabulary.build`."""
        return Vocabulary.build(
            texts, min_frequency, self.words, self.max_vector_words, backs_off=True
        )

    def coverage(self, vocabulary: Vocabulary) -> VectorCoverage | None:
        """How many of the words that were counted have a vector; None if there is no source."""
        if not self._tables:
            return None
        counts = dict(zip(vocabulary.words, vocabulary.counts, strict=True))
        names = " + ".join(name for name, _ in self._tables)
        words = [table.key_to_index for _, table in self._tables]
        return vector_coverage(counts, words, names, unknown=vocabulary.counts[UNK])

    def select(self, vocabulary: Vocabulary, min_coverage: float = 0.0) -> FrozenVectors:
        """The vectors of a vocabulary's words.

        Raises:
            VectorsError: Vectors that were given, without `TEXTS`, have fewer of the running words
                than the share `min_coverage`.
        """
        coverage = self.coverage(vocabulary)
        if self._alone and coverage is not None and coverage.share < min_coverage:
            raise VectorsError(
                f"{coverage.summary} So training does not start. Give vectors of the texts' "
                "language; or add vectors that are trained on the texts: --vectors texts; or go on "
                "all the same: --set min_coverage=0 (train={'min_coverage': 0})."
            )
        parts = []
        for name, table in self._tables:
            parts.append(_freeze(table, vocabulary, name, self._log))
        if vocabulary.vector_words:
            self._log(
                f"{vocabulary.trained_words} words are trained; {vocabulary.vector_words} more are "
                "read by their vectors alone"
            )
        low = coverage is not None and coverage.low
        if coverage is not None and low:
            self._log(coverage.advice)
        return FrozenVectors.join(parts, vocabulary)._replace(low=low)


def text_vectors(
    words: Iterable[list[str]],
    vocabulary: Vocabulary,
    dim: int,
    *,
    epochs: int,
    seed: int,
    log: Callable[[str], None],
) -> FrozenVectors:
    """Vectors of a vocabulary's trained words, trained on the texts (`train_vectors`).

    The vector words get none: `others` is (V_x, 0).
    """
    log("training word vectors on the texts")
    count = vocabulary.trained_words
    trained = Vocabulary(vocabulary.words[:count], vocabulary.counts[:count])
    table = train_vectors(words, dim, seed=seed, epochs=epochs)
    frozen = _freeze(table, trained, source_names(TEXTS), log)
    return frozen._replace(others=np.zeros((vocabulary.vector_words, 0), np.int8))


def _freeze(
    table: KeyedVectors, vocabulary: Vocabulary, name: str, log: Callable[[str], None]
) -> FrozenVectors:
    """The vectors of a vocabulary's words in a table.

    Those of vector words are read in parts, since they are bytes at the end, and there are many.
    """
    words, counts, count = vocabulary.words, vocabulary.counts, vocabulary.trained_words
    aligned = align_vectors(table, Vocabulary(words[:count], counts[:count]))
    steps = np.zeros((len(words) - count, aligned.matrix.shape[1]), np.int8)
    covered = int(aligned.counts[aligned.found].sum())
    for start in range(count, len(words), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        part = align_vectors(table, Vocabulary((*words[:2], *words[chunk]), (0, 0, *counts[chunk])))
        scaled = equal_lengths(part.matrix[2:]) / VECTOR_STEP
        steps[start - count : start - count + len(scaled)] = np.rint(scaled)
        covered += int(part.counts[part.found].sum())
    frozen = FrozenVectors(equal_lengths(aligned.matrix), steps, aligned.found)
    log(
        f"{name}: vectors for {frozen.coverage:.1%} of {count} words, "
        f"{covered / max(sum(counts), 1):.1%} of the running words"
    )
    return frozen


def train_vectors(
    sentences: Iterable[list[str]], dim: int, *, seed: int, epochs: int = 5
) -> KeyedVectors:
    """Trains skip-gram vectors (Mikolov et al. 2013) on texts, with gensim.

    It uses one thread and a fixed hash, so that a seed gives the same vectors in every run.

    Args:
        sentences: Texts as lists of words; read several times, so not an iterator.
        dim: Size of a vector.
        seed: Of gensim's random numbers.
        epochs: Passes over the texts.

    Raises:
        VectorsError: The texts have no word.
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=dim,
        min_count=1,  # F of the vocabulary has already removed rare words
        sg=1,
        epochs=epochs,
        seed=seed,
        workers=1,
        hashfxn=_stable_hash,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise VectorsError(
            "The texts have no word to train vectors on; give other texts, or vectors."
        )
    model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    return model.wv


def align_vectors(vectors: KeyedVectors, vocabulary: Vocabulary) -> AlignedVectors:
    """The vector of each word of a vocabulary: that of the word itself, else of its lower case.

    A fastText .bin composes vectors of other words from their character n-grams; these count as
    found. Words without a vector, and `<pad>` and `<unk>`, get zeros.

    Raises:
        VectorsError: A word's vector has a number that is not finite, or whose square overflows.
    """
    words, index = vocabulary.words, vectors.key_to_index
    rows = np.array([index.get(word, index.get(word.lower(), -1)) for word in words])
    rows[:2] = -1
    found = rows >= 0
    matrix = np.zeros((len(words), vectors.vector_size), dtype=np.float32)
    matrix[found] = vectors.vectors[rows[found]]
    if getattr(vectors, "bucket", 0):
        for n in np.flatnonzero(~found)[2:]:
            matrix[n] = vectors.get_vector(words[n])
            found[n] = matrix[n].any()  # zeros: too short for an n-gram
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.square(matrix).sum(1))
    if not finite.all():
        word = words[np.flatnonzero(found & ~finite)[0]]
        raise VectorsError(
            f"The vector of {word!r} has a number that is not finite, or too large. "
            "Give a file of vectors that is whole."
        )
    return AlignedVectors(matrix, found, np.array(vocabulary.counts, dtype=np.int64))


def equal_lengths(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales rows of (V, dim) to one length, in multiples of `VECTOR_STEP`; zeros stay zeros.

    The scale of vectors differs by a factor of more than ten between files, and between the words
    of one file. At one length, the same initial weights and learning rate suit all (Levy et al.
    2015, section 3.3, normalise too). Numbers above 127 steps, four times the root mean square, are
    clipped.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    scale = _ROOT_MEAN_SQUARE * np.sqrt(matrix.shape[1]) / np.where(lengths > 0, lengths, 1)
    return in_whole_steps(matrix * scale)


def in_whole_steps(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rounds to multiples of `VECTOR_STEP`, at most 127 of them, so that a byte stores each."""
    steps = np.rint(values / VECTOR_STEP).clip(-127, 127)
    whole: NDArray[np.float32] = (steps * VECTOR_STEP).astype(np.float32)
    return whole


def _stable_hash(word: str) -> int:
    return zlib.crc32(word.encode())
