"""Asks on which texts shortcuts are looked for, and which finding is shown."""

import time

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import at_once, evaluations
from dashboard.cache.evaluations import Sample, Shortcuts
from dashboard.model_registry import ModelFolder
from dashboard.widgets import neutral_dialog, progress_bar
from dashboard.widgets.data_picker import Choice
from icaps.cli.formatting import duration
from icaps.shortcuts.find import Finding
from icaps.train.parts import HELD_OUT

_AGAIN = "look again for shortcuts"  # the key of the button


def ask_sample(choice: Choice, split: str, model: ModelFolder) -> Sample:
    """Asks how many texts are used."""
    url_state.choose_among("looked_at", url_state.SHORTCUT_SIZES)
    limit = st.selectbox(
        "Texts",
        url_state.SHORTCUT_SIZES,
        key="looked_at",
        help="A random sample of this size, or all texts if there are fewer.",
        persist_state="session",
    )
    held_out = model if split == HELD_OUT else None
    return Sample(choice.key, split, int(limit.replace(",", "")), held_out)


def ask_again(sample: Sample, shortcuts: Shortcuts) -> bool:
    """Whether shortcuts are looked for again, as labels were corrected; few texts need no click."""
    if shortcuts.corrections == sample.data.corrections:
        return False
    if at_once.few(sample.open()):
        return True
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        st.caption("Labels were corrected after this was measured.")
        again = st.button("Look again", icon=":material/refresh:", key=_AGAIN, type="tertiary")
    if again:
        place.empty()
    return again


def ask_start(sample: Sample, model: ModelFolder) -> Shortcuts | None:
    """A button that looks for shortcuts, with a progress bar; few texts need no button."""
    button, bar = st.empty(), st.empty()
    if not (st.session_state.get(_AGAIN) or at_once.few(sample.open())):
        with button.container():
            st.caption(
                "Takes words from explanations, and those that add most to the scores of the "
                "classes; masks them in correct predictions, inserts them into texts of other "
                "classes, and compares with random words."
            )
            name = error_boundary.plain(model.name)
            if not st.button(f"Look for shortcuts of {name}", type="primary"):
                return None
    title, started = f"Shortcuts of {model.name}", time.monotonic()
    progress_bar.show(title, "reading the texts …", None, bar)

    def on_measured(done: int, total: int) -> None:
        left = duration((time.monotonic() - started) * (total - done) / done)
        detail = f"{done:,} of {total:,} K-grams measured, {left} left"
        progress_bar.show(title, detail, done / total, bar)

    shortcuts = evaluations.find_model_shortcuts(sample, model, on_measured)
    button.empty()
    bar.empty()
    return shortcuts


def ask_finding(shortcuts: Shortcuts) -> Finding:
    """Asks for a finding, as a click in the table does."""
    names = [finding_label(finding) for finding in shortcuts.shown]
    url_state.choose_among("finding", names, "finding")
    label = "Finding" if shortcuts.findings else "Word"
    name = st.selectbox(label, names, key="finding", persist_state="session")
    return shortcuts.shown[names.index(name)]


def finding_label(finding: Finding) -> str:
    """The name of a finding in the list and in the address of the page."""
    return f"{finding.name} ({finding.label})"


def ask_neutral(model: ModelFolder, sample: Sample, finding: Finding) -> None:
    """A button that makes the finding neutral, or trains a model without it."""
    capsule = finding.capsule
    thing = finding.name if capsule is None else neutral_dialog.capsule_name(capsule)
    neutral_dialog.ask(model, [thing], "shortcut", sample=sample)
