"""Total shares over a corpus, against loops over the account of each text."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.inference import read_labelled
from icaps.interpret import share_totals
from icaps.interpret.account import BatchAccount
from icaps.interpret.corpus import CorpusCounts, count_corpus
from icaps.interpret.share_totals import (
    ALL,
    ShareCounter,
    ShareLists,
    ShareTotals,
    WordSums,
    effective_capsules,
)
from icaps.text.sentences import encode
from tests.interpret.test_corpus import CLASSES, OPTIONS, texts, untrained

CLOSE = {"rel": 1e-4, "abs": 1e-5}


def count(classifier: ICapsClassifier, labelled: list[tuple[str, str]]) -> ShareTotals:
    return count_corpus(classifier, labelled).shares.totals()


def assert_lists(found: ShareLists, cells: dict[tuple[int, int], Counter[object]]) -> None:
    """The lists of sums by cell, which are fewer than `share_totals.TOP`."""
    places = defaultdict(Counter)
    magnitudes = Counter()
    for (j, i), sums in cells.items():
        for item, share in sums.items():
            for place in ((j, i), (j, ALL), (ALL, i)):
                places[place][item] += share
            magnitudes[item] += abs(share)
    assert set(found.places) == set(places)
    for place, items in found.places.items():
        assert items == pytest.approx(dict(places[place]), **CLOSE)
        sizes = [abs(share) for share in items.values()]
        assert sizes == sorted(sizes, reverse=True)
    assert found.magnitudes == pytest.approx(dict(magnitudes), **CLOSE)


@pytest.mark.parametrize("options", OPTIONS)
def test_they_are_the_sums_of_the_accounts_of_texts(options: dict[str, object]) -> None:
    classifier = untrained(**options)
    labelled = [*texts(40), ("", "kitchen"), ("quillmarsh frobbled", "garden")]
    strings = [text for text, _ in labelled]
    tokens = encode(classifier.vocabulary_, strings, classifier.network_.config)
    capsules, through_words = np.zeros((2, 3, classifier.network_.config.num_capsules))
    effective, words = np.zeros(3), defaultdict(Counter)
    explanations = classifier.explain(strings, ranking="account")
    for account, text, explanation in zip(
        classifier.account(strings), tokens, explanations, strict=True
    ):
        if explanation.blank:
            continue
        j = list(CLASSES).index(explanation.predicted)
        shares = account.shares()[:, :, j]  # (W, I)
        capsules[j] += shares.sum(0) + account.bias[j]
        through_words[j] += shares.sum(0)
        effective[j] += effective_capsules((shares.sum(0) + account.bias[j])[None])[0]
        for word, row in zip(text.ids.tolist(), shares.tolist(), strict=True):
            for i, share in enumerate(row):
                words[j, i][word] += share
    found = count(classifier, labelled)
    np.testing.assert_allclose(found.capsules, capsules, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.words, through_words, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.effective, effective, rtol=1e-4)
    assert_lists(found.top_words, words)
    norms = classifier.class_norms(strings)
    assert found.capsules.sum() == pytest.approx(norms.max(1).sum(), rel=1e-4)


def test_kgrams_are_those_of_explanations() -> None:
    classifier = untrained()
    labelled = texts(40, seed=2)
    kgrams = defaultdict(Counter)
    numbers = {word: n for n, word in enumerate(classifier.vocabulary_.words)}
    for explanation in classifier.explain([text for text, _ in labelled], ranking="account"):
        j = list(CLASSES).index(explanation.predicted)
        for kgram in explanation.kgrams:
            inside = [
                explanation.text[word.start : word.end]
                for word in explanation.words
                if kgram.start <= word.start and word.end <= kgram.end
            ]
            ids = tuple(numbers.get(word, 1) for word in inside)
            kgrams[j, kgram.capsule][ids] += kgram.share
    assert sum(map(len, kgrams.values())) > 20
    assert_lists(count(classifier, labelled).top_kgrams, kgrams)


def test_parts_add_up_to_the_whole() -> None:
    classifier, labelled = untrained(hierarchical=True), texts(90, seed=1)
    whole, part = count(classifier, labelled), count_corpus(classifier, labelled[:40])
    part.merge(count_corpus(classifier, labelled[40:]))
    found = part.shares.totals()
    np.testing.assert_allclose(found.capsules, whole.capsules, rtol=1e-5)
    np.testing.assert_allclose(found.words, whole.words, rtol=1e-5)
    np.testing.assert_allclose(found.effective, whole.effective, rtol=1e-5)
    for name in ("top_words", "top_kgrams"):
        one, other = getattr(found, name), getattr(whole, name)
        assert one.magnitudes == pytest.approx(other.magnitudes, **CLOSE)
        assert set(one.places) == set(other.places)
        for place, items in one.places.items():
            assert items == pytest.approx(other.places[place], **CLOSE)


def test_blank_texts_add_nothing() -> None:
    found = count(untrained(), [("", "kitchen"), ("quillmarsh frobbled", "garden")])
    assert not found.capsules.any()
    assert not found.effective.any()
    assert found.top_words == found.top_kgrams == ShareLists({}, {})


def test_the_effective_number_of_capsules() -> None:
    shares = np.array([[0.2, 0, 0, 0], [1, 1, 1, 1], [3, 3, -5, 0], [0, 0, 0, 0], [-1, 0, 0, -2]])
    assert effective_capsules(shares) == pytest.approx([1, 4, 2, 0, 0])
    uneven = effective_capsules(np.array([[0.9, 0.1]]))
    assert uneven == pytest.approx(np.exp(-0.9 * np.log(0.9) - 0.1 * np.log(0.1)))


def test_words_are_bounded_and_wrong_by_no_more_than_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(share_totals, "MAX_NUMBERS", 400)
    random = np.random.default_rng(0)
    sums, true = WordSums(2), defaultdict(lambda: np.zeros(2))
    for _ in range(60):
        words = np.unique(random.zipf(1.3, 60).clip(max=100_000))
        shares = random.normal(1, 0.5, (len(words), 2))
        sums.add(words, shares)
        waiting = sum(len(pairs) for pairs, _ in sums._later)
        assert len(sums._pairs) <= 200
        assert waiting <= 200
        for word, row in zip(words.tolist(), shares, strict=True):
            true[word] += row
    found = sums.top(1)
    assert len(true) > 400
    assert 0 < sums.dropped < max(abs(row).max() for row in true.values()) / 2
    for i in range(2):
        listed = found.places[0, i]
        for word, row in true.items():
            assert abs(listed.get(word, 0.0) - row[i]) <= sums.dropped + 1e-5


def test_kgrams_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier, labelled = untrained(), texts(60, seed=4)
    whole = count(classifier, labelled)
    monkeypatch.setattr(share_totals, "MAX_KGRAMS", 30)
    counts = CorpusCounts.empty(classifier)
    for start in range(0, 60, 10):
        part = labelled[start : start + 10]
        for batch in read_labelled(classifier.network_, classifier.vocabulary_, CLASSES, part):
            counts.add(classifier.network_, batch)
        assert sum(map(len, counts.shares.kgrams.values())) <= 30
    found = counts.shares.totals()
    assert found.kgrams_dropped > 0
    cells = [place for place in whole.top_kgrams.places if ALL not in place]
    for place in cells:
        for kgram, share in whole.top_kgrams.places[place].items():
            stored = found.top_kgrams.places.get(place, {}).get(kgram, 0)
            assert abs(share - stored) <= found.kgrams_dropped + 1e-6


def test_only_the_largest_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = count(untrained(), texts(60))
    monkeypatch.setattr(share_totals, "TOP", 3)
    found = count(untrained(), texts(60))
    for name in ("top_words", "top_kgrams"):
        lists, all_lists = getattr(found, name), getattr(whole, name)
        assert set(lists.places) == set(all_lists.places)
        for place, items in lists.places.items():
            assert list(items.items()) == list(all_lists.places[place].items())[:3]
        listed = {item for items in lists.places.values() for item in items}
        assert set(lists.magnitudes) == listed


def test_a_text_in_a_batch_counts_as_alone() -> None:
    classifier, labelled = untrained(hierarchical=True), texts(12)
    (batch,) = read_labelled(classifier.network_, classifier.vocabulary_, CLASSES, labelled)
    predicted = batch.activity.class_norms.numpy().argmax(1)
    size = classifier.network_.config.num_capsules
    together, alone = ShareCounter(3, size), ShareCounter(3, size)
    together.add(BatchAccount(classifier.network_, batch), predicted)
    for one, number in zip(batch, predicted, strict=True):
        alone.add(BatchAccount(classifier.network_, one), np.array([number]))
    np.testing.assert_allclose(alone.capsules, together.capsules, rtol=1e-5)
    one, other = alone.totals().top_words, together.totals().top_words
    assert one.magnitudes == pytest.approx(other.magnitudes, **CLOSE)


@pytest.mark.shared_data
@pytest.mark.parametrize("model", ["ag_news", "newsgroups"])
def test_they_add_up_on_real_texts(model: str, shared_data: Path) -> None:
    from icaps.data.source import open_source

    folder = Path(__file__).resolve().parents[2] / "checkpoints" / model
    classifier = ICapsClassifier.load(folder, device="cpu")
    data = shared_data / "data" / {"newsgroups": "newsgroups_5k"}.get(model, model)
    labelled = [(record.text, record.label) for record in open_source(data, "test")][::20]
    found = count(classifier, labelled)
    norms = classifier.class_norms([text for text, _ in labelled])
    predicted = norms.argmax(1)
    sums = np.bincount(predicted, norms.max(1), minlength=norms.shape[1])
    np.testing.assert_allclose(found.capsules.sum(1), sums, rtol=1e-5)
