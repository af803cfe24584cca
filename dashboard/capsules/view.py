"""What a model has learnt, on the page: each function shows one part."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import error_boundary, nav, url_state
from dashboard.address import CAPSULE_TABS
from dashboard.cache import explanations, models
from dashboard.explain import view
from dashboard.model_registry import ModelFolder
from dashboard.widgets import chart_card
from dashboard.widgets.shaded_text import text_card
from icaps.config import ExplainOptions
from icaps.errors import DataError
from icaps.interpret import controls, tables
from icaps.interpret.tally import Typical
from icaps.reports import charts
from icaps.reports.global_report import Report
from icaps.reports.render import escape

_SHOWN = 3  # typical texts
_WINNER = ExplainOptions(top_capsules=1, top_kgrams=1)


def report_of(model: ModelFolder | None) -> Report | None:
    """What the model has learnt; where there is nothing, the page says what to do.

    Raises:
        CheckpointError: What is there is damaged.
    """
    if model is None:
        view.how_to_train()
        return None
    report = models.report(model)
    if report is None:
        _how_to_interpret(model)
    return report


def _how_to_interpret(model: ModelFolder) -> None:
    st.subheader("This model was not interpreted yet", anchor=False)
    st.write("Count what its capsules do over labelled texts, then reload this page:")
    st.code(f"python -m icaps interpret --model {model.path} --data my_texts.csv", language="bash")


def show_facts(report: Report) -> None:
    """How much was counted, and how clear the pattern is."""
    facts = report.facts
    rows = (
        (
            "Capsules alive",
            f"{facts['alive']} of {len(facts['knockout'])}",
            f"They win 1% of the texts or more; {facts['dead']} never win.",
        ),
        (
            "Purity",
            _percent(facts["purity"]),
            "Share of all wins that go to the winner's main class.",
        ),
        (
            "Top 3 of a class",
            _percent(_mean(facts["top_share"])),
            "Share of a class's texts that its three largest capsules win, mean of the classes; "
            f"with shuffled winners {_percent(_mean(facts['top_share_shuffled']))}.",
        ),
        ("Accuracy", _percent(facts["accuracy"]), _counted(report)),
    )
    with st.container(horizontal=True, gap="medium"):
        for label, value, about in rows:
            st.metric(label, value, help=about, width=150)


def show_heatmap(
    report: Report, value: str, order: Sequence[int], chosen: tuple[str | None, int]
) -> None:
    """The matrix C; a click picks a cell."""

    def draw(ink: str) -> object:
        return charts.heatmap(report.cells, value, order, chosen, ink)

    chart_card.show(
        draw,
        report.cells,
        "C",
        f"The matrix C: {tables.VALUES[value]}, by class and primary capsule",
        key="heatmap",
        on_select=lambda: url_state.pick("heatmap"),
        selection_mode=charts.SELECTED,
    )
    st.caption(_counted(report))


def tabs() -> Sequence[DeltaGenerator]:
    """The parts of what is told about a capsule."""
    return st.tabs(CAPSULE_TABS, key="capsule_tab", on_change="rerun")


def show_words(report: Report, table: pd.DataFrame, class_name: str | None, capsule: int) -> None:
    """A bar a word or K-gram."""
    if table.empty:
        st.info("There is nothing to count here: no text was won by this capsule for it.")
        return
    main = class_name or report.capsules["main_class"][capsule]
    color = charts.class_colors(report.classes).get(main, charts.GREY)
    kind = table.columns[0]
    chart_card.show(
        lambda ink: charts.word_bars(table, color, ink),
        table,
        f"{kind}s of capsule {capsule}",
        f"The most relevant {kind}s: " + ", ".join(table[kind][:8]),
    )


def show_typical(model: ModelFolder, report: Report, capsule: int, class_name: str | None) -> None:
    """The texts whose winner contributes most, with its K-gram shaded, each to open in Explain."""
    found = _typical(report, capsule, class_name)
    if not found:
        st.info("No text was won by this capsule for it.")
        return
    try:
        texts = models.typical_texts(model)
    except DataError as error:  # the rest of the page needs no texts
        st.info(error_boundary.plain(str(error)))
        return
    for typical in found:
        text, label = texts[typical.number]
        explanation = explanations.explain(model, text, _WINNER)
        st.html(text_card(explanation))
        told, action = st.columns([4, 1], vertical_alignment="center")
        told.html(
            f'<p class="sure">Text {typical.number:,}, labelled {escape(label)}, taken for '
            f"{escape(explanation.predicted)}; contribution {typical.contribution:.3f}</p>"
        )
        if action.button("Explain", key=f"open {typical.number}", icon=":material/open_in_new:"):
            url_state.open_text(text)
            st.switch_page(nav.page("explain"))


def show_knock_out(report: Report, capsule: int, order: Sequence[int]) -> None:
    """What switching the capsule off costs, beside what each other one costs."""
    about = report.capsules.set_index("capsule").loc[capsule]
    whole, own, other = st.columns(3, gap="medium")
    whole.metric("Accuracy lost without it", f"{about['cost']:+.2%}")
    own.metric("on the texts that it won", _signed(about["own_cost"]))
    other.metric("on all other texts", _signed(about["other_cost"]))
    chart_card.show(
        lambda ink: charts.knock_out_bars(report.capsules, order, capsule, ink),
        report.capsules,
        "knock-out",
        "Accuracy lost with each capsule switched off",
    )
    recalls = tables.recalls(report.view.knock_out, report.classes)
    change = pd.DataFrame({"with all": recalls.iloc[0], "without it": recalls.iloc[1 + capsule]})
    change["change"] = change["without it"] - change["with all"]
    st.dataframe(change.rename_axis("recall of").map("{:.2%}".format), width="stretch")
    few = report.view.few
    st.caption(
        f"{len(few.capsules)} capsules alone ({', '.join(map(str, few.capsules))}) keep "
        f"{few.accuracy:.1%} of the {few.of_all:.1%} of all: the smallest set that a greedy search "
        "found, on a sample of the texts."
    )


def show_sparsity(report: Report) -> None:
    """The shape of each row, beside shuffled winners."""
    title = "Is the pattern due to the classes?"
    with st.expander(title, icon=":material/rule:", key="sparsity", on_change="rerun") as box:
        if not box.open:
            return
        st.write(
            "Share of each class's texts that its largest capsules win, beside the mean of "
            f"{controls.SHUFFLES} shuffles of which text was won by which capsule. "
            "Entropy is in nats."
        )
        st.dataframe(report.rows, width="stretch", hide_index=True)
        st.write("Capsules one by one: dead, class-neutral and duplicates are marked.")
        st.dataframe(report.capsules, width="stretch", hide_index=True)


def show_comparison(model: ModelFolder, report: Report, others: Sequence[ModelFolder]) -> None:
    """The model beside another one of the same classes."""
    title = "Compare with another model"
    with st.expander(
        title, icon=":material/compare_arrows:", key="compare", on_change="rerun"
    ) as box:
        if not box.open:  # each model takes its time and memory
            return
        reports = {other.name: models.report(other) for other in others}
        same = {
            name: found
            for name, found in reports.items()
            if found is not None and found.classes == report.classes
        }
        if not same:
            st.write("There is no other model of these classes that was interpreted.")
            return
        name = st.selectbox("Other model", list(same), key="other_model", persist_state="session")
        other = same[name]
        both = {model.name: report, name: other}
        st.dataframe(pd.DataFrame({n: _clarity(r) for n, r in both.items()}), width="stretch")
        found = controls.agreement(
            report.view.tally,
            other.view.tally,
            report.classifier.vocabulary_.words,
            other.classifier.vocabulary_.words,
        )
        st.caption(
            f"Matched one to one by their words, the capsules of the two share "
            f"{_percent(found.overlap)} of them; matched at random, "
            f"{_percent(found.random_overlap)}."
        )


def _clarity(report: Report) -> dict[str, str]:
    facts = report.facts
    about = report.capsules[report.capsules["state"] == "alive"]
    return {
        "accuracy": f"{facts['accuracy']:.2%}",
        "capsules alive": str(facts["alive"]),
        "capsules dead": str(facts["dead"]),
        "purity": f"{facts['purity']:.3f}",
        "top 3 of a class": _percent(_mean(facts["top_share"])),
        "the same, shuffled": _percent(_mean(facts["top_share_shuffled"])),
        "divergence of words in a class, bits": _plain(facts["divergence"]),
        "the same, words dealt at random": _plain(facts["divergence_random"]),
        "lost on its own texts, mean": f"{about['own_cost'].mean():.3%}",
        "lost on other texts, mean": f"{about['other_cost'].mean():.3%}",
        "capsules that are enough": str(len(report.view.few.capsules)),
        "purity term in training": f"{report.classifier.train.purity_weight:g}",
    }


def _typical(report: Report, capsule: int, class_name: str | None) -> list[Typical]:
    tally = report.view.tally
    where = report.where(capsule, class_name)
    texts = [text for cell in where for text in tally.typical.get(cell, [])]
    return sorted(texts, key=lambda text: (-text.contribution, text.number))[:_SHOWN]


def _counted(report: Report) -> str:
    tally = report.view.tally
    blank = f", and {tally.blank:,} without a known word" if tally.blank else ""
    return f"Counted over {tally.texts:,} {report.view.origin.part} texts{blank}."


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None] or [np.nan]))


def _percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.1%}"


def _signed(value: float) -> str:
    return "–" if value != value else f"{value:+.2%}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
