"""Lines of text from a stream of bytes, one at a time, whatever their encoding and line ends."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from icaps.data.encoding import bom_encoding, known_encoding
from icaps.data.encoding_guess import guess_encodings
from icaps.data.problems import UnclearEncodingError
from icaps.data.western import is_plainly_western

_LINE_END = re.compile("\r\n|\n|\r")
_NAME = "standard input"


def split_lines(text: str) -> list[str]:
    r"""The lines of a text, which end in \n, \r\n or \r only; the last need not end.

    Unlike `str.splitlines` this keeps lines whole that have U+2028, U+0085 or a form feed.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    return lines if lines[-1] else lines[:-1]


def read_lines(stream: BinaryIO, encoding: str | None = None) -> Iterator[str]:
    """Yields the lines of a stream without their ends, each when it was read.

    Args:
        stream: Bytes, such as `sys.stdin.buffer`.
        encoding: Their encoding; None: UTF-8, UTF-16 or UTF-32 by a mark at the start, or cp1252
            if they are plainly Western European.

    Raises:
        ConfigError: There is no such encoding.
        UnclearEncodingError: The bytes fit several encodings.
    """
    encoding = known_encoding(encoding) if encoding else None
    number, reason = 0, ""
    while line := stream.readline():
        number += 1
        if number == 1:
            encoding = encoding or bom_encoding(line)
        if encoding in (None, "utf-8", "utf-8-sig"):
            try:
                yield from split_lines(line.decode("utf-8"))
                continue
            except UnicodeDecodeError as error:
                reason = str(error)
        rest = line + stream.read()
        name = encoding
        if encoding in (None, "utf-8"):
            name = _single_byte(rest, number, reason)
        decoder = codecs.getincrementaldecoder(name or "utf-8")("replace")
        yield from split_lines(decoder.decode(rest, final=True))
        return


def _single_byte(rest: bytes, number: int, reason: str) -> str:
    if is_plainly_western(rest):
        return "cp1252"
    candidates = guess_encodings(rest)
    likely = ", ".join(candidate.encoding for candidate in candidates)
    raise UnclearEncodingError(
        _NAME,
        f"line {number} is neither UTF-8 ({reason}) nor plainly Western European. Name the "
        f"encoding with --encoding, perhaps one of {likely}.",
        candidates,
    )
