"""The vocabulary: maps words to ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from icaps.errors import CheckpointError
from icaps.text.batch import UNK, TokenBatch
from icaps.text.tokenizer import Tokenizer, words_of

_SPECIAL = ("<pad>", "<unk>")
_REMEDY = "Copy the file again from where it was saved, or train again."
_BATCH = 1024  # texts that are tokenized at a time, which bounds memory


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while batch := list(islice(stream, _BATCH)):
        yield batch


class _Ids(dict[str, int]):
    """Ids of words, UNK for any other word: a known word is looked up without a Python call."""

    def __missing__(self, word: str) -> int:
        return UNK


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows, in the order of their ids; `<pad>` and `<unk>` come first.

    Attributes:
        words: By id.
        counts: How often each word occurs in the texts that the vocabulary was built from. 0 for
            `<pad>`; for `<unk>`, the number of occurrences of all rarer words.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def build(cls, texts: Iterable[str], min_frequency: int) -> Vocabulary:
        """The vocabulary of words that occur more than `min_frequency` times, most frequent first.

        `texts` is read once, so it may be a stream. Words with equal counts are in alphabetical
        order.
        """
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(words_of(text))
        frequent = [(word, count) for word, count in seen.items() if count > min_frequency]
        frequent.sort(key=lambda item: (-item[1], item[0]))
        dropped = seen.total() - sum(count for _, count in frequent)
        return cls(
            (*_SPECIAL, *(word for word, _ in frequent)),
            (0, dropped, *(count for _, count in frequent)),
        )

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Reads a file that `save` wrote.

        Raises:
            CheckpointError: The file cannot be read, or a line is damaged.
        """
        path = Path(path)
        try:
            lines = path.read_bytes().decode("utf-8").split("\n")
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror}. {_REMEDY}") from error
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise _damaged(path, line, "is not UTF-8") from error
        counts: dict[str, int] = {}
        for number, entry in enumerate(lines if lines[-1] else lines[:-1], 1):
            word, _, count = entry.removesuffix("\r").rpartition("\t")
            if not (word and count.isascii() and count.isdigit()):
                raise _damaged(path, number, f"is not a word, a tab and a count: {entry[:80]!r}")
            if word in counts:
                raise _damaged(path, number, f"has the word {word!r} for the second time")
            counts[word] = int(count)
        words = tuple(counts)
        for number, special in enumerate(_SPECIAL, 1):
            if words[number - 1 : number] != (special,):
                raise _damaged(path, number, f"must be the entry of {special}")
        return cls(words, tuple(counts.values()))

    def save(self, path: str | Path) -> None:
        """Writes a UTF-8 text file, one line per word in the order of ids: word, tab, count."""
        lines = (f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True))
        Path(path).write_bytes("".join(lines).encode())

    def encode(
        self, texts: Iterable[str], max_words: int | None = None, *, spans: bool = True
    ) -> TokenBatch:
        """Encodes texts as word ids, each as one sentence.

        Args:
            texts: Read once.
            max_words: Number of words after which a text is truncated; None: no limit.
            spans: Whether to compute spans, which takes about half of the time.
        """
        parts = [self._encode(batch, max_words, spans) for batch in _batches(texts)]
        return TokenBatch.join(parts or [self._encode([], max_words, spans)])

    def _encode(self, batch: list[str], max_words: int | None, spans: bool) -> TokenBatch:
        ids, counts, places = self._tokenizer.encode(batch, spans=spans)
        ones = np.ones_like(counts)
        whole = TokenBatch(ids, counts, ones, places, np.zeros(len(counts), bool))
        if max_words is None or counts.max(initial=0) <= max_words:
            return whole
        return whole.truncate(np.minimum(counts, max_words), ones)

    def id(self, word: str) -> int:
        """The id of a word; `UNK` if it is unknown."""
        return self._ids[word]

    def __len__(self) -> int:
        """Number of words, `<pad>` and `<unk>` included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word is in the vocabulary."""
        return word in self._ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return _Ids({word: number for number, word in enumerate(self.words)})

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self._ids.__getitem__)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without caches, which another process fills again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
