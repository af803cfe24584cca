"""Signs that a K-gram is not what a class is about: how it stands in texts, and what it looks like.

Each is a rule of thumb with its threshold here; a sign says nothing without an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from icaps.shortcuts.predicted_texts import Answered, Numbers, Words

COVERAGE, PURITY = 0.4, 0.97  # a K-gram of so much of a class, with nearly no text of another one
TAGGED = 0.5  # share of its places that are in brackets, or before a dash or a colon
SAME_PLACE = 0.6  # share of its texts in which it is the word of the same number
RARE_IN_LOWER_CASE = 0.1  # as frequent as the word itself at most, for a name
_OPEN, _CLOSED = set("([{<"), set(")]}>")
_AFTER_A_TAG = {"-", "--", "\u2013", "\u2014", ":", "|"}
_MARKS = set("<>/=&#_@\\|")  # between words, of markup and addresses
_MARKUP = {"lt", "gt", "amp", "quot", "apos", "nbsp", "ndash", "mdash", "hellip"}
_MARKUP |= {
    "br",
    "href",
    "src",
    "div",
    "http",
    "https",
    "www",
    "html",
    "htm",
    "php",
    "com",
    "mailto",
    "utf",
}
_MARKUP |= {"serif", "arial", "helvetica", "verdana"}  # of an attribute face


class Sign(NamedTuple):
    """Why a K-gram is suspicious, in words; a weak sign holds for many honest words as well."""

    reason: str
    weak: bool = False


def signs(texts: Answered, words: Words, target: int, rows: Numbers) -> tuple[Sign, ...]:
    """All that there are.

    Args:
        texts: As a model answered them.
        words: The K-gram.
        target: Number of the class that its texts mostly get.
        rows: (n,), numbers of the texts that have it.
    """
    return (*_by_coverage(texts, target, rows), *_by_place(texts, words), *_by_form(texts, words))


def _by_coverage(texts: Answered, target: int, rows: Numbers) -> Iterator[Sign]:
    mine = int((texts.predicted[rows] == target).sum())
    of_class = int((texts.predicted == target).sum())
    if mine >= COVERAGE * of_class and mine >= PURITY * len(rows):
        others = (len(rows) - mine) / max(len(texts) - of_class, 1)
        yield Sign(
            f"it is in {mine / of_class:.0%} of the texts that get the class and in "
            f"{others:.1%} of the others, which no topic's word is"
        )


def _by_place(texts: Answered, words: Words) -> Iterator[Sign]:
    places = texts.places(words)
    tagged = np.mean([_is_tagged(texts, int(place), len(words)) for place in places])
    if tagged >= TAGGED:
        yield Sign(
            f"it stands like the tag of a source, in brackets or before a dash or colon, in "
            f"{tagged:.0%} of its places"
        )
    within = places - texts.starts[texts.text_of[places]]
    number, times = np.unique(within, return_counts=True)
    first = texts.spell(words[:1])[0]
    begins = int(number[times.argmax()]) == 0 and first != first.lower()  # as any first word may
    if times.max() >= SAME_PLACE * len(places) and not begins:
        yield Sign(
            f"it is word {number[times.argmax()] + 1} of the text in "
            f"{times.max() / len(places):.0%} of its places"
        )


def _is_tagged(texts: Answered, place: int, size: int) -> bool:
    """Whether brackets are around a K-gram, or a dash or colon is after it, in the same text."""

    def word(at: int) -> str:
        same = 0 <= at < len(texts.ids) and texts.text_of[at] == texts.text_of[place]
        return texts.vocabulary.words[texts.ids[at]] if same else ""

    before, after = word(place - 1), word(place + size)
    return (before in _OPEN and after in _CLOSED) or after in _AFTER_A_TAG


def _by_form(texts: Answered, words: Words) -> Iterator[Sign]:
    spelled = texts.spell(words)
    lettered = any(character.isalpha() for word in spelled for character in word)
    if lettered and any(word.lower() in _MARKUP or word in _MARKS for word in spelled):
        yield Sign("it is a rest of HTML or of an address")
    elif not lettered:
        yield Sign("it is a number or mark, and no word")
    elif all(_is_name(texts, word) for word in spelled):
        yield Sign("it is a name", weak=True)


def _is_name(texts: Answered, word: str) -> bool:
    """Whether a word has a capital letter that is not due to its place."""
    vocabulary, lower = texts.vocabulary, word.lower()
    if lower == word:
        return False
    written = vocabulary.counts[vocabulary.id(word)]
    return lower not in vocabulary or (
        vocabulary.counts[vocabulary.id(lower)] <= RARE_IN_LOWER_CASE * written
    )
