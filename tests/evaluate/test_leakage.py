"""How many of the texts that a model is scored on were in its training."""

from pathlib import Path

import numpy as np
import pytest

from icaps.evaluate.leakage import Leak, measure_leak, percent, seen_share
from icaps.train.text_hashes import TextHashes, hash_texts


def test_each_text_counts_as_often_as_it_occurs(tmp_path: Path) -> None:
    known = hash_texts(["one", "two", "three"])
    hashes = TextHashes.of(known, np.array([0, 1]), np.array([2]))
    leak = measure_leak(hashes, ["ONE ", "one", "three", "four", ""])
    assert leak == Leak(texts=5, training=2, held_out=1)
    assert seen_share(tmp_path, ["one"]) is None
    hashes.save(tmp_path)
    assert seen_share(tmp_path, ["One", "four"]) == Leak(2, 1, 0)
    assert seen_share(tmp_path, []) == Leak(0, 0, 0)
    assert Leak(0, 0, 0).share == 0


@pytest.mark.parametrize(
    ("leak", "words"),
    [
        (Leak(1340, 0, 0), ""),
        (Leak(1340, 0, 134), ""),
        (
            Leak(1340, 1206, 134),
            "1,206 of 1,340 texts (90%) were in this model's training; scores on them say little. "
            "Use the held-out 134.",
        ),
        (
            Leak(7600, 7600, 0),
            "7,600 of 7,600 texts (100%) were in this model's training; scores on them say little.",
        ),
        (Leak(7600, 1, 3), "1 of 7,600 texts (under 0.1%) was in this model's training."),
        (Leak(1000, 9, 0), "9 of 1,000 texts (0.9%) were in this model's training."),
    ],
)
def test_the_warning(leak: Leak, words: str) -> None:
    assert str(leak) == leak.to_dict()["warning"] == words
    assert leak.serious == ("say little" in words)


def test_a_share_is_not_rounded_to_all_or_none() -> None:
    assert percent(0) == "0.0%"
    assert percent(1) == "100%"
    assert percent(0.9999) == "over 99%"
    assert percent(0.0001) == "under 0.1%"
