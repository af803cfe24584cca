"""The words that a model knows, by number."""

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
from icaps.text.clean import Clean, clean_text, original_spans, words_of
from icaps.text.pieces import Pieces, join, split

_SPECIAL = ("<pad>", "<unk>")
_REMEDY = "Copy the file again from where it was saved, or train again."
_BATCH = 1024  # texts that are split at once, which bounds memory


def _batches(texts: Iterable[str]) -> Iterator[list[Clean]]:
    cleaned = map(clean_text, texts)
    while batch := list(islice(cleaned, _BATCH)):
        yield batch


class _Ids(dict[str, int]):
    """Numbers of words, UNK of any other one: looked up without a step of Python."""

    def __missing__(self, word: str) -> int:
        return UNK


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows, in id order, `<pad>` and `<unk>` first.

    `counts` says how often each was seen in the texts it was built from: 0 for `<pad>`, and for
    `<unk>` how many words were dropped.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def build(cls, texts: Iterable[str], min_frequency: int) -> Vocabulary:
        """Keep the words seen more than `min_frequency` times, the most frequent first.

        `texts` is read once, so that it may stream; words of one count are in the alphabet's order.
        """
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(words_of(text))
        kept = [(word, count) for word, count in seen.items() if count > min_frequency]
        kept.sort(key=lambda item: (-item[1], item[0]))
        dropped = seen.total() - sum(count for _, count in kept)
        return cls(
            (*_SPECIAL, *(word for word, _ in kept)), (0, dropped, *(count for _, count in kept))
        )

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read what `save` wrote.

        Raises:
            CheckpointError: The file can't be read, or a line of it is wrong.
        """
        path = Path(path)
        try:
            lines = path.read_bytes().decode("utf-8").split("\n")
        except OSError as error:
            raise CheckpointError(f"{path} can't be read: {error.strerror}. {_REMEDY}") from error
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
        """Write a UTF-8 text file with a line a word in id order: the word, a tab, its count."""
        lines = (f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True))
        Path(path).write_bytes("".join(lines).encode())

    def encode(
        self, texts: Iterable[str], max_words: int | None = None, *, spans: bool = True
    ) -> TokenBatch:
        """Word ids of texts, each as one sentence.

        Args:
            texts: Read once.
            max_words: Words beyond so many are left out of each text.
            spans: Whether spans are computed, which takes about half of the time.
        """
        parts = [self._encode(batch, max_words, spans) for batch in _batches(texts)]
        return TokenBatch.join(parts or [self._encode([], max_words, spans)])

    def _encode(self, batch: list[Clean], max_words: int | None, spans: bool) -> TokenBatch:
        """All texts at once, as numpy takes as long for one as for many."""
        places = None
        if spans:
            entries, counts, places = split([clean.text for clean in batch], self._pieces)
            places = original_spans(batch, places, counts)
        else:
            entries, counts = join(self._pieces.read(clean.text) for clean in batch)
        ones = np.ones_like(counts)
        whole = TokenBatch(entries["id"].copy(), counts, ones, places, np.zeros(len(counts), bool))
        if max_words is None:
            return whole
        return whole.truncate(np.minimum(counts, max_words), ones)

    def id(self, word: str) -> int:
        """The number of a word, `UNK` where it is unknown."""
        return self._ids[word]

    def __len__(self) -> int:
        """How many words there are, `<pad>` and `<unk>` included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word has a number of its own."""
        return word in self._ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return _Ids({word: number for number, word in enumerate(self.words)})

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self._ids.__getitem__)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is remembered, which a process that is sent this finds again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
