"""Texts as columns, held against plain loops over texts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from icaps.text.batch import Encoded, EncodedText, Placed
from icaps.text.clean import UNK

SENTENCES = st.lists(st.lists(st.integers(1, 4), max_size=4), max_size=4)
TEXTS = st.lists(SENTENCES, max_size=8)


def encoded(sentences: list[list[int]], truncated: bool = False) -> EncodedText:
    ids = np.array([word for sentence in sentences for word in sentence], np.int64)
    spans = np.stack([2 * np.arange(len(ids)), 2 * np.arange(len(ids)) + 1], axis=1)
    return EncodedText(ids, spans, np.array([*map(len, sentences)], np.int64), truncated)


def same(one: EncodedText, other: EncodedText) -> bool:
    columns = ("ids", "spans", "sentences")
    return one.truncated == other.truncated and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in columns
    )


@given(TEXTS)
def test_texts_are_joined_and_split_again(texts: list[list[list[int]]]) -> None:
    whole = [encoded(text, len(text) % 2 == 1) for text in texts]
    placed = Placed.join(whole)
    assert all(map(same, placed.split(), whole))
    assert len(placed.split()) == len(whole)
    numbers = placed.numbers
    assert numbers.words.tolist() == [len(text.ids) for text in whole]
    assert numbers.known.tolist() == [(text.ids != UNK).sum() for text in whole]
    chosen = np.array([not text.blank for text in whole], dtype=bool)
    left = Encoded.join([text for text in whole if not text.blank])
    found = numbers.select(chosen)
    for name in ("ids", "lengths", "counts"):
        assert np.array_equal(getattr(found, name), getattr(left, name)), name


@given(TEXTS, st.integers(1, 12), st.integers(1, 4))
def test_parts_have_all_texts_in_order_and_are_as_large_as_may_be(
    texts: list[list[list[int]]], most_words: int, most_texts: int
) -> None:
    whole = [encoded(text) for text in texts]
    placed = Placed.join(whole)
    found = []
    sizes = []
    for part in placed.numbers.parts(most_words, most_texts):
        here = placed.take(part).split()
        found += here
        sizes.append((len(here), sum(len(text.ids) for text in here)))
        assert here
        assert len(here) <= most_texts
        assert len(here) == 1 or sizes[-1][1] <= most_words
    assert len(found) == len(whole)
    assert all(map(same, found, whole))
    firsts = np.cumsum([count for count, _ in sizes])[:-1]
    for (count, words), first in zip(sizes, firsts, strict=False):  # no next one would have fit
        assert count == most_texts or words + len(whole[first].ids) > most_words


@given(TEXTS, st.data())
def test_texts_are_cut_to_their_first_sentences(
    texts: list[list[list[int]]], data: st.DataObject
) -> None:
    kept = [text[: data.draw(st.integers(0, len(text)))] for text in texts]
    placed = Placed.join([encoded(text) for text in texts])
    lengths = np.array([len(sentence) for text in kept for sentence in text], np.int64)
    counts = np.array([*map(len, kept)], np.int64)
    for text, short, cut in zip(texts, kept, placed.shorten(lengths, counts).split(), strict=True):
        truncated = sum(map(len, short)) < sum(map(len, text))
        assert same(cut, encoded(short, truncated))
