"""Shows a user's mistake (`ICapsError`) as a message on the page; other errors are not caught."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard import logs
from icaps.data.cache import data_folder
from icaps.errors import ICapsError
from icaps.html import printable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!$<>|~&])")
_SEP = re.escape(os.sep)
WORD_JOINER = "\u2060"  # invisible; keeps :x: from becoming an emoji


@contextmanager
def shown() -> Iterator[None]:
    """Context manager that shows an ICapsError in place of the rest of the block."""
    try:
        yield
    except ICapsError as error:
        logs.user_error(error)
        show(error)


def show(error: ICapsError) -> None:
    """Shows a user's mistake as a message."""
    st.error(message(str(error)), icon=":material/error:")


def message(text: str) -> str:
    """As `plain`, for a message of the library: uploads and slices are named without a folder."""
    folder = re.escape(f"{data_folder().absolute()}{os.sep}")
    return plain(re.sub(rf"{folder}(?:uploads{_SEP}[0-9a-f]{{32}}|slices){_SEP}", "", text))


def plain(text: str) -> str:
    """Escapes a text, so that Markdown shows it as it is."""
    escaped = _MARKDOWN.sub(r"\\\1", printable(text))
    return escaped.replace(":", f":{WORD_JOINER}")
