"""What if words were removed, or capsules switched off? Probabilities, beside the original ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary, quotas
from dashboard.cache import explanations, models
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BOUNDS
from dashboard.widgets import live_text
from dashboard.widgets.shaded_text import text_card
from icaps.config import ROUTING, ExplainOptions
from icaps.faithfulness.reason_results import Flip, flip_sentence
from icaps.faithfulness.reason_test import ACTIONS, DELETE, KEEP, MASK, words_under
from icaps.html import chance, printable
from icaps.inference import predicted_sets
from icaps.results import Explanation

MAX_WORDS = 300  # of a text, for its words to be offered one by one
FLIP_KGRAMS = 3  # K-grams per capsule, of all capsules, that are searched for the flipping set
_COLUMNS = {DELETE: "without them", MASK: "with them masked", KEEP: "with them alone"}


class Edit(NamedTuple):
    """Numbers of words, and the action on them: one of ACTIONS."""

    words: list[int]
    action: str


def show_words_removed(
    model: ModelFolder, explanation: Explanation, options: ExplainOptions
) -> None:
    """The set of K-grams that flips the class; words deleted, masked or alone; the text edited."""
    _show_flip(model, explanation, options)
    edit = _ask_words(explanation)
    if edit.words:
        scores = explanations.norms_after(model, explanation, edit.words, edit.action)
        _show_change(model, explanation, scores, "original", _COLUMNS[edit.action])
    else:
        st.caption("Choose K-grams or words to see how the probabilities change.")
    if not st.toggle("Compare with an edited text", key="try edited"):
        return
    text = _ask_edited_text(explanation)
    if text == explanation.text:
        st.caption("Edit the text to compare its probabilities with the original.")
        return
    edited = explanations.explain(model, text, options)
    _show_change(model, explanation, edited.scores, "original", "as edited")
    if text:
        st.html(text_card(edited))


def show_capsules_off(
    model: ModelFolder, explanation: Explanation, options: ExplainOptions
) -> None:
    """The probabilities with some capsules switched off."""
    muted = _ask_muted(model)
    if not muted:
        st.caption("Choose capsules to see how the probabilities change without them.")
        return
    without = explanations.explain(model, explanation.text, options, muted)
    labels = models.load(model).capsule_labels_
    names = ", ".join(labels[number] for number in muted)
    _show_change(model, explanation, without.scores, "with all", "without them", f"Without {names}")


def _show_change(
    model: ModelFolder,
    explanation: Explanation,
    norms: Sequence[float],
    before: str,
    after: str,
    subject: str = "",
) -> None:
    """The probabilities beside those of a change, and whether the predicted class changes.

    Args:
        model: The model.
        explanation: The explanation of the original text.
        norms: The class norms after the change, (J,); all 0 if no known word is left.
        before: Column of the original probabilities.
        after: Column of the probabilities after the change.
        subject: Begins the sentence "... it is CLASS"; `after` if empty.
    """
    chances = models.load(model).calibrated(np.array([norms]))[0]
    columns = {before: explanation.probabilities, after: chances}
    table = pd.DataFrame({"class": explanation.classes, **columns})
    table["change"] = table[after] - table[before]
    subject = subject or after.capitalize()
    predicted = explanation.classes[int(np.argmax(norms))] if any(norms) else "no class"
    if explanation.multilabel:
        _say_sets(model, explanation, norms, subject)
    elif predicted != explanation.predicted:
        line = f"{subject} it is {predicted}, not {explanation.predicted}."
        st.warning(error_boundary.plain(line), icon=":material/swap_horiz:")
    else:
        place = explanation.classes.index(predicted)
        first, second = (chance(column[place]) for column in columns.values())
        st.write(error_boundary.plain(f"{subject} it stays {predicted}: {first}, then {second}."))
    table = table.sort_values(before, ascending=False, kind="stable")
    numbers = dict.fromkeys((before, after), "{:.1%}") | {"change": "{:+.1%}"}
    st.dataframe(table.style.format(numbers), width="stretch", hide_index=True)


def _say_sets(
    model: ModelFolder, explanation: Explanation, norms: Sequence[float], subject: str
) -> None:
    """Which classes are no longer predicted, and which are then, of several labels per text."""
    reached = predicted_sets(models.load(model).network_, np.array(norms))
    after = [name for name, given in zip(explanation.classes, reached, strict=True) if given]
    lost = [name for name in explanation.given_classes if name not in after]
    new = [name for name in after if name not in explanation.given_classes]
    parts = [f"{', '.join(lost)} {_is(lost)} no longer predicted"] if lost else []
    parts += [f"{', '.join(new)} {_is(new)} predicted"] if new else []
    if parts:
        line = f"{subject} {'; '.join(parts)}."
        st.warning(error_boundary.plain(line), icon=":material/swap_horiz:")
        return
    line = f"{subject} the same is predicted: {', '.join(after) or 'no class'}."
    st.write(error_boundary.plain(line))


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def widget_key(name: str, explanation: Explanation) -> str:
    """Key of a widget that is reset with another text or other K-grams."""
    content = repr((explanation.text, [(k.start, k.end) for k in explanation.kgrams]))
    return f"try {name} {crc32(content.encode('utf-8', 'surrogatepass'))}"


def _show_flip(model: ModelFolder, explanation: Explanation, options: ExplainOptions) -> None:
    """The smallest set that flips the class, out of more K-grams than are shaded."""
    target = explanation.target if explanation.multilabel else None
    more = replace(options, target=target, top_capsules=BOUNDS["k1"][1], top_kgrams=FLIP_KGRAMS)
    for ranking in dict.fromkeys([options.ranking, ROUTING]):  # the latter covers more words
        wide = explanations.explain(model, explanation.text, replace(more, ranking=ranking))
        flip = explanations.flip(model, wide)
        if flip is not None:
            break
    st.write(error_boundary.plain(flip_sentence(wide, flip)))
    if flip is not None and len(explanation.words) <= MAX_WORDS:
        st.button(
            "Delete these",
            icon=":material/content_cut:",
            key="delete flip",
            on_click=_choose,
            args=(explanation, flip),
        )


def _ask_words(explanation: Explanation) -> Edit:
    """Asks for K-grams and words of the text, and for the action on them."""
    kgrams = list({(k.start, k.end): k for k in explanation.kgrams}.values())
    names = [kgram.text for kgram in kgrams]
    chosen = _ask_pills("K-grams", names, widget_key("kgrams", explanation))
    words = set(words_under(explanation, [kgrams[n] for n in chosen]))
    if len(explanation.words) <= MAX_WORDS:
        spans = [explanation.text[word.start : word.end] for word in explanation.words]
        words |= set(_ask_pills("Words", spans, widget_key("words", explanation)))
    else:
        st.caption(f"Single words are not offered for texts of more than {MAX_WORDS} words.")
    action = st.radio("Action", ACTIONS, horizontal=True, key=widget_key("action", explanation))
    return Edit(sorted(words), action)


def _ask_pills(label: str, texts: Sequence[str], key: str) -> Sequence[int]:
    """Asks for some of the texts; returns their numbers."""
    seen = Counter[str]()
    names = []
    for text in texts:  # Streamlit needs another name for each pill
        names.append(error_boundary.plain(text) + error_boundary.WORD_JOINER * seen[text])
        seen[text] += 1
    chosen: Sequence[int] = st.pills(
        label, range(len(names)), format_func=names.__getitem__, selection_mode="multi", key=key
    )
    return chosen


def _choose(explanation: Explanation, flip: Flip) -> None:
    """Chooses the words of the flipping set, to delete them."""
    state = st.session_state
    state[widget_key("kgrams", explanation)] = []
    state[widget_key("words", explanation)] = words_under(explanation, flip.kgrams)
    state[widget_key("action", explanation)] = DELETE


def _ask_edited_text(explanation: Explanation) -> str:
    """Asks for another version of the text.

    Raises:
        NotAllowedError: It is too long.
    """
    label = "Edited text"
    text = st.text_area(label, explanation.text, key=widget_key("edited", explanation))
    live_text.apply_while_typing(label)
    quotas.text(text, "The edited text")
    return printable(text)


def _ask_muted(model: ModelFolder) -> tuple[int, ...]:
    """Asks which primary capsules are switched off; at least one stays on."""
    labels = models.load(model).capsule_labels_
    numbers = range(len(labels))
    muted = st.multiselect(
        "Capsules that are switched off",
        numbers,
        format_func=labels.__getitem__,
        max_selections=max(len(numbers) - 1, 1),
        key="muted",
    )
    return tuple(sorted(muted))
