"""The corpus: selected texts as token batches."""

import numpy as np

from icaps.train.dataset import Corpus
from tests.tokens import batch_of, lists


def test_a_corpus_returns_the_tokens_of_selected_texts() -> None:
    corpus = Corpus.from_tokens(batch_of([[[5, 6], [7]], [], [[7, 8, 9]]]), [0, 1, 1])
    chosen = corpus.select(np.array([2, 0, 1]))
    assert chosen.labels.tolist() == [1, 0, 1]
    assert lists(chosen.tokens()) == [[[7, 8, 9]], [[5, 6], [7]], []]
    again = chosen.select(np.array([1, 1]))
    assert lists(again.tokens()) == [[[5, 6], [7]]] * 2
    assert (len(chosen), len(again), len(Corpus.from_tokens(batch_of([]), []))) == (3, 2, 0)
