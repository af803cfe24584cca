from pathlib import Path

import pytest

from icaps.data.problems import FileError
from icaps.data.source import open_source
from icaps.errors import DataError


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
    # Where a 0 is seen, the numbers are from 0.
    assert [label for _, label in records(path, '"0","x"\n"2","y"\n')] == ["World", "Business"]
    with pytest.raises(DataError, match=r"label 4 has no name: the 3 names .* labels 1 to 3"):
        records(path, '"4","x"\n"1","y"\n')
    # One of its columns alone.
    assert [text for text, _ in records(path, text, text="2", label="1")][1:] == ["", "Title"]


def test_a_header_keeps_backslashes(tmp_path: Path) -> None:
    assert records(tmp_path / "x.csv", "label,text\n1,a\\nb\n") == [("a\\nb", "1")]


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
