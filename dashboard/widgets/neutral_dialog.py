"""The dialog that makes a word, a K-gram or a capsule neutral: what it changes, saving, undoing."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import error_boundary, nav, quotas, training_jobs, url_state
from dashboard.cache import models, repairs
from dashboard.cache.data import DataKey, key_of
from dashboard.cache.evaluations import Sample
from dashboard.cache.leaks import held_out_count
from dashboard.cache.repairs import Changed
from dashboard.model_registry import ModelFolder
from dashboard.widgets import data_list, data_picker
from icaps.data.fingerprint import existing_parts
from icaps.data.resolve import resolve
from icaps.errors import ICapsError, RunError
from icaps.evaluate.edit_effect import EditEffect
from icaps.html import escape
from icaps.interpret.edits import Edit, neutral_capsule, neutral_words
from icaps.results import Explanation
from icaps.runs.folder import RunFolder
from icaps.train.parts import HELD_OUT

TITLE = "Make neutral"
TEXTS = 2_000  # of the data on which the effect is measured, drawn at random
_ALL, _NO_DATA = "All classes", "No data"
_CAPSULE = "capsule "  # before the number of a capsule
_OPEN, _SAVED, _PROBLEM = "neutral dialog", "neutral saved", "neutral problem"
_MOST_TYPED = 20  # texts by hand
_NAMES = {"before": "As it is", "neutral": "Neutral", "random": "Random words or capsules"}


def ask(
    model: ModelFolder,
    things: Sequence[str],
    key: str,
    target: str | None = None,
    sample: Sample | None = None,
) -> None:
    """A button that opens the dialog; a note after something was saved there.

    Args:
        model: The model that is edited.
        things: What may be made neutral: words, K-grams, and `capsule_name` of capsules. Others can
            be typed.
        key: Prefix of the keys of the widgets, different for each button on a page.
        target: The class for which it is neutral at first; None for all classes.
        sample: The texts of the page, on which the effect is measured at first.
    """
    state = st.session_state
    if state.get(_SAVED, ("",))[0] == key:
        _, sentence = state.pop(_SAVED)
        st.toast(error_boundary.plain(sentence), icon=":material/hide_source:")
    exact = models.load(model).network_.config.activation == "none"
    if st.button(
        "Make neutral …",
        icon=":material/hide_source:",
        key=f"{key} neutral",
        type="tertiary",
        disabled=not exact,
        help="Leave a word, a K-gram or a capsule out of the score of a class or of all, without "
        "training, and see what that changes."
        if exact
        else "The network has an activation, so words have no exact shares that could be left out.",
    ):
        _close()
        state[_OPEN] = key
        state[f"{key} thing"], state[f"{key} for"] = things[0] if things else "", target or _ALL
    if state.get(_OPEN) == key:  # also when the page is run again meanwhile
        st.dialog(TITLE, width="large", on_dismiss=_close)(_form)(model, things, key, sample)


def capsule_name(capsule: int) -> str:
    """How a capsule is named among `things`."""
    return f"{_CAPSULE}{capsule}"


def things_of(explanation: Explanation) -> list[str]:
    """The words and K-grams of a text, those that add most to the score first."""
    text, shares = explanation.text, dict[str, float]()
    for word in explanation.words:
        if word.known and not word.neutral:
            spelled = text[word.start : word.end]
            shares[spelled] = shares.get(spelled, 0.0) + word.share
    words = sorted(shares, key=lambda word: -shares[word])
    kgrams = [kgram.text for kgram in explanation.kgrams if kgram.text not in shares]
    return list(dict.fromkeys([*words[:5], *kgrams, *words[5:]]))


def _form(model: ModelFolder, things: Sequence[str], key: str, sample: Sample | None) -> None:
    """The dialog."""
    state = st.session_state
    if problem := state.pop(_PROBLEM, ""):
        st.error(error_boundary.plain(problem), icon=":material/error:")
    if _SAVED in state:
        st.rerun()
    st.caption(
        "What it adds to the score is left out, exactly and without training. Attention and "
        "routing stay as they are, and so do the shares of all other words."
    )
    with error_boundary.shown():
        edit = _ask_edit(model, things, key)
        if edit is not None:
            try:
                models.load(model).edited([*models.load(model).edits_, edit])
            except ICapsError as error:
                st.info(error_boundary.plain(str(error)))
                edit = None
        if edit is not None:
            with error_boundary.shown():  # of texts and data, which saving does not depend on
                _show_texts(model, edit, key)
            with error_boundary.shown():
                _show_effect(model, edit, key, sample)
            if not quotas.read_only():
                _ask_save(model, edit, key)
        _show_edits(model, key)


def _ask_edit(model: ModelFolder, things: Sequence[str], key: str) -> Edit | None:
    """Asks what is neutral for which class; None while nothing is named."""
    capsules = range(models.load(model).network_.config.num_capsules)
    left, right = st.columns([3, 2], gap="small")
    listed = [thing for thing in dict.fromkeys(things) if thing]
    current = st.session_state.get(f"{key} thing")
    options = list(dict.fromkeys([*listed, *([current] if current else [])]))
    chosen = left.selectbox(
        "Word, K-gram or capsule",
        options,
        key=f"{key} thing",
        accept_new_options=True,
        index=None,
        placeholder="Type a word",
        help="As it stands in texts; upper and lower case differ. Several words are a K-gram.",
    )
    classes = models.classes(model)
    name = right.selectbox("For", [_ALL, *classes], key=f"{key} for")
    if not chosen:
        return None
    target = None if name == _ALL and name not in classes else name
    number = chosen.removeprefix(_CAPSULE)
    names = [edit.name for edit in models.load(model).edits_]
    if chosen.startswith(_CAPSULE) and number.isdecimal() and int(number) in capsules:
        return neutral_capsule(int(number), target, _free(chosen, target, names))
    with_target = neutral_words(chosen, target)
    return neutral_words(chosen, target, _free(with_target.name, target, names))


def _free(name: str, target: str | None, taken: Sequence[str]) -> str:
    """A name of an edit that the model does not have yet."""
    name = name[:40]
    wanted = [name, *([f"{name} for {target}"[:58]] if target else [])]
    wanted += [f"{name} {number}" for number in range(2, len(taken) + 3)]
    return next(one for one in wanted if one not in taken)


def _show_texts(model: ModelFolder, edit: Edit, key: str) -> None:
    """What it changes for the text of Explain, and for texts that are typed here."""
    typed = st.text_area(
        "Texts by hand, one per line",
        key=f"{key} texts",
        height=68,
        placeholder="Type texts to see what changes for each",
    )
    lines = [line for line in typed.split("\n") if line.strip()][:_MOST_TYPED]
    current = st.session_state.get("text", "")
    texts = list(dict.fromkeys([*([current] if current.strip() else []), *lines]))
    for text in texts:
        quotas.text(text, "A text")
    if texts:
        first = "The text of Explain" if current.strip() else ""
        st.html(_changed_table(repairs.changes(model, (edit,), texts), first))


def _changed_table(rows: Sequence[Changed], first: str = "") -> str:
    """Texts with what is predicted before and after; HTML."""
    body = ""
    for n, row in enumerate(rows):
        text = row.text if len(row.text) <= 160 else f"{row.text[:160]} …"
        label = f"<i>{first}:</i> " if first and not n else ""
        after = f"<b>{escape(row.after)}</b>" if row.flips else escape(row.after)
        body += (
            f"<tr><td>{label}{escape(text)}</td><td>{escape(row.before)}</td><td>{after}</td></tr>"
        )
    head = "<tr><th>text</th><th>as it is</th><th>neutral</th></tr>"
    return f'<div class="changed"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _show_effect(model: ModelFolder, edit: Edit, key: str, sample: Sample | None) -> None:
    """Accuracy and flips on data, measured by a button or at once where it was before."""
    state = st.session_state
    fitting = data_list.listed(model)
    here = {
        label: value
        for label, value in fitting.values.items()
        if label not in fitting.misfits and not label.endswith("(download)")
    }
    page = "The texts of this page"
    labels = [*([page] if sample is not None else []), *here, _NO_DATA]
    start = fitting.start if fitting.start in here and sample is None else labels[0]
    chosen_here = next((label for label, value in here.items() if value == state.data), None)
    if sample is None and chosen_here is not None:
        start = chosen_here
    if state.get(f"{key} data") not in labels:
        state[f"{key} data"] = start
    left, right = st.columns([3, 2], gap="small", vertical_alignment="bottom")
    label = left.selectbox("Measured on", labels, key=f"{key} data")
    if label == _NO_DATA:
        return
    chosen = sample if label == page else _sample(model, key_of(here[label], {}))
    assert chosen is not None
    words = " ".join(edit.words)
    others = tuple(repairs.retrained_without(model, words))
    wanted = (model, edit, chosen, others)
    pressed = right.button(f"Measure on up to {chosen.limit:,} texts", key=f"{key} measure")
    if pressed:
        state[f"{key} measured"] = wanted
    if state.get(f"{key} measured") != wanted:
        return
    effect, flips = repairs.effect(model, (edit,), chosen, others)
    _show_numbers(effect)
    if flips:
        with st.expander(f"Texts whose prediction changes ({effect.flips:,})"):
            st.html(_changed_table(flips))


def _sample(model: ModelFolder, data: DataKey) -> Sample:
    """Texts of the test split, or those that were held out of the training, or all."""
    parts = existing_parts(resolve(data.value))
    if "test" in parts:
        return Sample(data, "test", TEXTS)
    if held_out_count(model, data):
        return Sample(data, HELD_OUT, TEXTS, model)
    return Sample(data, parts[0], TEXTS)


def _show_numbers(effect: EditEffect) -> None:
    """The effect in a sentence, and a row per model."""
    st.markdown(
        error_boundary.plain(
            f"{effect.flips:,} of {effect.texts:,} predictions change, {effect.control:,} with "
            f"random words or capsules in its place. {_have(effect.concerned)} it: accuracy "
            f"{effect.concerned_before.value:.1%} before, {effect.concerned_after.value:.1%} after."
            if effect.concerned
            else f"None of the {effect.texts:,} texts has it, so nothing changes."
        )
    )
    if not effect.concerned:
        return
    table = pd.DataFrame(
        {
            "": [_NAMES.get(row.name, row.name) for row in effect.rows],
            "accuracy": [row.accuracy.value for row in effect.rows],
            "texts with it": [row.concerned.value for row in effect.rows],
            "other texts": [row.rest.value for row in effect.rows],
            "flips": [row.flips for row in effect.rows],
            "depend": [None if row.depend is None else row.depend.value for row in effect.rows],
        }
    )
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        column_config={
            "accuracy": percent,
            "texts with it": percent,
            "other texts": percent,
            "depend": st.column_config.NumberColumn(
                format="percent",
                help="Share of the texts with it whose prediction changes if it is deleted.",
            ),
        },
    )


def _have(count: int) -> str:
    return f"{count:,} texts have" if count > 1 else "1 text has"


def _ask_save(model: ModelFolder, edit: Edit, key: str) -> None:
    """Buttons that save the edit with a copy or with the model, or start a training instead."""
    reason = repairs.why_not_here(model)
    edits = (*models.load(model).edits_, edit)
    suggested = f"{key} name of"
    if st.session_state.get(suggested) != model.name:
        st.session_state[suggested] = model.name
        st.session_state[f"{key} name"] = training_jobs.free_name(f"{Path(model.name).name} edited")
    st.text_input("Name of the copy", key=f"{key} name")
    with st.container(horizontal=True):
        st.button(
            "Save a copy",
            type="primary",
            key=f"{key} copy",
            on_click=_save_copy,
            args=(model, edits, key),
        )
        st.button(
            f"Save in {error_boundary.plain(model.name)}",
            key=f"{key} here",
            disabled=bool(reason),
            help=reason or "It can be undone below.",
            on_click=_save_here,
            args=(model, edits, key, f"{edit}."),
        )
        if edit.words and st.button(
            "Train on masked texts instead",
            icon=":material/model_training:",
            key=f"{key} train",
            type="tertiary",
            help="Opens a new training, in which each text that has these words is read without "
            "them as well. Such models of the same classes are then measured here, too.",
        ):
            _open_training(model, " ".join(edit.words), key)


def _open_training(model: ModelFolder, words: str, key: str) -> None:
    """Opens the form of a training like that of the model, or on the data, with masked words."""
    state = st.session_state
    _close()
    run = RunFolder(model.path)
    try:
        data = training_jobs.data_of(model.path)
    except RunError:
        data = None
    if data is not None:
        state[url_state.LAUNCH_LIKE] = run.path.name
    else:
        value = data_list.options().get(state.get(f"{key} data", ""), state.data)
        if value:
            data_picker.take(url_state.LAUNCH_PLACE, value)
    state[url_state.LAUNCH_MASKED] = [words]
    state.train_view = url_state.NEW_TRAINING
    st.switch_page(nav.page("train"))


def _show_edits(model: ModelFolder, key: str) -> None:
    """The edits of the model, with a button each that undoes it."""
    edits = models.load(model).edits_
    if not edits:
        return
    st.html(f'<p class="chart-title">Edits of {escape(model.name)}</p>')
    undo = not quotas.read_only() and not repairs.why_not_here(model)
    for number, edit in enumerate(edits):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(f'<p class="edit">{escape(str(edit))}</p>')
            if undo:
                st.button(
                    "Undo",
                    icon=":material/undo:",
                    key=f"{key} undo {number}",
                    type="tertiary",
                    on_click=_save_here,
                    args=(
                        model,
                        tuple(other for other in edits if other != edit),
                        key,
                        f"Undone: {edit}.",
                    ),
                )


def _save_copy(model: ModelFolder, edits: Sequence[Edit], key: str) -> None:
    state = st.session_state
    try:
        name = repairs.save_copy(model, edits, state[f"{key} name"].strip())
    except (ICapsError, OSError) as error:
        state[_PROBLEM] = str(error)
        return
    _close()
    state.model = name
    state[_SAVED] = key, f"Saved as {name}, which is chosen now."


def _save_here(model: ModelFolder, edits: Sequence[Edit], key: str, sentence: str) -> None:
    try:
        repairs.save_here(model, edits)
    except (ICapsError, OSError) as error:
        st.session_state[_PROBLEM] = str(error)
        return
    _close()
    st.session_state[_SAVED] = key, sentence


def _close() -> None:
    st.session_state.pop(_OPEN, None)
