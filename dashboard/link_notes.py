"""What an opened link asks for that is not here, or has changed: said above the page.

The notes of a link stay until another address or page is opened, or the visitor chooses something
else in place of what is missing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from dashboard import error_boundary

_NOTES, _ASKED = "link notes", "asked by link"


class _Note(NamedTuple):
    sentence: str
    shown: Any  # the value of the session state that is used instead; None for any
    page: str = ""  # on which it was shown first


def begin(asked: Mapping[str, Any]) -> None:
    """Forgets the notes of the link before; `asked` has the session state that a link sets."""
    st.session_state[_ASKED] = dict(asked)
    st.session_state[_NOTES] = {}


def asks(key: str) -> Any:
    """The value of the session state that the opened link sets; None if it doesn't."""
    return st.session_state.get(_ASKED, {}).get(key)


def replaced(key: str, kind: str, asked: Any, instead: str) -> None:
    """Notes that what the link asks for is not here, and what is shown instead.

    Nothing is noted if it was not the link that asked for it.

    Args:
        key: The key of the session state, which has what is shown instead.
        kind: What is missing, such as "model".
        asked: The value that is missing.
        instead: The name of what is shown.
    """
    if asked not in (None, "") and asks(key) == asked:
        sentence = f"This link asks for the {kind} {asked}, which is not here; below is {instead}."
        _note(key, sentence, st.session_state[key])


def missing(key: str, kind: str, names: Sequence[str]) -> None:
    """Notes that the link asks for these by `key`, and that they are not here."""
    if names and asks(key) is not None:
        verb = "is" if len(names) == 1 else "are"
        kinds = kind if len(names) == 1 else f"{kind}s"
        _note(key, f"This link asks for the {kinds} {', '.join(names)}, which {verb} not here.")


def invalid(values: Mapping[str, str]) -> None:
    """Notes parameters of the link with a value that they cannot have."""
    if values:
        pairs = ", ".join(f"{name}={value}" for name, value in values.items())
        _note("address", f"This link has values that are not possible, and were left out: {pairs}.")


def changed(key: str, sentence: str) -> None:
    """Notes what has changed since the link was made, as long as `key` has the present value."""
    _note(key, sentence, st.session_state[key])


def show(page: str) -> None:
    """The notes, on the page that the link opened."""
    state = st.session_state
    notes = {
        key: note._replace(page=note.page or page) for key, note in state.get(_NOTES, {}).items()
    }
    state[_NOTES] = {key: note for key, note in notes.items() if note.page == page}
    for key, note in state[_NOTES].items():
        if note.shown is None or state.get(key) == note.shown:
            st.warning(error_boundary.message(note.sentence), icon=":material/link_off:")


def _note(key: str, sentence: str, shown: Any = None) -> None:
    state = st.session_state
    state[_NOTES][key] = _Note(sentence, shown)
    state[_ASKED].pop(key, None)  # it is said once
