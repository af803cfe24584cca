"""Shortcuts on the page: each function asks or shows one part."""

import json

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from scipy.special import softmax

from dashboard import error_boundary, quotas, settings, url_state
from dashboard.cache import evaluations, explanations, models
from dashboard.cache.evaluations import Sample, Shortcuts
from dashboard.evaluate.inputs import which_texts
from dashboard.explore.view import open_in_explain
from dashboard.model_registry import ModelFolder
from dashboard.widgets.data_picker import Choice
from dashboard.widgets.shaded_text import text_card
from icaps.config import ExplainOptions
from icaps.explore.saved_slices import save_texts
from icaps.reports.files import to_csv
from icaps.shortcuts.checks import checks_of, dump_checks
from icaps.shortcuts.find import Finding
from icaps.shortcuts.interventions import Effect, norms_with_off, norms_without
from icaps.shortcuts.table import to_table

_DOWNLOAD = ":material/download:"
_OPTIONS = ExplainOptions()
_SHARES = ("tied", "flips masked", "random masked", "flips added", "random added")
_TABLE = "shortcut table"


def ask_sample(choice: Choice, part: str) -> Sample:
    """How many texts are looked at, at random."""
    url_state.choose_among("looked_at", url_state.LOOKED_AT)
    limit = st.selectbox(
        "Texts",
        url_state.LOOKED_AT,
        key="looked_at",
        help="A random sample of so many, or all.",
        persist_state="session",
    )
    return Sample(choice.key, part, int(limit.replace(",", "")))


def look(data: Sample, model: ModelFolder) -> Shortcuts | None:
    """The shortcuts, looked for when that is asked; until then None."""
    found = evaluations.shortcuts(data, model)
    if found is not None:
        return found
    st.caption(
        "Masks what the explanations name in texts that are predicted right, and adds it to texts "
        "of other classes, beside random words."
    )
    if not st.button(f"Look for shortcuts of {error_boundary.plain(model.name)}", type="primary"):
        return None
    bar = st.progress(0.0, "Reading the texts …")

    def move(done: int, of: int) -> None:
        bar.progress(done / of, f"Measured {done} of {of} K-grams")

    found = evaluations.find_model_shortcuts(data, model, move)
    bar.empty()
    st.rerun()
    return found


def show_findings(kept: Shortcuts) -> None:
    """A row a finding, the one first on which most predictions hang; a click picks it."""
    texts = kept.texts
    told = f"Of {len(texts):,} texts, {texts.right.mean():.1%} predicted right."
    if not kept.found:
        st.success(f"No shortcut was found. {told}", icon=":material/check:")
        return
    table = to_table(kept.found)
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        key=_TABLE,
        on_select=lambda: _pick(kept),
        selection_mode="single-row",
        column_config={
            **dict.fromkeys(_SHARES, percent),
            "why": st.column_config.TextColumn(width="medium"),
        },
    )
    st.caption(
        f"{told} Flips are right predictions that change: masked in texts that have it, or added "
        "to texts of other classes; beside them those that as many random words flip. As many as "
        "*hang on it* flip when it is masked, less those of random words. Whether it is a shortcut "
        "or what the class is about is for you to judge."
    )


def which_finding(kept: Shortcuts) -> Finding:
    """Asks for a finding; a click in the table does the same."""
    names = [_label(finding) for finding in kept.found]
    url_state.choose_among("finding", names)
    name = st.selectbox("Finding", names, key="finding", persist_state="session")
    return kept.found[names.index(name)]


def show_effect(finding: Finding) -> None:
    """Why it is suspicious, and its effect beside that of random words."""
    for sign in finding.signs:
        about = " (a weak sign: many honest words have it)" if sign.weak else ""
        st.write(error_boundary.plain(f"{sign.reason[0].upper()}{sign.reason[1:]}{about}."))
    effects = {_REMOVED[how]: effect for how, effect in finding.masked.items()}
    if finding.inserted is not None:
        effects["Flips added to others"] = finding.inserted
    with st.container(horizontal=True, gap="medium"):
        for label, effect in effects.items():
            _metric(label, effect)
    st.caption(
        "Below each share, that of random words. “Unknown” puts an unknown word in its place, "
        "“deleted” nothing."
    )


def show_texts(model: ModelFolder, kept: Shortcuts, finding: Finding) -> None:
    """The texts that have it, with what is said of them with it and without; flips come first."""
    rows, told = told_without(model, kept, finding)
    order = np.array(told.sort_values(["flips", "fall"], ascending=False).index)
    st.caption(f"{len(rows):,} texts have it; {told['flips'].sum():,} predictions change without.")
    shown = which_texts(order, "shortcut page")
    texts = [kept.labelled[finding.rows[place]][0] for place in shown]
    cut = [text[: settings.current().text_characters] for text in texts]
    explained = explanations.explain_many(model, cut, _OPTIONS)
    for row, text, explanation in zip(
        told.loc[shown].to_dict("records"), texts, explained, strict=True
    ):
        said = f"Text of class {row['class']}: {row['with']} at {row['probability with']:.1%}"
        said += f"; without it {row['without']}"
        if row["without"]:
            said += f" at {row['probability without']:.1%}"
        else:
            said += "no known word is left"
        st.caption(error_boundary.plain(said))
        st.html(text_card(explanation))
        open_in_explain(model, text)


def told_without(
    model: ModelFolder, kept: Shortcuts, finding: Finding
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """The texts of a finding (n,), and a row each: what is said of it with and without."""
    texts = kept.texts
    rows = np.searchsorted(texts.numbers, finding.rows)
    if finding.capsule is None:
        words = tuple(texts.vocabulary.id(word) for word in finding.words)
        left = norms_without(texts, rows, words)
    else:
        left = norms_with_off(texts, rows, finding.capsule)
    factor = models.load(model).inverse_temperature_
    before, after = softmax(factor * texts.norms[rows], 1), softmax(factor * left, 1)
    predicted, now = before.argmax(1), after.argmax(1)
    known = left.any(1)
    target = texts.classes.index(finding.label)
    told = {
        "class": [texts.classes[code] for code in texts.labels[rows]],
        "with": [texts.classes[code] for code in predicted],
        "probability with": before.max(1),
        "without": [texts.classes[c] if k else "" for c, k in zip(now, known, strict=True)],
        "probability without": after.max(1),
        "flips": (predicted != now) | ~known,
        "fall": before[:, target] - after[:, target],
    }
    return rows, pd.DataFrame(told)


def show_files(choice: Choice, kept: Shortcuts, finding: Finding) -> None:
    """The texts as a slice, the finding as a check, and the table as files."""
    with st.container(horizontal=True):
        if not quotas.read_only():
            _ask_slice(choice, kept, finding)
        checks = checks_of(kept.found)
        _download("Check file", dump_checks(checks), "shortcuts-check.json", not checks)
        _download("CSV", to_csv(to_table(kept.found)), "shortcuts.csv")
        rows = [found.to_dict() for found in kept.found]
        _download("JSON", json.dumps(rows, ensure_ascii=False, indent=1), "shortcuts.json")
    st.caption(
        "The check file is for `icaps check FILE --model DIR --data DATA`, which exits with 1 as "
        "long as a model hangs on one of these words."
    )


_REMOVED = {
    "unk": "Flips masked (unknown)",
    "deletion": "Flips masked (deleted)",
    "off": "Flips switched off",
}


def _metric(label: str, effect: Effect) -> None:
    st.metric(
        label,
        f"{effect.flips:.1%}",
        delta=f"{effect.control:.1%} by random ones",
        delta_color="off",
        delta_arrow="off",
        width=175,
        help=f"Of {effect.texts:,} right predictions; {effect.above.low:+.1%} to "
        f"{effect.above.high:+.1%} above random ones (95%).",
    )


def _ask_slice(choice: Choice, kept: Shortcuts, finding: Finding) -> None:
    with st.popover("Save as a slice", icon=":material/bookmark_add:"):
        name = st.text_input("Name", key="shortcut slice")
        if st.button(f"Save {len(finding.rows):,} texts", disabled=not name):
            with error_boundary.shown():
                keep_slice(choice, kept, finding, name)


def keep_slice(choice: Choice, kept: Shortcuts, finding: Finding, name: str) -> None:
    """Saves the texts that have it under a name.

    Raises:
        ConfigError: The name is none.
        DataError: There is such a slice, or it can't be written.
        NotAllowedError: There may be no slice more.
    """
    quotas.new_slice()
    origin = {"data": choice.value, "reading": choice.reading, "shortcut": finding.name}
    path = save_texts([kept.labelled[row] for row in finding.rows], name, origin)
    st.success(error_boundary.plain(f"Saved as {path}."))


def _download(label: str, content: str | bytes, name: str, disabled: bool = False) -> None:
    mime = "text/csv" if name.endswith("csv") else "application/json"
    st.download_button(
        label, content, name, mime, icon=_DOWNLOAD, on_click="ignore", disabled=disabled
    )


def _label(finding: Finding) -> str:
    return f"{finding.name} ({finding.label})"


def _pick(kept: Shortcuts) -> None:
    """Takes over the row that was clicked in the table."""
    for row in st.session_state[_TABLE].selection.rows:
        st.session_state.finding = _label(kept.found[row])
