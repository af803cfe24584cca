"""Texts as word ids: the batch that the vocabulary returns and the network reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

PAD, UNK = 0, 1  # ids of `<pad>` and `<unk>`, which every vocabulary starts with

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Word ids of several texts, concatenated without padding.

    One text is a batch of one: `batch[3]`. Slices share memory with the whole batch. Arrays are
    numpy; `ICapsNet` moves `ids` to its device, and reads the rest on the CPU.

    Attributes:
        ids: (words,), int32 from a vocabulary or a corpus.
        words_per_sentence: (sentences,). A text that is not split has one sentence.
        sentences_per_text: (texts,).
        spans: (words, 2), start and end of each word in its own text as typed, in code points.
            None if they were not requested.
        truncated: (texts,), whether words beyond a limit were dropped; None if unknown.
    """

    ids: NDArray[np.integer[Any]]
    words_per_sentence: Numbers
    sentences_per_text: Numbers
    spans: Numbers | None = None
    truncated: NDArray[np.bool_] | None = None

    @classmethod
    def join(cls, batches: Sequence[TokenBatch]) -> TokenBatch:
        """Concatenates batches.

        `spans` and `truncated` are None unless all batches have them.
        """
        if len(batches) == 1:
            return batches[0]
        spans = [batch.spans for batch in batches if batch.spans is not None]
        flags = [batch.truncated for batch in batches if batch.truncated is not None]
        return cls(
            np.concatenate([np.zeros(0, np.int32), *(batch.ids for batch in batches)]),
            np.concatenate([_EMPTY, *(batch.words_per_sentence for batch in batches)]),
            np.concatenate([_EMPTY, *(batch.sentences_per_text for batch in batches)]),
            np.concatenate([_EMPTY.reshape(0, 2), *spans]) if len(spans) == len(batches) else None,
            np.concatenate([_EMPTY > 0, *flags]) if len(flags) == len(batches) else None,
        )

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.sentences_per_text)

    def __getitem__(self, texts: SupportsIndex | slice) -> TokenBatch:
        """One text, or consecutive texts, as a batch."""
        if not isinstance(texts, slice):
            number = range(len(self))[texts]
            texts = slice(number, number + 1)
        start, stop, step = texts.indices(len(self))
        assert step == 1, "a batch is sliced into consecutive texts"
        stop = max(start, stop)
        if (start, stop) == (0, len(self)):
            return self
        sentences = slice(*self.sentence_offsets[[start, stop]].tolist())
        words = slice(*self.word_offsets[[start, stop]].tolist())
        return TokenBatch(
            self.ids[words],
            self.words_per_sentence[sentences],
            self.sentences_per_text[start:stop],
            None if self.spans is None else self.spans[words],
            None if self.truncated is None else self.truncated[start:stop],
        )

    def __iter__(self) -> Iterator[TokenBatch]:
        """Each text as a batch of one."""
        return (self[n] for n in range(len(self)))

    @cached_property
    def sentence_offsets(self) -> Numbers:
        """Number of sentences before each text, and in total (texts + 1,)."""
        return _offsets(self.sentences_per_text)

    @cached_property
    def word_offsets(self) -> Numbers:
        """Number of words before each text, and in total (texts + 1,)."""
        return _offsets(self.words_per_sentence)[self.sentence_offsets]

    @cached_property
    def words_per_text(self) -> Numbers:
        """Number of words of each text (texts,)."""
        return self.word_offsets[1:] - self.word_offsets[:-1]

    @cached_property
    def known_per_text(self) -> Numbers:
        """Number of words of each text that are in the vocabulary (texts,)."""
        known = _offsets(self.ids != UNK)[self.word_offsets]
        return known[1:] - known[:-1]

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Whether none of a text's words is in the vocabulary (texts,)."""
        blank: NDArray[np.bool_] = self.known_per_text == 0
        return blank

    @property
    def unknown_share(self) -> NDArray[np.float64]:
        """Share of each text's words that are not in the vocabulary (texts,); 0 without words."""
        words = self.words_per_text
        share: NDArray[np.float64] = (words - self.known_per_text) / words.clip(1)
        return share

    def select(self, mask: NDArray[np.bool_]) -> TokenBatch:
        """The texts where `mask` (texts,) is true, in their order."""
        sentences = np.repeat(mask, self.sentences_per_text)
        words = np.repeat(sentences, self.words_per_sentence)
        return TokenBatch(
            self.ids[words],
            self.words_per_sentence[sentences],
            self.sentences_per_text[mask],
            None if self.spans is None else self.spans[words],
            None if self.truncated is None else self.truncated[mask],
        )

    def take(self, texts: Numbers) -> TokenBatch:
        """Texts by their numbers (n,), in this order; a text may be taken several times."""
        sentences = ranges(self.sentence_offsets[texts], self.sentences_per_text[texts])
        words = ranges(self.word_offsets[texts], self.words_per_text[texts])
        return TokenBatch(
            self.ids[words],
            self.words_per_sentence[sentences],
            self.sentences_per_text[texts],
            None if self.spans is None else self.spans[words],
            None if self.truncated is None else self.truncated[texts],
        )

    def without(self, dropped: NDArray[np.bool_]) -> TokenBatch:
        """The same sentences without the words where `dropped` (words,) is true."""
        remaining = ~dropped
        sentences = np.repeat(np.arange(len(self.words_per_sentence)), self.words_per_sentence)
        lengths = np.bincount(sentences[remaining], minlength=len(self.words_per_sentence))
        return dataclasses.replace(
            self,
            ids=self.ids[remaining],
            words_per_sentence=lengths,
            spans=None if self.spans is None else self.spans[remaining],
        )

    def covered(self, sequence: Sequence[int]) -> NDArray[np.bool_]:
        """Whether each word (words,) is in an occurrence of some consecutive ids in a sentence."""
        size = len(sequence)
        covered = np.zeros(len(self.ids), dtype=bool)
        starts = np.arange(max(len(self.ids) - size + 1, 0))
        found = np.ones(len(starts), dtype=bool)
        for offset, word in enumerate(sequence):
            found &= self.ids[offset : offset + len(starts)] == word
        starts = starts[found]
        ends = self.words_per_sentence.cumsum()  # so each place is in the first that is larger
        within = np.searchsorted(ends, starts, "right") == np.searchsorted(
            ends, starts + size - 1, "right"
        )
        covered[(starts[within][:, None] + np.arange(size)).ravel()] = True
        return covered

    def truncate(self, words_per_sentence: Numbers, sentences_per_text: Numbers) -> TokenBatch:
        """The first words of each text, divided into the given sentences.

        Texts that lose words are flagged in `truncated`.

        Args:
            words_per_sentence: (sentences,), over all texts.
            sentences_per_text: (texts,).
        """
        short = TokenBatch(self.ids, words_per_sentence, sentences_per_text)
        cut = short.words_per_text < self.words_per_text
        truncated = cut if self.truncated is None else cut | self.truncated
        if not cut.any():
            return TokenBatch(
                self.ids, words_per_sentence, sentences_per_text, self.spans, truncated
            )
        words = self.words_per_text
        position = np.arange(len(self.ids)) - np.repeat(words.cumsum() - words, words)
        within = position < np.repeat(short.words_per_text, words)
        return TokenBatch(
            self.ids[within],
            words_per_sentence,
            sentences_per_text,
            None if self.spans is None else self.spans[within],
            truncated,
        )

    def parts(self, max_words: int, max_texts: int) -> Iterator[TokenBatch]:
        """Splits into batches of at most `max_words` and `max_texts`, or of one longer text."""
        words = self.word_offsets
        start = 0
        while start < len(self):
            fit = int(np.searchsorted(words, words[start] + max_words, side="right")) - 1
            stop = max(min(fit, start + max_texts), start + 1)
            yield self[start:stop]
            start = stop


_EMPTY = np.zeros(0, np.int64)


def _offsets(sizes: NDArray[np.integer] | NDArray[np.bool_]) -> Numbers:
    """Cumulative sums of sizes (n,), from 0 to the total (n + 1,)."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=offsets[1:])
    return offsets


def ranges(starts: Numbers, lengths: Numbers) -> Numbers:
    """For each n, the `lengths[n]` consecutive numbers from `starts[n]` on, end to end."""
    before = lengths.cumsum() - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
