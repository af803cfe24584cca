"""The hash by which a text is recognised wherever it is read."""

from __future__ import annotations

from hashlib import blake2b

from icaps.data.surrogates import replace_surrogates

BLANK = 0  # the hash of a text without characters


def text_hash(text: str) -> int:
    """A 64-bit hash of a text without regard to case and white space; BLANK without characters."""
    words = replace_surrogates(text).casefold().split()
    digest = blake2b(" ".join(words).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") if words else BLANK
