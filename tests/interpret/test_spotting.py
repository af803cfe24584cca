"""K-grams of many texts at once against loops over each, and as columns against explanations."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.interpret.spotting import Attention, spot
from tests.conftest import MODEL, TRAIN, make_texts


def loops(weights, attention, kernel_size, options):
    """Section 2.6, text by text."""
    found, sentence, word = [], 0, 0
    for text, count in enumerate(attention.counts.tolist()):
        lengths = attention.lengths[sentence : sentence + count].tolist()
        on = [i for i, weight in enumerate(weights[text].tolist()) if weight > -np.inf]
        on.sort(key=lambda i: -weights[text, i])
        for i in on[: options.top_capsules] if sum(lengths) else ():
            best = sorted(range(count), key=lambda m: -attention.rho[sentence + m, i])
            for m in best[: options.top_sentences]:
                start = word + sum(lengths[:m])
                end = start + lengths[m]
                places = sorted(range(start, end), key=lambda n: -attention.alpha[n, i])
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
    ),
    kernel_size=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_many_texts_at_once(
    texts: list[list[int]], options: ExplainOptions, kernel_size: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    lengths = np.array([n for text in texts for n in text], dtype=np.int64)
    attention = Attention(
        random.integers(0, 4, (lengths.sum(), 3)) / 4,  # with ties
        random.integers(0, 3, (len(lengths), 3)) / 4,
        lengths,
        np.array([len(text) for text in texts]),
    )
    weights = random.choice([-np.inf, 0.25, 0.5, 0.75], (len(texts), 3))
    found = spot(weights, attention, kernel_size, options)
    rows = [tuple(row) for row in np.stack(found, axis=1).tolist()]
    assert rows == loops(weights, attention, kernel_size, options)


def test_a_text_without_words_is_one_empty_sentence_where_none_is_split() -> None:
    attention = Attention(np.ones((1, 2)), np.ones((2, 2)), np.array([0, 1]), np.array([1, 1]))
    found = spot(np.ones((2, 2)), attention, 3, ExplainOptions(top_capsules=1))
    assert np.stack(found, axis=1).tolist() == [[1, 0, 1, 0, 0, 1]]


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
