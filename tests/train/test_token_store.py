"""Encoded texts in files: a stream is prepared like texts in memory."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.errors import DataError
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary
from icaps.train import token_store
from icaps.train.dataset import Corpus, KnownWords, prepare_stream, prepare_texts
from icaps.train.token_store import open_tokens, write_tokens
from tests.conftest import MODEL, TRAIN, make_texts
from tests.tokens import lists


class Row(NamedTuple):
    text: str
    label: str


def rows(count: int = 90, seed: int = 1) -> list[Row]:
    return [Row(*pair) for pair in zip(*make_texts(count, seed), strict=True)]


def corpus_of(folder: Path, texts: int) -> Corpus:
    numbers = np.arange(texts)
    return Corpus(*open_tokens(folder, texts), numbers, numbers)


LONG = dataclasses.replace(MODEL, hierarchical=True, max_words=5, max_sentences=3)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("model", [MODEL, LONG], ids=["short", "long"])
def test_files_hold_what_encoding_gives(
    tmp_path: Path, model: ModelConfig, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_store, "CHUNK", 20)
    texts = ["", *(f"{row.text} {row.text}" for row in rows()), " ", "Zzz."]
    vocabulary = Vocabulary.build(texts[:50], 0)
    write_tokens(texts, vocabulary, model, tmp_path, workers)
    corpus = corpus_of(tmp_path, len(texts))
    assert len(corpus) == len(texts)
    for n, text in enumerate(encode(vocabulary, texts, model)):
        assert lists(corpus.select(np.array([n])).tokens()) == lists(text)


def test_texts_without_words_are_stored(tmp_path: Path) -> None:
    write_tokens(["", " "], Vocabulary.build([], 0), LONG, tmp_path, 1)
    tokens = corpus_of(tmp_path, 2).tokens()
    assert (tokens.ids.tolist(), tokens.sentences_per_text.tolist()) == ([], [0, 0])


def test_a_stream_is_prepared_like_texts_in_memory() -> None:
    records = rows()
    texts, names = zip(*records, strict=True)
    classes, labels = np.unique(np.array(names, dtype=object), return_inverse=True)
    memory = prepare_texts(texts, classes, labels, MODEL, TRAIN)
    stream = prepare_stream(records, MODEL, TRAIN)
    assert stream.classes.tolist() == classes.tolist()
    assert stream.vocabulary == memory.vocabulary
    assert sorted([*stream.training.texts, *stream.validation.texts]) == list(range(len(texts)))
    for one, other in (
        (stream.training, memory.training),
        (stream.validation, memory.validation),
    ):
        assert one.texts.tolist() == other.texts.tolist()
        assert one.labels.tolist() == labels[one.texts].tolist()
        assert one.tokens().ids.tolist() == other.tokens().ids.tolist()


def test_the_files_are_reused_for_the_same_texts_words_and_splitting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    cache = tmp_path / "cache" / "encoded"
    prepare_stream(rows(), MODEL, TRAIN)
    prepare_stream(rows(), dataclasses.replace(MODEL, dropout=0.5), TRAIN)
    assert len(list(cache.iterdir())) == 1
    prepare_stream(rows(seed=2), MODEL, TRAIN)
    prepare_stream(rows(), LONG, TRAIN)
    prepare_stream(rows(), MODEL, dataclasses.replace(TRAIN, min_frequency=3))
    assert len(list(cache.iterdir())) == 4


@pytest.mark.parametrize("name", ["ids.bin", "text_offsets.bin"])
def test_damaged_files_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    prepare_stream(rows(), MODEL, TRAIN)
    (file,) = tmp_path.rglob(name)
    file.unlink()
    with pytest.raises(DataError, match="Delete the folder"):
        prepare_stream(rows(), MODEL, TRAIN)


def test_words_are_those_of_the_vocabulary() -> None:
    texts = ["a b zzz.", "", "c a"]
    vocabulary = Vocabulary.build(["a a a b b c ."], 0)
    prepared = prepare_texts(texts * 4, np.array(["x", "y"]), np.array([0, 1] * 6), MODEL, TRAIN)
    corpus = dataclasses.replace(prepared.training, texts=np.array([2, 0]))
    assert [len(words) for words in KnownWords(corpus, prepared.vocabulary)] == [2, 4]
    assert "zzz" not in vocabulary


def test_texts_of_one_class_raise() -> None:
    with pytest.raises(DataError, match="All 2 texts have one class"):
        prepare_stream([Row("a", "x")] * 2, MODEL, TRAIN)


def test_fit_stream_equals_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    records = rows(120)
    train = dataclasses.replace(TRAIN, epochs=2)
    texts, labels = zip(*records, strict=True)
    stream = ICapsClassifier(MODEL, train, device="cpu").fit_stream(records)
    memory = ICapsClassifier(MODEL, train, device="cpu").fit(list(texts), list(labels))
    np.testing.assert_array_equal(stream.class_norms(texts), memory.class_norms(texts))
    assert stream.predict(texts[:1]).dtype == object
