"""Heuristic signs that a K-gram is not the topic of a class: its coverage, place and form.

Each sign is a rule of thumb with a threshold; without an effect on predictions it means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words

COVERAGE = 0.4  # share of the texts of a class that contain the K-gram
PURITY = 0.97  # share of the texts with the K-gram that get the class
TAGGED = 0.5  # share of its occurrences in brackets, or before a dash or a colon
SAME_PLACE = 0.6  # share of its texts in which it has the same position
RARE_IN_LOWER_CASE = 0.1  # largest frequency of a name in lower case, relative to the name's
_OPEN, _CLOSED = set("([{<"), set(")]}>")
_AFTER_A_TAG = {"-", "--", "\u2013", "\u2014", ":", "|"}
_MARKS = set("<>/=&#_@\\|")  # between words, of markup and addresses
_ENTITIES = frozenset(["lt", "gt", "amp", "quot", "apos", "nbsp", "ndash", "mdash", "hellip"])
_TAGS = frozenset(["br", "href", "src", "div", "serif", "arial", "helvetica", "verdana"])
_ADDRESSES = frozenset(["http", "https", "www", "html", "htm", "php", "com", "mailto", "utf"])
_MARKUP = _ENTITIES | _TAGS | _ADDRESSES


class Sign(NamedTuple):
    """A reason to suspect a K-gram, in words; a weak sign holds for many harmless words as well."""

    reason: str
    weak: bool = False


def signs(texts: PredictedTexts, words: Words, target: int, rows: Numbers) -> tuple[Sign, ...]:
    """All signs that a K-gram is not the topic of a class.

    Args:
        texts: Labelled texts and the model's predictions.
        words: The K-gram.
        target: Number of the class that is predicted for most of its texts.
        rows: (n,), numbers of the texts that contain it.
    """
    return (*_by_coverage(texts, target, rows), *_by_place(texts, words), *_by_form(texts, words))


def _by_coverage(texts: PredictedTexts, target: int, rows: Numbers) -> Iterator[Sign]:
    both = int(texts.given[rows, target].sum())
    class_texts = int(texts.given[:, target].sum())
    if both >= COVERAGE * class_texts and both >= PURITY * len(rows):
        others = (len(rows) - both) / max(len(texts) - class_texts, 1)
        yield Sign(
            f"it is in {both / class_texts:.0%} of the texts that get the class and in "
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
        yield Sign("it is a remnant of HTML or of a web address")
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
