"""Escaping of characters that a terminal acts on; imports nothing of the library."""

from __future__ import annotations

import re
from typing import Any, TextIO

# Controls such as the start of an escape sequence, line and paragraph separators, characters that
# reverse the direction of the text after them, and lone surrogates.
_ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_active(text: str) -> str:
    """`text` with characters that a terminal acts on escaped, such as \\u001b."""
    return _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_lines(text: str) -> str:
    """`text` with its line breaks and tabs; others that a terminal acts on are escaped."""
    return "\n".join(map(escape_active, text.split("\n"))).replace("\\u0009", "\t")


class EscapedStream:
    """A text stream that writes to another one, with `escape_lines`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the text; returns its length."""
        self._stream.write(escape_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
