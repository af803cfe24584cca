"""The index of texts with several labels each: counts, search and words by class."""

import json
from pathlib import Path

import numpy as np
import pytest

from icaps.cli.main import main
from icaps.data.label_file import GivenLabel, LabelFile, load_corrections
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.explore.corrected_index import CorrectedIndex, labels_by_hash, make_text_hashes
from icaps.explore.distinctive_words import ClassCounts
from icaps.explore.index import Index, code_sets, make_index
from icaps.explore.label_issues import find_label_issues
from icaps.explore.search import Query, save_slice, search

ROWS = [
    ("rain rain hill", ["weather"]),
    ("dough rest", ["food", "long"]),
    ("nothing", []),
    ("cake rain", ["weather", "food"]),
    ("rain again", ["weather"]),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    parts = {"train": ROWS, "test": [("snow", ["weather"]), ("soup", ["food", "weather"])]}
    for part, rows in parts.items():
        lines = (json.dumps({"text": text, "label": names}) for text, names in rows)
        (folder / f"{part}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def index(place: Path) -> Index:
    return make_index(place, {})


def test_classes_are_counted_and_not_their_combinations(index: Index) -> None:
    assert index.multilabel
    assert index.classes == ("food", "long", "weather")
    train, test = index.facts.splits
    assert train.class_rows == (2, 1, 3)
    assert test.class_rows == (1, 0, 2)
    assert train.labels == ((0, 1, 2), (1, 2, 2))
    assert test.labels == ((1, 2), (1, 1))
    assert "labels per text: up to 2, mean 1.2" in index.facts.to_text()  # 6 labels of 5 texts
    assert index.distinct == ('["food", "long"]', '["food", "weather"]', '["weather"]', "[]")
    assert [index.label_of(row) for row in range(3)] == ['["weather"]', '["food", "long"]', "[]"]
    assert list(index.labelled(np.array([3]))) == [("cake rain", '["food", "weather"]')]
    loaded = make_index(Path(index.facts.data), {})
    assert loaded.facts == index.facts
    assert loaded.distinct == index.distinct


def test_search_by_class(index: Index) -> None:
    assert search(index, Query(classes=("food",))).tolist() == [1, 3, 6]
    assert search(index, Query(classes=("long", "weather"))).tolist() == [0, 1, 3, 4, 5, 6]
    assert search(index, Query(classes=("food",), words="rain")).tolist() == [3]
    with pytest.raises(DataError, match="There is no class 'food, long'"):
        search(index, Query(classes=("food, long",)))


def test_words_count_for_each_class_of_their_text(index: Index) -> None:
    words = {word.word: word for word in index.distinctive_words("weather")}
    # rain: three times in texts of weather, none of them elsewhere; cake: once, in one of weather.
    assert (words["rain"].here, words["rain"].elsewhere) == (4, 0)
    food = {word.word: word for word in index.distinctive_words("food")}
    assert (food["cake"].here, food["cake"].elsewhere) == (1, 0)
    assert "rain" not in food or food["rain"].elsewhere == 3


def test_counts_by_class_by_hand() -> None:
    sets = code_sets(["[]", '["a", "b"]', '["b"]'], ["a", "b"])
    assert sets.tolist() == [[-1, -1], [0, 1], [1, -1]]
    counts = ClassCounts(2, 3, sets)
    counts.add(np.array([0, 1, 2, 0], np.int32), np.array([0, 1, 1, 2], np.int32))
    assert counts._counts.tolist() == [[0, 1, 1], [1, 1, 1]]
    assert counts._everywhere.tolist() == [2, 1, 1]
    assert counts._running.tolist() == [2, 3]
    assert counts._total == 4


def test_corrections_are_sets(place: Path, index: Index) -> None:
    file = LabelFile(place.parent / "corrections.jsonl")
    labels = [GivenLabel("nothing", '["new", "food"]'), GivenLabel("dough rest", "[]")]
    file.add([*labels, GivenLabel("rain again", "weather")])  # which it has already
    corrections = load_corrections(file.path)
    corrected = CorrectedIndex(index, make_text_hashes(index), corrections, "new")
    whole = make_index(place, {"corrections": str(file.path)})
    assert corrected.classes == whole.classes == ("food", "new", "weather")
    assert corrected.corrected.tolist() == [False, True, True, False, False, False, False]
    assert corrected.facts.splits == whole.facts.splits
    rows = np.arange(len(index))
    assert list(corrected.labelled(rows)) == list(whole.labelled(rows))
    for name in corrected.classes:
        assert corrected.distinctive_words(name) == whole.distinctive_words(name)
        assert search(corrected, Query(classes=(name,))).tolist() == (
            search(whole, Query(classes=(name,))).tolist()
        )
    assert sorted(labels_by_hash(corrected, make_text_hashes(index)).values()).count("[]") == 1


def test_a_slice_is_read_as_it_was(index: Index) -> None:
    rows = search(index, Query(words="rain again"))  # each has one label
    path = save_slice(index, rows, "rainy", {})
    source = open_source(path)
    assert source.describe().multilabel
    assert list(source.pairs()) == [("rain again", '["weather"]')]


def test_label_errors_are_for_one_label_per_text(index: Index) -> None:
    with pytest.raises(DataError, match="one label per text, and these texts may have several"):
        find_label_issues(index)


def test_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(place), "--class", "food", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["label"] for row in rows] == [["food", "long"], ["food", "weather"]] * 1 + [
        ["food", "weather"]
    ]
    assert main(["explore", str(place), "--words", "nothing"]) == 0
    assert capsys.readouterr().out == "2\ttrain:3\tno class\tnothing\n"
    assert main(["data", "issues", str(place)]) == 2
    assert "these texts may have several" in capsys.readouterr().err
