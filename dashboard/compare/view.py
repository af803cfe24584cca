"""A comparison on the page: each function shows one part."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import error_boundary
from dashboard.address import COMPARE_TABS
from dashboard.cache import evaluations, explanations
from dashboard.cache import models as cached_models
from dashboard.cache.evaluations import Sample
from dashboard.compare import charts
from dashboard.model_registry import ModelFolder
from dashboard.widgets import chart_card
from dashboard.widgets.shaded_text import text_card
from icaps.config import ExplainOptions
from icaps.data.resolve import available
from icaps.evaluate import comparison_tables
from icaps.evaluate.answers import Answers, Texts
from icaps.evaluate.published import COLUMNS, KINDS, published
from icaps.interpret import controls
from icaps.reports.files import to_csv
from icaps.reports.global_report import Report
from icaps.reports.render import escape, printable

EXPLAINED = 200  # texts whose reasons are compared
_LISTED = 200  # texts of a table
_CUT = 300  # characters of a text in it
_WORDS = 6  # of a capsule
_DOWNLOAD = ":material/download:"
_OPTIONS = ExplainOptions()


def tabs() -> Sequence[DeltaGenerator]:
    """The parts of a comparison."""
    return st.tabs(list(COMPARE_TABS), key="compare_tab", on_change="rerun")


def too_few() -> None:
    """What to do where there is nothing to compare with."""
    st.info("Choose two or more models, or train a baseline to stand beside yours.")


def show_scores(answers: Sequence[Answers]) -> None:
    """Accuracies with intervals, and whether each model differs from the first."""
    table = comparison_tables.scores(answers)
    chart_card.show(
        lambda ink: charts.accuracies(table, ink),
        table,
        "accuracies",
        "Accuracy of each model, with its 95% interval",
    )
    shown = {
        "model": table["model"],
        "accuracy": table["accuracy"].map("{:.2%}".format),
        "95% interval": _reach(table, "low", "high", "{:.2%}"),
    }
    if "p_value" in table:
        shown |= {
            "to the first": table["difference"].map(_signed),
            "McNemar p": table["p_value"].map(_probability),
            "interval of the difference": _reach(
                table, "difference_low", "difference_high", "{:+.2%}"
            ),
        }
    shown |= {
        "macro F1": table["macro_f1"].map("{:.2%}".format),
        "by chance": table["chance"].map("{:.2%}".format),
        "log loss": table["log_loss"].map("{:.3f}".format),
    }
    st.dataframe(pd.DataFrame(shown), width="stretch", hide_index=True)
    st.caption(
        f"On the same {len(answers[0].labels):,} texts. By chance: the same predictions dealt out "
        "at random. McNemar's exact test asks whether two models that are alike would differ as "
        "much in the texts that one alone has right; below 0.05 is rare. Several models are "
        "several tests."
    )


def show_disagreements(asked: Texts, answers: Sequence[Answers]) -> None:
    """How often models agree, and the texts where they don't."""
    pairs = comparison_tables.agreements(answers)
    for column in ("same", "chance"):
        pairs[column] = pairs[column].map("{:.2%}".format)
    names = {
        "other": "and",
        "same": "predict alike",
        "chance": "by chance",
        "both_wrong": "alike and wrong",
    }
    st.dataframe(pairs.rename(columns=names), width="stretch", hide_index=True)
    numbers = comparison_tables.disagreeing(answers)
    if not len(numbers):
        st.info("They predict all texts alike.")
        return
    table = comparison_tables.disagreements(asked, answers, numbers)
    st.caption(
        f"{len(numbers):,} of {len(asked.texts):,} texts are not predicted alike"
        + (f"; the {_LISTED} of which the models are surest:" if len(numbers) > _LISTED else ":")
    )
    shown = table.head(_LISTED).drop(columns=["number", "text"])
    shown["text"] = [printable(text[:_CUT]) for text in table["text"].head(_LISTED)]
    st.dataframe(shown, width="stretch", hide_index=True)
    _save(table, "disagreements")


def show_reasons(data: Sample, models: Mapping[str, ModelFolder], pair: tuple[str, str]) -> None:
    """Texts that two networks predict alike, the most different reasons first."""
    one, other = (models[name] for name in pair)
    found = evaluations.shared(data, one, other, EXPLAINED)
    if not found:
        st.info("There is no text that both predict alike.")
        return
    overlaps = [shared.overlap for shared in found]
    random = float(np.mean([shared.random for shared in found]))
    st.write(
        f"Where both predict the same class, their K-grams share {np.mean(overlaps):.1%} of their "
        f"words; at random places they would share {random:.1%}."
    )
    table = pd.DataFrame(
        {
            "overlap": overlaps,
            "class": [shared.predicted for shared in found],
            pair[0]: [_joined(shared.one) for shared in found],
            pair[1]: [_joined(shared.other) for shared in found],
            "text": [printable(shared.text[:_CUT]) for shared in found],
        }
    )
    chart_card.show(
        lambda ink: charts.overlaps(overlaps, random, ink),
        table,
        "reasons",
        f"Overlap of the K-grams of {pair[0]} and {pair[1]}, by number of texts",
    )
    st.caption(
        f"Of {min(EXPLAINED, data.limit):,} texts, the {len(found):,} that both predict alike; "
        "two capsules and two K-grams of each. Choose a row to see both readings."
    )
    picked = st.dataframe(
        table.head(_LISTED),
        width="stretch",
        hide_index=True,
        column_config={"overlap": st.column_config.NumberColumn(format="percent")},
        selection_mode="single-row",
        on_select="rerun",
        key=f"reasons {pair}",
    )
    rows = picked.selection.rows
    text = found[rows[0] if rows else 0].text
    for name, model in zip(pair, (one, other), strict=True):
        st.html(f'<p class="chart-title">{escape(name)}</p>')
        st.html(text_card(explanations.explain(model, text, _OPTIONS)))


def show_matched(models: Mapping[str, ModelFolder], pair: tuple[str, str]) -> None:
    """The capsules of two networks, matched one to one by their words."""
    reports = [cached_models.report(models[name]) for name in pair]
    missing = [name for name, report in zip(pair, reports, strict=True) if report is None]
    if missing:
        st.info(error_boundary.plain(f"{' and '.join(missing)}: not interpreted yet."))
        paths = [str(models[name].path) for name in missing]
        lines = [f"python -m icaps interpret --model {path} --data my_texts.csv" for path in paths]
        st.code("\n".join(lines), language="bash")
        return
    one, other = (report for report in reports if report is not None)
    vocabularies = [report.classifier.vocabulary_.words for report in (one, other)]
    found = controls.agreement(one.view.tally, other.view.tally, *vocabularies)
    if not found.pairs:
        st.info("One of them has no capsule that wins 1% of the texts.")
        return
    st.write(
        f"Matched one to one by the words that they attend to, the capsules share "
        f"{found.overlap:.1%} of them; matched at random, {found.random_overlap:.1%}."
    )
    rows = sorted(found.pairs, key=lambda pair: -pair[2])
    table = pd.DataFrame(
        {
            "overlap": [round(overlap, 3) for _, _, overlap in rows],
            pair[0]: [_capsule(one, i) for i, _, _ in rows],
            f"words of {pair[0]}": [_words(one, i) for i, _, _ in rows],
            pair[1]: [_capsule(other, i) for _, i, _ in rows],
            f"words of {pair[1]}": [_words(other, i) for _, i, _ in rows],
        }
    )
    percent = {"overlap": st.column_config.NumberColumn(format="percent")}
    st.dataframe(table, width="stretch", hide_index=True, column_config=percent)
    _save(table, "capsules matched")


def show_sizes(answers: Sequence[Answers], models: Mapping[str, ModelFolder]) -> None:
    """How fast each model is on these texts, and how large."""
    table = pd.DataFrame(
        {
            "model": [given.name for given in answers],
            "texts a second": [round(given.texts_per_second) for given in answers],
            "accuracy": [float(given.correct.mean()) for given in answers],
            "MB": [models[given.name].bytes_on_disk / 1e6 for given in answers],
            "numbers": [cached_models.weights(models[given.name]) for given in answers],
        }
    )
    formats: dict[str, Any] = {
        "texts a second": st.column_config.NumberColumn(format="localized"),
        "accuracy": st.column_config.NumberColumn(format="percent"),
        "MB": st.column_config.NumberColumn(format="%.1f"),
        "numbers": st.column_config.NumberColumn(format="localized"),
    }
    st.dataframe(table, width="stretch", hide_index=True, column_config=formats)
    st.caption(
        f"Measured on this machine as they answered the {len(answers[0].labels):,} texts, from "
        "text to probabilities. Numbers are all that a model holds: weights, frozen vectors, IDF. "
        "The size is that of its folder."
    )
    _save(table, "speed and size")


def show_published(data: Sample, answers: Sequence[Answers]) -> None:
    """Published accuracies, and those that were measured here."""
    rows = [
        {
            "model": row.model,
            **{title: row.accuracy.get(name) for name, title in COLUMNS.items()},
            "from": row.reference,
            "source": KINDS[row.kind],
        }
        for row in published()
    ]
    whole = {row.name: row.test_rows for row in available()}.get(data.data.value)
    if data.data.value in COLUMNS and whole == len(answers[0].labels):
        rows += [
            {
                "model": given.name,
                "from": f"all {whole:,} test texts, just now",
                "source": KINDS["measured"],
                COLUMNS[data.data.value]: 100 * float(given.correct.mean()),
            }
            for given in answers
        ]
    elif data.data.value in COLUMNS:
        st.caption("Take all test texts, and what is measured stands beside the published numbers.")
    table = pd.DataFrame(rows)
    measured = table["source"] == KINDS["measured"]
    style = table.style.apply(lambda row: _marked(row, bool(measured[row.name])), axis=1)
    style = style.format("{:.4g}", subset=list(COLUMNS.values()), na_rep="–")
    st.dataframe(style, width="stretch", height="content", hide_index=True)
    st.caption(
        "Accuracies on the test texts, in percent. DPCNN and DRNN are better than all models of "
        "the paper's table, which leaves them out; their papers give error rates. Rows that were "
        "measured here are tinted."
    )
    _save(table, "published")


def _capsule(report: Report, capsule: int) -> str:
    about = report.labelled_capsules.iloc[capsule]
    return f"{about['label']}, {about['main_class']}"


def _words(report: Report, capsule: int) -> str:
    top = report.words(capsule, lambda_=0.6)["word"].head(_WORDS)
    return ", ".join(printable(word) for word in top)


def _joined(kgrams: Sequence[str]) -> str:
    return " | ".join(printable(kgram) for kgram in kgrams)


def _marked(row: pd.Series, measured: bool) -> list[str]:
    return ["background-color: #2f89a833" if measured else ""] * len(row)


def _reach(table: pd.DataFrame, low: str, high: str, form: str) -> list[str]:
    return [
        "–" if start != start else f"{form.format(start)} to {form.format(end)}"
        for start, end in zip(table[low], table[high], strict=True)
    ]


def _signed(value: float) -> str:
    return "–" if value != value else f"{value:+.2%}"


def _probability(value: float) -> str:
    return "–" if value != value else f"{value:.2g}"


def _save(table: pd.DataFrame, name: str) -> None:
    file = f"{name}.csv"
    st.download_button(
        "CSV",
        to_csv(table),
        file,
        "text/csv",
        icon=_DOWNLOAD,
        on_click="ignore",
        key=f"save {name}",
    )
