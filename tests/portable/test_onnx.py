"""A model as ONNX: the same scores, account and predictions as the network's, without torch."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.source import open_source
from icaps.errors import CheckpointError, ConfigError, DataError
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.portable import onnx_runner
from icaps.portable.onnx_export import export_onnx, largest_differences, onnx_archive
from icaps.portable.onnx_runner import OnnxClassifier
from icaps.shipped import CHECKPOINTS
from icaps.trained_model import TrainedModel
from tests.conftest import COMMON, make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

SMALL: dict[str, Any] = {"trained_dim": 8, "region_dim": 24, "query_dim": 4, "class_dim": 6}
ODD = [
    "",
    " \n",
    "zzz qqq",  # only unknown words
    "🙂👩‍👩‍👧‍👦 soup 🙂",
    "Soup",
    "BREAD!",
    "old " * 300,
    "We bake bread. They sail!  And then? The crew likes &amp; soup\n\nthe harbour.",
    "\ud800 soup",
    "a\u0301nchor, tide &#39; and keel" * 4,
]


def train(vectors: Any = None, **changes: Any) -> ICapsClassifier:
    settings = {"epochs": 2, "batch_size": 16, "min_frequency": 0}
    classifier = ICapsClassifier(SMALL | changes, settings, vectors, device="cpu")
    return classifier.fit(*make_texts(90, seed=3))


def texts_of(count: int) -> list[str]:
    """Short texts, some of several sentences, and odd ones."""
    texts = make_texts(count, seed=8)[0]
    return [*texts, " ".join(texts[:5]), " ".join(texts[5:16]), *ODD]


def exported(model: TrainedModel, folder: Path) -> OnnxClassifier:
    export_onnx(model, folder / "model")
    return OnnxClassifier(folder / "model", threads=1)


def check_same(model: TrainedModel, other: OnnxClassifier, texts: list[str]) -> None:
    """The same norms, probabilities, account, spans and predictions."""
    norms = model.class_norms(texts)
    assert other.class_norms(texts) == pytest.approx(norms, abs=1e-5)
    probabilities = model.predict_proba(texts)
    assert other.predict_proba(texts) == pytest.approx(probabilities, abs=1e-4)
    explanations = list(other.explain(texts))
    assert other.predict(texts) == [explanation.predicted for explanation in explanations]
    ranks = np.sort(probabilities, axis=1)
    for expected, found, rank in zip(model.explain(texts), explanations, ranks, strict=True):
        if expected.blank or rank[-1] - rank[-2] > 1e-4:  # else rounding decides
            assert found.predicted == expected.predicted
        assert (found.blank, found.truncated) == (expected.blank, expected.truncated)
        assert found.shares == pytest.approx(expected.account.shares, abs=1e-4)
        assert found.biases == pytest.approx(expected.account.bias, abs=1e-4)
        places = [(word.start, word.end, word.known) for word in expected.words]
        assert [(word.start, word.end, word.known) for word in found.words] == places


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kernel_size": 1, "fixed_dim": 0},
        {"kernel_size": 4, "squash_primary": True},
        {"routing_iterations": 1, "scale_votes": True, "max_words": 7},
        {"routing": "independent", "max_words": None},
        {"hierarchical": True, "max_words": 9, "max_sentences": 6},
        {
            "hierarchical": True,
            "kernel_size": 2,
            "squash_primary": True,
            "routing": "independent",
            "routing_iterations": 2,
        },
    ],
)
def test_it_agrees_with_the_network(changes: dict[str, Any], tmp_path: Path) -> None:
    model = train(**changes)
    check_same(model, exported(model, tmp_path), texts_of(40))


def test_words_that_training_never_saw(tmp_path: Path) -> None:
    words = [*COMMON, "soup", "Soup", "parliament", "refinery", "oil"]
    rows = np.random.default_rng(1).normal(size=(len(words), 6)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
    (tmp_path / "vectors.txt").write_text("\n".join([f"{len(words)} 6", *lines]) + "\n")
    model = train(vectors=str(tmp_path / "vectors.txt"))
    assert {"parliament", "oil"} <= set(model.vocabulary_.words[-model.vocabulary_.vector_words :])
    texts = ["Oil refineries burned.", "SOUP in the PARLIAMENT", *texts_of(5)]
    other = exported(model, tmp_path)
    check_same(model, other, texts)
    (explanation,) = other.explain(texts[:1])
    assert [word.known for word in explanation.words] == [True, True, False, True]


def test_a_text_has_the_same_result_alone_and_in_a_batch(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, texts = exported(classifier, tmp_path), texts_of(50)
    together = list(model.explain(texts))
    monkeypatch.setattr(onnx_runner, "_NUMBERS", 3_000)
    monkeypatch.setattr(onnx_runner, "_CHUNK", 7)
    in_parts = list(model.explain(texts))
    alone = [explanation for text in texts for explanation in model.explain([text])]
    for one, part, other in zip(together, in_parts, alone, strict=True):
        for found in (part, other):
            assert found.shares == pytest.approx(one.shares, abs=1e-6)
            assert found.scores == pytest.approx(one.scores, abs=1e-6)


def test_shares_and_bias_add_up_to_the_score(classifier: ICapsClassifier, tmp_path: Path) -> None:
    for explanation in exported(classifier, tmp_path).explain(texts_of(20), target="Gardens"):
        assert explanation.target == "Gardens"
        total = explanation.bias + sum(word.share for word in explanation.words)
        assert total == pytest.approx(explanation.scores["Gardens"], abs=1e-5)
        sums = explanation.shares.sum(0) + explanation.biases
        assert sums == pytest.approx(list(explanation.scores.values()), abs=1e-5)
        content = json.loads(json.dumps(explanation.to_dict()))
        assert content["words"][:1] == [word._asdict() for word in explanation.words[:1]]
        assert {"predicted", "scores", "probabilities", "words", "bias"} <= set(content)


@pytest.mark.parametrize("hierarchical", [False, True])
def test_edits_and_capsules_that_are_off(hierarchical: bool, tmp_path: Path) -> None:
    edits = [
        neutral_words("soup"),
        neutral_words("bread and", target="Cooking"),
        neutral_words("the"),
        neutral_capsule(2, target="Sailing"),
    ]
    model, texts = train(hierarchical=hierarchical), [*texts_of(40), "Bread and bread, and soup"]
    check_same(model.edited(edits), exported(model.edited(edits), tmp_path / "edited"), texts)
    check_same(model.edited(edits[3:]), exported(model.edited(edits[3:]), tmp_path / "one"), texts)
    off = model.without([0, 4])
    check_same(off, exported(off, tmp_path / "off"), texts)


def test_several_labels_per_text(classifier: ICapsClassifier, tmp_path: Path) -> None:
    model, texts = with_thresholds(classifier, NORMS), mixed_texts()
    other = exported(model, tmp_path)
    check_same(model, other, texts)
    assert other.predict_labels(texts) == model.predict_labels(texts)
    found = [explanation.predicted_classes for explanation in other.explain(texts)]
    assert found == [explanation.predicted_classes for explanation in model.explain(texts)]
    assert {len(names) for names in found if names is not None} >= {0, 1, 2}


def test_labels_of_one_per_text(classifier: ICapsClassifier, tmp_path: Path) -> None:
    other, texts = exported(classifier, tmp_path), make_texts(20, seed=4)[0]
    assert other.predict_labels(texts) == classifier.predict_labels(texts)
    assert other.predict([]) == list(other.explain([])) == []
    assert other.class_norms([]).shape == (0, 3)
    with pytest.raises(ConfigError, match="no class 'Chess'"):
        other.explain(texts, target="Chess")
    with pytest.raises(DataError, match="one string"):
        other.predict("soup")


@pytest.fixture(scope="module")
def pair(
    classifier: ICapsClassifier, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ICapsClassifier, OnnxClassifier]:
    return classifier, exported(classifier, tmp_path_factory.mktemp("onnx"))


@settings(max_examples=60)
@given(st.lists(st.text() | st.sampled_from([*ODD, "bread", "the tide"]), min_size=1, max_size=6))
def test_any_strings(pair: tuple[ICapsClassifier, OnnxClassifier], texts: list[str]) -> None:
    check_same(*pair, texts)


def test_a_text_of_five_thousand_words(tmp_path: Path) -> None:
    model = train(max_words=None)
    text = " ".join(make_texts(600, seed=2)[0])
    assert len(text.split()) > 5_000
    check_same(model, exported(model, tmp_path), [text, "soup"])


def test_a_text_that_takes_too_much_memory(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_runner, "MAX_NUMBERS", 700)
    with pytest.raises(DataError, match="1 sentences of up to 50 words takes 50 cells"):
        exported(classifier, tmp_path).predict(["soup", "soup " * 60])


def test_a_network_with_an_activation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="account is one of regions"):
        export_onnx(train(activation="relu"), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_what_is_not_installed(
    package: str, classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_onnx(classifier, tmp_path / "model")
    monkeypatch.delitem(sys.modules, "icaps.portable.onnx_graph")
    monkeypatch.delattr("icaps.portable.onnx_graph")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"pip install 'icaps\[onnx\]'"):
        exported(classifier, tmp_path)


def test_only_an_earlier_export_is_replaced(classifier: ICapsClassifier, tmp_path: Path) -> None:
    export_onnx(classifier, tmp_path / "new")
    export_onnx(classifier, tmp_path / "new")
    assert len(list((tmp_path / "new").iterdir())) == 4
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(CheckpointError, match="no model that was exported as ONNX"):
            export_onnx(classifier, tmp_path / name)
    assert (tmp_path / "notes" / "mine.txt").read_text() == "mine"


def test_the_archive_is_the_folder(classifier: ICapsClassifier, tmp_path: Path) -> None:
    (tmp_path / "model.zip").write_bytes(onnx_archive(classifier))
    shutil.unpack_archive(tmp_path / "model.zip", tmp_path / "unpacked")
    texts = make_texts(9, seed=5)[0]
    check_same(classifier, OnnxClassifier(tmp_path / "unpacked"), texts)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.onnx", b"", "model.onnx is damaged .it has another SHA-256"),
        ("model.onnx", None, "model.onnx cannot be read: No such file"),
        ("classes.txt", b"one\ntwo\n", "does not fit vocabulary.txt and classes.txt"),
        ("vocabulary.txt", b"<pad>\t0\n<unk>\t0\nsoup\t3\n", "does not fit"),
        ("settings.json", b"{", "settings.json is damaged"),
        ("settings.json", b'{"format_version": 2}', "not of version 1"),
        ("settings.json", b'{"format_version": 1}', "settings.json is damaged"),
        ("settings.json", {"network_sha256": None}, "another SHA-256"),
        ("settings.json", {"inverse_temperature": -1}, "settings.json is damaged"),
        ("settings.json", {"thresholds": {"slopes": [1]}}, "settings.json is damaged"),
        ("settings.json", {"model": {"layers": 3}}, "settings.json is damaged"),
        ("settings.json", {"words": {"vector_words": 10**6, "backs_off": 0}}, "vector words"),
        ("settings.json", {"neutral_words": [{"ids": ["soup"]}]}, "settings.json is damaged"),
    ],
)
def test_a_damaged_folder(
    name: str,
    content: bytes | dict[str, Any] | None,
    message: str,
    classifier: ICapsClassifier,
    tmp_path: Path,
) -> None:
    export_onnx(classifier, tmp_path / "model")
    path = tmp_path / "model" / name
    if isinstance(content, dict):
        content = json.dumps(json.loads(path.read_bytes()) | content).encode()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        OnnxClassifier(tmp_path / "model")


def test_a_file_that_is_no_network(classifier: ICapsClassifier, tmp_path: Path) -> None:
    export_onnx(classifier, tmp_path / "model")
    settings = tmp_path / "model" / "settings.json"
    for content in (b"", b"no network", onnx.ModelProto().SerializeToString()):
        (tmp_path / "model" / "model.onnx").write_bytes(content)
        sha256 = {"network_sha256": hashlib.sha256(content).hexdigest()}
        settings.write_text(json.dumps(json.loads(settings.read_text()) | sha256))
        with pytest.raises(CheckpointError, match=r"model\.onnx is damaged"):
            OnnxClassifier(tmp_path / "model")


def test_settings_that_do_not_fit_the_network(classifier: ICapsClassifier, tmp_path: Path) -> None:
    export_onnx(classifier, tmp_path / "model")
    path = tmp_path / "model" / "settings.json"
    neutral = {"neutral_words": [{"ids": [3], "classes": [0]}]}
    path.write_text(json.dumps(json.loads(path.read_text()) | neutral))
    with pytest.raises(CheckpointError, match=r"model\.onnx is damaged"):
        OnnxClassifier(tmp_path / "model").predict(["soup"])


def test_it_needs_neither_torch_nor_scikit_learn_nor_pandas(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    export_onnx(classifier, tmp_path / "model")
    code = (
        "import icaps, json, sys; "
        f"model = icaps.OnnxClassifier({str(tmp_path / 'model')!r}); "
        "[explanation] = model.explain(['bread and soup']); "
        "print(json.dumps([explanation.predicted, model.predict(['harbour']), list(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    predicted, others, modules = json.loads(done.stdout)
    assert [predicted, *others] == ["Cooking", "Sailing"]
    heavy = {"torch", "onnx", "sklearn", "scipy", "pandas", "pyarrow", "gensim", "streamlit"}
    assert not {module.partition(".")[0] for module in modules} & {*heavy, "jinja2", "safetensors"}


def test_the_graph_says_what_it_is(classifier: ICapsClassifier, tmp_path: Path) -> None:
    export_onnx(classifier, tmp_path / "model")
    graph = onnx.load(tmp_path / "model" / "model.onnx").graph
    assert [value.name for value in graph.input] == ["word_ids", "cells"]
    assert [value.name for value in graph.output] == ["scores", "shares", "bias"]
    assert "cells (B, M, N)" in graph.doc_string


@pytest.mark.parametrize("hierarchical", [False, True])
def test_the_graph_by_the_reference_of_onnx(hierarchical: bool, tmp_path: Path) -> None:
    """Words may be given several times, and in any order."""
    model = train(hierarchical=hierarchical, squash_primary=True)
    (expected,) = exported(model, tmp_path).explain(["we bake bread"])
    ids = [model.vocabulary_.id(word) for word in ("bread", "we", "bake", "we")]
    inputs = {
        "word_ids": np.array(ids),
        "cells": np.array([[[3, 2, 0, -1]], [[1, -1, -1, -1]]]),
    }
    reference = ReferenceEvaluator(str(tmp_path / "model" / "model.onnx"))
    scores, shares, bias = reference.run(None, inputs)
    assert scores[0] == pytest.approx(list(expected.scores.values()), abs=1e-5)
    assert shares[0, 0, :3] == pytest.approx(expected.shares, abs=1e-5)
    assert not shares[0, 0, 3].any()
    assert bias[0] == pytest.approx(expected.biases, abs=1e-5)


def test_the_command(model_folder: Path, data_file: Path, tmp_path: Path, capsys: Any) -> None:
    arguments = ["export", "--model", str(model_folder)]
    assert main(arguments) == 2
    assert "--html FILE, --onnx FOLDER" in capsys.readouterr().err
    folder = tmp_path / "exported"
    options = ["--onnx", str(folder), "--data", str(data_file), "--part", "train"]
    assert main([*arguments, *options]) == 0
    assert "On 120 texts scores differ from the model's by at most" in capsys.readouterr().out
    (explanation,) = OnnxClassifier(folder).explain(["bread and soup"])
    assert explanation.predicted == "Cooking"


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "data"), [("ag_news", "ag_news"), ("newsgroups", "newsgroups_5k")]
)
def test_shipped_models_on_real_texts(
    name: str, data: str, shared_data: Path, tmp_path: Path
) -> None:
    model = TrainedModel.load(CHECKPOINTS / name, "cpu")
    source = open_source(shared_data / "data" / data, "test")
    texts = [record.text for record, _ in zip(source, range(300), strict=False)]
    other = exported(model, tmp_path)
    scores, shares = largest_differences(model, other, texts)
    assert scores < 1e-5
    assert shares < 1e-4
    assert other.predict(texts) == model.predict(texts).tolist()
