import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from icaps.data.formats.json import _Array
from icaps.data.source import open_source

VALUES = st.lists(st.dictionaries(st.text(max_size=3), st.text() | st.none() | st.booleans()))


@given(VALUES, st.integers(1, 9), st.sampled_from([None, 0, 1]), st.booleans())
def test_an_array_is_read_whatever_its_blocks(
    values: list[object], size: int, indent: int | None, escaped: bool
) -> None:
    text = " \n" + json.dumps(values, indent=indent, ensure_ascii=escaped) + "\n"
    blocks = [text[n : n + size] for n in range(0, len(text), size)]
    found = list(_Array(blocks, "x.json").values())
    assert [value for _, value in found] == values
    # Objects are on lines of their own, so that their lines can be counted.
    if indent is not None:
        starts = [
            n for n, line in enumerate(text.split("\n"), 1) if line[:indent] + "{" in line[:2]
        ]
        assert [line for line, _ in found] == [
            n for n in starts if text.split("\n")[n - 1].startswith(" " * indent + "{")
        ]


def test_kinds_of_files(tmp_path: Path) -> None:
    rows = [{"label": n % 2, "text": f"text {n}", "more": [n]} for n in range(5)]
    expected = [(f"text {n}", str(n % 2), n + 1) for n in range(5)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("x.jsonl", "x.ndjson", "x.json", "x.txt", "x"):
        (tmp_path / name).write_text(lines)
        found = list(open_source(tmp_path / name))
        assert [(text, label, line) for text, label, _, line in found] == expected
    for name in ("y.json", "y.txt"):
        (tmp_path / name).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]")
        found = list(open_source(tmp_path / name))
        assert [(text, label, line - 1) for text, label, _, line in found] == expected


def test_keys_that_come_late(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "one", "label": "a"}\n{"id": 3, "label": "b", "text": "two"}\n')
    source = open_source(path)
    assert [record.text for record in source] == ["one", "two"]
    assert source.describe().files[0].columns == ("text", "label", "id")


def test_an_escaped_surrogate_is_text(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(r'{"text": "a \ud800 b", "label": "a"}')
    assert [record.text for record in open_source(path)] == ["a \ud800 b"]


def test_a_first_line_longer_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"text": "x" * 600_000, "label": "a"}) + "\n")
    assert [len(record.text) for record in open_source(path)] == [600_000]
