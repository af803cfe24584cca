"""The vocabulary: maps words to ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.errors import CheckpointError
from icaps.text.batch import UNK, TokenBatch
from icaps.text.tokenizer import Tokenizer, words_of
from icaps.text.word_forms import letter_cases, other_forms

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


class _IdsOfForms(_Ids):
    """Ids of words; any other word has the id of the first of its other forms that has one.

    Nothing is stored, as texts have any number of words. `Tokenizer` has a bounded cache.
    """

    def __missing__(self, word: str) -> int:
        for form in other_forms(word):
            number = self.get(form)
            if number is not None:
                return number
        return UNK


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows, in the order of their ids; `<pad>` and `<unk>` come first.

    Then come the trained words, which occur often enough in the training texts, and then the vector
    words, which the model knows by their pre-trained vector (`ICapsNet.vector_words`).

    Attributes:
        words: By id.
        counts: How often each word is read in the texts that the vocabulary was built from. 0 for
            `<pad>`; for `<unk>`, the number of unknown words.
        vector_words: V_x, the number of vector words.
        backs_off: Whether a word that is not listed is read as the first listed one of its
            `other_forms`, such as "OILS" as "oil".
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]
    vector_words: int = 0
    backs_off: bool = False

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        min_frequency: int,
        with_vectors: Sequence[str] = (),
        max_vector_words: int = 0,
        backs_off: bool = False,
    ) -> Vocabulary:
        """The vocabulary of words that occur more than `min_frequency` times, most frequent first.

        `texts` is read once, so it may be a stream. Words with equal counts are in alphabetical
        order.

        Args:
            texts: The training texts.
            min_frequency: F.
            with_vectors: Words that have a vector, in an order such as that of their frequency.
                Those that are not trained words become vector words, in this order, if the
                tokenizer finds them as words.
            max_vector_words: Their maximum number. Those that are read in the texts come before
                the first ones of the others.
            backs_off: See the attribute.
        """
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(words_of(text))
        frequent = [(word, count) for word, count in seen.items() if count > min_frequency]
        frequent.sort(key=lambda item: (-item[1], item[0]))
        counts = dict.fromkeys(_SPECIAL, 0) | dict(frequent)
        rare = [(word, count) for word, count in seen.items() if count <= min_frequency]
        others = _choose(with_vectors, counts, rare, max_vector_words, backs_off)
        counts |= dict.fromkeys(others, 0)
        words = tuple(counts)
        vocabulary = cls(words, (0,) * len(words), len(others), backs_off)
        for word, count in rare:
            counts[words[vocabulary.id(word)]] += count
        return replace(vocabulary, counts=tuple(counts.values()))

    @classmethod
    def load(cls, path: str | Path, vector_words: int = 0, backs_off: bool = False) -> Vocabulary:
        """Reads a file that `save` wrote; the other attributes are not in it.

        Raises:
            CheckpointError: The file cannot be read, a line is damaged, or it has fewer words than
                `vector_words` and the special ones.
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
        if vector_words > len(words) - len(_SPECIAL):
            raise _damaged(path, len(words), f"is the last, but it has {vector_words} vector words")
        return cls(words, tuple(counts.values()), vector_words, backs_off)

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
        """The id as which a word is read; `UNK` if it is unknown."""
        return self._ids[word]

    def __len__(self) -> int:
        """Number of words, `<pad>`, `<unk>` and vector words included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word itself is in the vocabulary, not only another form of it."""
        return word in self._ids

    @property
    def trained_words(self) -> int:
        """V_t, the number of words that have a trained part, `<pad>` and `<unk>` included."""
        return len(self.words) - self.vector_words

    def trained_rows(self) -> NDArray[np.int64]:
        """For each vector word, the id of another case of it that is a trained word; else -1."""
        trained = self.trained_words
        rows = np.full(self.vector_words, -1, np.int64)
        lowered = {word.lower() for word in self.words[:trained]}
        for number, word in enumerate(self.words[trained:]):
            if word.isascii() and word.lower() not in lowered:  # most words, at a glance
                continue
            ids = (self._ids.get(case, trained) for case in letter_cases(word))
            rows[number] = next((id_ for id_ in ids if id_ < trained), -1)
        return rows

    @cached_property
    def _ids(self) -> dict[str, int]:
        kind = _IdsOfForms if self.backs_off else _Ids
        return kind({word: number for number, word in enumerate(self.words)})

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self._ids.__getitem__)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without caches, which another process fills again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _choose(
    candidates: Sequence[str],
    trained: Collection[str],
    rare: Iterable[tuple[str, int]],
    maximum: int,
    backs_off: bool,
) -> list[str]:
    """Chooses the vector words among the candidates, in the order of these.

    Args:
        candidates: Words that have a vector.
        trained: The words that are chosen already.
        rare: The other words of the training texts, with their counts.
        maximum: Number of words.
        backs_off: Whether a word may be read as another form.
    """
    places = {word: place for place, word in enumerate(candidates) if word not in trained}
    read = set()
    for word, _ in rare:
        forms = (word, *other_forms(word)) if backs_off else (word,)
        known = (form for form in forms if form in places or form in trained)
        if (form := next(known, None)) in places:
            read.add(form)
    first = sorted(read, key=places.__getitem__)
    rest = (word for word in places if word not in read)
    # Others, such as phrases, are never read.
    words = (word for word in chain(first, rest) if words_of(word) == [word])
    return sorted(islice(words, maximum), key=places.__getitem__)


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
