"""Shows an evaluation beside others: a second model, and models trained on more texts."""

import pandas as pd
import streamlit as st

from dashboard import error_boundary
from dashboard.cache import evaluations, leaks, models
from dashboard.evaluate import charts, inputs
from dashboard.evaluate.several_labels import NAMES
from dashboard.model_registry import ModelFolder, find_models
from dashboard.widgets import background_task, chart_card
from dashboard.widgets.data_picker import Choice
from icaps.classifier import ICapsClassifier
from icaps.evaluate.compare import PairedTest
from icaps.evaluate.leakage import unfair_models
from icaps.evaluate.learning_curve import learning_points
from icaps.evaluate.multilabel_compare import MultilabelTest
from icaps.evaluate.report import EvaluationReport, MultilabelReport
from icaps.html import p_value
from icaps.results import Interval
from icaps.stats import RESAMPLES


def show_second_model(
    model: ModelFolder,
    report: EvaluationReport | MultilabelReport,
    choice: Choice,
    split: str,
) -> None:
    """Whether a second model is better on the same texts."""
    others = [
        other
        for other in find_models()
        if other.path != model.path and _is_comparable(models.load(other), report)
    ]
    if not others:
        st.caption("There is no other model with these classes.")
        return
    other = inputs.ask_other(others)
    second = evaluations.evaluated(other, choice.key, split)
    if second is None:
        arguments = inputs.command(other.path, choice, split)
        background_task.show(
            arguments,
            f"Evaluate {other.name}, too",
            "On the same texts.",
            f"{other.name} is evaluated on the same texts: see Evaluate.",
        )
        return
    comparison = evaluations.comparison(report, second)
    several = isinstance(report, MultilabelReport)
    read = {one.name: leaks.of_report(one, report) for one in (model, other)}
    unfair = sorted(unfair_models(read))
    with st.container(horizontal=True, gap="medium"):
        for label, gain in _gains(comparison).items():
            st.metric(
                f"{label} of the second",
                f"{100 * gain.value:+.2f} points",
                delta=f"{100 * gain.low:+.2f} to {100 * gain.high:+.2f}",
                delta_color="off",
                delta_arrow="off",
                width=210,
            )
        if not unfair:
            st.metric("McNemar’s p", p_value(comparison.p_value), width=150)
    if unfair:
        st.warning(
            error_boundary.plain(
                f"Not a fair comparison: {' and '.join(unfair)} saw these texts in training, so "
                "there is no test."
            ),
            icon=":material/warning:",
        )
    table = pd.DataFrame(
        {
            "": [f"{model.name} right", f"{model.name} wrong"],
            f"{other.name} right": [comparison.both, comparison.only_second],
            f"{other.name} wrong": [comparison.only_first, comparison.neither],
        }
    )
    st.dataframe(table, width="stretch", hide_index=True)
    st.caption(
        error_boundary.plain(
            f"Differences are {other.name} minus {model.name}, with 95% intervals by "
            f"{RESAMPLES:,} bootstrap resamples of the texts, the same for both (seed "
            f"{comparison.seed}). p is exact and two-sided: the probability that two equally good "
            "models differ by this much in the number of texts that only one of them gets right."
            + (" A text is right if all its labels are." if several else "")
        )
    )


def _is_comparable(other: ICapsClassifier, report: EvaluationReport | MultilabelReport) -> bool:
    """Whether a model has the same classes, and as many labels per text."""
    several = isinstance(report, MultilabelReport)
    same = set(map(str, other.classes_)) == set(report.predictions.classes)
    return same and other.multilabel_ == several


def _gains(comparison: PairedTest | MultilabelTest) -> dict[str, Interval]:
    """The differences of two models by the name of the score."""
    if isinstance(comparison, MultilabelTest):
        return {NAMES[name]: gain for name, gain in comparison.differences.items()}
    return {"Accuracy": comparison.accuracy, "Macro F1": comparison.macro_f1}


def show_learning_curve(report: EvaluationReport | MultilabelReport) -> None:
    """The accuracy of models of these classes by the number of their training texts."""
    several = isinstance(report, MultilabelReport)
    folders = (model.path for model in find_models())
    points = learning_points(folders, report.predictions.classes, several)
    if not points:
        st.caption(
            "There are no two models of these classes that differ only in the number of their "
            "training texts and in their seeds. Train some on parts of your data, such as slices "
            "of *Datasets*."
        )
        return
    table = charts.learning_table(points)
    measured = table["test accuracy"].notna().sum() > 1
    value = "test accuracy" if measured else "validation accuracy"
    chart_card.show(
        lambda ink: charts.learning_chart(table, value, ink),
        table,
        "learning",
        f"The {value}, by the number of training texts",
    )
    st.caption(
        "A dot is a model; a line joins the means over seeds, one line per setting."
        + (" Accuracy: the share of texts with all labels right." if several else "")
    )
