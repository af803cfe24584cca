"""Frozen word vectors: from a file, by a gensim-data name, or trained on the texts."""

from __future__ import annotations

import gzip
import re
import shutil
import struct
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from io import BufferedReader, RawIOBase
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from icaps.config import VECTOR_STEP
from icaps.data.download import NETWORK_SETTING, offline
from icaps.data.streams import is_hidden
from icaps.errors import VectorsError
from icaps.text.batch import UNK
from icaps.text.compact_vectors import ENGLISH_FILE, CompactVectors, is_compact
from icaps.text.coverage import VectorCoverage, vector_coverage
from icaps.text.spacy_package import is_spacy_package, read_spacy_package
from icaps.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

TEXTS = "texts"  # the source for vectors that are trained on the training texts
ENGLISH = "english"  # the source for the table that the package contains
DEFAULT_SOURCES = (ENGLISH,)

MAX_VECTOR_WORDS_BYTES = 8_000_000  # of the different vectors of words that are not trained
MAX_VECTOR_WORDS = 100_000  # such words, which may share vectors

Sources = str | Path | Sequence[str | Path] | None

_ROOT_MEAN_SQUARE = 0.5  # of the numbers of a vector, about that of GloVe
_FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 8_192  # words whose vectors are scaled at a time
_LONGEST_LINE = 1 << 20  # bytes per line that are read to detect the format of a file
_START = 1 << 16  # bytes that tell text from binary
_FEW_BAD = 1  # rows that may be odd in a small file
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\x1c\x1d\x1e\x1f\x0b\x0c"))
_NUMBER = re.compile(
    rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)", re.I
)
_ENDS_IN_NUMBER = re.compile(rb"\s[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$")
_SUFFIXES = (".bin", ".vec", ".txt", ".kv", ".gz", ".model", ".npz", ".whl")
_ADVICE = (
    "Give a whole file of word2vec (binary or text), GloVe text, fastText .bin or .vec, a table of "
    "icaps vectors build, or the wheel of a spaCy pipeline, with words in UTF-8."
)
_ZIP_MAGIC = b"PK\x03\x04"
_PICKLE = b"\x80"  # the first byte of what gensim's own `save` writes
# What gensim and gzip raise for damaged files, and for files of other formats.
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    ImportError,
    AssertionError,
    NotImplementedError,
    MemoryError,
    OverflowError,
    struct.error,
    zlib.error,
    BadZipFile,
)


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


def load_vectors(source: str | Path, log: Callable[[str], None] | None = None) -> KeyedVectors:
    """Loads word vectors: `ENGLISH`, a file, or a gensim-data name as word2vec-google-news-300.

    A row of text that does not fit is left out and logged, if it is alone among many. Of a zip
    archive with several files one is named: `glove.zip/glove.50d.txt`.

    The format is detected from the content: word2vec binary and text, GloVe text and fastText .vec,
    each gzipped (with the suffix .gz) or not, fastText .bin, compact tables (`CompactVectors`), and
    wheels of spaCy pipelines. Nothing is unpickled, and the code that gensim-data ships with its
    vectors is not run.

    In compact tables and spaCy's pipelines, several words may have one index in `key_to_index`.

    Args:
        source: `ENGLISH`, a path, or a name. A source with a slash or a known suffix is a path.
        log: Called with one line before a download, and about rows that are left out.

    Raises:
        VectorsError: The file is missing, damaged or of no such format, or the download failed.
    """
    path = ENGLISH_FILE if source == ENGLISH else Path(source).expanduser()
    try:
        if path.is_file():
            return _load_file(path, log)
        if path.parent.is_file() and is_zipfile(path.parent):  # a file in an archive
            return _load_file(path.parent, log, path.name)
        if path.exists():
            raise VectorsError(f"{path} is a folder, or no regular file. {_ADVICE}")
    except OSError as error:  # such as a name too long for the file system
        raise VectorsError(f"{path} cannot be opened ({error.strerror}). {_ADVICE}") from error
    if len(path.parts) > 1 or path.suffix.lower() in _SUFFIXES:
        raise VectorsError(f"There is no vectors file {path}. {_ADVICE}")
    return _download(str(source), log)


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


def _load_file(
    path: Path, log: Callable[[str], None] | None = None, member: str = ""
) -> KeyedVectors:
    try:
        vectors = _read(path, log or (lambda line: None), member)
        if not len(vectors) or not vectors.vector_size:
            raise ValueError("it holds no vector")
    except _UNREADABLE as error:
        cause = str(error) or type(error).__name__
        raise VectorsError(f"{path} cannot be read as word vectors: {cause}. {_ADVICE}") from error
    return vectors


def _read(path: Path, log: Callable[[str], None], member: str) -> KeyedVectors:
    from gensim.models.fasttext import load_facebook_vectors

    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise ValueError("it is empty")
    if start == _FASTTEXT_MAGIC:
        _check_fasttext_size(path)
        return load_facebook_vectors(str(path))
    if start == _ZIP_MAGIC:
        return _read_zip(path, log, member)
    if start.startswith(_GZIP_MAGIC):
        with gzip.open(path) as stream:
            return _read_stream(cast(BinaryIO, stream), str(path), log)
    with path.open("rb") as file:
        return _read_stream(file, str(path), log)


def _read_zip(path: Path, log: Callable[[str], None], member: str) -> KeyedVectors:
    with ZipFile(path) as archive:
        if is_compact(archive):
            return CompactVectors.load(path).keyed()
        if is_spacy_package(archive):
            return read_spacy_package(archive)
        names = [
            item.filename
            for item in archive.infolist()
            if not item.is_dir() and not is_hidden(PurePosixPath(item.filename))
        ]
        chosen = [name for name in names if not member or PurePosixPath(name).name == member]
        if len(chosen) != 1:
            raise ValueError(
                f"it is a zip archive of {len(names)} files; name one of them, such as "
                + " or ".join(f"{path / PurePosixPath(name).name}" for name in names[:2])
            )
        with archive.open(chosen[0]) as stream:
            return _read_stream(cast(BinaryIO, stream), f"{path}/{chosen[0]}", log)


def _read_stream(stream: BinaryIO, name: str, log: Callable[[str], None]) -> KeyedVectors:
    """Reads word2vec's text or binary format, or GloVe's text, from a decompressed stream."""
    file = BufferedReader(cast(RawIOBase, stream), _START)
    start = file.peek(_START)[:_START]
    if start.startswith(_PICKLE):
        raise ValueError(
            "it is a Python pickle, which could run a program when opened; let gensim save the "
            "vectors by save_word2vec_format(path, binary=True)"
        )
    if start.startswith(_FASTTEXT_MAGIC):
        raise ValueError("a fastText .bin must not be compressed; unpack it")
    fields = start.partition(b"\n")[0].split()
    announced = len(fields) == 2 and all(field.isdigit() for field in fields)
    if not announced:
        return _read_text(file, len(fields) - 1, name, log)
    count, dim = map(int, fields)
    if _is_text(start):
        file.readline(_LONGEST_LINE)
        return _read_text(file, dim, name, log, count)
    return _read_binary(file)


def _is_text(start: bytes) -> bool:
    """Whether the first rows after a header are text: numbers as bytes have control characters."""
    rows = start.partition(b"\n")[2]
    return bool(rows.strip()) and len(rows.translate(None, _CONTROLS)) == len(rows)


def _read_binary(file: BinaryIO) -> KeyedVectors:
    """Reads word2vec's binary format."""
    from gensim.models import KeyedVectors

    with NamedTemporaryFile() as copy:  # gensim reads paths only
        shutil.copyfileobj(file, copy)
        copy.flush()
        return KeyedVectors.load_word2vec_format(copy.name, binary=True)


def _check_fasttext_size(path: Path) -> None:
    """Raises ValueError for a truncated fastText .bin, which gensim would read forever."""
    with path.open("rb") as file:
        header = file.read(68)
    dim, buckets, words = (struct.unpack_from("<i", header, at)[0] for at in (8, 40, 64))
    if path.stat().st_size < (words + buckets) * dim * 4:
        raise ValueError(f"it is cut off: it announces {words} words and has no room for them")


def _read_text(
    lines: Iterable[bytes],
    dim: int,
    name: str,
    log: Callable[[str], None],
    count: int | None = None,
) -> KeyedVectors:
    """Reads rows of a word and `dim` numbers; single rows that do not fit are left out.

    Raises:
        ValueError: The first rows do not fit, too many do not, or the file is cut off.
    """
    # gensim's own reader accepts a truncated last row, and fails at GloVe's words with spaces.
    from gensim.models import KeyedVectors

    if dim < 1:
        raise ValueError("it has no number after its first word")
    words: dict[str, int] = {}
    values = array("f")
    bad: list[str] = []
    rows = number = 0
    last_is_bad = False
    for number, line in enumerate(lines, 1 if count is None else 2):
        blank = not line.strip()
        try:
            word, row = _row(line, dim, count is not None)
        except ValueError as error:
            bad.append(f"line {number}: {error}")
            last_is_bad = not blank
            rows += not blank
            good = rows - len(bad)
            if (len(bad) > _FEW_BAD and len(bad) * 100 > good) or (not words and rows > 1):
                break
            continue
        last_is_bad = False
        rows += 1
        if word not in words:
            words[word] = len(words)
            values.extend(row)
    if bad and (last_is_bad or not words or len(bad) > max(_FEW_BAD, rows // 100)):
        others = f"; {len(bad):,} of the first {rows:,} rows do not fit" if len(bad) > 1 else ""
        raise ValueError(f"{bad[0]}{others}")
    if count is not None and rows < count:
        raise ValueError(f"it is cut off: it announces {count} words and holds {rows}")
    if bad:
        log(f"{name}: {len(bad):,} of {rows:,} rows are left out, the first: {bad[0]}")
    vectors = KeyedVectors(dim)
    vectors.key_to_index, vectors.index_to_key = words, list(words)
    vectors.vectors = np.frombuffer(values, dtype=np.float32).reshape(-1, dim)
    return vectors


def _row(line: bytes, dim: int, announced: bool = True) -> tuple[str, list[float]]:
    """The word and the numbers of a row.

    Raises:
        ValueError: It does not fit; the message says why, without the line.
    """
    if not line.strip():
        raise ValueError("it is blank")
    word, *numbers = line.rsplit(None, dim)
    blank = not line[:1].strip()
    if len(numbers) != dim or blank or _ENDS_IN_NUMBER.search(word):
        if blank and len(line.split()) == dim:
            raise ValueError("its word is blank")
        where = "the first line announces" if announced else "the first row has"
        raise ValueError(f"it has not {dim} numbers after the word, as {where}")
    try:
        return word.decode(), [float(number) for number in numbers]
    except UnicodeDecodeError as error:
        raise ValueError(f"its word is not UTF-8 ({error.reason})") from error
    except ValueError as error:
        wrong = next(number for number in numbers if not _NUMBER.fullmatch(number))
        advice = "; write numbers with a point" if b"," in wrong else ""
        shown = wrong[:20].decode(errors="backslashreplace")
        raise ValueError(f"{shown!r} is not a number{advice}") from error


def _download(name: str, log: Callable[[str], None] | None) -> KeyedVectors:
    if offline():
        raise VectorsError(
            f"There is no file {name}, and {NETWORK_SETTING} forbids a "
            f"download from gensim-data. {_ADVICE}"
        )
    import gensim.downloader

    if log is not None:
        log(f"looking for {name} in gensim-data")
    try:
        known = gensim.downloader.info(name_only=True)["models"]
        if name in known:
            return _load_file(Path(gensim.downloader.load(name, return_path=True)), log)
    except (OSError, ValueError, HTTPException) as error:
        raise VectorsError(
            f"There is no file {name}, and it cannot be downloaded from gensim-data ({error}). "
            f"{_ADVICE}"
        ) from error
    raise VectorsError(
        f"There is no file {name}, and gensim-data has no vectors of that name; it has "
        f"{', '.join(sorted(known))}. {_ADVICE}"
    )
