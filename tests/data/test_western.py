"""Bytes of the commonest single-byte encodings are read rightly or asked about, never wrongly."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from icaps.data.encoding import detect_encoding
from icaps.data.encoding_guess import guess_encodings
from icaps.data.problems import UnclearEncodingError
from icaps.data.source import open_source
from icaps.data.streams import data_file
from icaps.data.western import is_plainly_western
from tests.data.languages import ENCODINGS, SENTENCES

PAIRS = [(encoding, language) for encoding, names in ENCODINGS.items() for language in names]


def pieces(text: str) -> Iterator[str]:
    """The text, its sentences, and each three words of it."""
    yield from (text, text * 30, *re.split(r"(?<=[.!?…]) ", text))
    words = text.split()
    yield from (" ".join(words[n : n + 3]) for n in range(len(words) - 2))


@pytest.mark.parametrize(("encoding", "language"), PAIRS)
def test_nothing_is_read_wrongly(encoding: str, language: str) -> None:
    outcomes = Counter[str]()
    for piece in pieces(SENTENCES[language]):
        data = piece.encode(encoding, "ignore")  # typographic marks that it lacks
        if data.isascii():
            continue
        if not is_plainly_western(data):
            outcomes["asked"] += 1
            continue
        outcomes["right"] += 1
        assert data.decode("cp1252") == data.decode(encoding), piece
    if encoding == "cp1252" and language != "Icelandic":
        assert not outcomes["asked"]
    assert outcomes.total() > 5


@pytest.mark.parametrize(
    ("encoding", "language"),
    [pair for pair in PAIRS if pair[0] not in ("cp1252", "latin-1", "iso8859-15")],
)
def test_the_right_encoding_is_named_with_a_line(
    encoding: str, language: str, tmp_path: Path
) -> None:
    text = SENTENCES[language]
    data = text.encode(encoding, "ignore")
    path = tmp_path / "x.csv"
    path.write_bytes(b"label,text\n" + b'a,"' + data + b'"\nb,"' + data + b'"\n')
    try:
        assert path.read_bytes().decode(detect_encoding(data_file(path))).count(text) == 2
    except UnclearEncodingError as error:
        decoded = {part.encoding: data.decode(part.encoding, "ignore") for part in error.candidates}
        assert text in decoded.values() or data.decode(encoding) in decoded.values()
        for part in error.candidates:
            assert part.sample
            assert part.sample in path.read_bytes().decode(part.encoding, "ignore")
        records = list(open_source(path, encoding=encoding))
        assert records[0].text == data.decode(encoding)


def test_the_likeliest_comes_first() -> None:
    for encoding, language in (("cp1250", "Polish"), ("cp1251", "Russian"), ("cp1253", "Greek")):
        assert guess_encodings(SENTENCES[language].encode(encoding))[0].encoding == encoding


@pytest.mark.parametrize("run", [b"x", b"\xa7", b"\xe9x", b"x\xe9xx"])
def test_a_huge_word_takes_no_time(run: bytes) -> None:
    start = time.perf_counter()
    is_plainly_western(run * 200_000 + " un café".encode("cp1252"))
    assert time.perf_counter() - start < 2
