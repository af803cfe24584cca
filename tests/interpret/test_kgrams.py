"""K-grams of many texts at once against loops over each, and as columns against explanations."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.config import KGRAM_RANKINGS, ExplainOptions
from icaps.inference import Reading
from icaps.interpret.kgrams import top_kgrams
from icaps.model import Activity
from icaps.text.batch import UNK, TokenBatch
from tests.conftest import MODEL, TRAIN, make_texts


def reading(alpha: np.ndarray, rho: np.ndarray, lengths: list[int], counts: list[int]) -> Reading:
    """Texts of known words: alpha (words, I), rho (sentences, I), sizes of sentences and texts."""
    words = np.full(sum(lengths), UNK + 1)
    tokens = TokenBatch(words, np.array(lengths, np.int64), np.array(counts, np.int64))
    nothing = [torch.zeros(0)] * 5
    activity = Activity(*nothing, torch.from_numpy(alpha), torch.from_numpy(rho))
    return Reading(tokens, activity, np.arange(len(counts)))


def loops(batch, routing, contribution, kernel_size, options):
    """Section 2.6, text by text."""
    found, sentence, word = [], 0, 0
    alpha, rho = (values.numpy() for values in batch.activity[-2:])
    ranks = {"routing": routing, "contribution": contribution}[options.ranking]
    for text, count in enumerate(batch.tokens.sentences_per_text.tolist()):
        lengths = batch.tokens.words_per_sentence[sentence : sentence + count].tolist()
        on = [i for i, beta in enumerate(routing[text].tolist()) if beta > 0]
        on.sort(key=lambda i: -ranks[text, i])
        for i in on[: options.top_capsules] if sum(lengths) else ():
            best = sorted(range(count), key=lambda m: -rho[sentence + m, i])
            for m in best[: options.top_sentences]:
                start = word + sum(lengths[:m])
                end = start + lengths[m]
                places = sorted(range(start, end), key=lambda n: -alpha[n, i])
                for n in places[: options.top_kgrams]:
                    first = n - (kernel_size - 1) // 2
                    window = max(first, start), min(first + kernel_size, end)
                    found.append((text, i, sentence + m, n, *window))
        sentence, word = sentence + count, word + sum(lengths)
    return found


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.lists(st.integers(1, 5), max_size=4), min_size=1, max_size=5),
    options=st.builds(
        ExplainOptions,
        top_capsules=st.integers(1, 4),
        top_kgrams=st.integers(1, 6),
        top_sentences=st.integers(1, 3),
        ranking=st.sampled_from(KGRAM_RANKINGS),
    ),
    kernel_size=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_many_texts_at_once(
    texts: list[list[int]], options: ExplainOptions, kernel_size: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    lengths = [n for text in texts for n in text]
    batch = reading(
        random.integers(0, 4, (sum(lengths), 3)) / 4,  # with ties
        random.integers(0, 3, (len(lengths), 3)) / 4,
        lengths,
        [len(text) for text in texts],
    )
    routing = random.choice([0, 0.25, 0.5, 0.75], (len(texts), 3))
    contribution = random.choice([-0.5, 0, 0.5], (len(texts), 3))
    windows = top_kgrams(batch, routing, contribution, kernel_size, options)
    rows = [tuple(row) for row in np.stack(windows, axis=1).tolist()]
    assert rows == loops(batch, routing, contribution, kernel_size, options)
    covered = np.zeros(sum(lengths), int)
    for *_, first, last in rows:
        covered[first:last] += 1
    assert windows.count_per_word(sum(lengths)).tolist() == covered.tolist()


def test_blank_texts_have_no_kgrams() -> None:
    """A text without words is one empty sentence where none is split; one has an unknown word."""
    batch = reading(np.ones((3, 2)), np.ones((3, 2)), [0, 1, 2], [1, 1, 1])
    batch.tokens.ids[0] = UNK
    ones = np.ones((3, 2))
    windows = top_kgrams(batch, ones, ones, 3, ExplainOptions(top_capsules=1, top_kgrams=1))
    assert np.stack(windows, axis=1).tolist() == [[2, 0, 2, 1, 1, 3]]


@pytest.mark.parametrize("hierarchical", [False, True])
def test_columns_are_what_explanations_hold(hierarchical: bool) -> None:
    texts, labels = make_texts(90, 4)
    model = dataclasses.replace(MODEL, hierarchical=hierarchical)
    train = dataclasses.replace(TRAIN, epochs=1)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels).without([1])
    asked = ["", f"{texts[0]}. {texts[1]}! é", "zzz", *texts[2:8]]
    how = {"target": "Sailing", "top_capsules": 3, "top_sentences": 2, "ranking": "contribution"}
    (found,) = classifier.reasons(asked, **how)
    rows = [
        (n, k.start, k.end, k.capsule, k.routing, k.attention, k.sentence, k.sentence_attention)
        + (k.contribution,)
        for n, explanation in enumerate(classifier.explain(asked, **how))
        for k in explanation.kgrams
    ]
    assert len(rows) > 20
    np.testing.assert_allclose(np.stack(found.kgrams, axis=1), rows, atol=1e-6)
    assert found.spell() == [asked[row[0]][row[1] : row[2]] for row in rows]
    assert found.blank.tolist() == [text in ("", "zzz") for text in asked]
    assert (found.targets == list(classifier.classes_).index("Sailing")).all()
    np.testing.assert_allclose(
        classifier.calibrated(found.norms), classifier.predict_proba(asked), atol=1e-6
    )
