"""Shows an explanation: the prediction, the shaded text, the evidence, and files to download."""

from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from dashboard import error_boundary, glossary, nav
from dashboard.cache import explanations, models
from dashboard.explain.charts import class_bars, drawn_classes
from dashboard.explain.routing_chart import drawn_kgrams, routing_chart
from dashboard.model_registry import ModelFolder
from dashboard.url_state import CONTRAST, EVERY, KGRAMS
from dashboard.widgets import downloads
from dashboard.widgets.chart_card import ink
from dashboard.widgets.shaded_text import account_card, kgram_card
from icaps.config import ExplainOptions
from icaps.faithfulness.reason_results import trust_facts
from icaps.html import chance, escape
from icaps.reports.charts import class_colors
from icaps.reports.text_report import TextReport
from icaps.results import Explanation

_EXPANDERS = {  # by key: title and icon
    "try_words": ("What if words were removed?", "science"),
    "what_if": ("What if capsules were switched off?", "toggle_off"),
    "similar": ("Similar training texts", "library_books"),
}


def show_prediction(explanation: Explanation) -> None:
    """The predicted class beside the probabilities of the classes."""
    bars = "" if explanation.blank else class_bars(explanation)
    st.html(f'<div class="answer">{_verdict(explanation)}{bars}</div>')


def show_text(explanation: Explanation, shading: str) -> None:
    """The shaded text, by one of `url_state.SHADINGS`, and how much of the score it carries."""
    if not explanation.text:
        return
    if shading == KGRAMS or explanation.blank:
        st.html(kgram_card(explanation))
    elif shading == CONTRAST:
        rival = {"of": explanation.predicted, "rather_than": explanation.target}
        st.html(account_card(explanation, **rival))
    else:
        st.html(account_card(explanation))


def show_reasons(explanation: Explanation) -> None:
    """Tabs: the table of evidence, the routing picture, attention by capsule, all scores."""
    if not explanation.kgrams:
        return
    # The table first: Plotly blocks the browser for seconds before anything else is drawn.
    evidence, routing, attention, scores = st.tabs(
        ["Evidence", "Routing", "Attention", "Scores"], key="reasons", on_change="rerun"
    )
    with evidence:
        if evidence.open:
            st.html(f'<div class="evidence">{explanation.evidence_html()}</div>')
            _link_capsules(explanation)
    with routing:
        if routing.open:
            _show_routing(explanation)
    with attention:
        if attention.open:
            _show_attention(explanation)
    with scores:
        if scores.open:
            _show_scores(explanation)


def show_glossary(multilabel: bool = False) -> None:
    """A fold that says in a sentence what each term means."""
    with st.expander("How to read this", icon=":material/help:", key="glossary"):
        rows = "".join(
            f"<dt>{escape(term)}</dt><dd>{escape(line)}</dd>"
            for term, line in glossary.terms(multilabel).items()
        )
        st.html(f'<dl class="glossary">{rows}</dl>')


@contextmanager
def expander(key: str) -> Iterator[bool]:
    """An expander of the page, and whether it is open."""
    title, icon = _EXPANDERS[key]
    with st.expander(title, icon=f":material/{icon}:", key=key, on_change="rerun") as box:
        yield bool(box.open)


def show_downloads(
    model: ModelFolder, explanation: Explanation, options: ExplainOptions, link: str
) -> None:
    """The explanation as files, and the link that reopens it."""

    def to_bytes(kind: str) -> bytes:
        test = explanations.reason_test(model, explanation)
        flip = None if test is None else explanations.flip(model, explanation)
        return TextReport(
            explanation,
            models.named(model),
            options,
            trust=trust_facts(explanation, test, flip),
        ).to_bytes(kind)

    with st.container(horizontal=True, vertical_alignment="center"):
        downloads.show_report(to_bytes, "explanation", disabled=not explanation.words)
        if explanation.words:
            st.html(f'<a class="link" href="{escape(link)}">Link to this explanation</a>')


def _verdict(explanation: Explanation) -> str:
    """The predicted classes, their probability, and notices; HTML."""
    if explanation.multilabel and not explanation.blank:
        lines = _verdict_of_several(explanation)
    elif explanation.blank:
        line = explanation.verdict if explanation.words else "Type some text to see a prediction."
        lines = [f'<p class="verdict">{line}</p>']
    else:
        color = class_colors(explanation.classes)[explanation.predicted]
        lines = [
            f'<p class="verdict" style="border-color:{color}">{escape(explanation.predicted)}</p>',
            f'<p class="sure">{escape(_confidence(explanation))}</p>',
        ]
    lines += [f'<p class="notice">{escape(line)}</p>' for line in explanation.notices]
    return f'<div role="status">{"".join(lines)}</div>'


def _verdict_of_several(explanation: Explanation) -> list[str]:
    """All predicted classes with their probabilities, or that there is none; HTML."""
    colors = class_colors(explanation.classes)
    chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    names, count = explanation.given_classes, len(explanation.classes)
    if not names:
        name = explanation.predicted
        limit = chance(explanation.threshold_by_class[name])
        line = f"The most probable is {name}: {chance(chances[name])}, its threshold is {limit}"
        line += f" · shown is the evidence for {explanation.target}"
        return ['<p class="verdict">No class</p>', f'<p class="sure">{escape(line)}</p>']
    shown = "".join(
        f'<span style="border-color:{colors[name]}">{escape(name)} '
        f"<i>{chance(chances[name])}</i></span>"
        for name in names
    )
    reach = "reaches its threshold" if len(names) == 1 else "reach their thresholds"
    line = f"{len(names)} of {count} classes {reach}"
    if explanation.target != names[0] or len(names) > 1:
        line += f" · shown is the evidence for {explanation.target}"
    return [f'<p class="verdict several">{shown}</p>', f'<p class="sure">{escape(line)}</p>']


def _confidence(explanation: Explanation) -> str:
    (_, first, _), (runner_up, second, _) = explanation.ranked_classes[:2]
    line = f"{chance(first)} probability, {runner_up} {chance(second)}"
    if explanation.target != explanation.predicted:
        line += f" · shown is the evidence for {explanation.target}"
    return line


def _link_capsules(explanation: Explanation) -> None:
    """Links to the page Capsules, which shows what each capsule does over all texts."""
    with st.container(horizontal=True):
        for reason in explanation.capsules:
            st.page_link(
                nav.page("capsules"),
                label=f"About {error_boundary.plain(reason.label)}",
                query_params={
                    "model": st.session_state.model,
                    "capsule": str(reason.capsule),
                    "cell_class": EVERY,
                },
            )


def _show_routing(explanation: Explanation) -> None:
    st.caption(
        "Each K-gram is attended to by a primary capsule, and each capsule sends its vote to the "
        "classes. Thicker lines have larger weights; hover over a line to see its weight."
    )
    capsules = ", ".join(reason.label for reason in explanation.capsules)
    st.plotly_chart(
        routing_chart(explanation, ink()),
        width="stretch",
        config={"displayModeBar": False},
        alt=f"Routing of {capsules}; the same numbers are in Evidence.",
    )
    kgrams = len(explanation.kgrams) - len(drawn_kgrams(explanation))
    classes = len(explanation.classes) - len(drawn_classes(explanation))
    parts = [(kgrams, "K-grams with the least weight"), (classes, "classes with the lowest norms")]
    left_out = " and ".join(f"{number} {what}" for number, what in parts if number)
    if left_out:
        st.caption(f"Not shown, to keep this readable: {left_out}.")


def _show_attention(explanation: Explanation) -> None:
    st.caption(f"{glossary.sentence('attention')} The darker a word, the larger its attention.")
    target = explanation.classes.index(explanation.target)
    for reason in explanation.capsules:
        st.html(
            f'<p class="chart-title">{escape(reason.label)} <span>routing β '
            f"{reason.routing[target]:.2f} for {escape(explanation.target)}</span></p>"
            f'<div class="attention">{explanation.attention_html(reason)}</div>'
        )


def _show_scores(explanation: Explanation) -> None:
    """All classes, the most probable first, with their norms."""
    st.caption(f"Norm: {glossary.terms(explanation.multilabel)['norm']}")
    has_account = len(explanation.account.bias) > 0
    table = pd.DataFrame(
        {
            "class": explanation.classes,
            "probability": explanation.probabilities,
            "norm": explanation.scores,
            "bias": explanation.account.bias if has_account else None,
        }
    )
    numbers = {"probability": "{:.1%}", "norm": "{:.3f}"}
    if explanation.multilabel:
        table.insert(2, "threshold", explanation.thresholds)
        table.insert(3, "predicted", table["class"].isin(explanation.given_classes))
        numbers["threshold"] = "{:.1%}"
    first = "probability" if explanation.multilabel else "norm"
    table = table.sort_values(first, ascending=False, kind="stable")
    numbers |= {"bias": "{:+.3f}"} if has_account else {}
    st.dataframe(table.style.format(numbers), width="stretch", hide_index=True)
