import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.data.encoding import LONGEST, damage, detect_encoding, known_encoding, lines, text_blocks
from icaps.data.problems import FileError
from icaps.data.streams import BLOCK, data_file
from icaps.errors import ConfigError

FRENCH = "Le café était fermé à cause de l’hiver – “bientôt”, disait-on.\n"


@given(st.lists(st.text(alphabet="a\n\r\x85\u2028é", max_size=5)))
def test_lines_are_those_of_the_whole_text(blocks: list[str]) -> None:
    text = "".join(blocks)
    for newline in ("", "\n"):
        assert list(lines(blocks, "", newline)) == list(io.StringIO(text, newline=newline))


def test_a_line_without_end_takes_bounded_memory() -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += BLOCK
            yield "a" * BLOCK

    with pytest.raises(FileError, match=r"x.csv: a line is longer than 16,777,216 characters"):
        list(lines(endless(), "x.csv"))
    assert read <= LONGEST + BLOCK


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("plain", "ascii", "utf-8"),
        (FRENCH, "utf-8", "utf-8"),
        (FRENCH, "utf-8-sig", "utf-8-sig"),
        (FRENCH, "utf-16", "utf-16"),
        (FRENCH, "utf-16-le", "utf-16-le"),
        (FRENCH, "utf-16-be", "utf-16-be"),
        (FRENCH, "utf-32", "utf-32"),
        (FRENCH, "cp1252", "cp1252"),
        ("El niño comió piñas\n", "latin-1", "cp1252"),
        ("שלום, עולם טוב\n" * 9, "utf-16-le", "utf-16-le"),
    ],
)
def test_detected(tmp_path: Path, text: str, encoding: str, found: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(text.encode(encoding))
    assert detect_encoding(data_file(path)) == found
    assert "".join(text_blocks(data_file(path), found)) == text


def test_evidence_deep_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"plain\n" * BLOCK + FRENCH.encode("cp1252"))
    assert detect_encoding(data_file(path)) == "cp1252"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_no_character_is_cut_where_blocks_meet(tmp_path: Path, encoding: str) -> None:
    text = "x" + "é😀" * BLOCK
    path = tmp_path / "x"
    path.write_bytes(text.encode(encoding))
    assert "".join(text_blocks(data_file(path), encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_one_mark_is_taken_off(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x"
    adds_one = encoding in ("utf-8-sig", "utf-16", "utf-32")
    path.write_bytes(("\ufeffx" if adds_one else "\ufeff\ufeffx").encode(encoding))
    assert "".join(text_blocks(data_file(path), encoding)) == "\ufeffx"


def test_damage() -> None:
    assert damage("clean שלום 😀", "x") is None
    found = damage("ab\ncd\0", "x", 7)
    assert found is not None
    assert (found.kind, found.line, found.column) == ("NUL character", 8, 3)
    found = damage("é\udc92", "x", 7, 4)
    assert found is not None
    assert (found.kind, found.line, found.column) == ("undecodable byte", 7, 5)


def test_names() -> None:
    assert known_encoding("Latin1") == "iso8859-1"
    for name in ("klingon", "rot13", "zlib", "", "a\0b", "undefined"):
        with pytest.raises(ConfigError, match=r"There is no encoding .*; try utf-8"):
            known_encoding(name)
