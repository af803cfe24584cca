"""Changes labels where they are seen: that of one text, or those of a selection."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from dashboard import corrections, error_boundary, nav, quotas, url_state
from dashboard.cache.data import DataKey
from dashboard.corrections import MOST
from dashboard.widgets import data_picker
from icaps.data.class_names import class_name
from icaps.data.correction_files import corrected_data
from icaps.data.label_file import GivenLabel
from icaps.data.label_sets import classes_of, format_label_set, is_multilabel, label_set
from icaps.data.text_hash import text_hash
from icaps.errors import DataError

Labelled = Iterable[tuple[str, str]]  # texts with their labels

ADD, REMOVE, SET = "Add", "Remove", "Set to"  # classes of texts with several labels
_DIALOG = "labels dialog"
_ICON = ":material/edit:"
_SHOWN = 6  # labels of a selection that are counted by name


def ask_one(
    data: DataKey,
    text: str,
    label: str,
    classes: Sequence[str],
    key: str,
    suggested: Mapping[str, str] | None = None,
    typed: bool = False,
) -> None:
    """A button that changes the label of a text, and one that undoes its correction.

    Args:
        data: The data set.
        text: The text.
        label: The label that it has.
        classes: The labels to choose from.
        key: Prefix of the keys of the controls, different for each text on a page.
        suggested: Labels that may be right, with the words that say why, such as "predicted".
        typed: Whether a class may be typed that no text has yet.
    """
    corrected = corrections.entry(data, text)
    if quotas.read_only():
        _show_corrected(corrected)
        return
    layer = corrections.layer(data.value)
    if not layer.own:
        st.caption(error_boundary.plain(_of_command(layer.path.name)))
        return
    key = f"{key} {text_hash(text):x} {label}"  # so that a click is never about another text
    with st.container(horizontal=True, vertical_alignment="center", key=f"label of {key}"):
        with st.popover("Change label", icon=_ICON, key=f"change {key}"), error_boundary.shown():
            chosen = _ask_label(label, classes, key, suggested or {}, typed)
            if chosen:
                change = GivenLabel(text, chosen, label, corrections.who())
                corrections.change(data, [change])
                st.rerun()
        _show_corrected(corrected)
        if corrected is not None and st.button(
            "Undo", icon=":material/undo:", key=f"undo {key}", type="tertiary"
        ):
            with error_boundary.shown():
                corrections.undo(data.value, corrected.batch, [corrected.text])
                st.rerun()


def ask_many(
    data: DataKey,
    count: int,
    labelled: Callable[[], Labelled],
    classes: Sequence[str],
    key: str,
    suggested: Mapping[str, Callable[[], Iterable[str]]],
    typed: bool,
) -> None:
    """A button that opens a dialog, which changes the labels of texts.

    Args:
        data: The data set.
        count: Number of texts.
        labelled: Returns the texts with their labels.
        classes: The labels to choose from.
        key: Prefix of the keys of the controls, different for each selection on a page.
        suggested: By a name, such as "as predicted", functions that return a label for each text.
        typed: Whether a class may be typed that no text has yet.
    """
    if quotas.read_only() or not corrections.layer(data.value).own:
        return
    many, state = count > MOST, st.session_state
    if st.button(
        "Change labels",
        icon=_ICON,
        key=f"{key} labels",
        disabled=many,
        help=f"At most {MOST:,} texts at a time." if many else None,
        type="tertiary",
    ):
        state[_DIALOG] = key
    if state.get(_DIALOG) == key and not many:  # also when the page is run again meanwhile
        dialog = st.dialog("Change labels", on_dismiss=_close)(_ask_labels)
        dialog(data, list(labelled()), classes, suggested, typed)


def show_next(data: DataKey) -> None:
    """What this visitor has just changed in the data, and what can be done then."""
    last = corrections.last_change(data.value)
    if last is None:
        return
    with st.container(border=True, key="labels changed"):
        count = corrections.layer(data.value).count
        st.markdown(
            error_boundary.plain(
                f"{last.what}. {corrections.plural(count)} of this data "
                f"{'is' if count == 1 else 'are'} corrected. A model learns of it when it is "
                "trained again."
            )
        )
        with st.container(horizontal=True, gap="small"):
            if st.button("Train again", icon=":material/model_training:", key="train corrected"):
                _open_launcher(data)
            if st.button("Review corrections", icon=":material/fact_check:", key="review labels"):
                st.session_state["data_tabs"] = "Corrections"
                st.session_state.data = corrected_data(data.value)
                st.session_state.data_shown = ""  # so that the page takes it over
                st.switch_page(nav.page("datasets"))
            if st.button("Undo", icon=":material/undo:", key="undo labels"):
                with error_boundary.shown():
                    corrections.undo(data.value, last.batch)
                    st.rerun()


def _open_launcher(data: DataKey) -> None:
    """Opens the form of a new training with the data and its corrections."""
    whole = corrected_data(data.value)
    reading = data.uncorrected.reading if whole == data.value else None
    data_picker.take(url_state.LAUNCH_PLACE, whole, reading)
    corrections.open_with(whole, chosen=True)
    st.session_state.train_view = url_state.NEW_TRAINING
    st.switch_page(nav.page("train"))


def _show_corrected(corrected: GivenLabel | None) -> None:
    """What the label of a text was before, and who changed it."""
    if corrected is not None:
        day = corrected.time.replace("T", " ")[:16]
        before = f" from {corrected.before}" if corrected.before else ""
        st.caption(error_boundary.plain(f"Corrected{before} by {corrected.by}, {day}"))


def _ask_label(
    label: str, classes: Sequence[str], key: str, suggested: Mapping[str, str], typed: bool
) -> str:
    """Asks for another label; empty until one is chosen.

    Raises:
        DataError: What was typed is no name of a class.
    """
    for name, why in suggested.items():
        shown = f"{_shown(name)} ({why})"
        if (
            name != label
            and _alike(name, label)
            and st.button(error_boundary.plain(shown), key=f"{key} as {why}", width="stretch")
        ):
            return name
    several = label_set(label)
    chosen: str | None
    if several is None:
        chosen = st.selectbox(
            "Other class" if suggested else "Class",
            [name for name in classes if name != label],
            index=None,
            key=f"{key} to",
            placeholder="choose, or type a new one" if typed else "choose",
            accept_new_options=typed,
        )
    else:
        names = st.multiselect(
            "Classes", classes_of(classes), several, key=f"{key} to", accept_new_options=typed
        )
        chosen = format_label_set(map(_checked, names))
    ready = bool(chosen) and chosen != label
    if st.button("Change", type="primary", key=f"{key} apply", disabled=not ready):
        assert chosen
        return chosen if several is not None else _checked(chosen)
    return ""


def _ask_labels(
    data: DataKey,
    pairs: Sequence[tuple[str, str]],
    classes: Sequence[str],
    suggested: Mapping[str, Callable[[], Iterable[str]]],
    typed: bool,
) -> None:
    """The dialog."""
    counts = Counter(label for _, label in pairs).most_common()
    named = [f"{count:,} {_shown(label)}" for label, count in counts[:_SHOWN]]
    others = sum(count for _, count in counts[_SHOWN:])
    now = ", ".join([*named, *([f"{others:,} others"] if others else [])])
    st.caption(error_boundary.plain(f"The labels now: {now}. The data itself is not changed."))
    with error_boundary.shown():
        if is_multilabel(label for _, label in pairs):
            labels = _ask_sets(pairs, classes_of(classes), suggested, typed)
        else:
            labels = _ask_class(pairs, classes, suggested, typed)
        by = corrections.who()
        changes = [
            GivenLabel(text, label, before, by)
            for (text, before), label in zip(pairs, labels, strict=True)
            if label and label != before and _alike(label, before)
        ]
        name = f"Change {corrections.plural(len(changes))}" if changes else "Change"
        if st.button(name, type="primary", key="change labels", disabled=not changes):
            corrections.change(data, changes)
            _close()
            st.rerun()


def _ask_class(
    pairs: Sequence[tuple[str, str]],
    classes: Sequence[str],
    suggested: Mapping[str, Callable[[], Iterable[str]]],
    typed: bool,
) -> list[str]:
    """Asks for one label for all texts, or a suggested one for each; theirs until it is chosen."""
    ways = [f"{name} of each text" for name in suggested]
    chosen = st.selectbox(
        "Label",
        [*ways, *classes],
        index=None,
        key="labels to",
        placeholder="choose, or type a new class" if typed else "choose",
        accept_new_options=typed,
    )
    if not chosen:
        return [label for _, label in pairs]
    if chosen in ways and chosen not in classes:
        return list(list(suggested.values())[ways.index(chosen)]())
    return [_checked(chosen)] * len(pairs)


def _ask_sets(
    pairs: Sequence[tuple[str, str]],
    classes: Sequence[str],
    suggested: Mapping[str, Callable[[], Iterable[str]]],
    typed: bool,
) -> list[str]:
    """As `_ask_class`, where texts have several labels."""
    way = st.segmented_control(
        "Labels", [ADD, REMOVE, SET, *suggested], default=ADD, required=True, key="labels way"
    )
    if way in suggested:
        return list(suggested[way]())
    names = set(
        map(_checked, st.multiselect("Classes", classes, key="labels to", accept_new_options=typed))
    )
    now = [set(label_set(label) or ()) for _, label in pairs]
    changed = {
        ADD: [own | names for own in now],
        REMOVE: [own - names for own in now],
        SET: [names] * len(now),
    }
    return list(map(format_label_set, changed[way]))


def _checked(name: str) -> str:
    """The name of a class as reading data would have it.

    Raises:
        DataError: It is no name of a class.
    """
    name = class_name(name)
    if not name or "\n" in name or label_set(name) is not None:
        raise DataError(f"{name!r} is no name of a class; type another one.")
    return name


def _alike(label: str, other: str) -> bool:
    """Whether both are sets of classes, or both are not: a model may be of another kind."""
    return (label_set(label) is None) == (label_set(other) is None)


def _shown(label: str) -> str:
    """A label as it is read: the names of a set with commas."""
    names = label_set(label)
    return label if names is None else ", ".join(names) or "none"


def _of_command(name: str) -> str:
    return (
        f"The corrections of {name} come from a command; upload them under Corrections on Datasets "
        "to change them here."
    )


def _close() -> None:
    st.session_state.pop(_DIALOG, None)
