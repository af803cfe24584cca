"""Check of what a caller passes as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from icaps.errors import DataError

_SHOWN = 5  # names of columns in a message


def check_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list.

    Raises:
        DataError: `texts` is not a one-dimensional collection of strings; the message says what it
            is, and what to pass.
    """
    if (what := _no_collection(texts)) is not None:
        raise DataError(f"The texts are {what}")
    try:
        listed = list(texts)
    except TypeError as error:
        raise DataError(
            f"The texts are {_article(type(texts).__name__)}; give a list of strings."
        ) from error
    for n, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(f"Text {n} is {_what(text)}")
    return listed


def _no_collection(texts: Any) -> str | None:
    """What `texts` is and what to pass, if its iteration does not give texts; else None."""
    if isinstance(texts, str):
        return "one string. Give a list of texts; for a single one, [text]."
    if isinstance(texts, (bytes, bytearray)):
        return "bytes. Give a list of texts; for a single one, [texts.decode()]."
    if hasattr(texts, "columns") and hasattr(texts, "iloc"):
        names = [repr(name) for name in texts.columns]
        more = ", ..." if len(names) > _SHOWN else ""
        return (
            f"a DataFrame with the columns {', '.join(names[:_SHOWN])}{more}. Give the column of "
            f"the texts, such as X[{names[0] if names else repr('text')}]."
        )
    if hasattr(texts, "column_names"):  # a `datasets.Dataset` or a table of pyarrow
        names = [repr(name) for name in texts.column_names]
        return (
            f"{_article(type(texts).__name__)} of columns. Give that of the texts, such as X["
            + (f"{(names or ['text'])[0]}].")
        )
    if isinstance(texts, Mapping):
        return (
            f"a mapping with the keys {', '.join(map(repr, list(texts)[:_SHOWN]))}. Give a list of "
            "texts, such as list(X.values())."
        )
    if isinstance(texts, Set):
        return "a set, which has no order. Give a list of texts, such as sorted(X)."
    if hasattr(texts, "readline"):
        return "an open file. Give a list of texts, such as X.read().splitlines()."
    shape = getattr(texts, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        advice = "X.ravel()" if len(shape) == 0 or 1 in shape else "a column, X[:, 0]"
        return f"an array of shape {shape}. Give one of shape (texts,), such as {advice}."
    return None


def _what(text: Any) -> str:
    """What an item is that is no string, and what to do."""
    kind = type(text).__name__
    if text is None or kind in ("NAType", "NaTType") or (isinstance(text, float) and text != text):
        return f"{kind}, not a string: a missing value. Remove it, or give an empty string."
    if isinstance(text, (bytes, bytearray)):
        return f"{kind}, not a string; decode it."
    if isinstance(text, (list, tuple)) or getattr(text, "shape", ()) != ():
        return f"{kind}, not a string; give one string per text, such as ' '.join(words)."
    return f"{kind}, not a string; give only strings."


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
