"""Word ids of texts in files that are read one batch at a time, for texts larger than memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ModelConfig
from icaps.processes import exit_with_parent
from icaps.text.batch import TokenBatch
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary

CHUNK = 2_000  # texts that a process encodes at a time
_IDS, _SENTENCE_OFFSETS, _TEXT_OFFSETS = "ids.bin", "sentence_offsets.bin", "text_offsets.bin"


class NumberFile:
    """An array in a file, of which only the requested slice is read.

    It is not memory-mapped, because pages of a mapped file that were read count as memory of the
    process: after an epoch, the whole file.
    """

    def __init__(self, path: Path, dtype: type[np.signedinteger[Any]]) -> None:
        self._file = path.open("rb", buffering=0)
        self._dtype = np.dtype(dtype)

    def __getitem__(self, where: slice, /) -> NDArray[Any]:
        size = self._dtype.itemsize
        self._file.seek(int(where.start) * size)
        return np.frombuffer(self._file.read(int(where.stop - where.start) * size), self._dtype)


class TokenFiles(NamedTuple):
    """The files of encoded texts.

    Attributes:
        ids: (words,).
        sentence_offsets: (sentences + 1,), words before each sentence.
        text_offsets: (texts + 1,), sentences before each text.
    """

    ids: NumberFile
    sentence_offsets: NumberFile
    text_offsets: NumberFile


def write_tokens(
    texts: Iterable[str], vocabulary: Vocabulary, config: ModelConfig, folder: Path, workers: int
) -> None:
    """Encodes texts in order, and writes the three files of `TokenFiles`.

    Args:
        texts: Iterated once.
        vocabulary: Maps words to ids.
        config: How texts are split and truncated.
        folder: An existing folder for the files.
        workers: Number of processes that encode; with 1, this process does.
    """
    with (
        (folder / _IDS).open("wb") as ids,
        (folder / _SENTENCE_OFFSETS).open("wb") as sentence_offsets,
        (folder / _TEXT_OFFSETS).open("wb") as text_offsets,
    ):
        words = sentences = 0
        for file in (sentence_offsets, text_offsets):
            np.zeros(1, np.int64).tofile(file)
        for part in _encoded_chunks(texts, vocabulary, config, workers):
            part.ids.astype(np.int32, copy=False).tofile(ids)
            (words + part.words_per_sentence.cumsum()).tofile(sentence_offsets)
            (sentences + part.sentences_per_text.cumsum()).tofile(text_offsets)
            words += len(part.ids)
            sentences += len(part.words_per_sentence)


def open_tokens(folder: Path, texts: int) -> TokenFiles:
    """Opens the files that `write_tokens` wrote for this number of texts.

    Raises:
        OSError, ValueError: A file is missing or damaged.
    """
    offsets = (folder / _TEXT_OFFSETS).stat().st_size // np.dtype(np.int64).itemsize
    if offsets != texts + 1:
        raise ValueError(f"it holds {offsets - 1} texts and not {texts}")
    return TokenFiles(
        NumberFile(folder / _IDS, np.int32),
        NumberFile(folder / _SENTENCE_OFFSETS, np.int64),
        NumberFile(folder / _TEXT_OFFSETS, np.int64),
    )


def _encoded_chunks(
    texts: Iterable[str], vocabulary: Vocabulary, config: ModelConfig, workers: int
) -> Iterator[TokenBatch]:
    stream = iter(texts)
    chunks = iter(lambda: list(islice(stream, CHUNK)), [])
    if workers == 1:
        for chunk in chunks:
            yield encode(vocabulary, chunk, config, spans=False)
        return
    context = get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(workers, context, _start_worker, (vocabulary, config)) as pool:
        waiting: deque[Future[TokenBatch]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(_encode_in_worker, chunk))
            if len(waiting) > 2 * workers:  # bounds the texts in memory
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_encode_chunk: Callable[[list[str]], TokenBatch]  # in a worker, set by `_start_worker`


def _start_worker(vocabulary: Vocabulary, config: ModelConfig) -> None:
    """Sends the vocabulary to a worker once."""
    global _encode_chunk
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workers themselves use all cores
    exit_with_parent()
    _encode_chunk = partial(encode, vocabulary, config=config, spans=False)


def _encode_in_worker(texts: list[str]) -> TokenBatch:
    return _encode_chunk(texts)
