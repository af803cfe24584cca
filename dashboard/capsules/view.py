"""Shows what the capsules of a model have learnt, over all texts that were counted."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary, nav, settings, url_state
from dashboard.cache import explanations, models
from dashboard.cache.models import RoutedExcerpt
from dashboard.capsules.inputs import BY_CONTRIBUTION
from dashboard.model_registry import ModelFolder
from dashboard.widgets import capsule_card, capsule_text, chart_card, download_task
from icaps.data.label_sets import names_in, shown_label
from icaps.errors import DataError
from icaps.html import escape, printable
from icaps.interpret import controls, tables
from icaps.interpret.corpus import Typical
from icaps.interpret.routing_spread import EDGES, LEVELS
from icaps.reports import charts
from icaps.reports.global_report import GlobalReport

_TYPICAL_TEXTS = 3
_MANY_CLASSES = 30  # above it, the rows of the matrix scroll below its header


def show_facts(report: GlobalReport) -> None:
    """How many capsules are used, and how clearly they belong to classes."""
    facts = report.facts
    metrics = (
        (
            "Capsules alive",
            f"{facts['alive']} of {len(facts['knockout'])}",
            f"They win 1% of the texts or more; {facts['dead']} never win (dead).",
        ),
        (
            "Purity",
            _percent(facts["purity"]),
            "Share of all wins in which the predicted class is the main class of the capsule.",
        ),
        (
            "Top 3 per class",
            _percent(_mean(facts["top_share"])),
            "Share of a class's texts that its three largest capsules win, mean over the classes; "
            f"with shuffled winners {_percent(_mean(facts['top_share_shuffled']))}.",
        ),
        (_measure(report), _percent(facts["accuracy"]), _describe_measure(report)),
    )
    if report.view.shares is not None:
        number = report.view.shares.effective.sum() / max(report.view.tally.predictions, 1)
        metrics += (
            (
                "Capsules per class" if report.multilabel else "Capsules per text",
                f"{number:.1f}",
                "How many capsules share a decision, mean over the texts: the effective number, "
                "exp of the entropy of their positive shares of the score. 1 if one capsule adds "
                "everything.",
            ),
        )
    with st.container(horizontal=True, gap="medium"):
        for label, value, help_text in metrics:
            st.metric(label, value, help=help_text, width=140)


def show_heatmap(
    report: GlobalReport,
    value: str,
    order: Sequence[int],
    classes: Sequence[str],
    cell: tuple[str | None, int],
) -> None:
    """The matrix C, its rows in this order; a click picks a cell. Many rows scroll."""
    labels = dict(report.labelled_capsules["label"].items())
    about = f"The matrix C: {tables.VALUES[value]}, by class and primary capsule"
    options: dict[str, Any] = {
        "key": "heatmap",
        "on_select": lambda: url_state.pick_capsule("heatmap"),
        "selection_mode": charts.SELECTED,
    }

    def draw(ink: str) -> alt.LayerChart:
        return charts.heatmap(report.cells, value, order, cell, ink, classes, labels)

    if len(classes) <= _MANY_CLASSES or st.session_state.get("table C"):
        with st.container(key="matrix"):
            chart_card.show(draw, report.cells, "C", about, **options)
    else:
        ink = chart_card.ink()
        rows = charts.heatmap(report.cells, value, order, cell, ink, classes, labels, header=False)
        with st.container(key="matrix-scrolled", gap=None):
            with st.container(key="matrix-header"):
                header = charts.heatmap_header(report.cells, value, order, ink, labels)
                chart_card.show_chart(header, "Names of the capsules")
            chart_card.show_chart(rows, about, **options)
        chart_card.show_controls(draw, report.cells, "C")
    st.caption(_describe_sample(report))


def show_words(
    report: GlobalReport, table: pd.DataFrame, class_name: str | None, capsule: int
) -> None:
    """A bar per word or K-gram."""
    if table.empty:
        st.info(
            "There is nothing to count here: this capsule won no such text."
            if table.columns[1] == "count"
            else "There is nothing to show here: no such words add to the score."
        )
        return
    colors = charts.class_colors(report.classes)
    color = capsule_card.color_of(report, capsule) if class_name is None else colors[class_name]
    kind = table.columns[0]
    chart_card.show(
        lambda ink: charts.word_bars(table, color, ink),
        table,
        f"{kind}s of capsule {capsule}",
        f"The most relevant {kind}s: " + ", ".join(table[kind][:8]),
    )


def show_texts(
    model: ModelFolder, report: GlobalReport, capsule: int, class_name: str | None, by: str
) -> None:
    """Texts of a capsule, each word shaded by the capsule's attention to it.

    Args:
        by: `inputs.BY_ROUTING`: texts of high, middle and low routing. `inputs.BY_CONTRIBUTION`:
            the texts of the cell to which the capsule contributes most.
    """
    if by == BY_CONTRIBUTION:
        _show_largest(model, report, capsule, class_name)
    else:
        _show_levels(model, report, capsule)


def _show_levels(model: ModelFolder, report: GlobalReport, capsule: int) -> None:
    levels, source = _texts_by_level(model, report, capsule)
    if not any(levels.values()):
        st.info(source or f"No text is predicted as {report.served_classes[capsule]}.")
        _offer_download(report)
        return
    st.caption(error_boundary.plain(source))
    for level in LEVELS:
        some = levels.get(level, [])
        if not some:
            continue
        weights = [text.routing for text in some]
        st.html(
            f'<p class="chart-title">{level.capitalize()} routing '
            f"<span>β {min(weights):.2f} to {max(weights):.2f}</span></p>"
        )
        _show_cards(model, capsule, some, f"{level} {capsule}")
    if not report.view.has_texts:
        _offer_download(report)


def _texts_by_level(
    model: ModelFolder, report: GlobalReport, capsule: int
) -> tuple[dict[str, list[RoutedExcerpt]], str]:
    """Texts by level, and where they are from or why there are none."""
    routing = report.view.routing
    assert routing is not None
    served, origin = report.served_classes[capsule], report.view.origin
    counted = f"Texts predicted as {served}, of those that were counted"
    levels = routing.levels[capsule]
    if routing.excerpts:
        excerpts = {
            level: [
                RoutedExcerpt(*text, *routing.excerpts[capsule, text.number])
                for text in some
                if (capsule, text.number) in routing.excerpts
            ]
            for level, some in levels.items()
        }
        return excerpts, f"{counted}; of long ones a part, around what the capsule attends to."
    try:
        texts = models.typical_texts(model)
    except DataError as error:  # the rest of the page needs no texts
        sample = models.sample_texts(model).get(capsule, {})
        if not any(sample.values()):
            return {}, error_boundary.plain(_without_command(origin.source, str(error)))
        return sample, (
            f"Texts predicted as {served} of the news texts that come with iCaps. Those of "
            f"{origin.source}, which were counted, are not on this machine."
        )
    whole = {
        level: [RoutedExcerpt(*text, *texts[text.number]) for text in some]
        for level, some in levels.items()
    }
    return whole, f"{counted}."


def _show_largest(
    model: ModelFolder, report: GlobalReport, capsule: int, class_name: str | None
) -> None:
    """The texts to which the capsule contributes most."""
    typical = _typical(report, capsule, class_name)
    if not typical:
        st.info("This capsule won no such text.")
        return
    try:
        texts = models.typical_texts(model)
    except DataError as error:
        st.info(error_boundary.plain(_without_command(report.view.origin.source, str(error))))
        _offer_download(report)
        return
    st.caption("The texts that it won to which it contributes most.")
    chosen = [RoutedExcerpt(one.number, one.contribution, *texts[one.number]) for one in typical]
    _show_cards(model, capsule, chosen, "largest", of_routing=False)


def _show_cards(
    model: ModelFolder,
    capsule: int,
    texts: Sequence[RoutedExcerpt],
    key: str,
    of_routing: bool = True,
) -> None:
    limit = settings.current().text_characters
    shown = tuple(text.text[:limit] for text in texts)
    for text, explanation in zip(texts, explanations.through_capsules(model, shown), strict=True):
        about = f"Text {text.number:,}, class {shown_label(text.label)}"
        given = explanation.given_classes if explanation.multilabel else [explanation.predicted]
        if set(given) != set(names_in(text.label)):
            about += f", predicted {', '.join(given) or 'no class'}"
        if not of_routing:
            about += f"; contribution {text.routing:.3f}"
        with st.container(key=f"example {key} {text.number}", gap="xsmall"):
            st.html(capsule_text.attended_card(explanation, capsule, about))
            if st.button(
                "Explain",
                key=f"open {key} {text.number}",
                icon=":material/open_in_new:",
                type="tertiary",
            ):
                url_state.open_text(text.text)
                st.switch_page(nav.page("explain"))


def show_own_text(model: ModelFolder, report: GlobalReport, capsule: int, text: str) -> None:
    """What the capsule makes of a text of the visitor's own."""
    (explanation,) = explanations.through_capsules(model, (text,))
    reason = capsule_text.reason_of(explanation, capsule)
    if reason is None or not explanation.words:
        st.info(explanation.verdict)
        return
    st.html(capsule_text.attended_card(explanation, capsule))
    j = explanation.classes.index(explanation.target)
    routing, rank = reason.routing[j], capsule_text.rank(explanation, reason)
    metrics = st.container(horizontal=True, gap="medium")
    metrics.metric(
        f"Routing to {error_boundary.plain(explanation.target)}",
        f"{routing:.3f}",
        help="β, of 1 that the capsule shares among the classes; for the class that is predicted.",
        width="content",
    )
    metrics.metric(
        "Rank",
        f"{rank} of {len(explanation.capsules)}",
        help="Among all capsules, by routing.",
        width="content",
    )
    metrics.metric(
        "Share",
        f"{reason.share:+.2f}",
        help=f"What it adds to the score {explanation.score:.2f} of the class.",
        width="content",
    )
    words = capsule_text.words_through(explanation, capsule)
    own = max(range(len(reason.routing)), key=reason.routing.__getitem__)
    sentences = [f"It is routed to {explanation.classes[own]} most (β {reason.routing[own]:.2f})."]
    if words:
        sentences.append(f"Through it most is added by {words}.")
    if report.view.routing is not None:
        counts = report.view.routing.counts[j, capsule]
        below = counts[EDGES[1:] <= routing].sum()
        if counts.sum():
            sentences.append(
                f"Its routing is higher than in {below / counts.sum():.0%} of the counted texts "
                f"that are predicted as {explanation.target}."
            )
    st.html(f'<p class="sure">{escape(" ".join(sentences))}</p>')


def show_knock_out(report: GlobalReport, capsule: int, order: Sequence[int]) -> None:
    """The accuracy lost with the capsule switched off, and with each other one."""
    lost, measure = report.capsules.set_index("capsule").loc[capsule], _measure(report)
    with st.container(horizontal=True, gap="medium"):
        st.metric(f"{measure} lost without it", f"{lost['cost']:+.2%}", width="content")
        st.metric("on texts it won", _signed(lost["own_cost"]), width="content")
        st.metric("on others", _signed(lost["other_cost"]), width="content")
    st.html(f'<p class="chart-title">{measure} lost with each capsule switched off</p>')
    chart_card.show(
        lambda ink: charts.knock_out_bars(report.capsules, order, capsule, ink),
        report.capsules,
        "knock-out",
        f"{measure} lost with each capsule switched off",
    )
    recalls = tables.recalls(report.view.knock_out, report.classes)
    change = pd.DataFrame({"with all": recalls.iloc[0], "without it": recalls.iloc[1 + capsule]})
    change["change"] = change["without it"] - change["with all"]
    st.dataframe(change.rename_axis("recall of").map("{:.2%}".format), width="stretch")
    few = report.view.few
    st.caption(
        f"{len(few.capsules)} capsules alone ({', '.join(map(str, few.capsules))}) reach "
        f"{'a' if report.multilabel else 'an'} {report.measure} of {few.accuracy:.1%}, all "
        f"capsules {few.of_all:.1%}: the smallest set that a "
        "greedy search found, on a sample of the texts."
    )


def show_class_reasons(report: GlobalReport) -> None:
    """The words and K-grams that add most to the scores of each class."""
    if report.view.shares is None:
        return
    title = "What adds to the score of each class"
    with st.expander(title, icon=":material/balance:", key="reasons", on_change="rerun") as box:
        if not box.open:
            return
        st.write(
            "Words and K-grams by what they add to the scores of all texts that get the class, "
            "whichever capsule won, and how many capsules share a decision."
        )
        table = report.class_reasons.map(lambda v: printable(v) if isinstance(v, str) else v)
        st.dataframe(
            table,
            width="stretch",
            hide_index=True,
            column_config={
                "effective_capsules": st.column_config.NumberColumn(
                    "capsules per text", format="%.1f"
                ),
                "kgrams": "K-grams",
            },
        )


def show_sparsity(report: GlobalReport) -> None:
    """The shape of each row of C, compared with shuffled winners."""
    title = "Is the pattern due to the classes?"
    with st.expander(title, icon=":material/rule:", key="sparsity", on_change="rerun") as box:
        if not box.open:
            return
        st.write(
            "Share of each class's texts that its largest capsules win, compared with the mean of "
            f"{controls.SHUFFLES} random shuffles of which capsule won which text. "
            "Entropy is in nats."
        )
        st.dataframe(report.rows, width="stretch", hide_index=True)
        st.write("All capsules: which are dead, class-neutral or duplicates.")
        st.dataframe(report.capsules, width="stretch", hide_index=True)


def show_comparison(
    model: ModelFolder, report: GlobalReport, others: Sequence[ModelFolder]
) -> None:
    """The statistics of the model and of another one with the same classes."""
    title = "Compare with another model"
    with st.expander(
        title, icon=":material/compare_arrows:", key="compare", on_change="rerun"
    ) as box:
        if not box.open:  # loading each model takes time and memory
            return
        reports = {other.name: models.report(other) for other in others}
        comparable = {
            name: other
            for name, other in reports.items()
            if other is not None and other.classes == report.classes
        }
        if not comparable:
            st.write("There is no other model with these classes and with capsule statistics.")
            return
        name = st.selectbox(
            "Other model", list(comparable), key="other_model", persist_state="session"
        )
        other = comparable[name]
        statistics = {model.name: _statistics(report), name: _statistics(other)}
        st.dataframe(pd.DataFrame(statistics), width="stretch", height="content")
        agreement = controls.agreement(
            report.view.tally,
            other.view.tally,
            report.classifier.vocabulary_.words,
            other.classifier.vocabulary_.words,
        )
        st.caption(
            "Matched one to one by their words, the capsules of the two models share "
            f"{_percent(agreement.overlap)} of their words; matched at random, "
            f"{_percent(agreement.random_overlap)}."
        )


def _statistics(report: GlobalReport) -> dict[str, str]:
    facts = report.facts
    alive = report.capsules[report.capsules["state"] == "alive"]
    return {
        report.measure: f"{facts['accuracy']:.2%}",
        "capsules alive": str(facts["alive"]),
        "capsules dead": str(facts["dead"]),
        "purity": f"{facts['purity']:.3f}",
        "top 3 per class": _percent(_mean(facts["top_share"])),
        "top 3 per class, shuffled winners": _percent(_mean(facts["top_share_shuffled"])),
        "divergence of words within a class, bits": _plain(facts["divergence"]),
        "divergence of shuffled words": _plain(facts["divergence_random"]),
        f"{report.measure} lost on a capsule's own texts, mean": f"{alive['own_cost'].mean():.3%}",
        f"{report.measure} lost on other texts, mean": f"{alive['other_cost'].mean():.3%}",
        "capsules that are enough": str(len(report.view.few.capsules)),
        "purity weight in training": f"{report.classifier.train_config_.purity_weight:g}",
    }


def _typical(report: GlobalReport, capsule: int, class_name: str | None) -> list[Typical]:
    stored = report.view.tally.typical
    texts = [text for cell in report.where(capsule, class_name) for text in stored.get(cell, [])]
    return sorted(texts, key=lambda text: (-text.contribution, text.number))[:_TYPICAL_TEXTS]


def _offer_download(report: GlobalReport) -> None:
    """A button that downloads the counted texts, if they can be downloaded and are not here."""
    source = report.view.origin.source
    if download_task.is_missing(source):
        download_task.show(source, f"The counts are of {source}.")


def _without_command(source: str, message: str) -> str:
    """An error without the command that downloads the data, for which there is a button."""
    missing = download_task.is_missing(source)
    return f"The texts of {source} are not on this machine." if missing else message


def _describe_sample(report: GlobalReport) -> str:
    tally = report.view.tally
    blank = f", and {tally.blank:,} without a known word" if tally.blank else ""
    if report.multilabel:
        blank = (
            f" with {tally.predictions:,} predicted classes, each of which is counted; "
            f"{tally.undecided:,} have none{blank}"
        )
    return f"Counted over {tally.texts:,} {report.view.origin.part} texts{blank}."


def _measure(report: GlobalReport) -> str:
    """`GlobalReport.measure` as a title."""
    return "Micro F1" if report.multilabel else "Accuracy"


def _describe_measure(report: GlobalReport) -> str:
    """What the accuracy is of; of several labels per text what micro F1 is."""
    if not report.multilabel:
        return _describe_sample(report)
    exact = _percent(report.facts["subset_accuracy"])
    return (
        "F1 of all decisions on a text and a class together; the classes of "
        f"{exact} of the texts are all right and complete. {_describe_sample(report)}"
    )


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None] or [np.nan]))


def _percent(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.1%}"


def _signed(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:+.2%}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
