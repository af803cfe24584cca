"""A small slice of benchmarks/fuzzing.py, which does the same by the thousand."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks import fuzzing, hostile_input
from benchmarks.fuzzing import Outcome
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import classes_of
from icaps.errors import DataError


@pytest.fixture
def rng() -> random.Random:
    return random.Random(7)


def test_texts(classifier: ICapsClassifier, rng: random.Random) -> None:
    outcome = fuzzing.fuzz_texts(classifier, 150, rng)
    assert outcome.failures == []
    assert outcome.counts == {"succeeded": 150}


def test_files(tmp_path: Path, rng: random.Random) -> None:
    outcome = fuzzing.fuzz_files(tmp_path, 60, rng)
    assert outcome.failures == []
    assert outcome.counts["succeeded"] > 20
    assert outcome.counts["FileError"] > 20


def test_checkpoints(interpreted: Path, tmp_path: Path, rng: random.Random) -> None:
    outcome = fuzzing.fuzz_checkpoints(interpreted, tmp_path, 40, rng)
    assert outcome.failures == []
    assert outcome.counts["CheckpointError"] > 15


def test_a_failure_is_seen() -> None:
    outcome = Outcome("x")

    def fail() -> None:
        raise KeyError("a")

    def refuse(sentence: str) -> None:
        raise DataError(sentence)

    outcome.run("first", fail)
    outcome.run("second", lambda: refuse("Do this."))
    outcome.run("third", lambda: refuse(" "))
    assert outcome.counts == {"FAILED": 2, "DataError": 2}
    assert [line.split(":")[0] for line in outcome.failures] == ["x first", "x third"]


def test_the_seed_decides() -> None:
    first, second, other = (random.Random(seed) for seed in (1, 1, 2))
    made = [[hostile_input.text(rng) for _ in range(20)] for rng in (first, second, other)]
    assert made[0] == made[1] != made[2]


def test_whole_files_are_read(tmp_path: Path) -> None:
    for name, content in hostile_input.data_files().items():
        (tmp_path / name).write_bytes(content)
        records = list(fuzzing.open_source(tmp_path / name))
        assert len(records) == 16
        assert classes_of(record.label for record in records) == ("a", "b", "c")


def test_labels(tmp_path: Path, rng: random.Random) -> None:
    outcome = fuzzing.fuzz_labels(tmp_path, 40, rng)
    assert outcome.failures == []
    assert outcome.counts["succeeded"] > 20
    assert outcome.counts["DataError"] > 20


def test_tasks(tmp_path: Path, rng: random.Random) -> None:
    outcome = fuzzing.fuzz_tasks(tmp_path, 60, rng)
    assert outcome.failures == []
    assert outcome.counts["succeeded"] > 10
    assert outcome.counts["DataError"] > 30


def test_calls(interpreted: Path, rng: random.Random) -> None:
    with ThreadPoolExecutor(1) as pool:  # as a browser's loop may run in this thread
        outcome = pool.submit(fuzzing.fuzz_calls, interpreted, 100, rng).result()
    assert outcome.failures == []
    assert outcome.counts["results"] > 10
    assert outcome.counts["errors"] > 10
