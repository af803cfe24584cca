"""Words as numbers, by what stands between spaces: most of it recurs, and is split once.

No word of an ASCII text has a space in it, nor depends on what comes after one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from icaps.text.words import places_of_others, spans_of_ascii, words_alone

ENTRY = np.dtype([("id", np.int32), ("length", np.int32)])  # of a word, in characters
_MOST = 65_536  # pieces that are remembered, some 15 MB
_LONGEST = 32  # characters; longer ones hardly recur
_pack = Struct("=ii").pack


class Pieces(dict[str, bytes]):
    """The words of pieces of text, each an ENTRY, as bytes: to join them is to join these.

    When too many are remembered, all are forgotten, so that no stream of strange ones can keep the
    usual ones out.
    """

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, piece: str) -> bytes:
        # A run of letters and digits is one word, which spares the search.
        found = self.pack([piece] if piece.isalnum() else words_alone(piece))
        if len(piece) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[piece] = found
        return found

    def pack(self, words: Iterable[str]) -> bytes:
        """Words that are known, as entries."""
        return b"".join([_pack(self._number(word), len(word)) for word in words])

    def read(self, text: str) -> bytes:
        """The words of a text without lone surrogates, as entries."""
        if text.isascii():
            return b"".join(map(self.__getitem__, text.split(" ")))
        return self.pack(words_alone(text))


def split(
    texts: Sequence[str], pieces: Pieces
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """The words of all texts end to end as entries (words,), how many each text has, their spans.

    Spans (words, 2) are each counted from the start of its own text.
    """
    plain = np.array([text.isascii() for text in texts], dtype=bool)
    places = places_of_others(list(compress(texts, ~plain)))
    others = iter(places)
    entries, counts = join(
        pieces.read(text)
        if text.isascii()
        else pieces.pack(text[start:end] for start, end in next(others))
        for text in texts
    )
    if plain.all():
        return entries, counts, spans_of_ascii(texts, entries["length"], counts)
    of_plain = np.repeat(plain, counts)
    spans = np.empty((len(entries), 2), np.int64)
    spans[~of_plain] = np.array([*chain.from_iterable(places)], np.int64).reshape(-1, 2)
    lengths = entries["length"][of_plain]
    spans[of_plain] = spans_of_ascii(list(compress(texts, plain)), lengths, counts[plain])
    return entries, counts, spans


def join(packed: Iterable[bytes]) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """The words of texts end to end, as `Pieces` packs them, and how many each text has."""
    parts = list(packed)
    counts = np.array([len(part) for part in parts], np.int64) // ENTRY.itemsize
    return np.frombuffer(b"".join(parts), ENTRY), counts
