"""Inference by the lookup table, compared with the network itself."""

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import nn

from icaps import inference
from icaps.classifier import ICapsClassifier
from icaps.inference import _run as run
from icaps.inference import build_lookup_table
from icaps.model import ICapsNet
from icaps.nn import lookup
from icaps.nn.lookup import LookupTable, table_bytes
from tests.conftest import make_texts
from tests.test_model import DOCUMENTS, TEXTS, build, pack, pack_documents

BATCHES = {"short": pack([*TEXTS, []]), "long": pack_documents(DOCUMENTS)}


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", BATCHES)
def test_a_table_gives_the_output_of_the_network(
    kind: str, kernel_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "MIN_READS", 0)
    network = build(kernel_size=kernel_size, hierarchical=kind == "long").eval()
    batch = BATCHES[kind]
    with torch.inference_mode():
        expected = network(batch)
        actual = run(network, batch, None)
    table = network.lookup._entry.table
    assert table is not None
    size = table_bytes(12, kernel_size, network.attention.value_weight)
    assert table._rows.nbytes == 2 * size  # of doubles
    for name, values in expected._asdict().items():
        torch.testing.assert_close(getattr(actual, name), values, rtol=0, atol=1e-12)


def test_a_table_is_built_after_enough_words(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build().eval()
    built: list[int] = []

    def counted(network: ICapsNet) -> LookupTable | None:
        built.append(1)
        return build_lookup_table(network)

    monkeypatch.setattr(inference, "build_lookup_table", counted)
    batch = pack(TEXTS)  # 21 words, and 12 in the vocabulary
    with torch.inference_mode():
        expected = network(batch).class_norms
        for round_, tables_built in enumerate([0, 1, 1, 1]):
            actual = run(network, batch, None).class_norms
            torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
            assert len(built) == tables_built, round_


@pytest.mark.parametrize("change", ["in place", "its numbers", "replaced"])
@pytest.mark.parametrize("kind", BATCHES)
def test_a_changed_weight_rebuilds_the_table(kind: str, change: str) -> None:
    network, batch = build(hierarchical=kind == "long").eval(), BATCHES[kind]
    with torch.no_grad():
        for name, weight in list(network.state_dict(keep_vars=True).items()):
            for _ in range(3):
                before = run(network, batch, None).class_norms
            if change == "in place":
                weight.mul_(1.5)
            elif change == "its numbers":
                weight.data = weight.data * 1.5
            else:
                module, _, last = name.rpartition(".")
                new = nn.Parameter(weight * 1.5) if weight.requires_grad else weight * 1.5
                setattr(network.get_submodule(module), last, new)
            expected = network(batch).class_norms
            assert not torch.allclose(before, expected), name
            for _ in range(3):
                actual = run(network, batch, None).class_norms
                torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("option", ["activation", "size"])
def test_networks_without_a_table(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an activation, what a word adds depends on its neighbours."""
    network = build(activation="tanh" if option == "activation" else "none").eval()
    if option == "size":
        monkeypatch.setattr(inference, "MAX_BYTES", 100)
    monkeypatch.setattr(inference, "LookupTable", lambda *_, **__: pytest.fail("a table was built"))
    with torch.inference_mode():
        for _ in range(4):
            expected = network(pack(TEXTS)).class_norms
            assert torch.equal(run(network, pack(TEXTS), None).class_norms, expected)


def test_threads_build_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread builds it, the others read without it, with the same output."""
    network = build().eval()
    building, released = threading.Event(), threading.Event()
    built: list[LookupTable | None] = []

    def slow(network: ICapsNet) -> LookupTable | None:
        building.set()
        assert released.wait(60)
        built.append(build_lookup_table(network))
        return built[-1]

    monkeypatch.setattr(inference, "build_lookup_table", slow)
    monkeypatch.setattr(lookup, "MIN_READS", 0)
    with torch.inference_mode(), ThreadPoolExecutor(1) as other:
        expected = network(pack(TEXTS)).class_norms
        first = other.submit(run, network, pack(TEXTS), None)
        assert building.wait(60)
        actual = [run(network, pack(TEXTS), None).class_norms for _ in range(3)]
        assert all(torch.equal(norms, expected) for norms in actual)
        released.set()
        torch.testing.assert_close(first.result().class_norms, expected, rtol=0, atol=1e-12)
        run(network, pack(TEXTS), None)
    assert len(built) == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_starts_without_a_table(duplicate: Callable[[ICapsNet], ICapsNet]) -> None:
    network = build().eval()
    with torch.inference_mode():
        for _ in range(3):
            expected = run(network, pack(TEXTS), None).class_norms
    assert network.lookup._entry.table is not None
    other = duplicate(network)
    assert other.lookup._entry.table is None
    with torch.inference_mode():
        actual = run(other, pack(TEXTS), None).class_norms
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


def test_a_loaded_classifier_writes_no_file(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many texts it reads, and although it builds a table."""
    classifier.save(tmp_path / "model")
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "data"))
    loaded = ICapsClassifier.load(tmp_path / "model", device="cpu")
    texts, _ = make_texts(300, 1)
    expected = loaded.predict(texts)
    assert loaded.network_.lookup._entry.table is not None
    assert loaded.predict(texts).tolist() == expected.tolist()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_network_created_in_inference_mode_has_no_table() -> None:
    with torch.inference_mode():
        network = build().eval()
        expected = network(pack(TEXTS)).class_norms
        for _ in range(3):
            actual = run(network, pack(TEXTS), None).class_norms
            torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert network.lookup._entry.table is None
