"""Texts as numbers: one by one, or as columns, end to end, as the network reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.text.clean import UNK

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class EncodedText:
    """A text as numbers: ids (words,) and spans (words, 2), code points into the text as typed.

    `sentences` (sentences,) has the words of each; a text that is not split is one sentence.
    `truncated` says whether words past the limit were left out.
    """

    ids: Numbers
    spans: Numbers
    sentences: Numbers
    truncated: bool

    @property
    def blank(self) -> bool:
        """Whether the vocabulary has none of the words."""
        return not bool((self.ids != UNK).any())

    @property
    def unknown_share(self) -> float:
        """Share of the words that the vocabulary lacks, 0 to 1; 0 where there are no words."""
        return float((self.ids == UNK).mean()) if self.ids.size else 0.0


class Part(NamedTuple):
    """Consecutive texts of some that are encoded: which texts, sentences and words they are."""

    texts: slice
    sentences: slice
    words: slice


@dataclass(frozen=True, eq=False)
class Encoded:
    """Some texts as numbers: ids (words,), words of each sentence, sentences of each text."""

    ids: NDArray[np.int32]
    lengths: Numbers
    counts: Numbers

    @classmethod
    def join(cls, texts: Sequence[EncodedText]) -> Encoded:
        """Texts end to end."""
        nothing = np.zeros(0, np.int64)
        return cls(
            np.concatenate([nothing, *(text.ids for text in texts)]).astype(np.int32),
            np.concatenate([nothing, *(text.sentences for text in texts)]),
            np.array([len(text.sentences) for text in texts], dtype=np.int64),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Encoded]) -> Encoded:
        """The texts of all parts, of which there is one at least."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*((part.ids, part.lengths, part.counts) for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def split(self) -> list[NDArray[np.int32]]:
        """The ids of each text."""
        ends = self.ends[1].tolist()
        return [self.ids[start:end] for start, end in pairwise(ends)]

    @cached_property
    def ends(self) -> tuple[Numbers, Numbers]:
        """Sentences and words before each text, and those of all (texts + 1,)."""
        sentences = _before(self.counts)
        return sentences, _before(self.lengths)[sentences]

    @cached_property
    def words(self) -> Numbers:
        """Words of each text (texts,)."""
        ends = self.ends[1]
        return ends[1:] - ends[:-1]

    @cached_property
    def known(self) -> Numbers:
        """How many words of each text the vocabulary has (texts,)."""
        known = _before(self.ids != UNK)[self.ends[1]]
        return known[1:] - known[:-1]

    def select(self, chosen: NDArray[np.bool_]) -> Encoded:
        """The chosen texts (texts,), in their order."""
        sentences = np.repeat(chosen, self.counts)
        words = np.repeat(sentences, self.lengths)
        return Encoded(self.ids[words], self.lengths[sentences], self.counts[chosen])

    def first(self, words: Numbers) -> NDArray[np.bool_]:
        """Which words are among the first ones of their texts, as many as `words` (texts,) says."""
        own = self.words
        place = np.arange(len(self.ids)) - np.repeat(own.cumsum() - own, own)
        return place < np.repeat(words, own)

    def parts(self, most_words: int, most_texts: int) -> Iterator[Part]:
        """All texts, in parts of at most so many words and texts, or of one longer text."""
        sentences, words = self.ends
        start = 0
        while start < len(self.counts):
            fit = int(np.searchsorted(words, words[start] + most_words, side="right")) - 1
            stop = max(min(fit, start + most_texts), start + 1)
            cuts = (range(len(words)), sentences, words)
            yield Part(*(slice(int(cut[start]), int(cut[stop])) for cut in cuts))
            start = stop

    def take(self, part: Part) -> Encoded:
        """The texts of a part."""
        texts, sentences, words = part
        if texts == slice(0, len(self.counts)):
            return self
        return Encoded(self.ids[words], self.lengths[sentences], self.counts[texts])


class Placed(NamedTuple):
    """Encoded texts with the places of their words.

    numbers; spans (words, 2), code points, each counted from the start of its own text; truncated
    (texts,), whether words past a limit were left out.
    """

    numbers: Encoded
    spans: Numbers
    truncated: NDArray[np.bool_]

    @classmethod
    def join(cls, texts: Sequence[EncodedText]) -> Placed:
        """Texts end to end."""
        nothing = np.zeros((0, 2), np.int64)
        return cls(
            Encoded.join(texts),
            np.concatenate([nothing, *(text.spans for text in texts)]),
            np.array([text.truncated for text in texts], dtype=bool),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Placed]) -> Placed:
        """The texts of all parts, of which there is one at least."""
        if len(parts) == 1:
            return parts[0]
        numbers, spans, truncated = zip(*parts, strict=True)
        joined = Encoded.concatenate(numbers)
        return cls(joined, np.concatenate(spans), np.concatenate(truncated))

    def take(self, part: Part) -> Placed:
        """The texts of a part."""
        return Placed(self.numbers.take(part), self.spans[part.words], self.truncated[part.texts])

    def shorten(self, lengths: Numbers, counts: Numbers) -> Placed:
        """Each text's first words, as many as these sentences of it have.

        Args:
            lengths: Words of each sentence, of all texts end to end.
            counts: Sentences of each text (texts,).
        """
        kept = Encoded(self.numbers.ids, lengths, counts)
        truncated = self.truncated | (kept.words < self.numbers.words)
        if not truncated.any():
            return self._replace(numbers=kept)
        first = self.numbers.first(kept.words)
        return Placed(
            Encoded(self.numbers.ids[first], lengths, counts), self.spans[first], truncated
        )

    def split(self) -> list[EncodedText]:
        """Text by text."""
        ids, lengths = self.numbers.ids.astype(np.int64), self.numbers.lengths
        sentences, words = (ends.tolist() for ends in self.numbers.ends)
        return [
            EncodedText(
                *(ids[words[n] : words[n + 1]], self.spans[words[n] : words[n + 1]]),
                *(lengths[sentences[n] : sentences[n + 1]], truncated),
            )
            for n, truncated in enumerate(self.truncated.tolist())
        ]


def _before(sizes: NDArray[np.integer] | NDArray[np.bool_]) -> Numbers:
    """What comes before each of runs of such sizes, and all of it (runs + 1,)."""
    ends = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=ends[1:])
    return ends
