import csv
import io
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from dashboard.many import table
from dashboard.quotas import NotAllowedError
from icaps.errors import DataError
from icaps.interpret.kgrams import KGramWindows
from icaps.interpret.local import KGrams, Reasons
from icaps.reports.files import to_csv

CLASSES = ("World", "Business")


def reasons(*rows: tuple[str, list[str]]) -> Reasons:
    """Texts of the class Business, each with K-grams, at their first places in it."""
    count = len(rows)
    columns = [
        (number, text.index(kgram), text.index(kgram) + len(kgram))
        for number, (text, kgrams) in enumerate(rows)
        for kgram in kgrams
    ]
    places = np.array(columns, dtype=np.int64).reshape(-1, 3).T
    zeros = np.zeros(len(columns), dtype=np.int64)
    blank = np.array([not text for text, _ in rows])
    return Reasons(
        texts=[text for text, _ in rows],
        blank=blank,
        norms=np.where(blank[:, None], 0, np.float32([0.125, 0.75004])),
        predicted=np.where(blank, 0, 1),
        targets=np.zeros(count, dtype=np.int64),
        routing=np.zeros((count, 3)),
        windows=KGramWindows(*[zeros] * 6),
        kgrams=KGrams(*places, *[zeros] * 6),
    )


def to_frame(*rows: tuple[str, list[str]], classes: Sequence[str] = CLASSES) -> pd.DataFrame:
    return table.to_frame([reasons(*rows)], classes, lambda norms: norms)


def test_one_text_per_line() -> None:
    assert table.from_lines("one\n\n  \n two \r\nthree\x00\n") == ("one", " two ", "three\ufffd")
    assert table.from_lines("") == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"text\r\nbread\r\nsoup\r\n", ("bread", "soup")),
        (b"\xef\xbb\xbftext,label\nbread,Cooking\n", ("bread",)),  # a BOM, as Excel writes
        (
            b'id,text\n1,"two\nlines, and a ""quote"""\n2,soup\n',
            ('two\nlines, and a "quote"', "soup"),
        ),
        (b"text\rbread\rsoup", ("bread", "soup")),  # line ends of an old Mac
        (b'text,n\n"",1\nsoup\n', ("", "soup")),  # an empty text keeps its row
        (b"n,text\n1\n2,soup,more\n", ("", "soup")),  # too few cells, and too many
        ("text\nна́ука 👩🏽‍🔬\n".encode(), ("на́ука 👩🏽‍🔬",)),
        (b"text\nnull\x00\n", ("null\ufffd",)),
        (b"text\n", ()),
    ],
)
def test_the_text_column_of_a_csv(data: bytes, expected: tuple[str, ...]) -> None:
    assert table.from_file("Texts.CSV", data) == expected


def test_other_files_have_one_text_per_line() -> None:
    assert table.from_file("a.txt", b"\xef\xbb\xbftext\r\n\r\na,b") == ("text", "a,b")


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"", "give the column of the texts this name"),
        (
            b"Text;label\nbread;Cooking\n",
            "no column named 'text'; give the column of the texts this name",
        ),
        ("text\nbread".encode("utf-16"), "save it as UTF-8"),
        ("text\ncafé".encode("latin-1"), "save it as UTF-8"),
        (
            b'text\na\n"' + b"x" * 200_001 + b'"',
            "Text 2 has 200,001 characters, and the limit is",
        ),
        (b'text\n"' + b"x" * 17_000_000 + b'"', "can't be read .*field"),
    ],
)
def test_errors_about_a_csv_say_what_to_do(data: bytes, advice: str) -> None:
    with pytest.raises((DataError, NotAllowedError), match=advice):
        table.from_file("texts.csv", data)


def test_a_long_csv_field_is_read() -> None:
    text = "x" * 200_000
    assert table.from_file("texts.csv", f"text\n{text}\n".encode()) == (text,)
    assert table.from_lines(text) == (text,)


def test_the_error_about_too_many_texts_names_the_command_line() -> None:
    assert len(table.from_lines("a\n" * 5_000)) == 5_000
    with pytest.raises(NotAllowedError, match=r"5,001 texts.*`icaps explain`"):
        table.from_lines("a\n" * 5_001)
    with pytest.raises(NotAllowedError, match="command line"):
        table.from_file("a.csv", b"text\n" + b"a\n" * 5_001)


def test_a_row_holds_the_prediction_and_kgrams() -> None:
    parts = [reasons(("oil, gas", ["oil, gas", ", gas"]), ("", [])), reasons(("b", ["b"]))]
    frame = table.to_frame(parts, CLASSES, lambda norms: norms + (0.1, 0.04996))
    first, second, third = frame.to_dict("records")
    assert first == {
        "text": "oil, gas",
        "predicted": "Business",
        "probability": 0.8,
        "norm World": 0.125,
        "norm Business": 0.75,
        "K-grams": "oil, gas | , gas",
    }
    assert second["predicted"] == ""  # no class has a case
    assert (second["norm World"], second["K-grams"]) == (0.0, "")
    assert (third["text"], third["K-grams"]) == ("b", "b")  # of the next part
    assert table.to_frame([], CLASSES, lambda norms: norms).empty


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    data = to_csv(to_frame((text, [text]), classes=("World", text)))
    assert data.startswith(b"\xef\xbb\xbf")  # Excel takes a CSV without it for Latin-1
    (row,) = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert {row["text"], row["predicted"], row["K-grams"]} == {f"'{text}"}
    assert row["norm World"] == "0.125"


def test_texts_survive_the_csv() -> None:
    texts = ['a "quote", and\na line', "a\r=1", "x = y", "日本 👩🏽‍🔬", "'tis", ""]
    data = to_csv(to_frame(*((text, []) for text in texts)))
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert [row["text"] for row in rows] == texts
