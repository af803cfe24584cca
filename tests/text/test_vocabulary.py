"""Words that a vocabulary knows by their vectors, and other forms of words. By hand."""

from pathlib import Path

import numpy as np
import pytest

from icaps.errors import CheckpointError
from icaps.text.batch import UNK
from icaps.text.vocabulary import Vocabulary

TEXTS = ["Oil oil oil the the the THE", "Iraqi Iraqi troops the Oil Oil", "Zork zork"]
WITH_VECTORS = ["the", "and", "New_York", "<unk>", "oil", "troop", "tide", "iraqi", "well-known"]


def build(maximum: int = 100) -> Vocabulary:
    return Vocabulary.build(TEXTS, 2, WITH_VECTORS, maximum, backs_off=True)


def test_vector_words_follow_the_trained_words() -> None:
    known = build()
    trained = ("<pad>", "<unk>", "the", "Oil")
    # "oil" occurs twice, which is rare; phrases and special words are never read.
    assert known.words == (*trained, "and", "oil", "troop", "tide", "iraqi")
    # "THE" is read as "the", "troops" as "troop" and "Iraqi" as "iraqi".
    assert known.counts == (0, 2, 5, 3, 0, 2, 1, 0, 2)
    assert (len(known), known.trained_words, known.vector_words) == (9, 4, 5)
    assert known.trained_rows().tolist() == [-1, 3, -1, -1, -1]


def test_counts_are_those_of_the_ids() -> None:
    known = build()
    counts = np.bincount(known.encode(TEXTS).ids, minlength=len(known))
    assert counts.tolist() == list(known.counts)


def test_words_of_the_texts_are_preferred() -> None:
    assert build(3).words[4:] == ("oil", "troop", "iraqi")
    assert build(2).words[4:] == ("oil", "troop")
    assert build(4).words[4:] == ("and", "oil", "troop", "iraqi")
    assert build(0).words[4:] == ()


def test_a_word_is_read_as_itself_before_its_other_forms() -> None:
    known = Vocabulary(
        ("<pad>", "<unk>", "Apple", "apple", "US", "bus", "CEO"), (0,) * 7, 2, backs_off=True
    )
    for word, read in {
        "Apple": "Apple",
        "apple": "apple",
        "APPLE": "apple",
        "us": "US",
        "Us": "US",
        "Apples": "apple",
        "ceos": "CEO",
        "buses": "bus",
        "pad": "<unk>",
        "grape": "<unk>",
    }.items():
        assert known.words[known.id(word)] == read, word
        assert known.words[known.encode([word]).ids[0]] == read, word
    assert "APPLE" not in known
    assert "apple" in known


def test_without_it_other_forms_are_unknown() -> None:
    known = Vocabulary(("<pad>", "<unk>", "oil"), (0, 0, 1))
    assert known.encode(["Oil oil oils"]).ids.tolist() == [UNK, 2, UNK]
    built = Vocabulary.build(TEXTS, 2)
    assert built.counts == (0, 8, 4, 3)
    assert built.trained_words == len(built) == 4


def test_nothing_is_stored_for_other_forms() -> None:
    known = build()
    size = len(known._ids)
    for n in range(1000):
        known.id(f"Oil{n}s")
    assert len(known._ids) == size


def test_it_is_saved_in_the_order_of_ids(tmp_path: Path) -> None:
    known, path = build(), tmp_path / "vocabulary.txt"
    known.save(path)
    assert path.read_text().splitlines()[3:6] == ["Oil\t3", "and\t0", "oil\t2"]
    assert Vocabulary.load(path, 5, backs_off=True) == known
    assert Vocabulary.load(path).trained_words == 9
    with pytest.raises(CheckpointError, match=r"line 9 is the last, but .* 8 vector words"):
        Vocabulary.load(path, 8)
