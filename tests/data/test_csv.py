import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from icaps.data.encoding import LONGEST, lines
from icaps.data.formats.csv import CsvRows
from icaps.data.problems import Problem

FIELD = st.text(alphabet='ab",;\t|\n\r é😀\x85\u2028', max_size=6)
TABLES = st.lists(st.lists(FIELD, min_size=2, max_size=4), max_size=6)


def rows(text: str, delimiter: str = ",", quoted: bool = True) -> list[tuple[int, list[str]]]:
    return list(CsvRows(lines([text], ""), "x.csv", delimiter, quoted))


@given(TABLES, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_csv_writes_is_read(table: list[list[str]], delimiter: str, end: str) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
        table
    )
    assert [row for _, row in rows(stream.getvalue(), delimiter)] == table


@given(st.text(alphabet='ab",\n\r', max_size=30))
@example(',"\r","')
def test_every_line_is_read_or_told(text: str) -> None:
    """Whatever is wrong: each line with more than quotes on it is within a row or a problem."""
    told = {0}
    reader = CsvRows(lines([text], ""), "x.csv", ",", True)
    for item in reader:
        if isinstance(item, Problem):
            # Of a row that may have started on a line before, after the last row.
            told |= set(range(max(told) + 1, (item.line or 0) + 1))
        else:
            told |= set(range(item[0], item[0] + len(reader.raw)))
    whole = io.StringIO(text, newline="")
    assert told >= {number for number, line in enumerate(whole, 1) if line.strip('"\r\n')}


@given(st.lists(st.sampled_from(['a,"x', 'a,"x"y', 'a,"']), max_size=3), st.integers(1, 5))
def test_good_rows_outlive_bad_ones(bad: list[str], good: int) -> None:
    """Rows of one line without quotes are all read before, between and after broken ones."""
    text = "".join(f"{line}\nb,{n}\n" * good for n, line in enumerate(bad))
    if 'a,"\n' in text:
        return  # two of these are one good row with line ends in its second field
    found = [item[1] for item in rows(text) if not isinstance(item, Problem)]
    assert found == [["b", str(n)] for n in range(len(bad)) for _ in range(good)]


def test_lines_are_those_rows_start_on() -> None:
    found = rows('a,b\n\n"x\ny\n","z\n"\r\nlast,row')
    assert found == [(1, ["a", "b"]), (3, ["x\ny\n", "z\n"]), (7, ["last", "row"])]


def test_without_quotes() -> None:
    text = '1\t"Hello\n2\t"a" b\n'
    assert rows(text, "\t", quoted=False) == [(1, ["1", '"Hello']), (2, ["2", '"a" b'])]


def test_a_quote_that_would_take_the_whole_file() -> None:
    filler = "b," + "y" * 98 + "\n"
    count = LONGEST // len(filler) + 500
    reader = CsvRows(lines(iter(['a,"x\n', *[filler] * count]), ""), "x.csv", ",", True)
    first, *rest = reader
    assert isinstance(first, Problem)
    assert (first.kind, first.line, first.column) == ("unclosed quote", 1, 3)
    assert len(rest) == count


def test_a_long_field(monkeypatch: pytest.MonkeyPatch) -> None:
    before = csv.field_size_limit(10)
    try:
        assert rows("a," + "y" * 200_000)[0][1][1] == "y" * 200_000
        csv.field_size_limit(1 << 40)
        rows("a,b")
        assert csv.field_size_limit() == 1 << 40  # another's larger limit stays
    finally:
        csv.field_size_limit(before)


def test_ragged_rows_say_where() -> None:
    reader = CsvRows(lines(['a,b\n"1,\n2","3" ,"4",5\n'], ""), "x.csv", ",", True)
    items = iter(reader)
    next(items)
    # The stray blank after a quote comes first.
    problem = next(items)
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.line, problem.column) == ("stray quote", 3, 4)
    reader = CsvRows(lines(['"1,\n2","3","4",5\n'], ""), "x.csv", ",", True)
    _, row = next(iter(reader))
    assert (reader.ragged(row, 3).line, reader.ragged(row, 3).column) == (2, 12)
    assert (reader.ragged(row, 9).line, reader.ragged(row, 9).column) == (2, 13)
