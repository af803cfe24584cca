import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.errors import DataError
from icaps.explore import minhash, near_duplicates
from icaps.explore.index import Index
from icaps.explore.minhash import BANDS, WIDTH, band_keys, shingles
from icaps.explore.near_duplicates import (
    NEIGHBOURS,
    THRESHOLD,
    Pairs,
    find_duplicates,
    load_duplicates,
)
from icaps.explore.word_numbers import RowWords
from icaps.text.tokenizer import split_words
from tests.explore.indexed import Rows, indexed, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


def shingle_set(text: str, width: int = WIDTH) -> set[tuple[str, ...]]:
    words = [word.text.casefold() for word in split_words(text)]
    return {tuple(words[n : n + width]) for n in range(max(len(words) - width + 1, 1))}


def jaccard(first: str, second: str) -> float:
    one, other = shingle_set(first), shingle_set(second)
    return len(one & other) / len(one | other)


def near_copies(count: int, seed: int) -> Rows:
    """Texts of which many are those before with a word or two changed, or the same."""
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(200)]
    rows: list[tuple[str, str]] = []
    for _ in range(count):
        text = [rng.choice(words) for _ in range(rng.randint(1, 40))]
        if rows and rng.random() < 0.6:
            text = rng.choice(rows)[0].split()
            for _ in range(rng.choice((0, 1, 1, 2, 4))):
                text[rng.randrange(len(text))] = rng.choice(words)
        rows.append((" ".join(text), rng.choice("ab")))
    rows += [("", "a"), ("", "b"), (rows[0][0].upper(), "a"), (f"  {rows[1][0]}", "b")]
    rng.shuffle(rows)
    return rows


def listed(pairs: Pairs) -> dict[tuple[int, int], float]:
    both = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return dict(zip(both, pairs.similarity.tolist(), strict=True))


def expected(index: Index, texts: list[str]) -> dict[str, dict[tuple[int, int], float]]:
    """By brute force: every row with every other."""
    train = index.facts.splits[0].rows
    parts = {"train": range(train), "test": range(train, len(texts))}
    found: dict[str, dict[tuple[int, int], float]] = {"leaks": {}, "near_leaks": {}}
    firsts = {}
    for name, rows in parts.items():
        first: dict[str, int] = {}
        found[f"duplicates {name}"], found[f"near {name}"] = {}, {}
        for row in rows:
            if texts[row].strip():
                if texts[row] in first:
                    found[f"duplicates {name}"][first[texts[row]], row] = 1.0
                first.setdefault(texts[row], row)
        firsts[name] = first
    for row in parts["test"]:
        if texts[row] in firsts["train"]:
            found["leaks"][firsts["train"][texts[row]], row] = 1.0
    rows = [*firsts["train"].values(), *firsts["test"].values()]
    for one, other in combinations(rows, 2):
        if texts[one] != texts[other] and (alike := jaccard(texts[one], texts[other])) >= THRESHOLD:
            same = index.split[one] == index.split[other]
            found[f"near {index.splits[index.split[one]]}" if same else "near_leaks"][
                one, other
            ] = alike
    return found


@pytest.mark.parametrize("seed", range(4))
def test_all_pairs_as_by_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(near_duplicates, "_CHUNK_WORDS", 100 if seed % 2 else 1 << 17)
    monkeypatch.setattr(minhash, "_CHUNK_WORDS", 200 if seed % 2 else 1 << 20)
    train, test = near_copies(120, seed), near_copies(60, seed + 100)
    test = [*test, *train[:10], *((f"{text} more", "a") for text, _ in train[10:30])]
    index = indexed(write(tmp_path / "data", train=train, test=test))
    texts = [text for text, _ in (*train, *test)]
    assert load_duplicates(index) is None
    repeats = find_duplicates(index)
    tables = {"leaks": repeats.leaks, "near_leaks": repeats.near_leaks}
    for split in index.splits:
        tables[f"duplicates {split}"] = repeats.exact[split]
        tables[f"near {split}"] = repeats.near[split]
    wanted = expected(index, texts)
    assert all(map(len, wanted.values()))
    for name, pairs in tables.items():
        assert listed(pairs) == pytest.approx(wanted[name]), name
        assert pairs.total == len(pairs.first)
        differ = index.labels[pairs.first] != index.labels[pairs.second]
        assert pairs.labels_differ.tolist() == differ.tolist()
        assert pairs.differing == differ.sum()
        order = list(zip(~differ, pairs.first, pairs.second, strict=True))
        assert order == sorted(order)
    assert repeats.complete


def test_they_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "LISTED", 2)
    rows = [("x y", "a"), ("x y", "a"), ("x y", "a"), ("x y", "b"), ("z", "a")]
    index = indexed(write(tmp_path / "data", train=rows))
    made = find_duplicates(index)
    read = load_duplicates(index)
    assert read is not None
    pairs = read.exact["train"]
    assert (pairs.total, pairs.differing) == (3, 1)
    assert listed(pairs) == listed(made.exact["train"]) == {(0, 3): 1.0, (0, 1): 1.0}
    assert pairs.labels_differ.tolist() == [True, False]
    assert read.leaks.total == read.near_leaks.total == 0
    (path,) = index.folder.parent.glob("duplicates*/ready/duplicates.json")
    path.write_text("{}")
    with pytest.raises(DataError, match="Delete the folder"):
        load_duplicates(index)


def test_nothing_but_blank_texts(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=[("", "a"), ("", "a")], test=[("", "b")]))
    repeats = find_duplicates(index)
    assert repeats.exact["train"].total == repeats.leaks.total == 0


def test_one_template_takes_no_quadratic_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = " ".join(f"w{n}" for n in range(60))
    rows = [(f"{template} {n}", "a") for n in range(200)]
    index = indexed(write(tmp_path / "data", train=rows))
    repeats = find_duplicates(index)
    near = repeats.near["train"]
    assert repeats.complete
    assert set(near.second.tolist()) == set(range(1, 200))  # each is told of
    assert near.total < 200 * NEIGHBOURS * 3
    monkeypatch.setattr(near_duplicates, "MOST_PAIRS", 100)
    found = near_duplicates._near_pairs(index, np.arange(200), near_duplicates.SILENT)
    assert not found.complete
    assert len(found.first) < 400


def test_long_texts_by_their_first_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minhash, "LONGEST", 10)
    monkeypatch.setattr(near_duplicates, "LONGEST", 10)
    start = "a b c d e f g h i j"
    rows = [(f"{start} {' '.join(tail)}", "x") for tail in ("klmno", "pqrst")]
    near = find_duplicates(indexed(write(tmp_path / "data", train=rows))).near["train"]
    assert listed(near) == {(0, 1): 1.0}


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8))
def test_shingles_are_windows(texts: list[list[int]]) -> None:
    ids = np.array([number for text in texts for number in text], np.int32)
    found = shingles(RowWords(ids, np.array([len(text) for text in texts], np.int64)))
    windows = [
        tuple(text[n : n + WIDTH])
        for text in texts
        if text
        for n in range(max(len(text) - WIDTH + 1, 1))
    ]
    assert len(found.hashes) == found.counts.sum() == len(windows)
    assert len(set(zip(windows, found.hashes.tolist(), strict=True))) == len(set(windows))
    assert len(set(found.hashes.tolist())) == len(set(windows))


def test_bands_agree_as_often_as_the_similarity_says() -> None:
    """Of texts of similarity s, s^5 of the bands are the same."""
    rng = np.random.default_rng(1)
    pairs = 2_000
    for shared in (60, 80, 95):
        own = (100 - shared) // 2
        texts = []
        for _ in range(pairs):
            hashes = rng.integers(0, 1 << 63, shared + 2 * own, np.uint64)
            texts += [hashes[: shared + own], np.append(hashes[:shared], hashes[shared + own :])]
        counts = np.array([len(text) for text in texts], np.int64)
        keys = band_keys(minhash.Shingles(np.concatenate(texts), counts))
        assert keys.shape == (BANDS, 2 * pairs)
        similarity = shared / (shared + 2 * own)
        agreeing = (keys[:, ::2] == keys[:, 1::2]).mean()
        assert agreeing == pytest.approx(similarity**5, abs=0.01)
