"""Reading by a table of words against the network itself; and dropout from random bytes."""

import dataclasses
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from icaps.classifier import ICapsClassifier
from icaps.inference import class_norms, read, read_texts
from icaps.model import ICapsNet
from icaps.nn import lookup, table_files
from icaps.nn.dropout import dropout
from icaps.nn.lookup import WordTable, make_rows, run
from icaps.text.sentences import encode
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
        table = WordTable(network, make_rows(network))
        found = network.route(table.attend(network, batch))
    for name, values in expected._asdict().items():
        torch.testing.assert_close(getattr(found, name), values, rtol=0, atol=1e-12)


def test_a_table_is_made_when_enough_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build().eval()
    made: list[int] = []

    def counted(network: ICapsNet) -> torch.Tensor:
        made.append(1)
        return make_rows(network)

    monkeypatch.setattr(lookup, "make_rows", counted)
    batch = pack(TEXTS)  # 21 words, and 12 in the vocabulary
    with torch.inference_mode():
        expected = network(batch).class_norms
        for round_, tables_made in enumerate([0, 1, 1, 1]):
            found = run(network, batch, None).class_norms
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
            assert len(made) == tables_made, round_


@pytest.mark.parametrize("change", ["in place", "its numbers", "replaced"])
@pytest.mark.parametrize("kind", BATCHES)
def test_whatever_weight_is_changed_is_read(kind: str, change: str) -> None:
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
                found = run(network, batch, None).class_norms
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("option", ["activation", "size"])
def test_what_has_no_table(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an activation what a word brings depends on its neighbours."""
    network = build(activation="tanh" if option == "activation" else "none").eval()
    if option == "size":
        monkeypatch.setattr(lookup, "MOST_BYTES", 100)
    monkeypatch.setattr(lookup, "make_rows", lambda network: pytest.fail("a table was made"))
    with torch.inference_mode():
        for _ in range(4):
            expected = network(pack(TEXTS)).class_norms
            assert torch.equal(run(network, pack(TEXTS), None).class_norms, expected)


def test_threads_make_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one makes it the others read without, and all get the same."""
    network = build().eval()
    making, released = threading.Event(), threading.Event()
    made: list[torch.Tensor] = []

    def slow(network: ICapsNet) -> torch.Tensor:
        making.set()
        assert released.wait(60)
        made.append(make_rows(network))
        return made[-1]

    monkeypatch.setattr(lookup, "make_rows", slow)
    monkeypatch.setattr(lookup, "PAYS", 0)
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved model, and a place for tables where there is none yet."""
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(lookup, "MAPPING_PAYS", 0)
    texts, labels = make_texts(40, 0)
    train = dataclasses.replace(TRAIN, epochs=1)
    ICapsClassifier(MODEL, train, device="cpu").fit(texts, labels).save(tmp_path / "model")
    return tmp_path / "model"


def files(folder: Path) -> list[Path]:
    return sorted((folder.parent / "data" / "tables").glob("*"))


def test_a_table_that_was_kept_is_mapped_and_not_computed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, _ = make_texts(300, 1)
    first = ICapsClassifier.load(folder, device="cpu").class_norms(texts)
    (file,) = files(folder)
    monkeypatch.setattr(lookup, "make_rows", lambda network: pytest.fail("a table was made"))
    again = ICapsClassifier.load(folder, device="cpu")
    np.testing.assert_array_equal(again.class_norms(texts), first)
    assert isinstance(lookup._READERS[again.network_].table, WordTable)
    kept = file.read_bytes()
    with torch.inference_mode():
        lookup._READERS[again.network_].table._rows.zero_()  # type: ignore[union-attr]
    assert file.read_bytes() == kept  # what is done to a mapped table stays in its process


def test_tables_of_other_weights_are_other_files(folder: Path) -> None:
    texts, _ = make_texts(300, 1)
    one = ICapsClassifier.load(folder, device="cpu")
    one.class_norms(texts)
    assert len(files(folder)) == 1
    with torch.no_grad():
        one.network_.trained_embedding.weight[5] += 1
    changed = one.class_norms(texts)
    assert len(files(folder)) == 1  # a network that has been changed is nobody else's
    one.save(folder)
    other = ICapsClassifier.load(folder, device="cpu")
    np.testing.assert_allclose(other.class_norms(texts), changed, rtol=0, atol=1e-6)
    assert len(files(folder)) == 2


@pytest.mark.parametrize("damage", ["cut", "absent", "unreadable"])
def test_a_damaged_table_is_made_again(folder: Path, damage: str) -> None:
    texts, _ = make_texts(300, 1)
    expected = ICapsClassifier.load(folder, device="cpu").class_norms(texts)
    (file,) = files(folder)
    whole = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(whole[:-4])
    elif damage == "unreadable":
        file.mkdir()
    np.testing.assert_array_equal(
        ICapsClassifier.load(folder, device="cpu").class_norms(texts), expected
    )
    assert damage == "unreadable" or file.read_bytes() == whole


def test_a_folder_that_takes_no_table_is_told_in_the_log(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder.parent / "data").write_text("not a folder")
    texts, _ = make_texts(300, 1)
    classifier = ICapsClassifier.load(folder, device="cpu")
    assert classifier.class_norms(texts).shape == (300, 3)
    assert isinstance(lookup._READERS[classifier.network_].table, WordTable)
    (line,) = caplog.messages
    assert "can't be kept" in line
    assert "ICAPS_DATA" in line


def test_few_tables_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "KEPT", 2)
    home = folder.parent / "data" / "tables"
    for number in range(4):
        table_files.keep_rows(home / f"{number}.f32", torch.full((2, 3), float(number)))
        os.utime(home / f"{number}.f32", (number, number))
    assert [file.name for file in files(folder)] == ["2.f32", "3.f32"]
    found = table_files.map_rows(home / "3.f32", (2, 3))
    assert found is not None
    assert found.tolist() == [[3.0] * 3] * 2


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
        batches = list(read_texts(network, vocabulary, asked, muted))
        numbers = [number for batch in batches for number in batch.numbers.tolist()]
        assert numbers == list(range(len(asked)))
        assert [text for batch in batches for text in batch.texts] == asked
        expected = torch.cat([batch.activity.class_norms for batch in batches])
        tokens = encode(vocabulary, asked, model, spans=False)
        found = torch.from_numpy(class_norms(network, tokens, muted))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
        assert (found[[0, 21, 22, -1]] == 0).all()
    assert class_norms(network, encode(vocabulary, [], model)).shape == (0, 3)


def test_a_pass_has_no_more_routes_than_it_may(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many texts of one word each, which are few words: their routes fill memory, not these."""
    network = (classifier := ICapsClassifier.load(folder, device="cpu")).network_
    texts = [text.split()[0] for text in make_texts(9, 1)[0]]
    tokens = encode(classifier.vocabulary_, texts, network.config)
    expected = class_norms(network, tokens)
    routes = network.config.num_capsules * network.num_classes
    for allowed, sizes in ((4 * routes, [4, 4, 1]), (routes - 1, [1] * 9)):
        monkeypatch.setattr("icaps.inference.BATCH_ROUTES", allowed)
        batches = list(read(network, tokens))
        assert [len(batch) for batch in batches] == sizes
        found = np.concatenate([batch.activity.class_norms.numpy() for batch in batches])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


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
