"""Encoding of a file, detected by its bytes, and its lines in bounded memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from icaps.data.encoding_guess import guess_encodings
from icaps.data.problems import FileError, Problem, UnclearEncodingError
from icaps.data.streams import DataFile
from icaps.data.western import is_plainly_western
from icaps.errors import ConfigError

# Characters of a line, a field or an object at most: bounds the memory that reading takes.
LONGEST = 1 << 24
_MORE = 16  # blocks after the first that has such bytes, if it has few of them
_JUDGED = 500  # bytes beyond ASCII that are enough to tell the encoding
_HIGH = bytes(range(128, 256))
_EVIDENCE = 1024  # blocks that are searched for bytes beyond ASCII
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, with whose mark it starts
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\f\x1b"))


def known_encoding(name: str) -> str:
    """Python's name of an encoding.

    Raises:
        ConfigError: There is no such text encoding.
    """
    try:
        "".encode(name)  # unlike a lookup of the name, this refuses codecs that are not of text
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise ConfigError(
            f"There is no encoding {name!r}; try utf-8, utf-16, cp1252 or latin-1, or leave it out."
        ) from error


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are not text in any detectable encoding."""
    if bom_encoding(head) or _wide_encoding(head):
        return False
    if head.count(0) > len(head) / 100:
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > len(head) / 20 and _bad_bytes(head)[0] > 0


def bom_encoding(head: bytes) -> str | None:
    """The encoding of a byte order mark at the start, or None."""
    return next((name for bom, name in _BOMS.items() if head.startswith(bom)), None)


def detect_encoding(file: DataFile) -> str:
    """Detects the encoding of a file.

    It is utf-8-sig, utf-16 or utf-32 by the mark at the start, utf-16-le or utf-16-be by its zeros,
    else utf-8, else cp1252, which has the letters of latin-1 at the same codes. ASCII is no
    evidence: the first block with other bytes decides. If the first 256 MiB have none, later bytes
    that are not UTF-8 are reported as bad rows.

    Raises:
        FileError: It is in another encoding, which the user must name.
    """
    blocks = file.blocks()
    head = next(blocks, b"")
    marked = bom_encoding(head) or _wide_encoding(head)
    if marked:
        return marked
    for block in chain([head], islice(blocks, _EVIDENCE)):
        if not block.isascii():
            sample = block + next(blocks, b"")
            for more in islice(blocks, _MORE):  # until there are enough letters to judge
                if len(sample) - len(sample.translate(None, _HIGH)) >= _JUDGED:
                    break
                sample += more
            return _eight_bit(sample, file)
    return "utf-8"


def _wide_encoding(head: bytes) -> str | None:
    """Detects UTF-16 without a mark: many zeros at even or at odd places, and line ends."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) * 10 > max(even, odd) or max(even, odd) <= len(head) / 20:
        return None
    name = "utf-16-le" if odd > even else "utf-16-be"
    text = codecs.getincrementaldecoder(name)("replace").decode(head)
    return name if "\n" in text and "\ufffd" not in text else None


def _eight_bit(sample: bytes, file: DataFile) -> str:
    bad, good = _bad_bytes(sample)
    if bad * 10 <= good:  # a few bytes among much UTF-8 are damage, reported row by row
        return "utf-8"
    if is_plainly_western(sample):
        return "cp1252"
    candidates = guess_encodings(sample)
    likely = ", ".join(candidate.encoding for candidate in candidates)
    samples = "".join(f" {name}: {line!r}." for name, line in candidates[:3])
    raise UnclearEncodingError(
        str(file.path),
        "it is neither UTF-8, UTF-16 nor plainly Western European (cp1252). Name its encoding with "
        f"--encoding (encoding=...), perhaps one of {likely}; or save it as UTF-8. Which is right?"
        f"{samples}",
        candidates,
    )


def _bad_bytes(sample: bytes) -> tuple[int, int]:
    """Counts the bytes that are not UTF-8, and the characters beyond ASCII in the others."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample)
    valid = text.encode(errors="ignore").decode()
    return len(text) - len(valid), len(valid) - len(valid.encode("ascii", "ignore"))


def text_blocks(file: DataFile, encoding: str) -> Iterator[str]:
    """Yields the text without a byte order mark; bytes outside the encoding become surrogates.

    Raises:
        FileError: It cannot be read, or ends in the middle of a character.
    """
    wide = encoding.startswith(("utf-16", "utf-32"))
    errors = "surrogatepass" if wide else "surrogateescape"
    decoded = codecs.iterdecode(file.blocks(), encoding, errors)
    try:
        for block in islice(decoded, 1):
            # The codecs named after the mark remove it themselves.
            yield block if encoding in _BOMS.values() else block.removeprefix("\ufeff")
        yield from decoded
    except UnicodeError as error:
        raise FileError(
            "wrong encoding",
            str(file.path),
            f"it is not {encoding} to its end ({error}). Name its encoding with --encoding "
            "(encoding=...), or save it as UTF-8.",
        ) from error


def lines(blocks: Iterable[str], name: str, newline: str = "") -> Iterator[str]:
    r"""Yields lines with their ends: \n, \r or \r\n for the newline "", \n alone for "\n".

    Raises:
        FileError: A line is longer than `LONGEST`.
    """
    rest = ""
    for block in blocks:
        rest += block
        end = rest.rfind("\n") + 1
        if not newline:
            end = max(end, rest.rfind("\r", 0, -1) + 1)  # the last may be half of a \r\n
        yield from io.StringIO(rest[:end], newline=newline)
        rest = rest[end:]
        if len(rest) > LONGEST:
            raise FileError(
                "too long", name, f"a line is longer than {LONGEST:,} characters; split it up."
            )
    yield from io.StringIO(rest, newline=newline)


def damage(text: str, name: str, number: int = 1, column: int = 1) -> Problem | None:
    """The problem of the first invalid character, or None.

    Args:
        text: It starts on line `number` at `column`.
        name: Name of the file.
    """
    kind, reason = "NUL character", "there is a NUL character; remove it."
    place = text.find("\0")
    if place < 0:
        place = _first_surrogate(text)
        kind = "undecodable byte"
        reason = (
            "a byte is not valid in the file's encoding; save the file as UTF-8, or name its "
            "encoding with --encoding (encoding=...)."
        )
    if place < 0:
        return None
    line_end = text.rfind("\n", 0, place)
    column = place - line_end if line_end >= 0 else column + place
    return Problem(kind, name, number + text.count("\n", 0, place), column, reason)


def _first_surrogate(text: str) -> int:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return error.start
    return -1
