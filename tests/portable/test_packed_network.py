import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.interpret.edits import neutral_words
from icaps.portable.live_page import compare, live_page
from icaps.portable.packed_network import PackedArray, PackedNetwork
from tests.conftest import make_texts

SMALL: dict[str, Any] = {"trained_dim": 8, "region_dim": 24, "query_dim": 4, "class_dim": 6}


def train(**changes: Any) -> ICapsClassifier:
    model = SMALL | changes
    settings = {"epochs": 2, "batch_size": 16, "min_frequency": 0}
    return ICapsClassifier(model, settings, device="cpu").fit(*make_texts(90, seed=3))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*make_texts(60, seed=8)[0], "", "zzz", "Soup", "BREAD!", "old " * 300]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kernel_size": 1},
        {"kernel_size": 4, "squash_primary": True},
        {"routing_iterations": 1, "scale_votes": False, "max_words": 7},
    ],
)
def test_its_norms_are_those_of_the_network(changes: dict[str, Any], texts: list[str]) -> None:
    classifier = train(**changes)
    packed = PackedNetwork.of(classifier)
    tokens = classifier.vocabulary_.encode(texts, classifier.network_.config.max_words)
    expected = classifier.class_norms(texts)
    assert np.abs(packed.class_norms(tokens) - expected).max() < 5e-3
    assert not packed.class_norms(tokens)[len(texts) - 5].any()  # the blank text
    agreement = compare(classifier, packed, texts)
    assert agreement is not None
    assert agreement.texts == len(texts)
    assert agreement.difference < 5e-3


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
    packed = PackedNetwork(3, None, 3, 1.0, False, {"table": table, "line": line})
    data, index = packed.to_bytes(["a", "ß"])
    expected = bytes([1, 4, 2, 5, 3, 6]) + np.array([0.5, -2], "<f4").tobytes() + "a\nß".encode()
    assert zlib.decompress(data) == expected
    assert index == [
        {"name": "table", "type": "int8", "shape": [2, 3], "scale": 0.5, "by_column": True},
        {"name": "line", "type": "float32", "shape": [2], "scale": 1.0, "by_column": False},
    ]
    assert table.numbers().tolist() == [[0.5, 1, 1.5], [2, 2.5, 3]]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"activation": "relu"}, "activation .relu"),
        ({"hierarchical": True}, "into sentences"),
        ({"routing": "independent"}, "independent routing"),
    ],
)
def test_networks_that_cannot_be_packed(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        PackedNetwork.of(train(**changes))


def test_a_model_with_edits_is_not_packed() -> None:
    with pytest.raises(ConfigError, match="neutral words"):
        PackedNetwork.of(train().edited([neutral_words("soup")]))


def test_the_page_holds_the_model_and_no_address(interpreted: Path) -> None:
    classifier = ICapsClassifier.load(interpreted)
    page = live_page(classifier, interpreted, make_texts(30, seed=2)[0], "texts").decode()
    assert "the same class as the Python model on 100.00% of 30 texts" in page
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert "eval(" not in page
