"""Shows one row of a data set: its text, its class, what a model predicts, and similar rows."""

import numpy as np
import streamlit as st

from dashboard import settings
from dashboard.cache import data, explanations
from dashboard.cache.data import DataKey
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BY_KGRAMS
from dashboard.widgets import label_change, shaded_text
from icaps.config import ExplainOptions
from icaps.data.label_sets import format_label_set, label_set, names_in, shown_label
from icaps.data.surrogates import replace_surrogates
from icaps.explore.index import Index
from icaps.explore.label_issues import LabelIssues
from icaps.explore.text_projection import SAMPLE
from icaps.html import chance, escape
from icaps.results import Explanation

_SIMILAR = 5  # rows
_MAX_CHARACTERS = 300  # of a similar text
_MOST = 20_000  # characters of a text that no model reads


def show_row(
    key: DataKey,
    index: Index,
    model: ModelFolder | None,
    row: int,
    issues: LabelIssues | None = None,
) -> None:
    """A row of the data set, as large as the page allows; its label can be changed.

    With `issues`, the class that is suggested for it is offered.
    """
    (text,) = index.text([row])
    label = index.label_of(row)
    split = index.facts.split_names[index.split[row]]
    part = f"{split}, " if split in index.splits else ""  # a single file has none
    place = f"Row {row:,} · {part}line {index.lines[row]:,} · {index.words[row]:,} words"
    st.html(f'<p class="row-place">{escape(place)}</p>')
    if model is None:
        st.html(f'<p class="row-classes">{_class_of(label)}</p>')
        _ask_label(key, index, row, text, None, issues)
        st.html(f'<div class="card"><div class="icaps-text">{escape(text[:_MOST])}</div></div>')
        return
    cut = replace_surrogates(text[: settings.current().text_characters])
    explanation = explanations.explain(model, cut, ExplainOptions())
    st.html(f'<p class="row-classes">{_classes(label, explanation)}</p>')
    _ask_label(key, index, row, text, explanation, issues)
    if shaded_text.ask_shading() == BY_KGRAMS or explanation.blank:
        st.html(shaded_text.kgram_card(explanation))
    else:
        wrong = label != explanation.predicted and label in explanation.classes
        wrong &= not explanation.multilabel
        st.html(shaded_text.account_card(explanation, **({"rather_than": label} if wrong else {})))
    shaded_text.link_to_explain(model, text)
    with st.expander(
        "Similar rows", icon=":material/hub:", key="similar rows", on_change="rerun"
    ) as box:
        if box.open:
            _show_similar(index, model, row)


def _ask_label(
    key: DataKey,
    index: Index,
    row: int,
    text: str,
    explanation: Explanation | None,
    issues: LabelIssues | None,
) -> None:
    """Changes the label of the row."""
    label, suggested = index.label_of(row), dict[str, str]()
    if issues is not None:
        suggested[index.classes[issues.suggested[row]]] = "as suggested"
    if explanation is not None and not explanation.blank:
        suggested.setdefault(predicted_label(explanation), "as predicted")
    label_change.ask_one(key, text, label, index.classes, "row", suggested, typed=True)


def _classes(label: str, explanation: Explanation) -> str:
    """The class and the prediction with their probabilities, as HTML."""
    line = _class_of(label)
    if explanation.blank:
        return f"{line}; the model knows none of its words"
    if explanation.multilabel or label_set(label) is not None:
        return _several(label, explanation)
    probabilities = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    probability = f"{chance(probabilities[explanation.predicted])} probable"
    if label == explanation.predicted:
        return f'<span class="right">✓</span> {line}, as predicted ({escape(probability)})'
    own = probabilities.get(label)
    other = "" if own is None else f"; {escape(label)} {escape(chance(own))}"
    predicted = f"predicted <b>{escape(explanation.predicted)}</b> ({escape(probability)}{other})"
    return f'<span class="wrong">✗</span> {line}, {predicted}'


def predicted_label(explanation: Explanation) -> str:
    """The predicted class, or the set of the predicted classes as one label."""
    if explanation.predicted_classes is None:
        return explanation.predicted
    return format_label_set(explanation.predicted_classes)


def _class_of(label: str) -> str:
    """The class of a row, or its classes, as HTML."""
    names = label_set(label)
    word = "Class" if names is None or len(names) == 1 else "Classes"
    return f"{word} <b>{escape(shown_label(label))}</b>" if names != () else "Of no class"


def _several(label: str, explanation: Explanation) -> str:
    """The classes and the predicted ones with their probabilities, as HTML."""
    predicted = names_in(predicted_label(explanation))
    probabilities = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    shown = ", ".join(
        f"<b>{escape(name)}</b> ({escape(chance(probabilities[name]))})" for name in predicted
    )
    own = set(names_in(label))
    right, mark = ("right", "✓") if own == set(predicted) else ("wrong", "✗")
    words = f"predicted {shown or 'none'}"
    return f'<span class="{right}">{mark}</span> {_class_of(label)}, {words}'


def _show_similar(index: Index, model: ModelFolder, row: int) -> None:
    """The rows whose class capsules are most similar to those of this one."""
    pairs = data.similar_rows(index, model, row, _SIMILAR)
    if not pairs:
        st.caption("The model knows none of the words of this text.")
        return
    numbers = np.array([number for number, _ in pairs])
    rows = "".join(
        f'<tr><td class="n">{number:,}<td dir="auto">{escape(_shorten(other))}'
        f'<td class="name">{escape(shown_label(index.label_of(number)))}'
        f'<td class="n">{similarity:.3f}'
        for (number, similarity), other in zip(pairs, index.text(numbers), strict=True)
    )
    st.html(
        '<div class="evidence"><table><thead><tr><th class="n">Row<th>Text<th class="name">Class'
        f'<th class="n">Cosine</thead><tbody>{rows}</tbody></table></div>'
    )
    of = f"a random sample of {SAMPLE:,} rows" if len(index) > SAMPLE else "all rows"
    st.caption(
        f"Cosine similarity of the class capsules, among {of}. Class "
        "capsules show which class a text has and how strongly, not what it is about."
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} …"
