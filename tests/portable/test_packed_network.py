import itertools
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.errors import ConfigError
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.portable.live_page import compare, live_page
from icaps.portable.packed_network import PackedArray, PackedNetwork
from icaps.text.sentences import encode
from tests.conftest import make_texts

SMALL: dict[str, Any] = {"trained_dim": 8, "region_dim": 24, "query_dim": 4, "class_dim": 6}


def train(several: bool = False, **changes: Any) -> ICapsClassifier:
    texts, labels = make_texts(90, seed=3)
    y: list[Any] = labels
    if several:  # a text of two topics has both labels
        texts = [f"{one} {other}" for one, other in itertools.pairwise(texts)]
        y = list(itertools.pairwise(labels))
    settings = {"epochs": 2, "batch_size": 16, "min_frequency": 0}
    return ICapsClassifier(SMALL | changes, settings, device="cpu").fit(texts, y)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    short = make_texts(60, seed=8)[0]
    long = [" ".join(short[n : n + 5]) for n in range(0, 60, 5)]
    return [*short, *long, "", "zzz", "Soup", "BREAD!", "old " * 300]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kernel_size": 1},
        {"kernel_size": 4, "squash_primary": True},
        {"routing_iterations": 1, "scale_votes": False, "max_words": 7},
        {"hierarchical": True, "max_words": 6, "max_sentences": 4, "kernel_size": 2},
        {"routing": "independent"},
        {"several": True, "hierarchical": True, "routing": "independent"},
    ],
)
def test_its_norms_are_those_of_the_network(changes: dict[str, Any], texts: list[str]) -> None:
    classifier = train(**changes)
    packed = PackedNetwork.of(classifier)
    tokens = encode(classifier.vocabulary_, texts, classifier.network_.config)
    expected = classifier.class_norms(texts)
    assert np.abs(packed.class_norms(tokens) - expected).max() < 1e-3
    assert not packed.class_norms(tokens)[len(texts) - 5].any()  # the blank text
    agreement = compare(classifier, packed, texts)
    assert agreement is not None
    assert agreement.texts == len(texts)
    assert agreement.difference < 1e-3


def test_frozen_vectors_are_exact() -> None:
    classifier = train()
    network, arrays = classifier.network_, PackedNetwork.of(classifier).arrays
    vectors = arrays["vectors"].numbers()[arrays["vector_of_word"].values]
    count = len(network.fixed_embedding)
    assert np.array_equal(vectors[:count], network.fixed_embedding.numpy())
    others = network.vector_words.numpy() / 64
    assert np.array_equal(vectors[count:, : others.shape[1]], others)
    assert len(np.unique(arrays["vectors"].values, axis=0)) == len(arrays["vectors"].values)


def test_arrays_are_written_in_order_tables_by_column() -> None:
    table = PackedArray(np.array([[1, 2, 3], [4, 5, 6]], np.int8), 0.5)
    line = PackedArray(np.array([0.5, -2], np.float32))
    packed = PackedNetwork(ModelConfig(), 1.0, {"table": table, "line": line})
    data, index = packed.to_bytes(["a", "ß"])
    expected = bytes([1, 4, 2, 5, 3, 6]) + np.array([0.5, -2], "<f4").tobytes() + "a\nß".encode()
    assert zlib.decompress(data) == expected
    assert index == [
        {"name": "table", "type": "int8", "shape": [2, 3], "scale": 0.5, "by_column": True},
        {"name": "line", "type": "float32", "shape": [2], "scale": 1.0, "by_column": False},
    ]
    assert table.numbers().tolist() == [[0.5, 1, 1.5], [2, 2.5, 3]]


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_size": 3, "squash_primary": True},
        {"hierarchical": True, "max_words": 6, "kernel_size": 2},
        {"several": True, "routing": "independent"},
    ],
)
def test_its_norms_are_those_after_edits(changes: dict[str, Any], texts: list[str]) -> None:
    plain = train(**changes)
    edits = [
        neutral_words("the"),
        neutral_words("soup", "Cooking"),
        neutral_words("we then", "Gardens"),
        neutral_words("then", "Sailing"),
        neutral_capsule(1),
        neutral_capsule(0, "Sailing"),
    ]
    for some in (edits, edits[:4], edits[4:]):
        edited = plain.edited(some)
        expected = edited.class_norms(texts)
        packed = PackedNetwork.of(edited)
        tokens = encode(edited.vocabulary_, texts, edited.network_.config)
        assert np.abs(packed.class_norms(tokens) - expected).max() < 1e-3
        assert np.abs(plain.class_norms(texts) - expected).max() > 1e-2


def test_models_that_cannot_be_packed() -> None:
    with pytest.raises(ConfigError, match=r"activation \(relu\)"):
        PackedNetwork.of(train(activation="relu"))
    with pytest.raises(ConfigError, match="switched off"):
        PackedNetwork.of(train().without([1]))


def test_agreement_of_sets_of_classes(texts: list[str]) -> None:
    classifier = train(several=True)
    packed = PackedNetwork.of(classifier)
    agreement = compare(classifier, packed, texts)
    assert agreement is not None
    assert agreement.same >= len(texts) - 1


def test_the_page_holds_the_model_and_no_address(interpreted: Path) -> None:
    classifier = ICapsClassifier.load(interpreted)
    page = live_page(classifier, interpreted, make_texts(30, seed=2)[0], "texts").decode()
    assert "the same class as the Python model on 100.00% of 30 texts" in page
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert "eval(" not in page


def test_the_page_says_what_the_model_does(tmp_path: Path) -> None:
    classifier = train(several=True, hierarchical=True, max_sentences=4)
    edited = classifier.edited([neutral_words("soup", "Cooking")])
    edited.save(tmp_path / "model")
    page = live_page(edited, tmp_path / "model").decode()
    assert "3 classes, of which a text may have several, and shows" in page
    assert "have all of their classes" in page
    assert "the first 4 sentences of a text are read" in page
    assert "“soup” is neutral for Cooking" in page
    assert "always names one of them" not in page
    content = json.loads(page.split('id="model">')[1].split("</script>")[0])
    (edit,) = content["edits"]
    assert edit == {
        "words": [classifier.vocabulary_.id("soup")],
        "capsule": None,
        "classes": [classifier.classes_.tolist().index("Cooking")],
    }
    assert content["thresholds"]["thresholds"] == classifier.thresholds_.tolist()
    assert content["sentence_rules"]["abbreviations"]
