"""Shows a user's mistake (`ICapsError`) as a message on the page; other errors are not caught."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard import logs
from icaps.errors import ICapsError
from icaps.html import printable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!$<>|~&])")
WORD_JOINER = "\u2060"  # invisible; keeps :x: from becoming an emoji


@contextmanager
def shown() -> Iterator[None]:
    """Context manager that shows an ICapsError in place of the rest of the block."""
    try:
        yield
    except ICapsError as error:
        logs.user_error(error)
        st.error(plain(str(error)), icon=":material/error:")


def plain(text: str) -> str:
    """Escapes a text, so that Markdown shows it as it is."""
    escaped = _MARKDOWN.sub(r"\\\1", printable(text))
    return escaped.replace(":", f":{WORD_JOINER}")
