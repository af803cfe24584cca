"""Texts with several labels each: all forms in which they are written, and contradictions."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as Items
from hypothesis import given
from hypothesis import strategies as st

from icaps.cli.main import main
from icaps.data.check import check
from icaps.data.class_names import class_name
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.label_sets import format_label_set
from icaps.data.label_values import find_separators, label_value
from icaps.data.preview import preview
from icaps.data.problems import UnclearColumnsError, UnclearLabelsError
from icaps.data.sample import draw_sample
from icaps.data.source import LabelledTexts, open_source
from icaps.data.unlabelled import open_unlabelled
from icaps.errors import ConfigError, DataError

TEXTS = ["rain on the hills", "dough must rest", "the sun is out", "a cake in the rain"]
SETS = [["weather"], ["food", "long"], [], ["weather", "food"]]
LABELS = ['["weather"]', '["food", "long"]', "[]", '["food", "weather"]']
CLASSES = ("food", "long", "weather")


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


def labels_of(data: Any, part: str = "train", **options: Any) -> list[str]:
    return [record.label for record in open_source(data, part, **options)]


def table(rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue()


def flags(names: Sequence[str]) -> list[int]:
    return [int(name in names) for name in CLASSES]


def test_lists_in_json(tmp_path: Path) -> None:
    rows = [{"text": text, "label": names} for text, names in zip(TEXTS, SETS, strict=True)]
    for name, content in (
        ("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
        ("a.json", json.dumps(rows)),
        (
            "b.jsonl",
            "".join(json.dumps({**row, "label": str(row["label"])}) + "\n" for row in rows),
        ),
    ):
        path = write(tmp_path / name, content)
        assert labels_of(path) == LABELS
        described = open_source(path).describe()
        assert described.multilabel
        assert described.files[0].label == "label"
        assert LabelledTexts.from_source(open_source(path)).classes == CLASSES


@pytest.mark.parametrize(
    "notation",
    [
        json.dumps,
        str,
        lambda names: str(tuple(names)) if len(names) > 1 else str(names),
        lambda names: str(set(names)) if names else "[]",
        lambda names: str(np.array(names, dtype=object)),  # ['food' 'long']
        lambda names: json.dumps({"choices": names}),
    ],
)
def test_lists_in_cells(notation: Any, tmp_path: Path) -> None:
    cells = [notation(names) for names in SETS]
    if cells[1].startswith("("):  # a name may be in brackets
        cells[1] = f"[{cells[1][1:-1]}]"
        cells[3] = f"[{cells[3][1:-1]}]"
    rows = [("text", "label"), *zip(TEXTS, cells, strict=True)]
    assert labels_of(write(tmp_path / "a.csv", table(rows))) == LABELS


def test_numbers_in_cells(tmp_path: Path) -> None:
    rows = [("text", "label"), *zip(TEXTS, ["[0]", "[2 10]", "[1, 2]", "[]"], strict=True)]
    path = write(tmp_path / "a.csv", table(rows))
    assert labels_of(path) == ['["0"]', '["10", "2"]', '["1", "2"]', "[]"]
    write(tmp_path / "classes.txt", "".join(f"n{n}\n" for n in range(11)))
    assert labels_of(path) == ['["n0"]', '["n10", "n2"]', '["n1", "n2"]', "[]"]


def test_lists_in_memory_and_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "label": SETS})
    assert labels_of(frame) == LABELS
    frame.to_parquet(tmp_path / "a.parquet")
    assert labels_of(tmp_path / "a.parquet") == LABELS
    assert labels_of((TEXTS, SETS)) == LABELS
    assert labels_of((TEXTS, [set(names) for names in SETS])) == LABELS
    assert labels_of((TEXTS, [np.array(names) for names in SETS])) == LABELS


def test_names_of_numbers_in_lists(tmp_path: Path) -> None:
    numbers = [[CLASSES.index(name) for name in names] for names in SETS]
    features = Features({"text": Value("string"), "labels": Items(ClassLabel(names=list(CLASSES)))})
    data = Dataset.from_dict({"text": TEXTS, "labels": numbers}, features)
    assert labels_of(data) == LABELS
    data.to_parquet(tmp_path / "a.parquet")
    assert labels_of(tmp_path / "a.parquet") == LABELS


def test_a_separator(tmp_path: Path) -> None:
    cells = ["weather", "food; long;", "", " weather ;food"]
    path = write(tmp_path / "a.csv", table([("text", "label"), *zip(TEXTS, cells, strict=True)]))
    assert labels_of(path, label_separator=";") == LABELS
    assert open_source(path, label_separator=";").describe().files[0].separator == ";"


def test_a_separator_is_asked_for(tmp_path: Path) -> None:
    cells = ["weather", "food|long", "food", "food|weather"]
    path = write(tmp_path / "a.csv", table([("text", "kind"), *zip(TEXTS, cells, strict=True)]))
    with pytest.raises(UnclearLabelsError) as raised:
        labels_of(path)
    assert "--label-separator '|' (label_separator='|')" in str(raised.value)
    assert "--no-multilabel (multilabel=False)" in str(raised.value)
    assert raised.value.column == "kind"
    assert raised.value.candidates == (("|", "food|long", ("food", "long")),)
    assert labels_of(path, label_separator="|")[3] == '["food", "weather"]'
    assert labels_of(path, multilabel=False) == cells
    with pytest.raises(UnclearLabelsError):  # between which labels is still open
        labels_of(path, multilabel=True)
    seen = preview(path, {})
    assert seen.separators == raised.value.candidates
    assert seen.trouble == str(raised.value)


@pytest.mark.parametrize(
    ("cells", "separators"),
    [
        (["a;b", "b", "a"], [";"]),
        (["a, b", "b,c", "c", "a"], [","]),
        (["x|y", "y|z", "z|x"], ["|"]),
        (["Sci, Tech", "World", "Sport", "Business"], []),
        (["Sci, Tech", "World, Politics"], []),
        (["sport,football", "sport,tennis", "politics,eu"], []),
        (["1,5", "2,5", "1,0", "2,0", "5,0", "5,5"], []),
        (["a b", "b", "a"], []),
        (["a", "b"], []),
        (["a;", "a"], []),
        ([], []),
    ],
)
def test_likely_separators(cells: list[str], separators: list[str]) -> None:
    assert list(find_separators(cells)) == separators


def test_a_column_per_class(tmp_path: Path) -> None:
    rows = [
        (n, text, *flags(names)) for n, (text, names) in enumerate(zip(TEXTS, SETS, strict=True))
    ]
    path = write(tmp_path / "a.csv", table([("id", "comment", *CLASSES), *rows]))
    assert labels_of(path) == LABELS  # nothing else can be meant
    file = open_source(path).describe().files[0]
    assert (file.text, file.label, file.label_columns) == (("comment",), "", CLASSES)
    assert file.multilabel
    assert labels_of(path, label=["food", "weather"]) == [
        '["weather"]',
        '["food"]',
        "[]",
        '["food", "weather"]',
    ]
    assert list(open_unlabelled(path)) == TEXTS
    assert list(open_unlabelled(path, label=["food", "weather"])) == TEXTS


def test_columns_per_class_in_memory() -> None:
    rows = [dict(zip(CLASSES, flags(names), strict=True)) for names in SETS]
    frame = pd.DataFrame(rows).assign(text=TEXTS)
    assert labels_of(frame) == LABELS
    assert labels_of(frame.astype(dict.fromkeys(CLASSES, bool))) == LABELS
    assert labels_of(frame.astype(dict.fromkeys(CLASSES, float))) == LABELS


def test_two_columns_of_flags_are_asked_for(tmp_path: Path) -> None:
    rows = [(text, *flags(names)[:2]) for text, names in zip(TEXTS, SETS, strict=True)]
    path = write(tmp_path / "a.csv", table([("text", "food", "long"), *rows]))
    with pytest.raises(
        UnclearColumnsError, match="--text text --label food --label long"
    ) as raised:
        labels_of(path)
    assert raised.value.choices[-1] == (("text",), ("food", "long"))
    assert "label=['food', 'long']" in str(raised.value)
    assert labels_of(path, label=["food", "long"]) == ["[]", '["food", "long"]', "[]", '["food"]']
    seen = preview(path, {})
    assert seen.unclear is not None
    assert seen.unclear.label_columns == ("food", "long")


def test_a_label_beside_flags_stays_the_label(tmp_path: Path) -> None:
    rows = [(text, "ab"[n % 2], *flags(SETS[n])) for n, text in enumerate(TEXTS)]
    path = write(tmp_path / "a.csv", table([("text", "label", *CLASSES), *rows]))
    assert labels_of(path) == ["a", "b", "a", "b"]


def test_one_column_set_in_each_row_is_one_label(tmp_path: Path) -> None:
    rows = [(text, *flags([CLASSES[n % 3]])) for n, text in enumerate(TEXTS)]
    path = write(tmp_path / "a.csv", table([("text", *CLASSES), *rows]))
    assert labels_of(path) == ["food", "long", "weather", "food"]
    (note,) = open_source(path).describe().notes
    assert "--multilabel (multilabel=True)" in note
    assert labels_of(path, multilabel=True)[:2] == ['["food"]', '["long"]']


def test_flags_that_are_none(tmp_path: Path) -> None:
    rows = [("text", *CLASSES), (TEXTS[0], 1, 1, 0), (TEXTS[1], 1, "", 0), (TEXTS[2], 2, 0, 1)]
    path = write(tmp_path / "a.csv", table(rows))
    with pytest.raises(
        DataError, match=r"line 3, column 'long': the value is missing; a column per"
    ):
        labels_of(path, label=list(CLASSES))
    source = open_source(path, label=list(CLASSES), on_bad_rows="skip")
    assert [record.label for record in source] == ['["food", "long"]']
    assert source.problems.counts == {"neither 0 nor 1": 2}
    with pytest.raises(DataError, match="the column 'text' has values such as 'rain on the hills'"):
        labels_of(path, text="food", label=["text", "weather"])


def test_one_item_in_each_list_is_an_ordinary_label(tmp_path: Path) -> None:
    content = "".join(
        json.dumps({"text": t, "label": ["ab"[n % 2]]}) + "\n" for n, t in enumerate(TEXTS)
    )
    path = write(tmp_path / "a.jsonl", content)
    assert labels_of(path) == ["a", "b", "a", "b"]
    assert not open_source(path).describe().multilabel
    assert labels_of(path, multilabel=True) == ['["a"]', '["b"]', '["a"]', '["b"]']


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (["a", "b"], r"line 1002, column 'label': it has several labels .* --multilabel"),
        ([], r"line 1002, column 'label': the row has no label.* --multilabel"),
    ],
)
def test_a_later_row_contradicts_single_labels(last: Any, message: str, tmp_path: Path) -> None:
    rows = [["ab"[n % 2]] for n in range(1001)] + [last]
    content = "".join(
        json.dumps({"text": f"some text {n}", "label": row}) + "\n" for n, row in enumerate(rows)
    )
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(DataError, match=message):
        labels_of(path)
    assert labels_of(path, multilabel=True)[-1] == format_label_set(last)


def test_a_later_row_contradicts_lists(tmp_path: Path) -> None:
    rows: list[Any] = [["a", "b"] for n in range(1001)] + ["b"]
    content = "".join(
        json.dumps({"text": f"some text {n}", "label": row}) + "\n" for n, row in enumerate(rows)
    )
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(DataError, match=r"line 1002, .*'b' is no list.* --multilabel"):
        labels_of(path)
    assert labels_of(path, multilabel=True)[-1] == '["b"]'
    with pytest.raises(DataError, match="several labels"):
        labels_of(path, multilabel=False)


def test_plain_labels_beside_a_list_are_asked_about(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", '{"text": "x", "label": "a"}\n{"text": "y", "label": ["a", "b"]}\n'
    )
    with pytest.raises(DataError, match=r"line 2, .*several labels .* --multilabel"):
        labels_of(path)
    assert labels_of(path, multilabel=True) == ['["a"]', '["a", "b"]']


def test_lines_of_fasttext(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.txt", "__label__a __label__b one two\n__label__a three\n__label__b\n"
    )
    with pytest.raises(DataError, match=r"line 1, column 12: .*several labels.* --multilabel"):
        labels_of(path)
    records = list(open_source(path, multilabel=True))
    assert [record.label for record in records] == ['["a", "b"]', '["a"]', '["b"]']
    assert [record.text for record in records] == ["one two", "three", ""]
    assert list(open_unlabelled(path)) == ["one two", "three", ""]


def test_a_test_part_is_read_like_the_training_part(tmp_path: Path) -> None:
    write(
        tmp_path / "train.jsonl",
        "".join(
            json.dumps({"text": text, "label": names}) + "\n"
            for text, names in zip(TEXTS, SETS, strict=True)
        ),
    )
    write(tmp_path / "test.jsonl", '{"text": "x", "label": ["food"]}\n{"text": "y", "label": []}\n')
    assert labels_of(tmp_path, "test") == ['["food"]', "[]"]
    write(
        tmp_path / "train.csv",
        table([("text", *CLASSES), *((t, *flags(s)) for t, s in zip(TEXTS, SETS, strict=True))]),
    )
    (tmp_path / "train.jsonl").unlink()
    (tmp_path / "test.jsonl").unlink()
    write(tmp_path / "test.csv", table([("text", *CLASSES), ("x", 1, 0, 0), ("y", 0, 0, 1)]))
    assert labels_of(tmp_path, "test") == ['["food"]', '["weather"]']


def test_other_files_of_a_part_are_read_like_the_first(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "x", "label": ["a", "b"]}\n')
    write(tmp_path / "b.jsonl", '{"text": "y", "label": ["a"]}\n')
    assert labels_of([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) == ['["a", "b"]', '["a"]']
    with pytest.raises(DataError, match="several labels"):
        labels_of([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])


def test_lists_of_names_are_labels_and_lists_of_words_are_not() -> None:
    frame = pd.DataFrame({"tweet body": [f"{text} {n}" for n in range(5) for text in TEXTS]})
    frame["tags"] = SETS * 5
    assert labels_of(frame) == LABELS * 5


def test_contradicting_options(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label\nx,a\ny,b\n")
    for options, message in (
        ({"label_separator": ";", "multilabel": False}, "leave out one"),
        ({"label_separator": ";", "label": ["text", "label"]}, "several label columns"),
        ({"label_separator": ""}, "The label separator is ''"),
        ({"label_separator": "\n"}, "The label separator is"),
    ):
        with pytest.raises(ConfigError, match=message):
            open_source(path, **options)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("a", "a"),
        ("[a]", "[a]"),
        (["a"], ("a",)),
        ([1, 2.0, True], ("1", "2.0", "True")),
        ({"choices": ["a", "b"]}, ("a", "b")),
        ("{'b', 'a'}", ("a", "b")),
        ("['a' 'b']", ("a", "b")),
        ("[\"a' 'b\"]", ("a' 'b",)),
        ("[ 1  2 ]", ("1", "2")),
        ("[-1. 2.5]", ("-1.0", "2.5")),
        ("[]", ()),
        (float("nan"), None),
        (pd.NA, None),
        (np.int64(3), 3),
    ],
)
def test_values_of_labels(value: Any, read: Any) -> None:
    assert label_value(value) == read


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).filter(
    class_name
)


@given(st.lists(st.lists(NAMES, max_size=4), min_size=1, max_size=8))
def test_any_names_survive_any_file(sets: list[list[str]]) -> None:
    wanted = [format_label_set(map(class_name, names)) for names in sets]
    texts = [f"text {n}" for n in range(len(sets))]
    assert labels_of((texts, sets), multilabel=True) == wanted
    cells = [json.dumps(names) for names in sets]
    assert labels_of((texts, cells), multilabel=True) == wanted
    assert labels_of((texts, wanted), multilabel=True) == wanted  # what we write is read
    if any(len(names) > 1 for names in sets):
        assert labels_of((texts, sets)) == wanted


def test_corrections_of_label_sets(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "corrections.jsonl")
    file.add(
        [GivenLabel(TEXTS[0], '["food"]'), GivenLabel(TEXTS[1], "[]"), GivenLabel(TEXTS[2], "x")]
    )
    source = open_source((TEXTS, SETS), corrections=file.path)
    assert [record.label for record in source] == ['["food"]', "[]", '["x"]', LABELS[3]]
    assert source.corrected == 3
    with pytest.raises(
        DataError, match=r"A correction is the label \[\], and the texts .* --multilabel"
    ):
        labels_of((TEXTS, ["a", "b", "a", "b"]), corrections=file.path)
    file.add([GivenLabel(TEXTS[1], '["c"]')])
    one = labels_of((TEXTS, ["a", "b", "a", "b"]), corrections=file.path)
    assert one == ["food", "c", "x", "b"]


def test_a_check_counts_each_class() -> None:
    texts = [f"text number {n}" for n in range(6)]
    sets = [["a", "b"], ["a"], [], ["b", "a", "b"], ["c"], []]
    report = check(
        open_source((texts, sets)), open_source((["x", "y"], [["a"], ["d"]]), multilabel=True)
    )
    assert report.train.rows == 6
    assert report.train.classes == {"a": 3, "b": 2, "c": 1}
    assert report.train.label_counts == {0: 2, 1: 2, 2: 2}
    kinds = {(item.severity, item.split, item.kind) for item in report.findings}
    assert kinds == {
        ("note", "train", "no label"),
        ("warning", "train", "single text"),
        ("error", "test", "unseen label"),
    }
    words = report.to_text()
    assert "several labels in 'label'" in words
    assert "labels per text: 0 to 2, mean 1.0" in words  # 6 labels of 6 texts
    assert "train: texts without any label: 2." in words
    assert check(open_source((texts, ["a", "b"] * 3))).train.label_counts == {}


def test_a_check_of_one_class_or_none() -> None:
    for sets, message in (
        ([["a"], [], ["a"]], "no text is of another class than class 'a'"),
        ([[], [], []], "no text has a label"),
    ):
        report = check(open_source((["x y", "y", "z"], sets), multilabel=True))
        assert not report.usable
        assert message in report.to_text()


def test_a_sample_has_classes_and_sets() -> None:
    sample = draw_sample(open_source((TEXTS, SETS)), 10, 60.0)
    assert sample.classes == CLASSES
    assert sample.counts == (2, 1, 2)
    assert sample.read == 4
    assert sorted(sample.pairs()) == sorted(zip(TEXTS, LABELS, strict=True))
    assert sample.distinct == tuple(sorted(LABELS))


def test_the_command_shows_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.dumps({"text": t, "label": k}) for t, k in zip(TEXTS, SETS, strict=True)]
    data = write(tmp_path / "a.jsonl", "\n".join(rows))
    file = str(tmp_path / "corrections.jsonl")
    assert main(["corrections", file, "--add", str(data), "--by", "Ann"]) == 0
    printed = capsys.readouterr().out
    assert "4 labels in 1 batches" in printed
    assert "by Ann: weather: rain on the hills and 3 more" in printed
    for kind in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"out.{kind}"
        assert main(["corrections", file, "--out", str(out)]) == 0
        assert labels_of(out, text="text", label="label") == LABELS
