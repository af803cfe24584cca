"""Shows the shortcuts of a model, their effect, and their texts."""

import json
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary, selection
from dashboard.cache import models
from dashboard.cache.data import DataKey
from dashboard.cache.evaluations import Shortcuts
from dashboard.model_registry import ModelFolder
from dashboard.selection import TextSelection
from dashboard.shortcuts import inputs
from dashboard.shortcuts.predictions import predict_without
from dashboard.url_state import BY_SHARE
from dashboard.widgets import data_picker, downloads, label_change, pager, shaded_text
from dashboard.widgets.data_picker import Choice
from icaps.data.label_sets import shown_label
from icaps.results import Explanation
from icaps.shortcuts.checks import dump_checks, make_checks
from icaps.shortcuts.find import Finding
from icaps.shortcuts.findings_table import findings_table
from icaps.shortcuts.interventions import Effect

PAGE = 5  # texts per page
_TABLE = "shortcut table"
_SHOWN = (  # columns; the others are in the menu of the table, beside it, and in the files
    "finding",
    "class",
    "texts",
    "hang on it",
    "flips masked",
    "random masked",
    "flips added",
    "random added",
)
_OF_WORDS = ("finding", "class", "texts", "share", *_SHOWN[4:])
_MEANING = {
    True: "“Depend”: flips when masked, minus flips for random words.",
    False: "“Share”: what the word adds to the score of the class in all texts that get it.",
}
_HELP = {
    "hang on it": "Flips when masked, minus flips for random words.",
    "masked": "Correct predictions that flip when the words are masked in texts that have them.",
    "added": "Correct predictions of other classes that flip when the words are added.",
    "random": "The same for random words.",
}
_EFFECTS = {
    "unk": "Flips masked (unknown)",
    "deletion": "Flips masked (deleted)",
    "off": "Flips switched off",
}


def show_nothing_found(shortcuts: Shortcuts) -> None:
    """Says that there is no finding, of how many texts, and what is shown instead."""
    instead = " Below are the words that add most to the scores." if shortcuts.strongest else ""
    st.success(
        f"No shortcut was found. {_describe_texts(shortcuts)}{instead}", icon=":material/check:"
    )


def show_findings(shortcuts: Shortcuts) -> None:
    """A row per finding, the largest effect first; a click picks one."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    st.dataframe(
        findings_table(shortcuts.shown),
        width="stretch",
        hide_index=True,
        key=_TABLE,
        on_select=lambda: _pick(shortcuts),
        selection_mode="single-row",
        column_order=_SHOWN if shortcuts.findings else _OF_WORDS,
        column_config={
            "class": text(width=68),
            "texts": number(width=50),
            "why": text(width="large"),
            "tied": number("predicted as it", format="percent"),
            "share per text": number(format="%+.3f"),
            "share": number("share", width=58, format="%+.2f"),
            "hang on it": number("depend", width=62, help=_HELP["hang on it"]),
            "flips masked": number("masked", width=66, format="percent", help=_HELP["masked"]),
            "random masked": number("random", width=66, format="percent", help=_HELP["random"]),
            "flips added": number("added", width=60, format="percent", help=_HELP["added"]),
            "random added": number("random", width=66, format="percent", help=_HELP["random"]),
        },
    )
    st.caption(
        f"{_describe_texts(shortcuts)} {_MEANING[bool(shortcuts.findings)]} “Masked”: share of the "
        "correct predictions that flip when the words are masked in texts that have them. “Added”: "
        "share that flips when they are added to texts of other classes. “Random”: the same for "
        "random words. Whether a finding is a shortcut or what the class is about is up to you."
    )


def _describe_texts(shortcuts: Shortcuts) -> str:
    texts = shortcuts.texts
    if texts.label_sets is not None:
        return f"{texts.right.mean():.1%} of {len(texts):,} texts get exactly their classes."
    return f"{texts.right.mean():.1%} of {len(texts):,} texts are predicted right."


def show_effect(finding: Finding) -> None:
    """Why a finding is suspicious, its share, and its effect beside that of random words."""
    for sign in finding.signs:
        weak = " (a weak sign: many words of a topic have it)" if sign.weak else ""
        st.write(error_boundary.plain(f"{sign.reason[0].upper()}{sign.reason[1:]}{weak}."))
    share = finding.share
    st.write(
        error_boundary.plain(
            f"It adds {share.mean:+.2f} to the score of {finding.label} per text, "
            f"{share.total:+.2f} in the {share.texts:,} texts that get the class: "
            f"{finding.tied:.1%} of the texts with it."
        )
    )
    control = "random words" if finding.capsule is None else "other capsules"
    effects = {_EFFECTS[removal]: effect for removal, effect in finding.masked.items()}
    if finding.inserted is not None:
        effects["Flips added to others"] = finding.inserted
    with st.container(horizontal=True, gap="medium"):
        for label, effect in effects.items():
            _show_share(label, effect, control)
    if finding.capsule is None:
        st.caption(
            "Below each share is that of random words. “Unknown” replaces a word by the unknown "
            "word, “deleted” removes it."
        )


def show_actions(choice: Choice, split: str, shortcuts: Shortcuts, finding: Finding) -> None:
    """What can be done with the texts of a finding."""
    selection.show_actions(selected(choice, split, shortcuts, finding), "finding", "shortcuts")


def _to_json(shortcuts: Shortcuts) -> str:
    rows = [finding.to_dict() for finding in shortcuts.shown]
    return json.dumps(rows, ensure_ascii=False, indent=1)


def show_files(shortcuts: Shortcuts) -> None:
    """The findings as a check file and as tables."""
    with st.container(horizontal=True):
        checks = make_checks(shortcuts.findings)
        downloads.show_file(
            partial(dump_checks, checks), "shortcuts-check.json", "Check file", not checks
        )
        downloads.show_csv(findings_table(shortcuts.shown), "shortcuts")
        downloads.show_file(partial(_to_json, shortcuts), "shortcuts.json", "JSON")
    st.caption(
        "The check file is for `icaps check FILE --model DIR --data DATA`, which exits with 1 as "
        "long as the predictions of a model depend on one of these words."
    )


def show_texts(model: ModelFolder, data: DataKey, shortcuts: Shortcuts, finding: Finding) -> None:
    """The texts of a finding with the predictions with it and without it; flips come first."""
    predictions = predict_without(models.load(model), shortcuts.texts, finding)
    st.caption(
        f"{len(predictions):,} texts have it; without it, {predictions['flips'].sum():,} "
        "predictions change."
    )
    shaded = shaded_text.ask_shading()
    order = predictions.sort_values(["flips", "fall"], ascending=False).index
    order = order[pager.ask_page(len(order), PAGE, "shortcut page")]
    page = predictions.loc[order]
    labelled = [shortcuts.labelled[finding.rows[n]] for n in np.array(order)]

    def describe(n: int, _: Explanation) -> str:
        row = page.iloc[n]
        if shortcuts.texts.label_sets is not None:
            return _describe_sets(labelled[n][1], row, finding.label)
        line = f"Text of class {labelled[n][1]}: predicted {row['with']} with probability "
        line += f"{row['probability with']:.1%}; without it "
        if row["without"]:
            return f"{line}{row['without']} with {row['probability without']:.1%}"
        return f"{line}no known word is left"

    def shares_of(_: int, __: Explanation) -> dict[str, str]:
        return {"of": finding.label}

    def ask_label(n: int, _: Explanation) -> None:
        text, label = labelled[n]
        suggested = {page["with"].iloc[n]: "as predicted"}
        if without := page["without"].iloc[n]:
            suggested.setdefault(without, f"as predicted without {finding.name}")
        classes = shortcuts.texts.classes
        label_change.ask_one(data, text, label, classes, f"finding {n}", suggested)

    texts = [text for text, _ in labelled]
    words = shares_of if shaded == BY_SHARE else None
    shaded_text.show_cards(model, texts, describe, words, below=ask_label)


def _describe_sets(label: str, row: pd.Series, target: str) -> str:
    """A text of several labels: its classes, and those that are predicted with and without."""
    line = f"Text of {shown_label(label)}: predicted {shown_label(row['with'])} "
    line += f"({target} with probability {row['probability with']:.1%}); without it "
    if not row["without"]:
        return f"{line}no known word is left"
    return f"{line}{shown_label(row['without'])} ({target} {row['probability without']:.1%})"


def selected(choice: Choice, split: str, shortcuts: Shortcuts, finding: Finding) -> TextSelection:
    """The texts of a finding."""
    return TextSelection(
        choice.key,
        data_picker.shown_split(choice, split),
        f"Texts with {finding.name} ({finding.label})",
        len(finding.rows),
        lambda: (shortcuts.labelled[row] for row in finding.rows),
        {"shortcut": finding.name},
        classes=shortcuts.texts.classes,
    )


def _show_share(label: str, effect: Effect, control: str) -> None:
    st.metric(
        label,
        f"{effect.flips:.1%}",
        delta=f"{effect.control:.1%} for {control}",
        delta_color="off",
        delta_arrow="off",
        width=175,
        help=f"Of {effect.texts:,} correct predictions; {effect.above.low:+.1%} to "
        f"{effect.above.high:+.1%} above {control} (95% interval).",
    )


def _pick(shortcuts: Shortcuts) -> None:
    """Chooses the row that was clicked in the table."""
    for row in st.session_state[_TABLE].selection.rows:
        st.session_state.finding = inputs.finding_label(shortcuts.shown[row])
