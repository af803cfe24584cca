import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from icaps.explore import distinctive_words, statistics, word_numbers
from icaps.explore.distinctive_words import PRIOR, log_odds_z
from icaps.explore.statistics import FREQUENCIES, Coverage, Facts
from icaps.text.tokenizer import split_words
from icaps.text.vocabulary import Vocabulary
from tests.conftest import TOPICS, make_texts
from tests.explore.indexed import indexed, write

TRAIN = [("One. Two two!", "a"), ("two", "b"), ("", "b"), ("one. Two two", "2")]
TEST = [("Two three", "a"), ("new", "z")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture(params=[False, True])
def small_bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the bounds as they are, and once with those that a few texts reach."""
    if request.param:
        monkeypatch.setattr(word_numbers, "RANGE", 4)
        monkeypatch.setattr(word_numbers, "_MOST_IN_DICT", 2)
        monkeypatch.setattr(word_numbers, "_BATCH", 3)


@pytest.mark.usefixtures("small_bounds")
def test_facts_by_hand(tmp_path: Path) -> None:
    facts = indexed(write(tmp_path / "data", train=TRAIN, test=TEST)).facts
    assert facts.classes == ("2", "a", "b", "z")
    train, test = facts.splits
    assert (train.name, train.rows, train.class_rows) == ("train", 4, (1, 1, 2, 0))
    assert (test.name, test.rows, test.class_rows) == ("test", 2, (0, 1, 0, 1))
    assert train.bad_rows == test.bad_rows == {}
    assert (train.running_words, test.running_words) == (10, 3)  # points are words
    assert train.words == ((0, 1, 4, 5), (1, 1, 1, 1))
    assert train.sentences == ((0, 1, 2), (1, 1, 2))
    assert (train.sampled, test.sampled) == (4, 2)
    assert facts.different_words == 8  # One one . Two two ! three new
    assert facts.growth == ((1, 5, 5), (2, 6, 5), (3, 6, 5), (4, 10, 6))
    cuts = {cut.frequency: cut for cut in facts.cuts}
    assert tuple(cuts) == FREQUENCIES
    assert cuts[0] == (0, 6, (1.0, 1 / 3))
    assert cuts[1] == (1, 3, (0.7, 1 / 3))  # two 3, Two 2, . 2
    assert cuts[2] == (2, 1, (0.3, 0.0))
    assert cuts[3] == (3, 0, (0.0, 0.0))
    assert facts.distinctive_of == 8
    assert facts.rows == 6


def test_facts_are_plain_and_come_back(tmp_path: Path) -> None:
    facts = indexed(write(tmp_path / "data", train=TRAIN, test=TEST), text="text").facts
    plain = json.loads(json.dumps(facts.to_dict()))
    assert Facts.from_dict(plain) == facts
    assert plain["reading"] == {"text": ["text"]}
    assert plain["splits"][0]["words"] == {"lengths": [0, 1, 4, 5], "texts": [1, 1, 1, 1]}
    text = facts.to_text()
    assert "train: 4 rows, 10 words" in text
    assert "  seen more than 1 times: 3, 70.0% of train, 33.3% of test" in text


@pytest.mark.usefixtures("small_bounds")
def test_the_vocabulary_is_that_of_training(tmp_path: Path) -> None:
    texts, labels = make_texts(60, seed=1)
    more, others = make_texts(30, seed=2)
    rows = list(zip(texts, labels, strict=True))
    index = indexed(write(tmp_path / "data", train=rows, test=list(zip(more, others, strict=True))))
    for cut in index.facts.cuts:
        vocabulary = Vocabulary.build(texts, cut.frequency)
        assert cut.words == len(vocabulary) - 2
        for split, share in zip((texts, more), cut.covered, strict=True):
            running = [word.text for text in split for word in split_words(text)]
            known = sum(word in vocabulary for word in running)
            assert share == pytest.approx(known / len(running))
    for point in index.facts.growth:
        running = [word.text for text in texts[: point.texts] for word in split_words(text)]
        assert (point.running, point.different) == (len(running), len(set(running)))
    assert len(index.facts.growth) == 50
    assert index.facts.growth[-1].texts == 60


def test_sentences_of_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "SENTENCE_CHARACTERS", 20)
    assert statistics.sentence_count("One. Two. Three.") == 3
    assert statistics.sentence_count("One. Two. Three. Four. Five.") == 4
    assert statistics.sentence_count(" ") == 0


@pytest.mark.usefixtures("small_bounds")
def test_words_that_have_vectors(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=TRAIN, test=TEST))
    found = index.vector_coverage({"two", "One", "new"})  # "Two" by its lower case
    assert found == {"train": Coverage(3 / 6, 6 / 10), "test": Coverage(2 / 3, 2 / 3)}
    assert index.vector_coverage({}) == {"train": Coverage(0, 0), "test": Coverage(0, 0)}


def test_log_odds_as_in_the_paper() -> None:
    """Equations 16, 19, 20 and 22 of Monroe et al., word by word."""
    inside, outside = np.array([30, 5, 0, 100]), np.array([10, 5, 40, 400])
    running, elsewhere = 150, 500  # there are words beside these
    scores = log_odds_z(inside, outside, running, elsewhere)
    for y, rest, score in zip(inside.tolist(), outside.tolist(), scores, strict=True):
        a = PRIOR * (y + rest) / (running + elsewhere)
        omega = (y + a) / (running + PRIOR - y - a)
        others = (rest + a) / (elsewhere + PRIOR - rest - a)
        variance = 1 / (y + a) + 1 / (rest + a)
        assert score == pytest.approx((math.log(omega) - math.log(others)) / math.sqrt(variance))
    assert scores[0] > 0 > scores[2]
    assert log_odds_z(outside, inside, elsewhere, running) == pytest.approx(-scores)


@pytest.mark.usefixtures("small_bounds")
def test_distinctive_words(tmp_path: Path) -> None:
    texts, labels = make_texts(300, seed=3)
    rows = list(zip(texts, labels, strict=True))
    index = indexed(write(tmp_path / "data", train=rows, test=[("bread bread", "Sailing")]))
    seen: dict[str, Counter[str]] = {name: Counter() for name in index.classes}
    for text, label in rows:
        seen[label].update(word.text for word in split_words(text))
    for name in index.classes:
        told = index.distinctive_words(name)
        assert told
        assert [word.z for word in told] == sorted((word.z for word in told), reverse=True)
        assert {word.word for word in told[:6]} <= set(TOPICS[name].split())
        for word in told:
            elsewhere = sum(seen[other][word.word] for other in seen if other != name)
            assert (word.here, word.elsewhere) == (seen[name][word.word], elsewhere)
            assert word.z > 0


def test_distinctive_words_are_of_the_most_frequent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinctive_words, "_MOST_CELLS", 4)
    rows = [("x x x y y z", "a"), ("x y y y w", "b")]
    index = indexed(write(tmp_path / "data", train=rows))
    assert index.facts.distinctive_of == 2
    assert [(word.word, word.here, word.elsewhere) for word in index.distinctive_words("a")] == [
        ("x", 3, 1)
    ]
    assert [(word.word, word.here, word.elsewhere) for word in index.distinctive_words("b")] == [
        ("y", 3, 2)
    ]


@pytest.mark.parametrize(
    "rows", [[("x y y", "a"), ("x", "a")], [("x", "a"), ("x", "b")], [("", "a")]]
)
def test_nothing_to_tell(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    index = indexed(write(tmp_path / "data", train=rows))
    assert index.distinctive_words("a") == []
    assert index.facts.splits[0].rows == len(rows)
