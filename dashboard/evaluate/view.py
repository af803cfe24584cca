"""An evaluation on the page: each function shows one part."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, settings, url_state
from dashboard.cache import evaluations, explanations, models
from dashboard.evaluate import charts as figures
from dashboard.evaluate import inputs
from dashboard.explore.view import open_in_explain, while_working
from dashboard.model_registry import ModelFolder, find_models
from dashboard.widgets import chart_card
from dashboard.widgets.data_picker import Choice
from dashboard.widgets.shaded_text import text_card
from icaps.config import ExplainOptions
from icaps.errors import DataError
from icaps.evaluate.learning_curve import learning_points
from icaps.evaluate.report import EvaluationReport
from icaps.evaluate.scores import MEASURES
from icaps.evaluate.selective import kept_at
from icaps.explore.saved_slices import Slice, slices
from icaps.reports import charts
from icaps.reports.files import to_csv
from icaps.results import Interval
from icaps.stats import RESAMPLES

_DOWNLOAD = ":material/download:"
_OPTIONS = ExplainOptions()
_LABELS = {"precision": "precision", "recall": "recall", "f1": "F1"}


def show_scores(report: EvaluationReport) -> None:
    """Accuracy and the macro scores with their intervals, each class, and slices."""
    scores = report.scores
    named = {"Accuracy": scores.accuracy}
    named |= {f"Macro {_LABELS[name]}": scores.macro[name] for name in reversed(MEASURES)}
    with st.container(horizontal=True, gap="medium"):
        for label, score in named.items():
            _metric(label, score)
    problems = report.evaluated.problems
    if problems:
        st.warning(error_boundary.plain(f"Rows left out: {problems.summary()}."))
    blank = int(report.predictions.blank.sum())
    support = report.predictions.confusion.sum(1)
    st.caption(
        f"Of {scores.plain['n']:,} texts"
        + (f", {blank:,} of them without a known word" if blank else "")
        + f". The same answers dealt out at random have an accuracy of "
        f"{scores.chance['accuracy']:.1%} and a macro F1 of {scores.chance['macro_f1']:.1%}; the "
        f"most frequent class is {support.max() / support.sum():.1%} of the texts. Intervals are "
        f"of 95%: Wilson's for accuracy, precision and recall of a class, by {RESAMPLES:,} draws "
        f"of the texts (seed {scores.seed}) for the others."
    )
    _show_classes(report)
    _show_slices(report)
    _show_files(report)


def show_confusion(model: ModelFolder, report: EvaluationReport) -> None:
    """The confusion matrix, and the texts of a cell."""
    told = report.predictions
    value = inputs.which_value()
    chosen = inputs.chosen_cell(told)
    table = figures.confusion_table(told.confusion, told.classes)

    def draw(ink: str) -> alt.LayerChart:
        return figures.confusion_chart(table, value, chosen, ink)

    chart_card.show(
        draw,
        table,
        "confusion",
        f"The confusion matrix, {value}: classes as rows, predictions as columns",
        key="confusion",
        on_select=lambda: url_state.pick_confusion("confusion"),
        selection_mode=charts.SELECTED,
    )
    rows = told.cell(*inputs.which_cell(told.classes))
    show_texts(model, report, rows, "confusion page")


def show_texts(
    model: ModelFolder, report: EvaluationReport, rows: NDArray[np.int64], key: str
) -> None:
    """Texts, the most confident first, with the K-grams shaded that decided."""
    if not len(rows):
        st.caption("There is no such text.")
        return
    st.caption(f"{len(rows):,} text{'' if len(rows) == 1 else 's'}, the most confident first")
    table = report.table(inputs.which_texts(rows, key))
    texts = table["text"].tolist()
    cut = [text[: settings.current().text_characters] for text in texts]
    shown = explanations.explain_many(model, cut, _OPTIONS)
    for row, text, explanation in zip(table.to_dict("records"), texts, shown, strict=True):
        said = f"predicted {row['predicted']}, {row['probability']:.1%} probable"
        if explanation.blank:
            said = "without a known word"
        elif not row["right"]:
            said += f" (its class {row['probability of class']:.1%})"
        st.caption(
            error_boundary.plain(f"Text {row['text number']:,} of class {row['class']}: {said}")
        )
        st.html(text_card(explanation))
        open_in_explain(model, text)


def show_calibration(report: EvaluationReport) -> None:
    """The reliability curve with its error, and what a threshold gains."""
    found, told = report.calibration, report.predictions
    table = figures.reliability_table(found)
    error, perfect = st.columns(2, gap="medium")
    with error:
        _metric("Calibration error", found.error, width="stretch")
    perfect.metric(
        "of a perfectly calibrated model",
        f"{found.perfect:.2%}",
        delta=f"below {found.perfect_high:.2%} in 95%",
        delta_color="off",
        delta_arrow="off",
        help="What chance alone makes of as many texts: the control.",
    )

    def draw(ink: str) -> alt.LayerChart:
        return figures.reliability_chart(table, ink)

    chart_card.show(draw, table, "calibration", "Accuracy by mean confidence, in bins")
    st.caption(
        "Dots are texts of similar confidence, larger where there are more, with 95% intervals; on "
        "the dashed line a model is right as often as it says. The error is the mean distance from "
        "the line (Guo et al. 2017)."
    )
    kept = kept_at(told.confidence, told.correct, inputs.which_threshold())
    st.write(
        error_boundary.plain(_kept_sentence(kept.coverage, kept.accuracy, kept.rejected_accuracy))
    )
    curve = figures.rejection_table(report.rejection)
    overall = report.scores.accuracy.value

    def draw_curve(ink: str) -> alt.LayerChart:
        return figures.rejection_chart(curve, kept, overall, ink)

    chart_card.show(
        draw_curve, curve, "rejection", "Accuracy of the answers, by the share of texts answered"
    )


def show_errors(model: ModelFolder, report: EvaluationReport) -> None:
    """The texts that are predicted wrong, the most confident first, and the file of them."""
    rows = report.predictions.errors
    show_texts(model, report, rows, "errors page")
    st.download_button(
        f"CSV of all {len(rows):,} errors",
        lambda: to_csv(report.table(rows)),
        "errors.csv",
        "text/csv",
        icon=_DOWNLOAD,
        on_click="ignore",
        disabled=not len(rows),
    )


def show_comparison(
    model: ModelFolder, report: EvaluationReport, choice: Choice, part: str
) -> None:
    """Whether a second model is better on the same texts."""
    others = [
        other
        for other in find_models()
        if other.path != model.path and _same_classes(other, report)
    ]
    if not others:
        st.caption("There is no other model of these classes.")
        return
    other = inputs.which_other(others)
    second = evaluations.evaluated(other, choice.key, part)
    if second is None:
        arguments = inputs.command(other.path, choice, part)
        while_working(arguments, f"Evaluate {other.name}, too", "On the same texts.")
        return
    found = evaluations.comparison(report, second)
    with st.container(horizontal=True, gap="medium"):
        for label, score in (("Accuracy", found.accuracy), ("Macro F1", found.macro_f1)):
            st.metric(
                f"{label} of the second",
                f"{100 * score.value:+.2f} points",
                delta=f"{100 * score.low:+.2f} to {100 * score.high:+.2f}",
                delta_color="off",
                delta_arrow="off",
                width=210,
            )
        st.metric("McNemar’s p", f"{found.p_value:.3g}", width=150)
    table = pd.DataFrame(
        {
            "": [f"{model.name} right", f"{model.name} wrong"],
            f"{other.name} right": [found.both, found.only_second],
            f"{other.name} wrong": [found.only_first, found.neither],
        }
    )
    st.dataframe(table, width="stretch", hide_index=True)
    st.caption(
        error_boundary.plain(
            f"Differences are {other.name} less {model.name}, with 95% intervals by {RESAMPLES:,} "
            f"draws of the texts, the same for both (seed {found.seed}). p is exact and two-sided: "
            "how probable it is that two models that are alike differ as much in the texts that "
            "one alone has right."
        )
    )


def show_learning(report: EvaluationReport) -> None:
    """How models of these classes learn from more texts, where there are such."""
    points = learning_points((m.path for m in find_models()), report.predictions.classes)
    if not points:
        st.caption(
            "There are no two models of these classes that differ in nothing but the number of "
            "their training texts and their seeds. Train some on parts of your data, such as "
            "slices of *Datasets*."
        )
        return
    table = figures.learning_table(points)
    measured = table["test accuracy"].notna().sum() > 1
    value = "test accuracy" if measured else "validation accuracy"

    def draw(ink: str) -> alt.LayerChart:
        return figures.learning_chart(table, value, ink)

    chart_card.show(draw, table, "learning", f"The {value}, by the number of training texts")
    st.caption("A dot is a model; lines go through the means of seeds, one for each setting.")


def _metric(label: str, score: Interval, width: int | str = 150) -> None:
    st.metric(
        label,
        f"{score.value:.2%}",
        delta=f"{100 * score.low:.1f} to {100 * score.high:.1f}%",
        delta_color="off",
        delta_arrow="off",
        width=width,
    )


def _show_classes(report: EvaluationReport) -> None:
    support = report.predictions.confusion.sum(1).tolist()
    rows = [
        {
            "class": name,
            "texts": texts,
            **{_LABELS[measure]: _plain(score) for measure, score in own.items()},
        }
        for texts, (name, own) in zip(support, report.scores.per_class.items(), strict=True)
    ]
    st.dataframe(pd.DataFrame(rows), width="stretch", hide_index=True)


def _show_slices(report: EvaluationReport) -> None:
    try:
        kept: Sequence[Slice] = slices()
    except DataError:  # one is damaged, which was told where data is chosen
        kept = ()
    table = figures.slice_table([*report.slices, *evaluations.saved_slices(report, kept)])

    def draw(ink: str) -> alt.LayerChart:
        return figures.slice_chart(table, ink)

    chart_card.show(draw, table, "slices", "Accuracy by length, unknown words and saved slices")
    st.caption(
        "Dots are slices of the texts with 95% intervals; in the grey band lie 95% of the random "
        "subsets of as many texts. A slice saved on *Datasets* is here where it has some of these. "
        "Slices by unknown words of less than 1% of the texts are in the table alone."
    )


def _show_files(report: EvaluationReport) -> None:
    with st.container(horizontal=True):
        st.download_button(
            "CSV of all texts",
            lambda: to_csv(pd.concat(report.tables())),
            "predictions.csv",
            "text/csv",
            icon=_DOWNLOAD,
            on_click="ignore",
        )
        st.download_button(
            "JSON",
            lambda: report.to_json(slices()),
            "evaluation.json",
            "application/json",
            icon=_DOWNLOAD,
            on_click="ignore",
        )


def _same_classes(other: ModelFolder, report: EvaluationReport) -> bool:
    return set(models.load(other).classes_) == set(report.predictions.classes)


def _kept_sentence(coverage: float, accuracy: Interval, rejected: Interval) -> str:
    if not coverage:
        return "The model is silent about all texts."
    told = f"It answers {coverage:.1%} of the texts, and {accuracy.value:.2%} of the answers are "
    told += f"right ({100 * accuracy.low:.2f} to {100 * accuracy.high:.2f})."
    if coverage == 1:
        return told
    return f"{told} Of what it would have said of the others, {rejected.value:.2%} are right."


def _plain(score: Interval) -> str:
    """A share with its interval in per cent."""
    return f"{100 * score.value:.1f} ({100 * score.low:.1f}–{100 * score.high:.1f})"
