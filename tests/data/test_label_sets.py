"""Sets of labels as strings."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.data.label_sets import (
    classes_of,
    format_label_set,
    indicator,
    is_multilabel,
    label_set,
    names_in,
    shown_label,
)
from icaps.errors import DataError

NAMES = st.text(st.characters(exclude_categories=[]))  # lone surrogates as well


@given(st.lists(NAMES))
def test_round_trip(names: list[str]) -> None:
    label = format_label_set(names)
    assert label_set(label) == tuple(sorted(set(names)))
    assert format_label_set(reversed(names)) == label
    assert not set("\r\n") & set(label)


@given(st.lists(st.text()))
def test_round_trip_through_files(names: list[str]) -> None:
    label = format_label_set(names)
    assert json.loads(json.dumps(label)) == label
    table = io.StringIO(newline="")
    csv.writer(table).writerow([label])
    assert next(csv.reader(io.StringIO(table.getvalue(), newline=""))) == [label]


@given(st.text())
def test_ordinary_names(name: str) -> None:
    assert label_set(name) is None or format_label_set(json.loads(name)) == name


@pytest.mark.parametrize(
    "label",
    [
        "a",
        "",
        "[",
        "[]]",
        "[a]",
        "['a']",
        '["b", "a"]',
        '["a", "a"]',
        '["a","b"]',
        "[1]",
        '[["a"]]',
    ],
)
def test_not_canonical(label: str) -> None:
    assert label_set(label) is None
    assert names_in(label) == (label,)


def test_deeply_nested_name() -> None:
    assert label_set("[" * 100_000 + "]" * 100_000) is None


def test_known_forms() -> None:
    assert format_label_set(["b", "a", "b"]) == '["a", "b"]'
    assert format_label_set([]) == "[]"
    assert label_set('["é"]') == ("é",)
    assert label_set("[]") == ()


def test_a_label_for_a_reader() -> None:
    assert shown_label('["a", "b"]') == "a, b"
    assert shown_label("[]") == "no class"
    assert shown_label("a, b") == "a, b"


def test_multilabel() -> None:
    assert is_multilabel(['["a"]', "[]"])
    assert not is_multilabel(['["a"]', "a"])
    assert not is_multilabel(["a", '["a"]'])
    assert not is_multilabel([])


def test_classes() -> None:
    assert classes_of(['["b", "c"]', "[]", '["a"]']) == ("a", "b", "c")
    assert classes_of(['["10", "9"]']) == ("9", "10")
    assert classes_of(["b", "a", "b"]) == ("a", "b")


def test_indicator() -> None:
    rows = indicator(['["a", "c"]', "[]", '["b"]', '["a", "c"]'], ["a", "b", "c"])
    np.testing.assert_array_equal(rows, [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]])
    assert rows.dtype == bool
    assert indicator([], ["a"]).shape == (0, 1)
    np.testing.assert_array_equal(indicator(["b", "a"], ["a", "b"]), [[0, 1], [1, 0]])
    with pytest.raises(DataError, match="'d'"):
        indicator(['["a", "d"]'], ["a", "b", "c"])
