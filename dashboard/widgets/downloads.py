"""Files to share: the report on a text, and the card of a model."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from dashboard.address import CARD_LIMITS
from dashboard.cache import evaluations, explanations, models
from dashboard.model_registry import ModelFolder
from icaps.config import ExplainOptions
from icaps.evaluate.report import EvaluationReport
from icaps.reports.files import KINDS
from icaps.reports.model_card import STEM
from icaps.reports.render import escape
from icaps.reports.text_report import TextReport, asked
from icaps.results import Explanation, trust_facts

_DOWNLOAD = ":material/download:"
_LABELS = {"html": "HTML", "markdown": "Markdown", "json": "JSON", "csv": "CSV"}


def show_exports(
    model: ModelFolder, explanation: Explanation, options: ExplainOptions, link: str
) -> None:
    """The report on a text as files, made when asked for, and the address that reopens it."""

    def make(kind: str) -> bytes:
        trial = explanations.trial(model, explanation)
        flip = None if trial is None else explanations.flip(model, explanation)
        trust = trust_facts(trial, flip)
        how = asked(options)
        return TextReport(explanation, models.named(model), how, trust).to_bytes(kind)

    with st.container(horizontal=True, vertical_alignment="center"):
        _offer(make, "explanation")
        st.html(f'<a class="link" href="{escape(link)}">Link to this explanation</a>')


def show_card(model: ModelFolder, report: EvaluationReport, value: str, part: str) -> None:
    """The card of the model as files, made when one of them is asked for."""
    limit = st.select_slider(
        "Model card: texts that its reasons are measured on",
        CARD_LIMITS,
        key="card limit",
        persist_state="session",
        help="What the model is, how good, what its capsules do, and what it can't do. Whether the "
        "words that it shows decide is measured on so many texts, which takes its time.",
    )

    def make(kind: str) -> bytes:
        return evaluations.card(model, value, part, report, limit).to_bytes(kind)

    with st.container(horizontal=True):
        _offer(make, STEM)


def _offer(make: Callable[[str], bytes], stem: str) -> None:
    """A button a kind of file, which is made when its button is pressed."""
    for kind, (suffix, mime) in KINDS.items():
        st.download_button(
            _LABELS[kind],
            partial(make, kind),
            f"{stem}.{suffix}",
            mime,
            key=f"{stem} {kind}",
            icon=_DOWNLOAD,
            on_click="ignore",
        )
