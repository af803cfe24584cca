"""What the visitor tries with the words of a text, and which texts its model was trained on."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import streamlit as st

from dashboard import error_boundary, quotas
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.train import launcher
from dashboard.widgets import data_picker, live_text
from dashboard.widgets.data_picker import Choice
from icaps.cli.data import reading_options
from icaps.cli.train import read_arguments
from icaps.faithfulness.reason_test import ACTIONS, DELETE, KEEP, MASK, words_under
from icaps.reports.render import printable
from icaps.results import Explanation, Flip
from icaps.runs.folder import RunFolder

_MOST_WORDS = 300  # that are offered one by one
_PLACE = "similar"  # of the widgets that ask for the training texts
_DONE = {DELETE: "without them", MASK: "with them masked", KEEP: "with them alone"}


class Tried(NamedTuple):
    """Numbers of words, what is done to them, and what the text is then called."""

    words: list[int]
    action: str

    @property
    def name(self) -> str:
        """How a sentence about it begins."""
        return _DONE[self.action]


def which_words(explanation: Explanation) -> Tried:
    """Some K-grams and words of the text, and what is done to them."""
    kgrams = list({(k.start, k.end): k for k in explanation.kgrams}.values())
    chosen = _pills("K-grams", [kgram.text for kgram in kgrams], _key("kgrams", explanation))
    words = set(words_under(explanation, [kgrams[n] for n in chosen]))
    if len(explanation.words) <= _MOST_WORDS:
        spans = [explanation.text[word.start : word.end] for word in explanation.words]
        words |= set(_pills("Words", spans, _key("words", explanation)))
    else:
        st.caption(f"Of a text of more than {_MOST_WORDS} words single ones are not offered.")
    action = st.radio(
        "What is done to them", ACTIONS, horizontal=True, key=_key("action", explanation)
    )
    return Tried(sorted(words), action)


def whether_to_flip(explanation: Explanation, flip: Flip) -> None:
    """Offers to delete the K-grams that decide."""
    if len(explanation.words) <= _MOST_WORDS:
        st.button(
            "Delete these",
            icon=":material/content_cut:",
            key="delete flip",
            on_click=_choose,
            args=(explanation, flip),
        )


def edited_text(explanation: Explanation) -> str:
    """The text as the visitor changes it.

    Raises:
        NotAllowedError: It is too long.
    """
    label = "The text, to change as you like"
    text = st.text_area(label, explanation.text, key=_key("edited", explanation))
    live_text.answer_while_typing(label)
    quotas.text(text, "The changed text")
    return printable(text)


def which_training_data(model: ModelFolder) -> Choice | None:
    """The texts that the model was trained on: as it tells, unless the visitor knows better.

    Raises:
        DataError: What was named can't be used.
        NotAllowedError: It may not be read here.
    """
    if st.session_state.get("similar model") != model:
        st.session_state["similar model"] = model
        _take_training_data(model)
    return data_picker.ask(_PLACE)


def _take_training_data(model: ModelFolder) -> None:
    """Chooses the data of the command that trained the model, or that it was interpreted with."""
    request = RunFolder(Path(model.path)).request()
    if request is not None:
        options = read_arguments(request.arguments)
        value = launcher.meant(options.data, request.folder)
        data_picker.take(_PLACE, value, reading_options(options))
    elif (report := models.report(model)) is not None:
        data_picker.take(_PLACE, report.view.origin.source, report.view.origin.reading)


def _pills(label: str, texts: Sequence[str], key: str) -> Sequence[int]:
    """Numbers of the texts that are chosen."""
    seen = Counter[str]()
    names = []
    for text in texts:  # Streamlit tells pills by their names
        names.append(error_boundary.plain(text) + error_boundary.WORD_JOINER * seen[text])
        seen[text] += 1
    chosen: Sequence[int] = st.pills(
        label, range(len(names)), format_func=names.__getitem__, selection_mode="multi", key=key
    )
    return chosen


def _choose(explanation: Explanation, flip: Flip) -> None:
    state = st.session_state
    state[_key("kgrams", explanation)] = []
    state[_key("words", explanation)] = words_under(explanation, flip.kgrams)
    state[_key("action", explanation)] = DELETE


def _key(name: str, explanation: Explanation) -> str:
    """Of a widget that another text has anew."""
    shown = repr((explanation.text, [(k.start, k.end) for k in explanation.kgrams]))
    return f"try {name} {crc32(shown.encode('utf-8', 'surrogatepass'))}"
