import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icaps.data import text_file
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.explore import word_numbers
from icaps.explore.index import Index, load_index, make_index
from icaps.explore.search import Query, search
from icaps.explore.word_numbers import iter_words
from icaps.text.tokenizer import split_words
from tests.data.hostile import ROWS
from tests.explore.indexed import indexed, write

HOSTILE = [
    ("", "<b>bold</b>"),
    ("a\0b", "a"),
    ("half \ud83d a smile", "a"),
    ("Windows\r\nlines\r\n", '"><script>alert(1)</script>'),
    ("😀 👩‍👩‍👧‍👦", "0"),
    ("A &amp; B; don't", "1"),
    ("Straße STRASSE strasse", "a"),
    *ROWS,
]
MANY = [("one two three", "a"), ("Two, or not two?", "b"), ("", "a"), ("TWO\n\nlines", "c")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows fill a block, a range and the words at hand."""
    monkeypatch.setattr(text_file, "_BLOCK_ROWS", 3)
    monkeypatch.setattr(word_numbers, "RANGE", 4)
    monkeypatch.setattr(word_numbers, "_MOST_IN_DICT", 5)
    monkeypatch.setattr(word_numbers, "_BATCH", 2)


def found(index: Index, *arguments: object, **query: object) -> list[int]:
    rows = search(index, Query(**query), *arguments)  # type: ignore[arg-type]
    assert rows.dtype == np.int64
    return rows.tolist()


def test_columns(tmp_path: Path) -> None:
    place = write(tmp_path / "data", train=MANY, test=[("not now", "b")])
    index = indexed(place)
    assert len(index) == 5
    assert index.classes == ("a", "b", "c")
    assert index.splits == ("train", "test")
    assert index.labels.tolist() == [0, 1, 0, 2, 1]
    assert index.split.tolist() == [0, 0, 0, 0, 1]
    assert index.words.tolist() == [3, 6, 0, 2, 2]
    assert index.lines.tolist() == [1, 2, 3, 4, 1]
    dtypes = (np.int32, np.int8, np.int32, np.int64)
    columns = (index.labels, index.split, index.words, index.lines)
    assert tuple(column.dtype for column in columns) == dtypes
    assert index.text([4, 0, 0]) == ["not now", "one two three", "one two three"]
    assert index.text([]) == []


@pytest.mark.usefixtures("small_blocks")
def test_hostile_texts_come_back(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=HOSTILE))
    assert index.text(np.arange(len(index))) == [text for text, _ in HOSTILE]
    assert [index.classes[code] for code in index.labels] == [label for _, label in HOSTILE]
    assert index.words.tolist() == [len(split_words(text)) for text, _ in HOSTILE]
    assert found(index, regex=r"a\x00b") == [1]
    assert found(index, regex=r"half . a") == [2]
    assert found(index, regex=r"^$")[0] == 0
    assert found(index, words="DON'T b") == [5]
    assert found(index, words="strasse") == [6]
    assert found(index, words="STRAẞE") == [6]
    assert found(index, words="😀", classes=("0",)) == [4]
    assert found(index, classes=("<b>bold</b>",)) == [0]


def test_long_texts(tmp_path: Path) -> None:
    long = ("w" * 29 + " ") * 500_000 + "end"  # 15 MB
    index = indexed(write(tmp_path / "data", train=[("x", "a"), (long, "b"), ("end", "a")]))
    assert index.words.tolist() == [1, 500_001, 1]
    assert index.text([1]) == [long]
    assert found(index, words="end") == [1, 2]
    assert found(index, regex="w end$") == [1]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"words": "two"}, [0, 1, 3]),
        ({"words": "Two not"}, [1]),
        ({"words": "tw"}, []),
        ({"words": "or", "classes": ("a", "c")}, []),
        ({"words": " \n"}, [0, 1, 2, 3, 4]),
        ({"regex": "TWO|not"}, [1, 3, 4]),
        ({"regex": "(?i)^two"}, [1, 3]),
        ({"regex": r"two\b.\?"}, []),
        ({"split": "test"}, [4]),
        ({"classes": ("a",)}, [0, 2]),
        ({"classes": ("a", "b"), "regex": "o"}, [0, 1, 4]),
        ({"fewest_words": 3}, [0, 1]),
        ({"fewest_words": 2, "most_words": 3}, [0, 3, 4]),
        ({"most_words": 0}, [2]),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_find(tmp_path: Path, query: dict[str, object], rows: list[int]) -> None:
    index = indexed(write(tmp_path / "data", train=MANY, test=[("not now", "b")]))
    assert found(index, **query) == rows
    mask = np.array([True, False, True, True, False])
    assert found(index, mask, **query) == [row for row in rows if mask[row]]
    assert mask.tolist() == [True, False, True, True, False]


WORD = st.sampled_from(["a", "A", "b", "ab", "é", "É", "don't", "&amp;", "x;", "\ud800", "\n", ","])
TEXTS = st.lists(st.lists(WORD, max_size=5).map(" ".join), min_size=1, max_size=12)


@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.lists(WORD, max_size=2), st.sampled_from(["", "a", "[ab] b", "^.$", ",$"]))
def test_find_is_what_a_loop_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], wanted: list[str], regex: str
) -> None:
    rows = [(text, "x") for text in texts]
    index = indexed(write(tmp_path_factory.mktemp("data"), train=rows))
    folded = {word.text.casefold() for word in split_words(" ".join(wanted))}
    expected = [
        number
        for number, text in enumerate(texts)
        if folded <= {word.text.casefold() for word in split_words(text)}
        and re.search(regex.replace("$", r"\Z"), text)
    ]
    assert found(index, words=" ".join(wanted), regex=regex) == expected


PARTS = [
    *("a", "b2", "don't", "didn #39;t", "&amp;", "quot;x", "é", ".", "1,", "\r\n", "_", "😀"),
    *("\u0600", "\u0301", "\u200d", "\u0d4e", "\u094d", "क", "ж", "中", "文", "の", "は", "\u3099"),
    *("ก", "ข", "\u0e33", "\uff9e", "\U000111c2", "שלום"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*PARTS, " ", " ", " "]), max_size=40).map("".join))
def test_words_are_those_of_the_library(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    expected = [word.text for word in split_words(text)]
    assert list(iter_words(text)) == expected
    for size in (1, 3, 7):
        monkeypatch.setattr(word_numbers, "_PIECE", size)
        assert list(iter_words(text)) == expected
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"regex": "ab(c"}, r"mistake at character 1, 'ab\(c': missing \)"),
        ({"regex": "ab[c"}, r"mistake at character 3, '\[c': missing \]"),
        ({"regex": r"(a)\1"}, r"at character 4, '\\\\1': invalid escape sequence"),
        ({"regex": "x(?=y)"}, r"at character 2, '\(\?=': invalid perl operator"),
        ({"regex": "ab\ud800"}, "half a character at character 3"),
        ({"classes": ("a", "<i>")}, "no class '<i>' in the data; there is a, b, c"),
        ({"split": "dev"}, "no split 'dev' in the data; there is train"),
    ],
)
def test_queries_that_are_wrong(tmp_path: Path, query: dict[str, object], message: str) -> None:
    index = indexed(write(tmp_path / "data", train=MANY))
    with pytest.raises(DataError, match=message):
        found(index, np.zeros(4, bool), **query)


def test_masks_and_numbers_that_are_wrong(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", train=MANY))
    with pytest.raises(ValueError, match="mask"):
        search(index, Query(), np.ones(3, bool))
    for number in (-1, 4):
        with pytest.raises(IndexError, match="0 to 3"):
            index.text([number])


def test_changed_data_are_indexed_anew(tmp_path: Path) -> None:
    place = write(tmp_path / "data", train=MANY)
    assert load_index(place, {}) is None
    first = make_index(place, {})
    same = load_index(place, {"text": None, "on_bad_rows": "strict"})
    assert same is not None
    assert same.folder == first.folder
    assert load_index(place / "train.jsonl", {}) is None
    assert load_index(place, {"label": "label"}) is None
    write(place, train=[*MANY, ("x", "a")])
    assert load_index(place, {}) is None
    second = make_index(place, {})
    assert len(second) == 5
    assert len(Index(first.folder)) == 4
    os.utime(place / "train.jsonl", ns=(1, 1))
    assert load_index(place, {}) is None
    make_index(place, {})
    (place / "classes.txt").write_text("x\n")
    assert load_index(place, {}) is None
    write(place, test=MANY)
    assert load_index(place, {}) is None


def test_one_index_for_options_that_say_the_same(tmp_path: Path) -> None:
    place = write(tmp_path / "data", train=MANY)
    folder = make_index(place, {"text": "text", "encoding": None}).folder
    for text in (("text",), ["text"]):
        same = load_index(place, {"text": text})
        assert same is not None
        assert same.folder == folder


def test_data_that_change_while_they_are_read(tmp_path: Path) -> None:
    place = write(tmp_path / "data", train=MANY)

    class Meddler(_Told):
        def on_texts(self, count: int) -> None:
            os.utime(place / "train.jsonl", ns=(1, 1))

    with pytest.raises(DataError, match="changed while it was read"):
        make_index(place, {}, Meddler())
    assert load_index(place, {}) is None


def test_a_folder_of_texts_by_class(tmp_path: Path) -> None:
    for label, name, text in (("b", "1", "x"), ("a", "1", "y y"), ("a", "2", "z")):
        (tmp_path / "data" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / label / f"{name}.txt").write_text(text)
    index = indexed(tmp_path / "data")
    assert index.text([0, 1, 2]) == ["y y", "z", "x"]
    (tmp_path / "data" / "a" / "2.txt").write_text("z changed")
    assert load_index(tmp_path / "data", {}) is None


class _Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.texts = 0

    def say(self, line: str) -> None:
        self.lines.append(line)

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        raise AssertionError("nothing is downloaded")

    def expect_texts(self, total: int) -> None:
        self.expected = total

    def on_texts(self, count: int) -> None:
        self.texts += count


def test_progress_and_bad_rows(tmp_path: Path) -> None:
    place = tmp_path / "data.csv"
    place.write_text("label,text\n" + "a,one\nb\n,two\n" * 1100 + "b,three\n")
    told = _Told()
    index = make_index(place, {}, told)
    assert told.texts == told.expected == 1101
    assert told.lines[0] == f"reading {place}"
    (split,) = index.facts.splits
    assert split.rows == 1101
    assert split.bad_rows == {"ragged row": 1100, "missing label": 1100}
    assert make_index(place, {}, told).folder == index.folder
    assert told.texts == 1101


def test_only_a_test_part(tmp_path: Path) -> None:
    index = indexed(write(tmp_path / "data", test=MANY))
    assert index.splits == ("test",)
    assert found(index, split="test") == [0, 1, 2, 3]


def test_data_that_can_not_be_indexed(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match="no file or folder"):
        make_index(tmp_path / "nowhere", {})
    (tmp_path / "empty.csv").write_text("label,text\nb\n")
    with pytest.raises(DataError, match="no rows"):
        make_index(tmp_path / "empty.csv", {})
    assert not list(cache.rglob("*.arrow"))
    assert load_index(tmp_path / "empty.csv", {}) is None


@pytest.mark.parametrize("name", ["facts.json", "texts.arrow", "labels.npy"])
@pytest.mark.parametrize("content", [b"", b"{}", None])
def test_a_damaged_index(tmp_path: Path, name: str, content: bytes | None) -> None:
    place = write(tmp_path / "data", train=MANY)
    folder = make_index(place, {}).folder
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(DataError, match="Delete the folder"):
        load_index(place, {})


def test_threads_share_an_index(tmp_path: Path) -> None:
    rows = [(f"text {number}", "a") for number in range(6_000)]
    index = indexed(write(tmp_path / "data", train=rows))
    rng = np.random.default_rng(1)
    pages = [rng.integers(0, len(rows), 50) for _ in range(100)]
    with ThreadPoolExecutor(8) as pool:
        texts = pool.map(index.text, pages)
        for page, got in zip(pages, texts, strict=True):
            assert got == [rows[number][0] for number in page]
        queries = [Query(words="777"), Query(regex=r"\b777$")] * 8
        for hits in pool.map(lambda query: search(index, query), queries):
            assert hits.tolist() == [777]


def test_as_the_source_reads_it(tmp_path: Path) -> None:
    place = tmp_path / "x.csv"
    place.write_text('2,"a title","says ""so""\\nthere"\n1,"b","c"\n')
    index = indexed(place)
    records = list(open_source(place))
    assert index.text([0, 1]) == [record.text for record in records]
    assert index.lines.tolist() == [record.line for record in records]
