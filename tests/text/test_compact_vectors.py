"""Compact tables: what is stored by hand, round trips, damaged files, and the English table."""

import hashlib
import io
import json
import struct
import time
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from gensim.models import KeyedVectors

from icaps.errors import VectorsError
from icaps.text.build_vectors import build_table, rank_words
from icaps.text.compact_vectors import ENGLISH_FILE, ENGLISH_SHA256, CompactVectors
from icaps.text.spacy_package import murmur_hash
from icaps.text.tokenizer import words_of
from icaps.text.vector_files import ENGLISH, load_vectors

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES, MIN_WORDS = 12_000_000, 60_000


def keyed(values: dict[str, list[float]]) -> KeyedVectors:
    vectors = KeyedVectors(len(next(iter(values.values()))))
    vectors.add_vectors(list(values), np.array(list(values.values()), dtype=np.float32))
    return vectors


def shared(rows: dict[str, int]) -> KeyedVectors:
    """Vectors of two numbers whose rows several words share."""
    vectors = KeyedVectors(2)
    vectors.index_to_key, vectors.key_to_index = list(rows), rows
    vectors.vectors = np.arange(2.0, 2 * max(rows.values()) + 4, dtype=np.float32).reshape(-1, 2)
    return vectors


def test_numbers_by_hand() -> None:
    vectors = {"cat": [3.0, 4.0], "dog": [30.0, 40.0], "sea": [0.0, -1.0], "void": [0.0, 0.0]}
    table = build_table(keyed(vectors), 10)
    # Of length 0.5 sqrt(2) = 45.25 steps of 1/64: 0.6, 0.8 and -1 times that, rounded.
    assert table.vectors.tolist() == [[27, 36], [0, -45], [0, 0]]
    assert table.words == ("cat", "dog", "sea", "void")
    assert table.rows.tolist() == [0, 0, 1, 2]
    assert (table.rows.dtype, table.vectors.dtype) == (np.uint32, np.int8)


def test_only_words_of_the_tokenizer_are_taken() -> None:
    words = ["</p>", "cat", "don't", "n't", "Mr.", "U.S.", "a_b", "naïve", "two words", "犬"]
    table = build_table(keyed({word: [1.0] for word in words}), 5)
    assert table.words == ("cat", "n't", "U.S.", "naïve", "犬")
    with pytest.raises(VectorsError, match="No word of the vectors"):
        build_table(keyed({"</p>": [1.0]}), 5)


def test_ranking_by_hand() -> None:
    rows = {
        **{"the": 0, "The": 1, "THE": 2, "tHe": 3},  # the fourth is no form that is kept
        **{"paris": 4, "Paris": 4},  # the same vector: backs off
        "iPhone": 5,  # no lower case: stands for itself
        **{"n't": 6, "U.S.": 7, "1999": 8, "12345": 9, "xylophone": 10},
        "sea": 11,
    }
    # Ranks: the, The and THE 0; sea 1, paris 2, iPhone 3; by their rows n't 6, U.S. 7, 1999 8.
    ranking = ["the", "sea", "paris", "iphone"]
    expected = ["the", "The", "THE", "sea", "paris", "iPhone", "n't", "U.S.", "1999"]
    assert rank_words(shared(rows), ranking) == expected


def test_rarer_forms_come_later() -> None:
    ranking = ["a", "cat", *(f"{letter}{letter}" for letter in "bcdefghijklm")]
    rows = {word: n for n, word in enumerate(["Cat", "CAT", *ranking])}
    ranked = rank_words(shared(rows), ranking)
    # Ranks 3 and 10, as those of "cc" and "jj"; equal ones are in the order of rows.
    assert ranked[ranked.index("Cat") + 1] == "cc"
    assert ranked[ranked.index("CAT") + 1] == "jj"


def test_round_trip(tmp_path: Path) -> None:
    words = {"the": [1.0, 2.0], "café": [-3.0, 0.5], "n't": [1.0, 2.0], "犬": [0.0, 7.0]}
    table = build_table(keyed(words), 3)
    path = tmp_path / "own.npz"
    table.save(path)
    again = CompactVectors.load(path)
    assert again.words == table.words == ("the", "café", "n't")
    np.testing.assert_array_equal(again.rows, [0, 1, 0])
    np.testing.assert_array_equal(again.vectors, table.vectors)
    vectors = load_vectors(path)
    assert (vectors.index_to_key, vectors.vector_size) == (list(table.words), 2)
    for word, row in zip(table.words, table.rows, strict=True):
        assert (vectors[word] * 64).tolist() == table.vectors[row].tolist()
    first = path.read_bytes()
    build_table(vectors, 3).save(path)  # a table of a table is that table
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["own.npz"]


def save_arrays(path: Path, **changed: Any) -> Path:
    arrays = {
        "words": np.frombuffer(b"a\nb\n", np.uint8),
        "rows": np.array([0, 1], np.uint32),
        "vectors": np.ones((2, 3), np.int8),
    }
    np.savez(path, **(arrays | changed))
    return path


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": np.array([0, 2], np.uint32)}, "a word has row 2 of 2"),
        ({"rows": np.array([0], np.uint32)}, "one row per word"),
        ({"rows": np.array([0, 1])}, "its rows are not an array of uint32"),
        ({"vectors": np.ones(6, np.int8)}, "its vectors are not an array of int8 with 2 axes"),
        ({"vectors": np.ones((2, 3))}, "its vectors are not an array of int8"),
        ({"vectors": np.array([[{}]])}, "allow_pickle"),
        ({"words": np.frombuffer(b"a\na\n", np.uint8)}, "each word once"),
        ({"words": np.frombuffer(b"a\nb", np.uint8)}, "one row per word"),
        ({"words": np.frombuffer(b"a\n\xff\n", np.uint8)}, "'utf-8' codec"),
    ],
)
def test_damaged_tables(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    path = save_arrays(tmp_path / "own.npz", **changed)
    with pytest.raises(VectorsError, match=f"cannot be read as word vectors: .*{message}"):
        load_vectors(path)


def test_compressed_or_cut_tables(tmp_path: Path) -> None:
    path = save_arrays(tmp_path / "own.npz")
    assert load_vectors(path).vectors.shape == (2, 3)
    content = path.read_bytes()
    with ZipFile(path) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist()}
    for length in range(4, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(VectorsError, match="cannot be read as word vectors"):
            load_vectors(path)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:  # could be huge once decompressed
        for name, values in arrays.items():
            archive.writestr(name, values)
    with pytest.raises(VectorsError, match="compressed"):
        load_vectors(path)
    with ZipFile(path, "w") as archive:
        archive.writestr("glove.txt", "the 1 2\n")
    assert load_vectors(path).index_to_key == ["the"]


def write_pipeline(path: Path, rows: dict[str, int], **changed: bytes) -> Path:
    """A wheel with a spaCy pipeline of these words, with vectors of two numbers."""
    entries = b"".join(
        b"\xcf" + struct.pack(">Q", murmur_hash(word.encode())) + number(row)
        for word, row in rows.items()
    )
    table = io.BytesIO()
    np.save(table, np.arange(2.0, 2 * max(rows.values()) + 4, dtype=np.float32).reshape(-1, 2))
    files = {
        "key2row": b"\xdf" + struct.pack(">I", len(rows)) + entries,
        "strings.json": json.dumps([*rows, "unknown", "", "two words"]).encode(),
        "vectors": table.getvalue(),
    } | changed
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"pipeline/en-1.0/vocab/{name}", content)
    return path


def number(value: int) -> bytes:
    """A whole number in msgpack."""
    if value < 0x80:
        return bytes([value])
    if value < 0x100:
        return b"\xcc" + struct.pack(">B", value)
    return b"\xcd" + struct.pack(">H", value)


def test_hash_by_its_published_values() -> None:
    # Computed by the reference implementation of MurmurHash64A, as spaCy's `hash_string` is.
    assert murmur_hash(b"apple") == 8566208034543834098
    assert murmur_hash(b"coffee") == 3197928453018144401


def test_spacy_package(tmp_path: Path) -> None:
    rows = {"sea": 300, "the": 0, "The": 1, "two words": 3, "ocean": 300, "tide": 200}
    vectors = load_vectors(write_pipeline(tmp_path / "en.whl", rows))
    assert vectors.index_to_key == ["the", "The", "tide", "ocean", "sea"]
    assert vectors["the"].tolist() == [2, 3]
    assert vectors["sea"].tolist() == vectors["ocean"].tolist() == [602, 603]
    table = build_table(vectors, 10)
    assert table.words == ("the", "The", "tide", "ocean", "sea")
    assert table.rows.tolist() == [0, 1, 2, 2, 2]  # (402, 403) and (602, 603) are rounded alike


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key2row": b"\xdf\0\0\0\2\1\2"}, "cut off"),
        ({"key2row": b"\xdf\0\0\0\1\xc0\2"}, "something else than whole numbers"),
        ({"key2row": b"\xdf\0\0\0\1\xcf\0"}, "no whole vectors"),
        ({"key2row": b"\x80"}, "not a map"),
        ({"key2row": b""}, "no whole vectors"),
        ({"strings.json": b"["}, "Expecting value"),
        ({"strings.json": b"[]"}, "rows are missing"),
        ({"vectors": b"no array"}, "pickle"),
    ],
)
def test_damaged_spacy_packages(tmp_path: Path, changed: dict[str, bytes], message: str) -> None:
    path = write_pipeline(tmp_path / "en.whl", {"the": 0, "sea": 5}, **changed)
    with pytest.raises(VectorsError, match=f"cannot be read as word vectors: .*{message}"):
        load_vectors(path)


def test_the_english_table_is_whole_and_small() -> None:
    content = ENGLISH_FILE.read_bytes()
    assert hashlib.sha256(content).hexdigest() == ENGLISH_SHA256
    card = ENGLISH_FILE.with_name("CARD.md").read_text(encoding="utf-8")
    assert ENGLISH_SHA256 in card
    assert sum(file.stat().st_size for file in ENGLISH_FILE.parent.iterdir()) <= MAX_BYTES
    table = CompactVectors.load(ENGLISH_FILE)
    assert len(table.words) >= MIN_WORDS
    rows, dim = table.vectors.shape
    assert f"{len(table.words):,}, case-sensitive" in card
    assert f"{rows:,} rows of {dim} numbers" in card
    assert set(table.rows.tolist()) == set(range(rows))
    assert all(words_of(word) == [word] for word in table.words[::50])


def test_the_english_table_loads_fast() -> None:
    load_vectors(ENGLISH)  # imports gensim
    times = []
    for _ in range(5):
        started = time.thread_time()
        load_vectors(ENGLISH)
        times.append(time.thread_time() - started)
    assert min(times) < 0.3


def test_similar_english_words_have_similar_vectors() -> None:
    vectors = load_vectors(ENGLISH)

    def similarity(one: str, other: str) -> float:
        a, b = vectors[one], vectors[other]
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    assert similarity("doctor", "nurse") > similarity("doctor", "goal") + 0.2
    assert similarity("soup", "bread") > similarity("soup", "software") + 0.2
    assert "n't" in vectors
    assert "Germany" not in vectors  # has the vector of "germany"
    assert np.isfinite(vectors.vectors).all()


def test_a_file_of_that_name_does_not_hide_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ENGLISH).write_text("the 1 2\n")
    monkeypatch.chdir(tmp_path)
    assert load_vectors(ENGLISH).vector_size == 300
    assert load_vectors(f"./{ENGLISH}").vector_size == 2
