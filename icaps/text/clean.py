"""Words with their places in the text as typed.

`icaps.words` says where words end. A lone surrogate is read as U+FFFD.

HTML entities are read as the character that they stand for, and the word's span covers the whole
entity: "&amp;", "&#39;", and the forms that AG's News has lost the ampersand of ("#39;" from code
32 on, and "quot;" and the like where no letter or digit stands before). The space that came with
the damage goes where it would hide a negation ("didn #39;t" is "did", "n't"). An entity that was
escaped again ("&amp;quot;") is read through, one of a name that HTML doesn't have stays as it is,
and one that shows nothing ("&nbsp;", "&shy;") is a space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from html.entities import html5
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.data.encoding import replace_surrogates
from icaps.text.batch import UNK
from icaps.text.pieces import Pieces, split
from icaps.text.words import words_alone

_DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash"
_ENTITY = re.compile(
    r"(?=[&#]|\x20#39;|[aghlmnqr][a-z]{1,5};)(?:"  # where one may start: to look there saves time
    rf"&(?:amp;)*(?P<again>(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_DAMAGED});)"
    r"|&(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|(?:(?<=[nN])\x20(?=#39;[tT]\b))?(?P<number>#0*(?:3[2-9]|[4-9]\d|[1-9]\d{2,6});)"
    rf"|(?<![^\W_])(?:amp;)*(?P<damaged>(?:{_DAMAGED});))"
)


class Word(NamedTuple):
    """A word as it is looked up, and its place: `original[start:end]` is what is shown."""

    text: str
    start: int
    end: int


class Clean(NamedTuple):
    """Text without entities, and where the entities were.

    `entities` has the start and end of each in the clean text, then in the original.
    """

    text: str
    entities: list[tuple[int, int, int, int]]


def _entity_text(match: re.Match[str]) -> str:
    if match["name"] and match["name"] not in html5:
        return match[0]
    # A joiner shows nothing by itself, yet it is part of a word or of an emoji.
    text = html.unescape(f"&{match[match.lastgroup or 0]}")
    return text if text in ("\u200c", "\u200d") or (text and text.isprintable()) else " "


def clean_text(text: str) -> Clean:
    """`text` without lone surrogates, and with what its entities stand for."""
    text = replace_surrogates(text)
    pieces: list[str] = []
    entities: list[tuple[int, int, int, int]] = []
    done = length = 0
    for match in _ENTITY.finditer(text) if ";" in text else ():
        read = _entity_text(match)
        if read == match[0]:
            continue
        start, end = match.span()
        pieces += (text[done:start], read)
        length += start - done
        entities.append((length, length + len(read), start, end))
        length += len(read)
        done = end
    return Clean("".join((*pieces, text[done:])) if pieces else text, entities)


_UNNUMBERED = Pieces(lambda _: UNK)


def words_of(text: str) -> list[str]:
    """The words that `split_words` gives, sooner: nobody asks for their places."""
    return words_alone(clean_text(text).text)


def split_words(text: str) -> list[Word]:
    """The words of a text, in order; spans count code points of `text`, and never overlap."""
    clean = clean_text(text)
    _, counts, spans = split([clean.text], _UNNUMBERED)
    words = [clean.text[start:end] for start, end in spans.tolist()]
    places = original_spans([clean], spans, counts).tolist()
    return [Word(word, *place) for word, place in zip(words, places, strict=True)]


def original_spans(
    batch: list[Clean], spans: NDArray[np.int64], counts: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Spans of the words of clean texts (words, 2) in the original texts.

    One that cuts an entity has the whole of it. `counts` are the words of each text.
    """
    rows = [
        (number, *entity)
        for number, clean in enumerate(batch)
        if clean.entities
        for entity in ((0, 0, 0, 0), *clean.entities)
    ]
    if not rows:
        return spans
    of_entity, entities = np.hsplit(np.array(rows), [1])
    of_word = np.repeat(np.arange(len(batch)), counts)
    words = np.flatnonzero(np.isin(of_word, of_entity))
    apart = 1 + max(len(clean.text) for clean in batch)  # texts, so that one search does for all
    edges = spans[words] - (0, 1)  # the first and the last character
    firsts = of_entity[:, 0] * apart + entities[:, 0]
    before = firsts.searchsorted(edges + of_word[words, None] * apart, side="right") - 1
    end, original_end = entities[before, 1], entities[before, 3]
    within = entities[before, (2, 3)]
    found = spans.copy()
    found[words] = np.where(edges < end, within, spans[words] - end + original_end)
    return found
