"""Pre-trained word vectors: from a file, by a gensim-data name, or trained on the texts."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from icaps.config import OOV_CHOICES
from icaps.errors import ConfigError, VectorsError

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

    from icaps.text import Vocabulary

_FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_SUFFIXES = (".bin", ".vec", ".txt", ".kv", ".gz", ".model")
_FORMATS = "word2vec (binary or text), GloVe text, fastText .bin or .vec, gensim .kv"


@dataclass(frozen=True)
class AlignedVectors:
    """Vectors in the order of a vocabulary.

    matrix (V, dim), float32 with float16's precision, so that storing it as float16 loses nothing;
    found (V,), whether the vectors have the word; counts (V,), how often it was seen.
    """

    matrix: NDArray[np.float32]
    found: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @property
    def vocabulary_coverage(self) -> float:
        """Share of the vocabulary's words that have a vector; 0 where there are none."""
        return float(self.found[2:].mean()) if len(self.found) > 2 else 0.0

    @property
    def token_coverage(self) -> float:
        """Share of the training texts' running words that have a vector."""
        return float(self.counts[self.found].sum() / max(int(self.counts.sum()), 1))


def load_vectors(source: str | Path, report: Callable[[str], None] | None = None) -> KeyedVectors:
    """Word vectors from a file, or by a name of gensim-data such as word2vec-google-news-300.

    Formats are told apart by their content: word2vec binary and text, GloVe text, fastText's
    .bin and .vec, each gzipped or not. A `.kv` file that gensim saved is unpickled by gensim, so
    take one only from where you would take a program.

    Args:
        source: A path, or a name. What has a slash or a known suffix is a path.
        report: Called with a line before a download.

    Raises:
        VectorsError: The file is missing or no such format, or the download failed.
    """
    path = Path(source)
    if path.is_file():
        return _load_file(path)
    if path.exists() or len(path.parts) > 1 or path.suffix in _SUFFIXES:
        raise VectorsError(f"There is no vectors file {path}; give a file of {_FORMATS}.")
    return _download(str(source), report)


def train_vectors(
    sentences: Iterable[list[str]], dim: int, *, seed: int, epochs: int = 5
) -> KeyedVectors:
    """Skip-gram vectors (Mikolov et al. 2013) of the texts' own words, by gensim.

    One thread and a fixed hash, so that a seed gives the same vectors on every run.

    Args:
        sentences: Texts as lists of words; gone through several times, so no iterator.
        dim: Size of a vector.
        seed: Of gensim's random numbers.
        epochs: Passes over the texts.

    Raises:
        VectorsError: The texts hold no word.
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=dim,
        min_count=1,  # the vocabulary's own F decides which words count
        sg=1,
        epochs=epochs,
        seed=seed,
        workers=1,
        hashfxn=_stable_hash,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise VectorsError("The texts hold no word to train vectors on; give texts, or vectors.")
    model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    return model.wv


def align_vectors(
    vectors: KeyedVectors, vocabulary: Vocabulary, oov: str = "zeros", seed: int = 0
) -> AlignedVectors:
    """The vectors of a vocabulary's words: of the word as it is, else of its lower case.

    A word with neither, `<unk>` among them, gets by `oov`: "zeros"; "mean", of the vectors found;
    or "normal", random of the same spread as those found. fastText's own .bin composes a vector
    of any word from its parts, which counts as found. `<pad>` is zeros.

    Raises:
        ConfigError: `oov` is none of these.
    """
    if oov not in OOV_CHOICES:
        raise ConfigError(f"oov is {oov!r}; it must be one of {', '.join(OOV_CHOICES)}.")
    words = vocabulary.words
    keys = [word if word in vectors else word.lower() for word in words]
    found = np.array([key in vectors for key in keys])
    found[:2] = False
    matrix = np.zeros((len(words), vectors.vector_size), dtype=np.float32)
    if found.any():
        matrix[found] = np.stack([vectors[keys[n]] for n in np.flatnonzero(found)])
        known = matrix[found]
        if oov == "mean":
            matrix[~found] = known.mean(0)
        elif oov == "normal":
            matrix[~found] = np.random.default_rng(seed).normal(
                0, known.std(), ((~found).sum(), known.shape[1])
            )
    matrix[0] = 0
    rounded = matrix.astype(np.float16).astype(np.float32)
    return AlignedVectors(rounded, found, np.array(vocabulary.counts, dtype=np.int64))


def _stable_hash(word: str) -> int:
    return zlib.crc32(word.encode())


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _load_file(path: Path) -> KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    try:
        if path.suffix == ".kv":
            return KeyedVectors.load(str(path), mmap="r")
        with _open(path) as file:
            if file.read(4) == _FASTTEXT_MAGIC:
                return load_facebook_vectors(str(path))
        return KeyedVectors.load_word2vec_format(str(path), **_word2vec_layout(path))
    except (OSError, EOFError, ValueError, KeyError, AttributeError, struct.error) as error:
        raise VectorsError(
            f"{path} can't be read as word vectors ({error or type(error).__name__}). "
            f"Give a whole file of {_FORMATS}."
        ) from error


def _word2vec_layout(path: Path) -> dict[str, Any]:
    """The arguments with which gensim reads a word2vec or GloVe file."""
    with _open(path) as file:
        first, second = file.readline(), file.read(4096)
    header = len(first.split()) == 2 and all(part.isdigit() for part in first.split())
    if not header:
        return {"binary": False, "no_header": True}
    fields = second.split(b"\n")[0].split()
    try:
        [float(field) for field in fields[1:4]]
        text = len(fields) >= 2
    except ValueError:
        text = False
    return {"binary": not text}


def _download(name: str, report: Callable[[str], None] | None) -> KeyedVectors:
    import gensim.downloader

    if report is not None:
        report(f"looking for {name} in gensim-data")
    advice = f"To work without it, download a file of {_FORMATS} and give its path."
    try:
        known = gensim.downloader.info(name_only=True)["models"]
        if name not in known:
            raise VectorsError(
                f"gensim-data has no vectors {name!r}, and there is no such file. "
                f"Its names are {', '.join(sorted(known))}."
            )
        return gensim.downloader.load(name)
    except (OSError, ValueError) as error:
        raise VectorsError(f"{name} can't be downloaded ({error}). {advice}") from error
