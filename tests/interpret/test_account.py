"""The account against loops of its equations, and its sum against the norm."""

import math
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.inference import find_table, read
from icaps.interpret.account import BatchAccount, TextAccount
from icaps.model import ICapsNet
from icaps.text.batch import TokenBatch
from tests import reference
from tests.conftest import MODEL, TRAIN, make_texts
from tests.test_model import DOCUMENTS, OPTIONS, TEXTS, build, pack_documents
from tests.tokens import batch_of

Document = list[list[int]]
SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"


def account_of(network: ICapsNet, tokens: TokenBatch, muted: tuple[int, ...] = ()) -> BatchAccount:
    (batch,) = read(network.eval(), tokens, muted)
    return BatchAccount(network, batch)


def expected(
    network: ICapsNet, text: Document, muted: tuple[int, ...] = ()
) -> tuple[np.ndarray, ...]:
    weights = {name: tensor.detach() for name, tensor in network.state_dict().items()}
    config = network.config
    parts = reference.account(
        weights,
        text,
        config.kernel_size,
        config.routing_iterations,
        config.activation,
        config.squash_primary,
        muted,
        math.sqrt(network.num_classes / 4) if config.scale_votes else 1.0,
        config.routing == "independent",
    )
    return tuple(part.numpy() for part in parts)


def assert_equal(text: TextAccount, shares: np.ndarray, bias: np.ndarray) -> None:
    np.testing.assert_allclose(text.shares(), shares, atol=1e-12)
    np.testing.assert_allclose(text.bias, bias, atol=1e-12)
    np.testing.assert_allclose(text.by_class(), shares.sum(1), atol=1e-12)
    for j in range(shares.shape[2]):
        np.testing.assert_allclose(text.by_capsule(j), shares[:, :, j], atol=1e-12)


@pytest.mark.parametrize("muted", [(), (0,)], ids=["all on", "one off"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_equals_the_equations(options: dict[str, object], muted: tuple[int, ...]) -> None:
    network = build(**options)
    texts = DOCUMENTS if network.config.hierarchical else [[text] for text in TEXTS]
    account = account_of(network, pack_documents(texts), muted)
    norms = account.batch.activity.class_norms.numpy()
    targets = np.arange(len(texts)) % network.num_classes
    columns = np.split(account.word_shares(targets), account.batch.tokens.word_offsets[1:-1])
    by_capsule = np.split(account.by_capsule(targets), account.batch.tokens.word_offsets[1:-1])
    biases, capsules = account.biases(targets), account.capsule_shares(targets)
    for n, (text, found) in enumerate(zip(texts, account.texts(), strict=True)):
        shares, bias = expected(network, text, muted)
        assert_equal(found, shares, bias)
        np.testing.assert_allclose(shares.sum((0, 1)) + bias.sum(1), norms[n], atol=1e-12)
        target = targets[n]
        np.testing.assert_allclose(columns[n], shares[:, :, target].sum(1), atol=1e-12)
        np.testing.assert_allclose(by_capsule[n], shares[:, :, target], atol=1e-12)
        np.testing.assert_allclose(biases[n], bias[target].sum(), atol=1e-12)
        totals = shares[:, :, target].sum(0) + bias[target]
        np.testing.assert_allclose(capsules[n], totals, atol=1e-12)


@pytest.mark.parametrize("hierarchical", [False, True])
def test_the_lookup_table_and_vector_words_change_nothing(hierarchical: bool) -> None:
    """Words 12 to 14 are vector words; the reference has them as trained words of their values."""
    network = build(hierarchical=hierarchical)
    random = torch.Generator().manual_seed(1)
    vectors = torch.randint(-99, 99, (3, 4), generator=random).to(torch.int8)
    other = ICapsNet(
        network.config, 12, 3, network.fixed_embedding, vectors, torch.tensor([4, -1, 5])
    ).double()
    other.load_state_dict({**other.state_dict(), **network.state_dict()})
    fixed, trained = other.embed_words(torch.arange(15))
    whole = ICapsNet(network.config, 15, 3, fixed.detach()).double()
    state = {**network.state_dict(), "fixed_embedding": fixed.detach()}
    whole.load_state_dict({**state, "trained_embedding.weight": trained.detach()})
    texts = [[[2, 13, 4, 12, 14]], [[12]], [[14, 14], [3, 5, 13]]]
    texts = texts if hierarchical else [[list(chain.from_iterable(text))] for text in texts]
    tokens = batch_of(texts)
    without = account_of(other, tokens)
    while find_table(other, 12) is None:
        pass
    with_table = account_of(other, tokens)
    for account in (without, with_table):
        for text, found in zip(texts, account.texts(), strict=True):
            assert_equal(found, *expected(whole, text))
        targets = np.array([0, 1, 2])
        shares = np.concatenate(
            [expected(whole, text)[0][:, :, j].sum(1) for j, text in enumerate(texts)]
        )
        np.testing.assert_allclose(account.word_shares(targets), shares, atol=1e-12)


def test_texts_without_words_and_unknown_ones() -> None:
    """An empty text, one whose words are all unknown, and an empty sentence beside a full one."""
    network = build(hierarchical=True)
    account = account_of(network, batch_of([[[]], [[1, 1]], [[], [3, 4]]]))
    empty, blank, mixed = account.texts()
    assert empty.shares().shape == (0, 3, 3)
    assert not empty.bias.any()
    assert not blank.shares().any()
    assert not blank.bias.any()
    assert_equal(mixed, *expected(network, [[], [3, 4]]))
    targets = np.zeros(3, int)
    assert account.biases(targets)[:2].tolist() == [0, 0]
    assert not account.capsule_shares(targets)[:2].any()
    assert account.word_shares(targets)[:2].tolist() == [0, 0]


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(
        st.lists(st.lists(st.integers(1, 11), min_size=1, max_size=9), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    ),
    options=st.sampled_from(OPTIONS),
)
def test_shares_and_biases_add_up_and_a_text_is_the_same_alone(
    texts: list[Document], options: dict[str, object]
) -> None:
    network = build(**options)
    if not network.config.hierarchical:
        texts = [[list(chain.from_iterable(text))] for text in texts]
    account = account_of(network, batch_of(texts))
    norms = account.batch.activity.class_norms.numpy()
    for n, together in enumerate(account.texts()):
        total = together.by_class().sum(0) + together.bias.sum(1)
        np.testing.assert_allclose(total, norms[n], atol=1e-12)
        (alone,) = account_of(network, batch_of(texts[n : n + 1])).texts()
        np.testing.assert_allclose(together.shares(), alone.shares(), atol=1e-12)
        np.testing.assert_allclose(together.bias, alone.bias, atol=1e-12)


def test_an_explanation_holds_its_account(classifier: ICapsClassifier) -> None:
    texts = ["", "zzz", "Bake the bread in the oven, then plant a rose.", make_texts(1, 9)[0][0]]
    explanations = list(classifier.explain(texts, target="Gardens"))
    for explanation, text in zip(explanations, classifier.account(texts), strict=True):
        np.testing.assert_allclose(explanation.account.totals, explanation.scores, atol=1e-6)
        assert explanation.capsule_account.totals.sum() == pytest.approx(
            explanation.scores[1], abs=1e-6
        )
        np.testing.assert_allclose(explanation.account.shares, text.by_class(), atol=1e-7)
        np.testing.assert_allclose(
            explanation.capsule_account.shares, text.by_capsule(1), atol=1e-7
        )
        assert [word.share for word in explanation.words] == pytest.approx(
            text.by_class()[:, 1].tolist()
        )
        for capsule in explanation.capsules:
            total = explanation.capsule_account.totals[capsule.capsule]
            assert capsule.share == pytest.approx(total, abs=1e-6)
        for kgram in explanation.kgrams:
            inside = [w.share for w in explanation.words if kgram.start <= w.start < kgram.end]
            assert kgram.share == pytest.approx(sum(inside), abs=1e-6)
    assert explanations[0].covered == explanations[1].covered == 0


def test_it_is_the_same_in_a_batch_of_thousands(classifier: ICapsClassifier) -> None:
    """More words than are multiplied at a time, and more texts than a batch has."""
    texts = make_texts(2_500, 3)[0]
    alone = [next(iter(classifier.explain([text]))) for text in texts[::500]]
    together = list(classifier.explain(texts))[::500]
    for one, same in zip(alone, together, strict=True):
        np.testing.assert_allclose(one.account.shares, same.account.shares, atol=1e-6)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("model", "data"), [("ag_news", "ag_news"), ("newsgroups", "newsgroups_5k")]
)
def test_it_adds_up_on_real_texts(model: str, data: str, shared_data: Path) -> None:
    classifier = ICapsClassifier.load(SHIPPED / model, device="cpu")
    source = open_source(shared_data / "data" / data, "test")
    texts = [text for text, _ in source.pairs()]
    norms = classifier.class_norms(texts)
    worst = 0.0
    for text, scores in zip(classifier.account(texts), norms, strict=True):
        total = text.by_class().sum(0, dtype=float) + text.bias.sum(1, dtype=float)
        worst = max(worst, float(np.abs(total - scores).max()))
    assert len(norms) == {"ag_news": 7_600, "newsgroups_5k": 2_738}[data]
    assert worst <= 1e-5
    norms, predicted = np.sort(norms), norms.argmax(1)
    start = 0
    for batch in classifier.reasons(texts):
        words = batch.batch.tokens.word_offsets
        sums = np.add.reduceat(np.append(batch.word_shares, 0), words[:-1]) * (np.diff(words) > 0)
        stop = start + len(batch.norms)
        np.testing.assert_array_equal(batch.targets, predicted[start:stop])
        np.testing.assert_allclose(sums + batch.biases, norms[start:stop, -1], atol=1e-5)
        start = stop


def test_a_network_with_an_activation_gives_shares_to_regions() -> None:
    texts, labels = make_texts(60, 4)
    model, train = replace(MODEL, activation="relu"), replace(TRAIN, epochs=1)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels)
    (explanation,) = classifier.explain(texts[:1])
    np.testing.assert_allclose(explanation.account.totals, explanation.scores, atol=1e-6)
    assert "the share of a word is that of the 3 words around it" in explanation.notices[-1]
    assert classifier.network_.config.kernel_size == 3
