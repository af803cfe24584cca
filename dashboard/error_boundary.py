"""A user's mistake becomes a sentence on the page; every other error stays an error."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard import logs
from icaps.errors import ICapsError
from icaps.reports.render import printable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!$<>|~&])")
WORD_JOINER = "\u2060"  # invisible; keeps :x: from becoming an emoji


@contextmanager
def shown() -> Iterator[None]:
    """Shows an ICapsError raised inside in place of what would have followed."""
    try:
        yield
    except ICapsError as error:
        logs.mistake(error)
        st.error(plain(str(error)), icon=":material/error:")


def plain(text: str) -> str:
    """`text` as Markdown that shows it as it is."""
    escaped = _MARKDOWN.sub(r"\\\1", printable(text))
    return escaped.replace(":", f":{WORD_JOINER}")
