"""Results on the page: each function shows one."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary, nav
from dashboard.explain import charts
from dashboard.explain.charts import drawn_classes
from dashboard.explain.routing_chart import drawn_kgrams, routing_picture
from dashboard.url_state import EVERY
from dashboard.widgets.chart_card import ink
from dashboard.widgets.shaded_text import text_card
from icaps.interpret.reasons import Reasons
from icaps.reports.charts import class_colors
from icaps.reports.files import to_csv
from icaps.reports.render import STYLE, escape, evidence_table, notices, verdict
from icaps.results import Explanation

_STYLE_FILE = Path(__file__).resolve().parents[1] / "style.css"
_DOWNLOAD = ":material/download:"
_DRAWERS = {  # by key: title and icon
    "try_words": ("What if words were gone?", "science"),
    "what_if": ("What if capsules were switched off?", "toggle_off"),
    "similar": ("Which training texts are like it?", "library_books"),
}
_PLAIN_CHART = {"displayModeBar": False}


def load_style() -> None:
    """The page's style sheet."""
    st.html(f"<style>{STYLE}{_STYLE_FILE.read_text(encoding='utf-8')}</style>")


def show_title(title: str, lead: str) -> None:
    """The head of a page."""
    st.title(title, anchor=False)
    st.html(f'<p class="lead">{lead}</p>')


def show_answer(explanation: Explanation) -> None:
    """The verdict beside the norms, then the shaded text."""
    words, bars = st.columns([5, 4], gap="medium", vertical_alignment="center")
    with words:
        st.html(_verdict(explanation))
    with bars:
        chart = charts.norm_bars(explanation, ink())
        st.vega_lite_chart(chart, width="stretch", alt=f"Norms: {_norms(explanation)}")
        others = len(explanation.classes) - len(drawn_classes(explanation))
        if others:
            st.caption(f"{others} classes of lower norms are left out.")
    if explanation.text:
        st.html(text_card(explanation))


def show_reasons(explanation: Explanation) -> None:
    """The table of evidence, the routing picture and the attention of each capsule."""
    if not explanation.kgrams:
        return
    # The table first: Plotly keeps a browser busy for seconds before it shows anything else.
    evidence, routing, attention = st.tabs(
        ["Evidence", "Routing", "Attention"], key="reasons", on_change="rerun"
    )
    with evidence:
        if evidence.open:
            st.html(f'<div class="evidence">{evidence_table(explanation)}</div>')
            _link_capsules(explanation)
    with routing:
        if routing.open:
            _show_routing(explanation)
    with attention:
        if attention.open:
            _show_attention(explanation)


@contextmanager
def drawer(key: str) -> Iterator[bool]:
    """A place for what is tried with this text, and whether it is open."""
    title, icon = _DRAWERS[key]
    with st.expander(title, icon=f":material/{icon}:", key=key, on_change="rerun") as box:
        yield bool(box.open)


def show_change(explanation: Explanation, scores: Sequence[float], before: str, after: str) -> None:
    """The norms beside those of something else, and whether the class changes.

    Args:
        explanation: Of the text as it is.
        scores: The other norms, (J,); all 0 where no known word is left.
        before, after: Names of the columns; `after` goes on as "... it is CLASS".
    """
    table = pd.DataFrame({"class": explanation.classes, before: explanation.scores, after: scores})
    table["change"] = table[after] - table[before]
    predicted = explanation.classes[int(np.argmax(scores))] if any(scores) else "no class"
    if predicted != explanation.predicted:
        line = f"{after.capitalize()} it is {predicted}, not {explanation.predicted}."
        st.warning(error_boundary.plain(line), icon=":material/swap_horiz:")
    numbers = dict.fromkeys((before, after), "{:.3f}") | {"change": "{:+.3f}"}
    st.dataframe(table.style.format(numbers), width="stretch", hide_index=True)


def with_progress(parts: Iterable[Reasons], total: int) -> Iterator[Reasons]:
    """The same answers, with a bar that fills while they come."""
    bar = st.progress(0.0)
    done = 0
    for part in parts:
        done += len(part.texts)
        bar.progress(done / total, f"{done:,} of {total:,}")
        yield part
    bar.empty()


def show_table(table: pd.DataFrame) -> None:
    """The answers to many texts, and the file of them."""
    st.dataframe(table, width="stretch", hide_index=True)
    st.download_button(
        "CSV", to_csv(table), "explanations.csv", "text/csv", icon=_DOWNLOAD, on_click="ignore"
    )


def how_to_train() -> None:
    """What to do where there is no model."""
    st.subheader("There is no model yet")
    st.write("Train one on a file with a text and a label column, then reload this page:")
    st.code("python -m icaps train --data my_texts.csv --out runs/my_model", language="bash")


def _verdict(explanation: Explanation) -> str:
    """The predicted class, how sure the model is, and which class is explained."""
    if explanation.blank:
        lines = [f'<p class="verdict">{verdict(explanation)}</p>']
    else:
        color = class_colors(explanation.classes)[explanation.predicted]
        lines = [
            f'<p class="verdict" style="border-color:{color}">{escape(explanation.predicted)}</p>',
            f'<p class="sure">{escape(_sureness(explanation))}</p>',
        ]
    lines += [f'<p class="notice">{escape(line)}</p>' for line in notices(explanation)]
    return f'<div role="status">{"".join(lines)}</div>'


def _sureness(explanation: Explanation) -> str:
    probability = max(explanation.probabilities)
    norm, second, runner_up = _first_two(explanation)
    line = f"{probability:.0%} probable · norm {norm:.2f}, {norm - second:.2f} ahead of {runner_up}"
    if explanation.target != explanation.predicted:
        line += f" · shown is what speaks for {explanation.target}"
    return line


def _first_two(explanation: Explanation) -> tuple[float, float, str]:
    """The largest norm, the second, and the class of the second."""
    others = [
        (norm, name)
        for name, norm in zip(explanation.classes, explanation.scores, strict=True)
        if name != explanation.predicted
    ]
    return max(explanation.scores), *max(others, key=lambda pair: pair[0])


def _show_routing(explanation: Explanation) -> None:
    st.caption(
        "Each K-gram speaks to the primary capsule that attends to it, and each capsule sends its "
        "vote to the classes. Thicker lines weigh more; point at one for its number."
    )
    picture = routing_picture(explanation, ink())
    st.plotly_chart(picture, width="stretch", config=_PLAIN_CHART, alt=_routes(explanation))
    left_out = _left_out(explanation)
    if left_out:
        st.caption(f"Left out to keep this readable: {left_out}.")


def _show_attention(explanation: Explanation) -> None:
    st.caption(
        "How much each capsule attends to the words, from the first to the last. The dots are the "
        "middles of its K-grams."
    )
    if len(explanation.words) > charts.MAX_POINTS:
        st.caption(
            f"{len(explanation.words):,} words are more than a line can show, so each point is the "
            "most attended of some neighbours."
        )
    target = explanation.classes.index(explanation.target)
    for reason in explanation.capsules:
        st.html(
            f'<p class="chart-title">{escape(reason.name or f"Capsule {reason.capsule}")} '
            f"<span>β {reason.routing[target]:.2f} "
            f"for {escape(explanation.target)}</span></p>"
        )
        chart = charts.attention_line(explanation, reason, ink())
        st.vega_lite_chart(chart, width="stretch", alt=f"Attention of {reason.label}")


def _link_capsules(explanation: Explanation) -> None:
    """The way to what each capsule does, over all texts."""
    with st.container(horizontal=True):
        for reason in explanation.capsules:
            asked = {"model": st.session_state.model, "capsule": str(reason.capsule)}
            st.page_link(
                nav.page("capsules"),
                label=f"What {error_boundary.plain(reason.label)} does",
                query_params={**asked, "cell_class": EVERY},
            )


def _left_out(explanation: Explanation) -> str:
    kgrams = len(explanation.kgrams) - len(drawn_kgrams(explanation))
    classes = len(explanation.classes) - len(drawn_classes(explanation))
    parts = [(kgrams, "K-grams with the least weight"), (classes, "classes with the lowest norms")]
    return " and ".join(f"{number} {what}" for number, what in parts if number)


def _norms(explanation: Explanation) -> str:
    pairs = zip(explanation.classes, explanation.scores, strict=True)
    return ", ".join(f"{name} {norm:.2f}" for name, norm in pairs)


def _routes(explanation: Explanation) -> str:
    capsules: Sequence[int] = [reason.capsule for reason in explanation.capsules]
    return f"Routing of capsules {', '.join(map(str, capsules))}; the same numbers are in Evidence."
