"""Builds a compact table from a file of word vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from icaps.config import VECTOR_STEP
from icaps.errors import VectorsError
from icaps.text.compact_vectors import CompactVectors
from icaps.text.tokenizer import words_of
from icaps.text.vectors import equal_lengths

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

# Words that lists of frequent words lack: marks, letters, numbers, abbreviations, clitics.
_SHORT = re.compile(
    r"(?:\W|[^\W\d_](?:\.[^\W\d_])*\.?|\d{1,3}|(?:19|20)\d\d|['’][a-z]{1,2}|n['’]t)", re.IGNORECASE
)
# How much rarer than its lower case a form of a word is taken to be.
_CAPITALISED, _CAPITALS = 3, 10


def build_table(vectors: KeyedVectors, count: int, ranking: Iterable[str] = ()) -> CompactVectors:
    """A table of the most frequent words that the tokenizer would find in texts.

    Vectors are scaled to one length and rounded to a byte per number (`equal_lengths`). Equal rows
    are stored once.

    Args:
        vectors: Words in the order of frequency.
        count: Maximum number of words.
        ranking: Words in lower case in the order of frequency, to choose the words by, if the order
            of `vectors` says little; see `rank_words`.

    Raises:
        VectorsError: No word is left.
    """
    ranking = list(ranking)
    words = rank_words(vectors, ranking) if ranking else vectors.index_to_key
    chosen: list[str] = []
    for word in words:
        if len(chosen) < count and words_of(word) == [word]:
            chosen.append(word)
    if not chosen:
        raise VectorsError("No word of the vectors is one that the tokenizer finds in texts.")
    index = [vectors.key_to_index[word] for word in chosen]
    steps = np.rint(equal_lengths(vectors.vectors[index]) / VECTOR_STEP).astype(np.int8)
    _, first, rows = np.unique(steps, axis=0, return_index=True, return_inverse=True)
    order = first.argsort()  # rows in the order of their first words
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return CompactVectors(tuple(chosen), place[rows.ravel()].astype(np.uint32), steps[first[order]])


def rank_words(vectors: KeyedVectors, ranking: Iterable[str]) -> list[str]:
    """The words of a ranking, in their forms that have a vector, most frequent first.

    A form is capitalised or in capitals; it is left out if its lower case has the same vector, and
    taken to be rarer than that by a factor. Marks, letters, numbers, abbreviations and clitics that
    the ranking lacks are ranked by the row of their vector.

    Args:
        vectors: Their rows are in the order of frequency.
        ranking: Words in lower case, most frequent first.
    """
    index = vectors.key_to_index
    places: dict[str, int] = {}
    for place, word in enumerate(ranking):
        places.setdefault(word.lower(), place)
    ranked: list[tuple[int, int, str]] = []
    for word, row in index.items():
        lower = word.lower()
        short = _SHORT.fullmatch(word)
        rank = places.get(lower, index.get(lower, row) if short else None)
        if rank is None:
            continue
        if word != lower and lower in index:
            if index[lower] == row:
                continue
            if word == lower.capitalize():
                rank *= _CAPITALISED
            elif word == lower.upper():
                rank *= _CAPITALS
            else:
                continue
        ranked.append((rank, row, word))
    return [word for *_, word in sorted(ranked)]
