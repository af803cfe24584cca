"""A corpus in files, of which a batch is read at a time, so it may be larger than memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from icaps.config import ModelConfig
from icaps.text.batch import TokenBatch
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary
from icaps.train.corpus import Corpus

CHUNK = 2_000  # texts that one process encodes at a time
_DTYPES: dict[str, type[np.signedinteger[Any]]] = {  # in the order of Corpus
    "ids": np.int32,
    "sentence_offsets": np.int64,
    "text_offsets": np.int64,
}


def write_corpus(
    texts: Iterable[str], vocabulary: Vocabulary, config: ModelConfig, folder: Path, workers: int
) -> None:
    """Encodes texts, in their order, to three files in `folder`.

    Args:
        texts: Read once, as a stream.
        vocabulary: Numbers the words.
        config: Says how texts are split and cut.
        folder: Where the files go; it must be there.
        workers: Processes that encode; 1 is this one.
    """
    with ExitStack() as stack:
        files = {name: stack.enter_context(_path(folder, name).open("wb")) for name in _DTYPES}
        for name in ("sentence_offsets", "text_offsets"):
            _write(files[name], np.zeros(1, np.int64))
        tokens = sentences = 0
        for part in _encoded_chunks(texts, vocabulary, config, workers):
            _write(files["ids"], part.ids)
            _write(files["sentence_offsets"], tokens + part.words_per_sentence.cumsum())
            _write(files["text_offsets"], sentences + part.sentences_per_text.cumsum())
            tokens += len(part.ids)
            sentences += len(part.words_per_sentence)


def open_corpus(folder: Path, labels: NDArray[np.integer[Any]]) -> Corpus:
    """The corpus that `write_corpus` wrote, with the class number of each text (texts,)."""
    ids, *offsets = (NumberFile(_path(folder, name), dtype) for name, dtype in _DTYPES.items())
    return Corpus(ids, offsets[0], offsets[1], labels, np.arange(len(labels), dtype=np.int32))


class NumberFile:
    """A file of numbers, read where it is sliced.

    It isn't mapped into memory, since what has been read of a mapped file counts as memory of the
    process: after an epoch, all of it.
    """

    def __init__(self, path: Path, dtype: type[np.signedinteger[Any]]) -> None:
        self._file = path.open("rb", buffering=0)
        self._dtype = np.dtype(dtype)

    def __getitem__(self, where: slice, /) -> NDArray[Any]:
        size = self._dtype.itemsize
        self._file.seek(int(where.start) * size)
        return np.frombuffer(self._file.read(int(where.stop - where.start) * size), self._dtype)


def _encoded_chunks(
    texts: Iterable[str], vocabulary: Vocabulary, config: ModelConfig, workers: int
) -> Iterator[TokenBatch]:
    chunks = _chunked(texts)
    if workers == 1:
        for chunk in chunks:
            yield encode(vocabulary, chunk, config, spans=False)
        return
    context = get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(workers, context, _remember, (vocabulary, config)) as pool:
        waiting: deque[Future[TokenBatch]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(_encode_remembered, chunk))
            if len(waiting) > 2 * workers:  # which bounds the texts that are held
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _chunked(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


_encode_here: Callable[[list[str]], TokenBatch]  # in a worker: what its start left there


def _remember(vocabulary: Vocabulary, config: ModelConfig) -> None:
    """Starts a worker; the vocabulary goes to it once."""
    global _encode_here
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workers themselves fill the cores
    Thread(target=_end_with_parent, daemon=True).start()
    _encode_here = partial(encode, vocabulary, config=config, spans=False)


def _end_with_parent() -> None:
    """A process that is killed can't end its workers, which would wait for it for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _encode_remembered(texts: list[str]) -> TokenBatch:
    return _encode_here(texts)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.bin"


def _write(file: BinaryIO, values: NDArray[np.integer[Any]]) -> None:
    values.tofile(file)
