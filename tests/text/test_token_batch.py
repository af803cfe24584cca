"""Batches of texts as numbers, held against plain loops over lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.text.batch import UNK, TokenBatch
from tests.tokens import batch_of, lists

SENTENCES = st.lists(st.lists(st.integers(1, 4), max_size=4), max_size=4)
TEXTS = st.lists(SENTENCES, max_size=8)
Texts = list[list[list[int]]]


def same(one: TokenBatch, other: TokenBatch) -> bool:
    columns = ("ids", "words_per_sentence", "sentences_per_text", "spans", "truncated")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@given(TEXTS, st.data())
def test_texts_are_joined_sliced_and_selected(texts: Texts, data: st.DataObject) -> None:
    whole = batch_of(texts)
    ones = [batch_of([text], truncated=n % 2 == 1) for n, text in enumerate(texts)]
    joined = TokenBatch.join(ones)
    assert lists(joined) == lists(whole) == texts
    assert len(joined) == len(texts)
    assert all(map(same, joined, ones))
    start, stop = data.draw(st.integers(0, len(texts))), data.draw(st.integers(0, len(texts)))
    assert same(joined[start:stop], TokenBatch.join(ones[start:stop]))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    chosen = [one for one, selected in zip(ones, mask, strict=True) if selected]
    assert same(joined.select(mask.astype(bool)), TokenBatch.join(chosen))
    if texts:
        assert same(joined[-1], ones[-1])
        assert same(joined[np.int64(0)], ones[0])


@given(TEXTS)
def test_words_are_counted_per_text(texts: Texts) -> None:
    batch = batch_of(texts)
    words = [[word for sentence in text for word in sentence] for text in texts]
    known = [[word for word in text if word != UNK] for text in words]
    assert batch.words_per_text.tolist() == [*map(len, words)]
    assert batch.known_per_text.tolist() == [*map(len, known)]
    assert batch.blank.tolist() == [not text for text in known]
    assert batch.unknown_share.tolist() == [
        text.count(UNK) / len(text) if text else 0 for text in words
    ]


@given(TEXTS, st.integers(1, 12), st.integers(1, 4))
def test_parts_have_all_texts_in_order_and_maximum_size(
    texts: Texts, max_words: int, max_texts: int
) -> None:
    whole = batch_of(texts)
    parts = list(whole.parts(max_words, max_texts))
    assert same(TokenBatch.join(parts), whole)
    for part in parts:
        assert 1 <= len(part) <= max_texts
        assert len(part) == 1 or len(part.ids) <= max_words
    firsts = np.cumsum([len(part) for part in parts])[:-1]
    for part, first in zip(parts, firsts, strict=False):  # no next text would have fit
        assert len(part) == max_texts or len(part.ids) + len(whole[first].ids) > max_words


@given(TEXTS, st.data())
def test_texts_are_truncated_to_their_first_sentences(texts: Texts, data: st.DataObject) -> None:
    prefixes = [text[: data.draw(st.integers(0, len(text)))] for text in texts]
    lengths = np.array([len(sentence) for text in prefixes for sentence in text], np.int64)
    short = batch_of(texts).truncate(lengths, np.array([*map(len, prefixes)], np.int64))
    assert lists(short) == prefixes
    expected = [
        batch_of([prefix], truncated=sum(map(len, prefix)) < sum(map(len, text)))
        for prefix, text in zip(prefixes, texts, strict=True)
    ]
    assert all(map(same, short, expected))


def test_words_are_dropped_from_sentences() -> None:
    batch = batch_of([[[5, 6, 7], []], [[8, 9], [4]]])
    left = batch.without(np.array([True, False, True, False, False, False]))
    assert lists(left) == [[[6], []], [[8, 9], [4]]]
    assert left.spans is not None
    assert left.spans[:, 0].tolist() == [2, 0, 2, 4]


def test_joined_batches_have_no_spans_unless_all_have() -> None:
    with_spans = batch_of([[[5]]])
    bare = TokenBatch(with_spans.ids, np.array([1]), np.array([1]))
    joined = TokenBatch.join([with_spans, bare])
    assert joined.spans is None
    assert joined.truncated is None
    assert lists(joined) == [[[5]], [[5]]]
    assert bare[0].spans is None


def test_an_index_beyond_the_last_text_raises() -> None:
    with pytest.raises(IndexError):
        batch_of([[[5]]])[1]
