"""Heuristic signs that a K-gram is not what a class is about: its coverage, place and form.

Each sign is a rule of thumb with its threshold here; it means nothing without an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words

COVERAGE, PURITY = (
    0.4,
    0.97,
)  # share of a class with the K-gram, and share of its texts in the class
TAGGED = 0.5  # share of its occurrences in brackets, or before a dash or a colon
SAME_PLACE = 0.6  # share of its texts in which it has the same position
RARE_IN_LOWER_CASE = 0.1  # frequency of a name in lower case, relative to the name's, at most
_OPEN, _CLOSED = set("([{<"), set(")]}>")
_AFTER_A_TAG = {"-", "--", "\u2013", "\u2014", ":", "|"}
_MARKS = set("<>/=&#_@\\|")  # between words, of markup and addresses
_ENTITIES = frozenset(["lt", "gt", "amp", "quot", "apos", "nbsp", "ndash", "mdash", "hellip"])
_TAGS = frozenset(["br", "href", "src", "div", "serif", "arial", "helvetica", "verdana"])
_ADDRESSES = frozenset(["http", "https", "www", "html", "htm", "php", "com", "mailto", "utf"])
_MARKUP = _ENTITIES | _TAGS | _ADDRESSES


class Sign(NamedTuple):
    """Why a K-gram is suspicious, in words; a weak sign holds for many legitimate words as well."""

    reason: str
    weak: bool = False


def signs(texts: PredictedTexts, words: Words, target: int, rows: Numbers) -> tuple[Sign, ...]:
    """All signs that a K-gram shows.

    Args:
        texts: Labelled texts and the model's predictions.
        words: The K-gram.
        target: Number of the class that is predicted for most of its texts.
        rows: (n,), numbers of the texts that contain it.
    """
    return (*_by_coverage(texts, target, rows), *_by_place(texts, words), *_by_form(texts, words))


def _by_coverage(texts: PredictedTexts, target: int, rows: Numbers) -> Iterator[Sign]:
    mine = int((texts.predicted[rows] == target).sum())
    of_class = int((texts.predicted == target).sum())
    if mine >= COVERAGE * of_class and mine >= PURITY * len(rows):
        others = (len(rows) - mine) / max(len(texts) - of_class, 1)
        yield Sign(
            f"it is in {mine / of_class:.0%} of the texts that get the class and in "
            f"{others:.1%} of the others, which no topic's word is"
        )


def _by_place(texts: PredictedTexts, words: Words) -> Iterator[Sign]:
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
    begins = int(number[times.argmax()]) == 0 and first != first.lower()  # capital at the start
    if times.max() >= SAME_PLACE * len(places) and not begins:
        yield Sign(
            f"it is word {number[times.argmax()] + 1} of the text in "
            f"{times.max() / len(places):.0%} of its places"
        )


def _is_tagged(texts: PredictedTexts, place: int, size: int) -> bool:
    """Whether a K-gram is in brackets, or before a dash or colon, in the same text."""

    def word(at: int) -> str:
        same = 0 <= at < len(texts.tokens.ids) and texts.text_of[at] == texts.text_of[place]
        return texts.vocabulary.words[texts.tokens.ids[at]] if same else ""

    before, after = word(place - 1), word(place + size)
    return (before in _OPEN and after in _CLOSED) or after in _AFTER_A_TAG


def _by_form(texts: PredictedTexts, words: Words) -> Iterator[Sign]:
    spelled = texts.spell(words)
    lettered = any(character.isalpha() for word in spelled for character in word)
    if lettered and any(word.lower() in _MARKUP or word in _MARKS for word in spelled):
        yield Sign("it is a rest of HTML or of a web address")
    elif not lettered:
        yield Sign("it is a number or punctuation, not a word")
    elif all(_is_name(texts, word) for word in spelled):
        yield Sign("it is a name", weak=True)


def _is_name(texts: PredictedTexts, word: str) -> bool:
    """Whether a word has a capital letter that is not due to its position."""
    vocabulary, lower = texts.vocabulary, word.lower()
    if lower == word:
        return False
    written = vocabulary.counts[vocabulary.id(word)]
    return lower not in vocabulary or (
        vocabulary.counts[vocabulary.id(lower)] <= RARE_IN_LOWER_CASE * written
    )
