"""Hashes of the texts of a training: what they hold, and the part that was held out."""

from array import array
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.storage import load_baseline, save_baseline
from icaps.classifier import ICapsClassifier
from icaps.config import TrainConfig
from icaps.data.sample import draw_sample
from icaps.data.source import open_source
from icaps.errors import CheckpointError, DataError
from icaps.train.dataset import ExtraTexts, prepare_stream, prepare_texts
from icaps.train.labels import encode_labels
from icaps.train.parts import HELD_OUT, open_part
from icaps.train.split import split, split_as
from icaps.train.text_hashes import (
    BLANK,
    TextHashes,
    as_array,
    hash_texts,
    hashing,
    load_hashes,
    text_hash,
)

TEXTS = [f"a {word} text number {n}" for n in range(20) for word in ("good", "bad")]
LABELS = ["yes", "no"] * 20
SMALL = {"epochs": 1, "validation_share": 0.2, "seed": 3}


def test_a_hash_is_eight_bytes_of_blake2b_of_the_folded_words() -> None:
    expected = int.from_bytes(blake2b(b"two words", digest_size=8).digest(), "little")
    for text in ("two words", "Two  WORDS", "\ttwo\nwords \u00a0"):
        assert text_hash(text) == expected
    assert text_hash("two word") != expected
    assert text_hash(" \n") == text_hash("") == BLANK == 0


def test_a_lone_surrogate_is_hashed_as_evaluations_store_it() -> None:
    assert text_hash("a \ud800") == text_hash("a \ufffd")


def test_both_parts_are_sorted_and_a_text_in_both_is_a_training_text() -> None:
    hashes = np.array([9, 4, 9, BLANK, 7, 4, 1], np.uint64)
    parts = TextHashes.of(hashes, np.array([0, 1, 3]), np.array([2, 4, 5, 6, 3]))
    assert parts.training.tolist() == [4, 9]
    assert parts.held_out.tolist() == [1, 7]  # 9 and 4 were trained on, too
    asked = np.array([4, 1, 5, 7, 2**63], np.uint64)
    assert parts.in_training(asked).tolist() == [True, False, False, False, False]
    assert parts.in_held_out(asked).tolist() == [False, True, False, True, False]
    empty = TextHashes(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    assert not empty.in_training(asked).any()


def test_records_are_hashed_as_they_pass() -> None:
    records, hashes = open_source((TEXTS, LABELS)), array("Q")
    assert [record.text for record in hashing(records, hashes)] == TEXTS
    assert as_array(hashes).tolist() == hash_texts(TEXTS).tolist()
    assert len(as_array(array("Q"))) == 0


@pytest.mark.parametrize("streamed", [False, True])
def test_the_parts_are_those_of_the_split(streamed: bool) -> None:
    classes, labels = encode_labels(TEXTS, LABELS)
    extra = ExtraTexts(["one more"], np.array([1]))
    if streamed:
        data = prepare_stream(open_source((TEXTS, LABELS)), train=SMALL, extra=extra)
    else:
        data = prepare_texts(TEXTS, classes, labels, train=SMALL, extra=extra)
    training, held_out = split(labels, 2, data.recipe.train)
    expected = sorted(text_hash(text) for text in [*(TEXTS[n] for n in training), "one more"])
    assert data.hashes.training.tolist() == expected
    assert data.hashes.held_out.tolist() == sorted(text_hash(TEXTS[n]) for n in held_out)
    assert len(held_out) == 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    ICapsClassifier(train=SMALL, vectors=()).fit(TEXTS, LABELS).save(folder)
    return folder


def test_a_checkpoint_keeps_them(folder: Path, tmp_path: Path) -> None:
    hashes = load_hashes(folder)
    assert hashes is not None
    assert (len(hashes.training), len(hashes.held_out)) == (32, 8)
    assert (folder / "texts.safetensors").stat().st_size < 8 * 40 + 200
    loaded = ICapsClassifier.load(folder)
    loaded.save(tmp_path / "copy")
    copied = load_hashes(tmp_path / "copy")
    assert copied is not None
    assert copied.held_out.tolist() == hashes.held_out.tolist()


def test_a_checkpoint_without_them_is_of_an_earlier_version(folder: Path, tmp_path: Path) -> None:
    ICapsClassifier.load(folder).save(tmp_path / "old")
    (tmp_path / "old" / "texts.safetensors").unlink()
    old = ICapsClassifier.load(tmp_path / "old")
    assert old.text_hashes_ is None
    old.save(tmp_path / "old")
    assert load_hashes(tmp_path / "old") is None
    with pytest.raises(DataError, match="does not say which texts were held out"):
        open_part((TEXTS, LABELS), HELD_OUT, {}, tmp_path / "old")


@pytest.mark.parametrize("kind", ["linear", "word-cnn"])
def test_a_baseline_holds_out_the_same_texts(folder: Path, tmp_path: Path, kind: str) -> None:
    trained = ICapsClassifier.load(folder).train_config_
    save_baseline(fit_baseline(kind, open_source((TEXTS, LABELS)), trained), tmp_path / kind)
    own, model = load_baseline(tmp_path / kind).text_hashes_, load_hashes(folder)
    assert own is not None
    assert model is not None
    assert own.held_out.tolist() == model.held_out.tolist()
    assert own.training.tolist() == model.training.tolist()


def test_the_held_out_part_has_the_held_out_rows(folder: Path) -> None:
    held_out = set(split(encode_labels(TEXTS, LABELS)[1], 2, _config(folder))[1].tolist())
    expected = [(TEXTS[n], LABELS[n]) for n in range(len(TEXTS)) if n in held_out]
    source = open_part((TEXTS, LABELS), HELD_OUT, {}, folder)
    assert list(source.pairs()) == expected
    assert len(draw_sample(source, 100, 10).texts) == len(expected)
    assert list(open_part((TEXTS, LABELS), "train", {}, folder).pairs())[2:4] == [
        (TEXTS[2], "yes"),
        (TEXTS[3], "no"),
    ]


def _config(folder: Path):  # type: ignore[no-untyped-def]
    return ICapsClassifier.load(folder).train_config_


def _read(source: object) -> None:
    list(source)  # type: ignore[call-overload]


def _draw(source: object) -> None:
    draw_sample(source, 5, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("read", [_read, _draw])
def test_other_data_has_no_held_out_part(folder: Path, read: Callable[[object], None]) -> None:
    with pytest.raises(DataError, match="None of these texts was held out of the training"):
        read(open_part((["something", "else"], ["yes", "no"]), HELD_OUT, {}, folder))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        {"training": np.array([2, 1], np.uint64), "held_out": np.zeros(0, np.uint64)},
        {"training": np.array([1.5]), "held_out": np.zeros(0, np.uint64)},
        {"training": np.array([1], np.uint64)},
    ],
)
def test_a_damaged_file_is_an_error(content: object, tmp_path: Path) -> None:
    if isinstance(content, bytes):
        (tmp_path / "texts.safetensors").write_bytes(content)
    else:
        save_file(content, tmp_path / "texts.safetensors")  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="is damaged"):
        load_hashes(tmp_path)


def test_another_training_holds_out_the_same_texts() -> None:
    _, labels = encode_labels(TEXTS, LABELS)
    hashes, config = hash_texts(TEXTS), TrainConfig(validation_share=0.2, seed=3)
    training, held_out = split(labels, 2, config)
    other = TextHashes.of(hashes, training, held_out)
    again = split_as(other, hashes, labels, 2, TrainConfig(seed=9))
    assert again[0].tolist() == sorted(training.tolist())
    assert again[1].tolist() == sorted(held_out.tolist())
    # Without a held-out text, or without a training text of each class, the split is at random.
    none = TextHashes.of(hashes, training, training[:0])
    of_one_class = TextHashes.of(hashes, training[:0], np.flatnonzero(labels == 0))
    for impossible in (None, none, of_one_class):
        parts = split_as(impossible, hashes, labels, 2, config)
        assert [part.tolist() for part in parts] == [training.tolist(), held_out.tolist()]
