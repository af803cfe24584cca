"""Shows an evaluation: scores, confusion matrix, calibration and errors."""

import math
from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, selection, url_state
from dashboard.cache import evaluations, models
from dashboard.cache.data import DataKey
from dashboard.evaluate import charts, inputs
from dashboard.model_registry import ModelFolder
from dashboard.selection import TextSelection
from dashboard.url_state import BY_SHARE, CARD_LIMITS
from dashboard.widgets import (
    chart_card,
    data_picker,
    downloads,
    label_change,
    layout,
    pager,
    shaded_text,
)
from dashboard.widgets.data_picker import Choice
from icaps.data.saved_slices import Slice, slices
from icaps.errors import DataError
from icaps.evaluate.misleading import add_misled_by
from icaps.evaluate.reliability import Reliability
from icaps.evaluate.report import EvaluationReport, MultilabelReport
from icaps.evaluate.scores import MEASURES
from icaps.evaluate.selective import Selection, select_at
from icaps.html import printable
from icaps.reports.charts import SELECTED
from icaps.reports.model_card import STEM
from icaps.results import Explanation, Interval
from icaps.stats import RESAMPLES

PAGE = 5  # texts per page
MAX_EXPLAINED = 1_000  # texts whose words are added up
_WORDS = 10  # in the table
_CONFUSIONS = 200  # in the list
_LIST = "confusions"  # key of the list
_LISTED_FROM = 13  # classes from which the confusions are listed as well
_LABELS = {"precision": "precision", "recall": "recall", "f1": "F1"}


def show_scores(report: EvaluationReport) -> None:
    """Accuracy and macro scores with their intervals, each class, slices, and files."""
    scores = report.scores
    with st.container(horizontal=True, gap="medium"):
        show_interval("Accuracy", scores.accuracy)
        for measure in reversed(MEASURES):
            show_interval(f"Macro {_LABELS[measure]}", scores.macro[measure])
    problems = report.evaluation.problems
    if problems:
        st.warning(error_boundary.plain(f"Rows left out: {problems.summary()}."))
    blank = int(report.predictions.blank.sum())
    support = report.predictions.confusion.sum(1)
    st.caption(
        f"Computed on {scores.plain['n']:,} texts"
        + (f", {blank:,} of them without a known word" if blank else "")
        + ". Shuffled, the same predictions have an accuracy of "
        f"{scores.chance['accuracy']:.1%} and a macro F1 of {scores.chance['macro_f1']:.1%}; the "
        f"most frequent class has {support.max() / support.sum():.1%} of the texts. The intervals "
        "are 95% intervals: Wilson's for accuracy, and for precision and recall of a class; by "
        f"{RESAMPLES:,} bootstrap resamples of the texts (seed {scores.seed}) for the others."
    )
    left, right = layout.master_detail("scores", 5, 4)
    with left:
        _show_classes(report)
        show_files(report)
    with right:
        show_slices(report)


def show_model_card(
    model: ModelFolder, report: EvaluationReport | MultilabelReport, data: DataKey, split: str
) -> None:
    """The model card as files, written when one of them is downloaded."""
    st.html('<p class="chart-title">Model card</p>')
    st.caption(
        "What the model is, how good it is, what its capsules do, and what its limits are, as a "
        "file for others."
    )
    limit = st.select_slider(
        "Texts on which its explanations are tested",
        CARD_LIMITS,
        key="card limit",
        persist_state="session",
        width=400,
        help="Testing on this many texts how much depends on the shaded words takes time; 0 "
        "leaves the test out.",
    )

    def to_bytes(kind: str) -> bytes:
        return evaluations.card(model, data, split, report, limit).to_bytes(kind)

    with st.container(horizontal=True):
        downloads.show_report(to_bytes, STEM)


def show_confusion(
    model: ModelFolder, report: EvaluationReport, choice: Choice, split: str
) -> None:
    """The confusion matrix, and beside it the texts of a cell."""
    predictions = report.predictions
    value = inputs.ask_cell_values()
    cell = inputs.current_cell(predictions)
    table = charts.confusion_table(predictions.confusion, predictions.classes)
    master, detail = layout.master_detail("confusion", 1, 1)
    with detail:
        actual, taken = inputs.ask_cell(predictions.classes)
        rows = predictions.cell(actual, taken)
        names = predictions.classes[actual], predictions.classes[taken]
        what = f"{names[0]} predicted as {names[1]} by {model.name}"
        show_texts(model, report, rows, "confusion", _selected(report, choice, split, rows, what))
    with master:
        many = len(predictions.classes) > charts.MANY_CLASSES
        if many:
            _show_confusions(table)

        def draw(ink: str) -> alt.LayerChart:
            return charts.confusion_chart(table, value, cell, ink)

        chart_card.show(
            draw,
            table,
            "confusion",
            f"The confusion matrix, {value}: classes as rows, predictions as columns",
            key="confusion",
            on_select=lambda: url_state.pick_confusion("confusion"),
            selection_mode=SELECTED,
        )
        if many:
            st.caption(
                "Scroll to zoom, drag to move, double-click to see all. A click on a cell "
                "shows its texts."
            )
        elif len(predictions.classes) >= _LISTED_FROM:
            _show_confusions(table)
        if len(rows):
            _show_words(model, report, rows)


def show_texts(
    model: ModelFolder,
    report: EvaluationReport,
    rows: NDArray[np.int64],
    key: str,
    selected: TextSelection,
) -> None:
    """Texts in the order given, what can be done with them, and a file of all of them.

    Args:
        model: The model that explains them.
        report: The evaluation that they are from.
        rows: Their numbers in it.
        key: Prefix of the keys of the controls.
        selected: The same texts.
    """
    if not len(rows):
        st.caption("There is no such text.")
        return
    plural = "" if len(rows) == 1 else "s"
    st.caption(f"{len(rows):,} text{plural}, the most confident predictions first")
    selection.show_actions(selected, key, "evaluate")
    shaded = shaded_text.ask_shading()
    if shaded == BY_SHARE:
        rather = " rather than of the true one" if not report.predictions.correct[rows[0]] else ""
        st.caption(f"What each word adds to the score of the predicted class{rather}.")
    table = report.table(rows[pager.ask_page(len(rows), PAGE, f"{key} page")])

    def describe(n: int, explanation: Explanation) -> str:
        row = table.iloc[n]
        prediction = f"predicted {row['predicted']} with probability {row['probability']:.1%}"
        if explanation.blank:
            prediction = "without a known word"
        elif not row["right"]:
            prediction += f" (its class: {row['probability of class']:.1%})"
        return f"Text {row['text number']:,} of class {row['class']}: {prediction}"

    def shares_of(n: int, explanation: Explanation) -> dict[str, str]:
        label = table["class"].iloc[n]
        return {"rather_than": label} if label != explanation.predicted else {}

    def ask_label(n: int, explanation: Explanation) -> None:
        row = table.iloc[n]
        suggested = {} if explanation.blank else {row["predicted"]: "as predicted"}
        classes = report.predictions.classes
        label_change.ask_one(
            selected.data, row["text"], row["class"], classes, f"{key} {n}", suggested
        )

    words = shares_of if shaded == BY_SHARE else None
    shaded_text.show_cards(model, table["text"].tolist(), describe, words, below=ask_label)
    downloads.show_csv(
        lambda: add_misled_by(models.load(model), report.table(rows)),
        key,
        f"CSV of all {len(rows):,} text{plural}",
    )


def _selected(
    report: EvaluationReport, choice: Choice, split: str, rows: NDArray[np.int64], what: str
) -> TextSelection:
    """Texts of an evaluation, for other pages."""
    predictions = report.predictions

    def labelled() -> Iterator[tuple[str, str]]:
        labels = (predictions.classes[number] for number in predictions.labels[rows])
        return zip(report.evaluation.texts.take(rows), labels, strict=True)

    def predicted() -> list[str]:
        return [predictions.classes[number] for number in predictions.predicted[rows]]

    return TextSelection(
        choice.key,
        data_picker.shown_split(choice, split),
        what,
        len(rows),
        labelled,
        {"evaluated": what},
        classes=predictions.classes,
        suggested={"the predicted class": predicted},
    )


def _show_confusions(table: pd.DataFrame) -> None:
    """The confusions as a list, the most frequent first; a click picks one."""
    confusions = charts.confusions(table)
    if confusions.empty:
        return
    st.html('<p class="chart-title">Most frequent confusions</p>')
    st.dataframe(
        confusions.head(_CONFUSIONS),
        width="stretch",
        height=min(38 + 35 * len(confusions), 318),
        hide_index=True,
        key=_LIST,
        on_select=lambda: _pick_confusion(confusions),
        selection_mode="single-row",
        column_config={
            "share": st.column_config.NumberColumn("share of the class", format="percent")
        },
    )


def _pick_confusion(confusions: pd.DataFrame) -> None:
    """Chooses the cell that was clicked in the list."""
    for row in st.session_state[_LIST].selection.rows:
        st.session_state.actual = confusions["class"].iloc[row]
        st.session_state.taken = confusions["predicted"].iloc[row]


def _show_words(model: ModelFolder, report: EvaluationReport, rows: NDArray[np.int64]) -> None:
    """The words that misled, by what they add in all texts; of right predictions, all words."""
    words = evaluations.misleading(model, report, rows[:MAX_EXPLAINED])
    wrong = not report.predictions.correct[rows[0]]
    value = "contrast" if wrong else "share"
    words = words[words[value] > 0]
    if words.empty:
        return
    texts = f"the {MAX_EXPLAINED:,} most confident" if len(rows) > MAX_EXPLAINED else "all"
    about = (
        f"Sums over {texts} texts. “For the prediction”: what the word adds to the score of the "
        "predicted class."
    )
    columns = {"share": "for the prediction"}
    if wrong:
        columns = {
            "contrast": "misled by",
            "contrast per text": "per text",
            **columns,
            "share of class": "for its class",
        }
        about += " “Misled by”: the same, minus what it adds to the score of the true class."
    title = "Words that misled" if wrong else "Words by what they add to the score"
    name = "words that misled" if wrong else "words by share"
    show_word_table(words, title, ["word", "predicted", "texts"], columns, about, name)


def show_word_table(
    words: pd.DataFrame,
    title: str,
    named: Sequence[str],
    columns: Mapping[str, str],
    about: str,
    name: str,
) -> None:
    """The first words of a table, and a file of all.

    Args:
        words: From `icaps.evaluate.misleading`.
        title: What the words are.
        named: The columns that are shown first, under their own names.
        columns: Those of signed numbers, with what they are called.
        about: What the table shows, in sentences.
        name: The stem of the file's name.
    """
    st.html(f'<p class="chart-title">{title}</p>')
    shown = words.head(_WORDS)
    st.dataframe(
        shown.assign(word=[printable(word) for word in shown["word"]])[[*named, *columns]],
        width="stretch",
        hide_index=True,
        column_config={
            column: st.column_config.NumberColumn(label, format="%+.2f")
            for column, label in columns.items()
        },
    )
    st.caption(about)
    downloads.show_csv(words, name)


def show_calibration(report: EvaluationReport) -> None:
    """The reliability diagram with its error, and accuracy by the share of texts predicted."""
    left, right = layout.master_detail("calibration", 1, 1)
    with left:
        show_reliability(
            report.reliability,
            "Accuracy by mean confidence, in bins",
            "A dot is a bin of texts with similar confidence, larger for more texts, with its 95% "
            "interval. On the dashed line the accuracy equals the confidence. The error (ECE) is "
            "the mean distance from the line (Guo et al. 2017).",
        )
    with right:
        show_selective(report, "are right")


def show_errors(model: ModelFolder, report: EvaluationReport, choice: Choice, split: str) -> None:
    """The words that misled, and beside them the wrong predictions, the most confident first."""
    rows = report.predictions.errors
    if not len(rows):
        st.success("All predictions are right.", icon=":material/check:")
        return
    master, detail = layout.master_detail("errors", 1, 1)
    with detail:
        selected = _selected(report, choice, split, rows, f"Errors of {model.name}")
        show_texts(model, report, rows, "errors", selected)
    with master:
        _show_words(model, report, rows)


def show_interval(label: str, score: Interval, width: int | str = 150) -> None:
    """A score with its interval."""
    st.metric(
        label,
        f"{score.value:.2%}",
        delta=f"{100 * score.low:.1f} to {100 * score.high:.1f}%",
        delta_color="off",
        delta_arrow="off",
        width=width,
    )


def show_reliability(
    calibration: Reliability,
    about: str,
    caption: str,
    axes: tuple[str, str] = ("accuracy", "mean confidence"),
) -> None:
    """The reliability diagram, and its error beside that of a calibrated model.

    Args:
        calibration: What is drawn.
        about: What the chart shows, for screen readers.
        caption: How to read it.
        axes: The titles of the axes.
    """
    with st.container(horizontal=True, gap="medium"):
        show_interval("Calibration error", calibration.error, width=190)
        st.metric(
            "of a perfectly calibrated model",
            f"{calibration.perfect:.2%}",
            delta=f"below {calibration.perfect_high:.2%} in 95% of samples",
            delta_color="off",
            delta_arrow="off",
            width=250,
            help="The control: the error that arises by chance with this number of texts.",
        )
    reliability = charts.reliability_table(calibration)
    chart_card.show(
        lambda ink: charts.reliability_chart(reliability, ink, axes),
        reliability,
        "calibration",
        about,
    )
    st.caption(caption)


def show_selective(report: EvaluationReport | MultilabelReport, right: str) -> None:
    """The accuracy by the share of texts predicted, for a model that may abstain.

    Args:
        report: The evaluation.
        right: What is counted of the predictions: "are right".
    """
    predictions = report.predictions
    chosen = select_at(predictions.confidence, predictions.correct, inputs.ask_threshold())
    st.write(error_boundary.plain(_selective_sentence(chosen, right)))
    curve = charts.selective_table(report.coverage)
    overall = float(predictions.correct.mean())
    chart_card.show(
        lambda ink: charts.selective_chart(curve, chosen, overall, ink),
        curve,
        "rejection",
        "Accuracy of the predictions, by the share of texts predicted",
    )


def _show_classes(report: EvaluationReport) -> None:
    support = report.predictions.confusion.sum(1).tolist()
    rows = [
        {
            "class": name,
            "texts": texts,
            **{_LABELS[measure]: with_interval(score) for measure, score in scores.items()},
        }
        for texts, (name, scores) in zip(support, report.scores.per_class.items(), strict=True)
    ]
    st.dataframe(pd.DataFrame(rows), width="stretch", hide_index=True)


def show_slices(report: EvaluationReport | MultilabelReport, of: str = "accuracy") -> None:
    """A chart of slices by length, by unknown words, and saved ones; `of` is what it shows."""
    try:
        saved: Sequence[Slice] = slices()
    except DataError:  # one is damaged, which the data picker reports
        saved = ()
    table = charts.slice_table([*report.slices, *evaluations.saved_slices(report, saved)])
    chart_card.show(
        lambda ink: charts.slice_chart(table, ink, of),
        table,
        "slices",
        f"{of.capitalize()} by length, unknown words and saved slices",
    )
    st.caption(
        "A dot is a slice of the texts with its 95% interval; the grey band holds 95% of the "
        "random subsets of the same size. A slice saved on *Datasets* is shown if it has some of "
        "these texts. Slices by unknown words with less than 1% of the texts are in the table only."
    )


def show_files(report: EvaluationReport | MultilabelReport) -> None:
    """Downloads of the predictions for all texts, and of all results."""
    with st.container(horizontal=True):
        downloads.show_csv(lambda: pd.concat(report.tables()), "predictions", "CSV of all texts")
        downloads.show_file(lambda: report.to_json(slices()), "evaluation.json", "JSON")


def _selective_sentence(selection: Selection, right: str) -> str:
    coverage, accuracy = selection.coverage, selection.accuracy
    if not coverage:
        return "The model abstains on all texts."
    sentence = (
        f"It predicts {coverage:.1%} of the texts, and {accuracy.value:.2%} of these predictions "
        f"{right} ({100 * accuracy.low:.2f} to {100 * accuracy.high:.2f})."
    )
    if coverage == 1:
        return sentence
    return (
        f"{sentence} Of the predictions on which it abstains, "
        f"{selection.rejected_accuracy.value:.2%} {right}."
    )


def with_interval(score: Interval) -> str:
    """A score in percent with its interval, for a table: "92.2 (91.5–92.7)"."""
    if math.isnan(score.value):
        return "–"
    return f"{100 * score.value:.1f} ({100 * score.low:.1f}–{100 * score.high:.1f})"
