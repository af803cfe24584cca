"""Words that a network knows by their vectors: in the network, in training, in a checkpoint."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from icaps.classifier import ICapsClassifier
from icaps.config import VECTOR_STEP
from icaps.errors import CheckpointError
from icaps.inference import _run as run
from icaps.model import ICapsNet
from icaps.nn import lookup
from icaps.text import vectors
from icaps.text.compact_vectors import CompactVectors
from tests import reference
from tests.conftest import MODEL, TRAIN, make_texts
from tests.test_model import DOCUMENTS, SMALL, TEXTS, pack, pack_documents

TRAINED, STEPS = 7, [[1, -64, 127], [2, 3, -5], [0, 0, 0], [-127, 6, 9], [8, 7, 6]]
ROWS = [-1, 3, 5, -1, 3]  # of the trained part
BATCHES = {"short": pack([*TEXTS, []]), "long": pack_documents(DOCUMENTS)}


def build(**options: object) -> ICapsNet:
    """Seven trained words, and five known by the first three of four frozen numbers."""
    torch.manual_seed(3)
    config = dataclasses.replace(SMALL, **options)
    network = ICapsNet(
        config,
        TRAINED,
        3,
        torch.randn(TRAINED, 4),
        torch.tensor(STEPS, dtype=torch.int8),
        torch.tensor(ROWS),
    ).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return network


def whole_weights(network: ICapsNet) -> reference.Weights:
    """The same network with a row for each word, for the reference."""
    weights = {
        name: value.detach().clone()
        for name, value in network.state_dict().items()
        if name != "vector_words"
    }
    fixed = [[value * VECTOR_STEP for value in row] + [0.0] for row in STEPS]
    weights["fixed_embedding"] = torch.cat([weights["fixed_embedding"], torch.tensor(fixed)])
    trained = weights["trained_embedding.weight"]
    added = [trained[row] if row >= 0 else torch.zeros(3) for row in ROWS]
    weights["trained_embedding.weight"] = torch.cat([trained, torch.stack(added)])
    return weights


def test_embeddings_by_hand() -> None:
    network = build()
    fixed, trained = network.embed_words(torch.tensor([11, 2, 7]))
    assert fixed[0].tolist() == [8 / 64, 7 / 64, 6 / 64, 0]
    assert fixed[2].tolist() == [1 / 64, -1, 127 / 64, 0]
    torch.testing.assert_close(fixed[1], network.fixed_embedding[2])
    weight = network.trained_embedding.weight
    assert trained.tolist() == [weight[3].tolist(), weight[2].tolist(), [0, 0, 0]]


@pytest.mark.parametrize("kind", BATCHES)
def test_the_network_equals_the_equations(kind: str) -> None:
    network = build(hierarchical=kind == "long")
    norms = network(BATCHES[kind]).class_norms
    weights = whole_weights(network)
    texts = DOCUMENTS if kind == "long" else [[text] for text in TEXTS]
    for b, text in enumerate(texts):
        expected = reference.run(weights, text, 3, 3)["norms"]
        torch.testing.assert_close(norms[b], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", BATCHES)
def test_the_table_equals_the_network(
    kind: str, kernel_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has trained words only; rows of others are computed."""
    monkeypatch.setattr(lookup, "MIN_READS", 0)
    network = build(kernel_size=kernel_size, hierarchical=kind == "long").eval()
    with torch.inference_mode():
        expected = network(BATCHES[kind])
        actual = run(network, BATCHES[kind], None)
    table = network.lookup._entry.table
    assert table is not None
    assert len(table._rows) == (TRAINED + 1) * kernel_size
    for name, values in expected._asdict().items():
        torch.testing.assert_close(getattr(actual, name), values, rtol=0, atol=1e-12)


def test_a_vector_word_trains_the_row_of_its_other_case() -> None:
    network = build()
    network(pack([[7, 8]])).class_norms.sum().backward()
    gradient = network.trained_embedding.weight.grad
    assert gradient is not None
    assert [row.any().item() for row in gradient] == [n == 3 for n in range(TRAINED)]


def test_trained_parts_are_dropped_whole_in_training() -> None:
    network = build(trained_dropout=0.5, region_dim=10)
    with torch.no_grad():
        network.region.weight.zero_()
        network.region.weight[:, :7, :7] = torch.eye(7)  # regions show the embeddings
    words = torch.full((400,), 2)
    fixed, trained = network.project_words(words)[:, 0, :7].split([4, 3], dim=1)
    assert (fixed == network.fixed_embedding[2]).all()
    dropped = (trained == 0).all(1)
    assert (trained[~dropped] == network.trained_embedding.weight[2]).all()
    assert 0.4 < dropped.double().mean() < 0.6
    assert (network.eval().project_words(words)[:, 0, 4:7] != 0).all()


# Trained on synthetic texts, of which some words are rare and some absent.


def write_vectors(path: Path, words: list[str]) -> Path:
    random = np.random.default_rng(0)
    lines = [f"{word} {' '.join(map(str, random.normal(size=5).round(3)))}" for word in words]
    path.write_text("\n".join([f"{len(words)} 5", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> ICapsClassifier:
    path = write_vectors(tmp_path_factory.mktemp("vectors") / "v.txt", ["oven", "aubergine", "OLD"])
    texts, labels = make_texts(90, seed=1)
    train = dataclasses.replace(TRAIN, epochs=2, min_coverage=0)
    sources = ("texts", path)  # the loaded vectors are the first columns all the same
    return ICapsClassifier(MODEL, train, sources, "cpu").fit(texts, labels)


def test_fit_stores_the_vectors_of_words_that_training_never_saw(fitted: ICapsClassifier) -> None:
    known, network = fitted.vocabulary_, fitted.network_
    assert known.words[known.trained_words :] == ("aubergine", "OLD")
    assert known.trained_rows().tolist() == [-1, known.id("old")]
    assert network.vector_words.dtype == torch.int8
    assert network.vector_words.shape == (2, 5)
    assert network.config.fixed_dim == 5 + MODEL.fixed_dim
    assert len(network.fixed_embedding) == len(network.trained_embedding.weight)
    assert fitted.metrics_["vector_words"] == 2
    assert fitted.metrics_["vocabulary_size"] == known.trained_words
    lengths = network.vector_words.double().norm(dim=1) * VECTOR_STEP
    torch.testing.assert_close(lengths, torch.full((2,), 0.5 * 5**0.5).double(), rtol=0, atol=0.04)


def test_an_unseen_word_has_the_effect_of_its_vector(fitted: ICapsClassifier) -> None:
    """By the reference's float64 loops over the vector of the file."""
    known, network = fitted.vocabulary_, fitted.network_
    text = "old Aubergine in the oven"
    ids = known.encode([text]).ids.tolist()
    place = known.words.index("aubergine")
    assert ids[1] == place
    weights = {
        name: value.double()
        for name, value in network.state_dict().items()
        if name != "vector_words"
    }
    fixed = torch.zeros(1, network.config.fixed_dim, dtype=torch.float64)
    fixed[0, :5] = network.vector_words[place - known.trained_words] * VECTOR_STEP
    weights["fixed_embedding"] = torch.cat([weights["fixed_embedding"], fixed])
    trained = weights["trained_embedding.weight"]
    weights["trained_embedding.weight"] = torch.cat([trained, torch.zeros_like(trained[:1])])
    number = len(trained)
    read = [number if i == place else i for i in ids]
    config = network.config
    expected = reference.run(
        weights,
        [read],
        config.kernel_size,
        config.routing_iterations,
        config.activation,
        config.squash_primary,
    )["norms"]
    norms = torch.from_numpy(fitted.class_norms([text])[0]).double()
    torch.testing.assert_close(norms, expected, rtol=0, atol=1e-5)
    explanation = next(iter(fitted.explain(["aubergine"])))
    assert not explanation.blank
    assert explanation.unknown_share == 0
    assert next(iter(fitted.explain(["kohlrabi"]))).blank


def test_a_checkpoint_needs_no_other_file(fitted: ICapsClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.vocabulary_ == fitted.vocabulary_
    texts = ["aubergine", "an OLD aubergine in ovens", "Old Aubergines", *make_texts(50, 3)[0]]
    assert (loaded.class_norms(texts) == fitted.class_norms(texts)).all()
    assert torch.equal(loaded.network_.vector_words, fitted.network_.vector_words)
    assert torch.equal(loaded.network_.trained_rows, fitted.network_.trained_rows)
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert stored["vector_words"].dtype == torch.int8
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["words"] == {
        "vector_words": 2,
        "vector_dim": 5,
        "backs_off": True,
        "vector_rows": 0,
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vector_words": 1}, "does not fit"),
        ({"vector_words": 10**6}, r"vocabulary\.txt, .* 1000000 vector words"),
        ({"vector_words": -1}, r"config\.json is damaged \(vector_words is -1"),
        ({"vector_words": True}, r"config\.json is damaged \(vector_words is True"),
        ({"vector_dim": 4}, "does not fit .* vector_words is"),
        ({"vector_dim": 10**9}, r"config\.json is damaged \(vector_dim is"),
        ({"vector_rows": 3}, r"config\.json is damaged \(vector_rows is 3"),
        ({"vector_rows": 1}, "does not fit .* vector_rows is missing"),
        ({"backs_off": "yes"}, r"config\.json is damaged \(backs_off is 'yes'"),
        ({"colour": 1}, r"config\.json is damaged"),
    ],
)
def test_damaged_facts(
    fitted: ICapsClassifier, tmp_path: Path, values: dict[str, object], message: str
) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"words": config["words"] | values}))
    with pytest.raises(CheckpointError, match=message):
        ICapsClassifier.load(tmp_path)


def test_damaged_vectors(fitted: ICapsClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    save_file(weights | {"vector_words": weights["vector_words"].float()}, path)
    with pytest.raises(CheckpointError, match="vector_words are not int8"):
        ICapsClassifier.load(tmp_path)
    del weights["vector_words"]
    save_file(weights, path)
    with pytest.raises(CheckpointError, match="vector_words is missing and should be"):
        ICapsClassifier.load(tmp_path)


def test_an_earlier_format_reads_words_as_they_are(
    fitted: ICapsClassifier, model_folder: Path, tmp_path: Path
) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    classifier = ICapsClassifier.load(model_folder, device="cpu")
    classifier.save(tmp_path)
    del config["words"]
    (tmp_path / "config.json").write_text(json.dumps(config | {"format_version": 2}))
    old = ICapsClassifier.load(tmp_path, device="cpu")
    assert not old.vocabulary_.backs_off
    old.save(tmp_path)  # in the current format
    assert not ICapsClassifier.load(tmp_path).vocabulary_.backs_off
    word = next(word for word in old.vocabulary_.words if word.isalpha() and word.islower())
    assert next(iter(old.explain([word.upper()]))).blank


def test_the_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of the texts come first, then those that are first in the file."""
    monkeypatch.setattr(vectors, "MAX_VECTOR_WORDS_BYTES", 3 * 5 + 4)
    path = write_vectors(tmp_path / "v.txt", ["one", "two", "three", "four", "rare"])
    texts, labels = make_texts(90, seed=1)
    texts = [f"{text} rare" for text in texts[:4]] + list(texts[4:])
    train = dataclasses.replace(TRAIN, epochs=1, min_frequency=4, min_coverage=0)
    fitted = ICapsClassifier(MODEL, train, path, "cpu").fit(texts, labels)
    known = fitted.vocabulary_
    assert known.words[known.trained_words :] == ("one", "two", "rare")
    assert fitted.network_.vector_words.nbytes == 15


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ICapsClassifier:
    """A network with the vectors of five words that are not trained; there are three vectors."""
    monkeypatch.setattr(vectors, "MAX_VECTOR_WORDS_BYTES", 3 * 5 + 4)
    words = ("one", "two", "uno", "dos", "three", "four")
    rows = np.array([0, 1, 0, 1, 2, 3], np.uint32)
    steps = np.random.default_rng(1).integers(-60, 60, (4, 5)).astype(np.int8)
    CompactVectors(words, rows, steps).save(tmp_path / "v.npz")
    texts, labels = make_texts(90, seed=1)
    train = dataclasses.replace(TRAIN, epochs=1, min_coverage=0)
    return ICapsClassifier(MODEL, train, tmp_path / "v.npz", "cpu").fit(texts, labels)


def test_words_that_share_a_vector_cost_one(shared: ICapsClassifier, tmp_path: Path) -> None:
    known = shared.vocabulary_
    assert known.words[known.trained_words :] == ("one", "two", "uno", "dos", "three")
    shared.save(tmp_path / "model")
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert stored["vector_words"].shape == (3, 5)
    loaded = ICapsClassifier.load(tmp_path / "model", device="cpu")
    assert torch.equal(loaded.network_.vector_words, shared.network_.vector_words)
    texts = ["one uno two", "three dos", "the sail"]
    assert (loaded.class_norms(texts) == shared.class_norms(texts)).all()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        tmp_path / "model" / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("value", [-1, 3])
def test_damaged_rows(shared: ICapsClassifier, tmp_path: Path, value: int) -> None:
    shared.save(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    weights = load_file(path)
    weights["vector_rows"][2] = value
    save_file(weights, path)
    with pytest.raises(CheckpointError, match="vector_rows are no rows"):
        ICapsClassifier.load(tmp_path / "model")
    save_file(weights | {"vector_rows": weights["vector_rows"].float().clamp(0, 2)}, path)
    with pytest.raises(CheckpointError, match="vector_rows are no rows"):
        ICapsClassifier.load(tmp_path / "model")


def test_shared_rows_never_expand_without_bound(shared: ICapsClassifier, tmp_path: Path) -> None:
    shared.save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["words"]["vector_words"] = 10**9
    path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="1000000000 vector words are too many"):
        ICapsClassifier.load(tmp_path / "model")
