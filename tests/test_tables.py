"""Reading by a table of words against the network itself; and dropout from random bytes."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from icaps import tables
from icaps.classifier import ICapsClassifier
from icaps.dropout import dropout
from icaps.inference import class_norms, read_texts
from icaps.model import ICapsNet
from icaps.tables import WordTable, run
from tests.conftest import MODEL, TRAIN, make_texts
from tests.test_model import DOCUMENTS, TEXTS, build, pack, pack_documents

BATCHES = {"short": pack([*TEXTS, []]), "long": pack_documents(DOCUMENTS)}


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", BATCHES)
def test_a_table_shows_what_the_network_shows(kind: str, kernel_size: int) -> None:
    network = build(kernel_size=kernel_size, hierarchical=kind == "long").eval()
    batch = BATCHES[kind]
    with torch.inference_mode():
        expected = network(batch)
        found = network.route(WordTable(network).attend(network, batch))
    for name, values in expected._asdict().items():
        torch.testing.assert_close(getattr(found, name), values, rtol=0, atol=1e-12)


def test_a_table_is_made_when_enough_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build().eval()
    made: list[int] = []

    class Counted(WordTable):
        def __init__(self, network: torch.nn.Module) -> None:
            made.append(1)
            super().__init__(network)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "WordTable", Counted)
    batch = pack(TEXTS)  # 21 words, and 12 in the vocabulary
    with torch.inference_mode():
        expected = network(batch).class_norms
        for round_, tables_made in enumerate([0, 1, 1, 1]):
            found = run(network, batch, None).class_norms
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
            assert len(made) == tables_made, round_


@pytest.mark.parametrize("change", ["in place", "replaced"])
def test_changed_weights_have_another_table(change: str) -> None:
    network, batch = build().eval(), pack(TEXTS)
    with torch.no_grad():
        for _ in range(3):
            before = run(network, batch, None).class_norms
        if change == "in place":
            network.region.weight.mul_(1.5)
        else:
            network.region.weight.data = network.region.weight.data * 1.5
        expected = network(batch).class_norms
        assert not torch.allclose(before, expected)
        for _ in range(3):
            found = run(network, batch, None).class_norms
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("option", ["activation", "size"])
def test_what_has_no_table(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an activation what a word brings depends on its neighbours."""
    network = build(activation="tanh" if option == "activation" else "none").eval()
    if option == "size":
        monkeypatch.setattr(tables, "MOST_BYTES", 100)
    monkeypatch.setattr(tables, "WordTable", lambda network: pytest.fail("a table was made"))
    with torch.inference_mode():
        for _ in range(4):
            expected = network(pack(TEXTS)).class_norms
            assert torch.equal(run(network, pack(TEXTS), None).class_norms, expected)


def test_threads_make_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one makes it the others read without, and all get the same."""
    network = build().eval()
    making, released = threading.Event(), threading.Event()
    made: list[WordTable] = []

    class Slow(WordTable):
        def __init__(self, network: ICapsNet) -> None:
            making.set()
            assert released.wait(60)
            super().__init__(network)
            made.append(self)

    monkeypatch.setattr(tables, "WordTable", Slow)
    monkeypatch.setattr(tables, "PAYS", 0)
    with torch.inference_mode(), ThreadPoolExecutor(1) as other:
        expected = network(pack(TEXTS)).class_norms
        first = other.submit(run, network, pack(TEXTS), None)
        assert making.wait(60)
        found = [run(network, pack(TEXTS), None).class_norms for _ in range(3)]
        assert all(torch.equal(norms, expected) for norms in found)
        released.set()
        torch.testing.assert_close(first.result().class_norms, expected, rtol=0, atol=1e-12)
        run(network, pack(TEXTS), None)
    assert len(made) == 1


@pytest.mark.parametrize("hierarchical", [False, True])
def test_norms_alone_are_those_of_readings(
    hierarchical: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank texts among others, first and last, and more texts than are encoded at a time."""
    monkeypatch.setattr("icaps.inference.CHUNK", 7)
    monkeypatch.setattr("icaps.inference.BATCH_WORDS", 30)
    texts, labels = make_texts(90, 4)
    model = dataclasses.replace(MODEL, hierarchical=hierarchical)
    train = dataclasses.replace(TRAIN, epochs=1)
    classifier = ICapsClassifier(model, train, device="cpu").fit(texts, labels)
    asked = ["", *texts[:20], "", "zzz qqq", "...", *texts[20:40], " "]
    network, vocabulary = classifier.network_, classifier.vocabulary_
    for muted in ((), (1,)):
        readings = [r for batch in read_texts(network, vocabulary, asked, muted) for r in batch]
        expected = torch.stack([reading.norms for reading in readings])
        found = torch.from_numpy(class_norms(network, vocabulary, asked, muted))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
        assert (found[[0, 21, 22, -1]] == 0).all()
    assert class_norms(network, vocabulary, []).shape == (0, 3)


def test_dropout_keeps_the_mean_and_the_share() -> None:
    torch.manual_seed(1)
    values = torch.ones(400, 500)
    dropped = dropout(values, 0.3, training=True)
    assert np.unique(dropped.numpy()).tolist() == pytest.approx([0, 256 / 179])
    assert (dropped == 0).double().mean().item() == pytest.approx(77 / 256, abs=0.004)
    assert dropped.double().mean().item() == pytest.approx(1, abs=0.006)


def test_dropout_follows_the_seed_and_its_gradient_the_mask() -> None:
    values = torch.randn(31, 7, requires_grad=True)
    torch.manual_seed(5)
    first, second = dropout(values, 0.5, True), dropout(values, 0.5, True)
    torch.manual_seed(5)
    again = dropout(values, 0.5, True)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    first.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad, (first != 0).float() * 2)
    assert dropout(values, 0.5, training=False) is values
    assert dropout(values, 0.0, training=True) is values
    assert dropout(torch.zeros(0, 3), 0.5, training=True).shape == (0, 3)
    assert 0 < (dropout(torch.ones(100_000), 0.0001, True) == 0).sum() < 1_000
