import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from icaps.data.encoding import LONGEST, lines
from icaps.data.formats.csv_rows import CsvRows
from icaps.data.problems import FileError, Problem
from icaps.data.source import open_source
from icaps.errors import DataError

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
def test_every_line_is_read_or_reported(text: str) -> None:
    """Each line with more than quotes on it is within a row or a problem."""
    covered = {0}
    reader = CsvRows(lines([text], ""), "x.csv", ",", True)
    for item in reader:
        if isinstance(item, Problem):
            # The row may have started on an earlier line, after the last row.
            covered |= set(range(max(covered) + 1, (item.line or 0) + 1))
        else:
            covered |= set(range(item[0], item[0] + len(reader.raw)))
    whole = io.StringIO(text, newline="")
    assert covered >= {number for number, line in enumerate(whole, 1) if line.strip('"\r\n')}


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
        assert csv.field_size_limit() == 1 << 40  # a larger limit of others stays
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


def records(path: Path, content: str, **options: object) -> list[tuple[str, str]]:
    path.write_bytes(content.encode())
    return [(record.text, record.label) for record in open_source(path, **options)]


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("label,text\na,one; two; three\n", ","),
        ("label;text\na;one, two, three\n", ";"),
        ("text|label\none, two; three|a\n", "|"),
        ("label\ttext\na\tone, two, three\n", "\t"),
        ("good\tone, two\nbad\tthree, four\ngood\tfive\nbad\tsix\n", "\t"),
        ("1;one, two\n2;three, four\n", ";"),
        ('"1","one; two","three; four"\n"2","five; six",""\n', ","),
        ('label;text\na;"one; two"\nb;"three\n; four, five"\n', ";"),
    ],
)
def test_delimiter(tmp_path: Path, text: str, delimiter: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert open_source(path).describe().files[0].delimiter == delimiter


def test_a_delimiter_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert records(path, "label^text\na^one, two\n", delimiter="^") == [("one, two", "a")]
    with pytest.raises(FileError, match="no delimiter of '~' splits it into columns"):
        records(path, "label^text\na^one, two\n", delimiter="~")


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("label,text\na,one\n", True),
        (" Label , TEXT \na,one\n", True),
        ("review,stars\nbad,1\n", True),
        ("body,mood\nso it is,good\nall of it,bad\nnot at all,good\nwhy,bad\n", True),
        ("so it is,good\nall of it,bad\nnot at all,good\nwhy,bad\n", False),
        ("topic,one of them\nnews,two of them\ntopic,three\nnews,four\n", False),
        ("1,one\n2,two\n", False),
        ("0.5,one of them\n2.5,two of them\n0.5,three\n", False),
        (",one\na,two\nb,three\na,four\na,five\n", False),
        ("It was a very long sentence.,good\nAnd this is another one.,bad\n", False),
    ],
)
def test_header(tmp_path: Path, text: str, header: bool) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    source = open_source(path, on_bad_rows="skip")
    if text.startswith("It was"):
        source = open_source(path, text="1", label="2")
    assert source.describe().files[0].header == header
    assert len(list(source)) + source.problems.total == text.count("\n") - header


def test_columns_by_number_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    text = "good,day,fine\nbad,it,is\n"
    assert records(path, text, text=["2", "3"], label="1") == [
        ("day fine", "good"),
        ("it is", "bad"),
    ]
    assert records(path, text, text="day", label="fine") == [("it", "is")]
    with pytest.raises(FileError, match="it has no column '2': it has the columns label, text"):
        records(path, "label,text\na,one\n", text="2", label="1")
    with pytest.raises(FileError, match="it has no column 'x': it has no header, so that its col"):
        records(path, "1,one\n2,two\n", text="x")
    with pytest.raises(FileError, match="it has no column 'x': it has the columns label, text"):
        records(path, "label,text\na,one\n", label="x")


def test_class_first(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    text = '"3","Title, of it","Said ""so""\\nand went\\tdown"\n"1","","Alone"\n"2","Title",""\n'
    expected = [('Title, of it Said "so"\nand went\\tdown', "3"), ("Alone", "1"), ("Title", "2")]
    assert records(path, text) == expected
    (tmp_path / "classes.txt").write_text("World\nSports\nBusiness\n")
    assert [label for _, label in records(path, text)] == ["Business", "World", "Sports"]
    about = open_source(path).describe().files[0]
    assert (about.text, about.label, about.header) == (("2", "3"), "1", False)
    assert about.classes == ("World", "Sports", "Business")
    # If there is a 0, numbers start at 0.
    assert [label for _, label in records(path, '"0","x"\n"2","y"\n')] == ["World", "Business"]
    with pytest.raises(DataError, match=r"label 4 has no name: the 3 names .* labels 1 to 3"):
        records(path, '"4","x"\n"1","y"\n')
    # Only one of its columns.
    assert [text for text, _ in records(path, text, text="2", label="1")][1:] == ["", "Title"]


def test_a_header_keeps_backslashes(tmp_path: Path) -> None:
    assert records(tmp_path / "x.csv", "label,text\n1,a\\nb\n") == [("a\\nb", "1")]


def test_quotes_that_a_backslash_escapes(tmp_path: Path) -> None:
    """As R's write.table and Python's csv write them, the first with names of rows."""
    texts = ['He said "hi", then left', "plain", 'C:\\new "x"', 'two\nlines "in" it', '"']
    rows = [(text, "ab"[n % 2]) for n, text in enumerate(texts)]
    for delimiter in ",;\t":
        out = io.StringIO()
        style = {"doublequote": False, "escapechar": "\\", "quoting": csv.QUOTE_ALL}
        csv.writer(out, delimiter=delimiter, **style).writerows([("text", "label"), *rows])
        assert records(tmp_path / "x.csv", out.getvalue()) == rows
    r = '"text" "label"\n"1" "He said \\"hi\\", then left" "a"\n"2" "plain" "b"\n"3" "q" "b"\n'
    assert records(tmp_path / "r.txt", r) == [*rows[:2], ("q", "b")]
    # A row that is broken in both ways of writing leaves it open what a backslash means.
    with pytest.raises(DataError, match="line 2, column 1: the quote that opens here is followed"):
        records(tmp_path / "x.csv", 'text,label\n"a \\"b\\"",x\n"c "d"",y\n')


def test_line_ends_in_exports_of_databases(tmp_path: Path) -> None:
    """As PostgreSQL's COPY writes them: \\n for a line end, \\N for a missing value."""
    text = "text\tlabel\tnote\none\\ntwo\\tx\ta\t\\N\nC:\\\\new\tb\tq\nthree\ta\t\\N\n"
    read = records(tmp_path / "x.tsv", text, text="text", label="label")
    assert read == [("one\ntwo\tx", "a"), ("C:\\new", "b"), ("three", "a")]
    # A backslash that escapes nothing, or no missing value: it is as it stands.
    for other in (text.replace("three", "th\\dree"), text.replace("\\N", "q")):
        read = records(tmp_path / "x.tsv", other, text="text", label="label")
        assert read[:2] == [("one\\ntwo\\tx", "a"), ("C:\\\\new", "b")]


def test_quotes_that_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    text = 'text\tlabel\n"so" it is\t1\n"never\t0\n5" disk\t1\n'
    assert records(path, text) == [('"so" it is', "1"), ('"never', "0"), ('5" disk', "1")]
    assert open_source(path).describe().files[0].quoted is False
    text = 'text\tlabel\n"so\nit is"\t1\n"all"\t0\n"stray" one\t1\n'
    with pytest.raises(DataError, match="line 5, column 1: the quote that opens here is followed"):
        records(path, text)


def test_a_row_longer_than_the_sample(tmp_path: Path) -> None:
    rows = [("word " * 300_000, "a"), ("x\ny", "b")]
    text = "label,text\n" + "".join(f'{label},"{text}"\n' for text, label in rows)
    assert records(tmp_path / "x.csv", text) == rows


def test_lines_of_spaces(tmp_path: Path) -> None:
    assert records(tmp_path / "x.csv", "\n  \nlabel,text\n\na,one\n   \n\n") == [("one", "a")]
