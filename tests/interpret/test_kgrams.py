"""K-grams of many texts at once against loops over each, and as columns against explanations."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT, CONTRIBUTION, KGRAM_RANKINGS, ROUTING, ExplainOptions
from icaps.inference import Reading, read
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import select_kgrams, top_kgrams
from icaps.model import Activity, ICapsNet
from icaps.text.batch import UNK, TokenBatch
from tests.conftest import MODEL, TRAIN, make_texts
from tests.tokens import batch_of


def reading(alpha: np.ndarray, rho: np.ndarray, lengths: list[int], counts: list[int]) -> Reading:
    """Texts of known words: alpha (words, I), rho (sentences, I), sizes of sentences and texts."""
    words = np.full(sum(lengths), UNK + 1)
    tokens = TokenBatch(words, np.array(lengths, np.int64), np.array(counts, np.int64))
    nothing = [torch.zeros(0)] * 6
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
        ranking=st.sampled_from((ROUTING, CONTRIBUTION)),
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


def read_by(texts: list[list[list[int]]], kernel_size: int, seed: int) -> BatchAccount:
    """Texts of sentences of word ids, as a random network reads them."""
    torch.manual_seed(seed)
    config = dataclasses.replace(MODEL, kernel_size=kernel_size, hierarchical=True)
    network = ICapsNet(config, 9, 3).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    (batch,) = read(network, batch_of(texts))
    return BatchAccount(network, batch)


def loops_by_account(account: BatchAccount, text: int, target: int, count: int) -> list[list[int]]:
    """The rule of `kgrams_by_account`, word by word: middle, first and last of each K-gram."""
    tokens, kernel_size = account.batch.tokens, account.network.config.kernel_size
    start, stop = tokens.word_offsets[text : text + 2].tolist()
    shares = account.word_shares(np.full(len(tokens), target)).astype(float)
    least = float(account.batch.activity.class_norms[text, target]) / 100
    sentences, found, covered = [], [], set()
    first = start
    for length in tokens[text].words_per_sentence.tolist():
        sentences.append(range(first, first + length))
        first += length
    windows = []
    for words in sentences:
        for middle in words:
            left = middle - (kernel_size - 1) // 2
            windows.append((middle, [m for m in range(left, left + kernel_size) if m in words]))
    for _ in range(count):
        added = [sum(shares[m] for m in window if m not in covered) for _, window in windows]
        best = max(range(len(added)), key=lambda n: (round(added[n], 9), -n))
        middle, window = windows[best]
        while window and shares[window[0]] < least:
            window = window[1:]
        while window and shares[window[-1]] < least:
            window = window[:-1]
        more = covered | set(window)
        if added[best] > 0 and window and len(more) <= max((stop - start) // 2, kernel_size):
            found.append([middle, window[0], window[-1] + 1])
            covered = more
    return found


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(
        st.lists(st.lists(st.integers(2, 8), min_size=1, max_size=6), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    kernel_size=st.integers(1, 4),
    count=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_kgrams_by_account(
    texts: list[list[list[int]]], kernel_size: int, count: int, seed: int
) -> None:
    account = read_by(texts, kernel_size, seed)
    targets = np.arange(len(texts)) % 3
    options = ExplainOptions(top_capsules=1, top_kgrams=count, ranking=ACCOUNT)
    windows = select_kgrams(account, targets, options)
    for n in range(len(texts)):
        rows = np.stack([windows.position, windows.first, windows.last], axis=1)[windows.text == n]
        assert rows.tolist() == loops_by_account(account, n, targets[n], count)
    by_capsule = [
        text.by_capsule(target)
        for text, target in zip(account.texts(), targets.tolist(), strict=True)
    ]
    assert [len(shares) for shares in by_capsule] == account.batch.tokens.words_per_text.tolist()


@pytest.mark.parametrize("ranking", KGRAM_RANKINGS)
@pytest.mark.parametrize("hierarchical", [False, True])
def test_columns_are_what_explanations_hold(hierarchical: bool, ranking: str) -> None:
    texts, labels = make_texts(90, 4)
    model = dataclasses.replace(MODEL, hierarchical=hierarchical)
    train = dataclasses.replace(TRAIN, epochs=1)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels).without([1])
    asked = ["", f"{texts[0]}. {texts[1]}! é", "zzz", *texts[2:8]]
    how = {"target": "Sailing", "top_capsules": 3, "top_sentences": 2, "ranking": ranking}
    (found,) = classifier.reasons(asked, **how)
    rows = [
        (n, k.start, k.end, k.capsule, k.routing, k.attention, k.sentence, k.sentence_attention)
        + (k.contribution,)
        for n, explanation in enumerate(classifier.explain(asked, **how))
        for k in explanation.kgrams
    ]
    assert len(rows) > 10
    np.testing.assert_allclose(np.stack(found.kgrams, axis=1), rows, atol=1e-6)
    assert found.spell() == [asked[row[0]][row[1] : row[2]] for row in rows]
    assert found.blank.tolist() == [text in ("", "zzz") for text in asked]
    assert (found.targets == list(classifier.classes_).index("Sailing")).all()
    explanations = list(classifier.explain(asked, **how))
    shares = [word.share for one in explanations for word in one.words]
    np.testing.assert_allclose(found.word_shares, shares, atol=1e-6)
    shares = [kgram.share for one in explanations for kgram in one.kgrams]
    np.testing.assert_allclose(found.kgram_shares, shares, atol=1e-6)
    np.testing.assert_allclose(found.biases, [one.bias for one in explanations], atol=1e-6)
    np.testing.assert_allclose(found.covered, [one.covered for one in explanations], atol=1e-5)
    np.testing.assert_allclose(
        classifier.calibrated(found.norms), classifier.predict_proba(asked), atol=1e-6
    )
