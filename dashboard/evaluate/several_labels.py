"""Shows an evaluation with several labels per text: scores, each class, and its errors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, selection
from dashboard.cache import evaluations, models
from dashboard.evaluate import charts, inputs
from dashboard.evaluate.view import (
    MAX_EXPLAINED,
    PAGE,
    show_files,
    show_interval,
    show_reliability,
    show_selective,
    show_slices,
    show_word_table,
    with_interval,
)
from dashboard.model_registry import ModelFolder
from dashboard.selection import TextSelection
from dashboard.url_state import BY_SHARE
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
from icaps.data.label_sets import format_label_set
from icaps.evaluate.misleading import EXTRA, MISSED, add_misled_by
from icaps.evaluate.multilabel_scores import (
    AVERAGE_PRECISION,
    HAMMING_LOSS,
    MACRO_F1,
    MICRO_F1,
    SUBSET_ACCURACY,
    CurvePoint,
)
from icaps.evaluate.report import MultilabelReport
from icaps.results import Explanation
from icaps.stats import RESAMPLES

NAMES = {
    MICRO_F1: "Micro F1",
    MACRO_F1: "Macro F1",
    AVERAGE_PRECISION: "Average precision",
    SUBSET_ACCURACY: "All labels right",
    HAMMING_LOSS: "Hamming loss",
}
_BY_CLASS, _SWAPS = "wrong by class", "swaps"  # keys of the lists
_LISTED = 200  # rows of a list


def show_scores(report: MultilabelReport) -> None:
    """The scores of all texts with their intervals, each class, slices, and files."""
    scores, chance = report.scores, report.scores.chance
    with st.container(horizontal=True, gap="medium"):
        for name, label in NAMES.items():
            show_interval(label, scores.overall[name])
    problems = report.evaluation.problems
    if problems:
        st.warning(error_boundary.plain(f"Rows left out: {problems.summary()}."))
    own = report.predictions
    blank = 0 if own.blank is None else int(own.blank.sum())
    counts, texts = own.counts, scores.plain["n"]
    st.caption(
        f"Computed on {texts:,} texts"
        + (f", {blank:,} of them without a known word" if blank else "")
        + f", which have {counts.labels.sum() / texts:.2f} labels on average, and are predicted "
        f"{counts.predicted.sum() / texts:.2f}. Shuffled, the same predictions have a micro F1 of "
        f"{chance[MICRO_F1]:.1%}, a macro F1 of {chance[MACRO_F1]:.1%}, all labels right for "
        f"{chance[SUBSET_ACCURACY]:.1%}, and a Hamming loss of {chance[HAMMING_LOSS]:.1%}; a "
        f"random order has an average precision of {chance[AVERAGE_PRECISION]:.1%}. Hamming loss "
        "is the share of all pairs of a text and a class that are wrong: less is better. The "
        "intervals are 95% intervals: Wilson's for shares of texts, by "
        f"{RESAMPLES:,} bootstrap resamples of the texts (seed {scores.seed}) for the others."
    )
    left, right = layout.master_detail("scores", 5, 3)
    with left:
        st.dataframe(pd.DataFrame(_class_rows(report)), width="stretch", hide_index=True)
        st.caption(
            "A class is predicted where its probability is at least its threshold, which was "
            "chosen on held-out texts of the training for the best F1. Average precision is that "
            "of all thresholds; by chance, of a random order, it is the share of the texts."
        )
        show_files(report)
    with right:
        show_slices(report, "texts with all labels right")


def show_classes(report: MultilabelReport) -> None:
    """The precision-recall curve of a class, and the calibration of its probabilities."""
    classes = report.predictions.classes
    number = inputs.ask_class(classes)
    own = report.scores.per_class[classes[number]]
    st.write(
        error_boundary.plain(
            f"Of {report.scores.plain['n']:,} texts, {own.texts:,} have the class, and "
            f"{own.predicted:,} are predicted it, from a probability of {own.threshold:.1%} on. "
            f"Of these predictions {own.precision.value:.1%} are right, and {own.recall.value:.1%} "
            "of the texts of the class are found."
        )
    )
    left, right = layout.master_detail("classes", 1, 1)
    with left:
        _show_curve(report, number)
    with right:
        show_reliability(
            evaluations.class_reliability(report, number),
            "Share of texts with the class by its mean probability, in bins",
            "A dot is a bin of texts with similar probability of the class, larger for more texts, "
            "with its 95% interval. On the dashed line, as many texts have the class as the "
            "probability says. The error (ECE) is the mean distance from the line.",
            ("texts with the class", "mean probability"),
        )


def _show_curve(report: MultilabelReport, number: int) -> None:
    """The precision-recall curve, beside its average precision and that of a random order."""
    own = report.scores.per_class[report.predictions.classes[number]]
    curve = evaluations.class_curve(report, number)
    if not curve:
        st.info("None of these texts has the class, so it has no curve.")
        return
    with st.container(horizontal=True, gap="medium"):
        show_interval("Average precision", own.average_precision, width=190)
        st.metric("of a random order", f"{own.chance:.2%}", width=190)
    table = charts.precision_recall_table(curve)
    chosen = CurvePoint(own.threshold, own.precision.value, own.recall.value)
    chart_card.show(
        lambda ink: charts.precision_recall_chart(table, chosen, own.chance, ink),
        table,
        "precision and recall",
        "Precision by recall, for all thresholds",
    )
    st.caption("The orange dot is the threshold of the model.")


def show_calibration(report: MultilabelReport) -> None:
    """How far the confidence in all labels of a text is right, and selective prediction by it."""
    left, right = layout.master_detail("calibration", 1, 1)
    with left:
        show_reliability(
            report.set_reliability,
            "Share of texts with all labels right by mean confidence, in bins",
            "The confidence is the probability that exactly the predicted classes are the labels: "
            "the product over the classes, as if they were independent of each other. A dot is a "
            "bin of texts with similar confidence, larger for more texts, with its 95% interval. "
            "On the dashed line, as many texts have all labels right as the confidence says. The "
            "calibration of each class is in the tab Classes.",
            ("all labels right", "mean confidence"),
        )
    with right:
        show_selective(report, "have all labels right")


def show_errors(model: ModelFolder, report: MultilabelReport, choice: Choice, split: str) -> None:
    """Which classes are missed and extra, and beside them the texts, the most wrong first."""
    own = report.predictions
    if own.correct.all():
        st.success("All labels of all texts are right.", icon=":material/check:")
        return
    master, detail = layout.master_detail("errors", 2, 3)
    with detail:
        missed, extra = inputs.ask_wrong_classes(own.classes)
        rows = _rows(report, missed, extra)
        what = _describe(report, missed, extra)
        chosen = TextSelection(
            choice.key,
            data_picker.shown_split(choice, split),
            f"{what} by {model.name}",
            len(rows),
            lambda: _labelled(report, rows),
            {"evaluated": what},
            classes=own.classes,
            suggested={"the predicted classes": lambda: _predicted(report, rows)},
        )
        _show_texts(model, report, rows, (missed, extra), chosen)
    with master:
        _show_lists(report)
        _show_words(model, report, rows, (missed, extra))


def _show_words(
    model: ModelFolder,
    report: MultilabelReport,
    rows: NDArray[np.int64],
    asked: tuple[int | None, int | None],
) -> None:
    """The words that misled, by what they add to extra classes and take from missed ones."""
    words = evaluations.misleading(model, report, rows[:MAX_EXPLAINED])
    of_asked = pd.Series(asked == (None, None), index=words.index)
    for number, kind in zip(asked, (MISSED, EXTRA), strict=True):
        if number is not None:
            name = report.predictions.classes[number]
            of_asked |= (words["class"] == name) & (words["kind"] == kind)
    words = words[of_asked & (words["contrast"] > 0)]
    if words.empty:
        return
    texts = f"the first {MAX_EXPLAINED:,}" if len(rows) > MAX_EXPLAINED else "all"
    show_word_table(
        words,
        "Words that misled",
        ["word", "class", "kind", "texts"],
        {"contrast": "misled by", "contrast per text": "per text"},
        f"Sums over {texts} texts. “Misled by”: what the word adds to the score of a class that is "
        "extra, or takes from that of a class that is missed.",
        "words that misled",
    )


def _rows(report: MultilabelReport, missed: int | None, extra: int | None) -> NDArray[np.int64]:
    """The texts that miss a class, are predicted an extra one, or both; None is any class."""
    own = report.predictions
    if missed is not None and extra is not None:
        return own.swapped(missed, extra)
    if missed is not None:
        return own.missed(missed)
    return own.errors if extra is None else own.extra(extra)


def _describe(report: MultilabelReport, missed: int | None, extra: int | None) -> str:
    classes = report.predictions.classes
    parts = [] if missed is None else [f"{classes[missed]} missed"]
    parts += [] if extra is None else [f"{classes[extra]} extra"]
    return " and ".join(parts) or "Wrong labels"


def _labelled(report: MultilabelReport, rows: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
    own = report.predictions
    labels = (format_label_set(own.names(row)) for row in own.labels[rows])
    return zip(report.evaluation.texts.take(rows), labels, strict=True)


def _predicted(report: MultilabelReport, rows: NDArray[np.int64]) -> list[str]:
    own = report.predictions
    return [format_label_set(own.names(row)) for row in own.predicted_of(rows)]


def _show_texts(
    model: ModelFolder,
    report: MultilabelReport,
    rows: NDArray[np.int64],
    asked: tuple[int | None, int | None],
    chosen: TextSelection,
) -> None:
    """Texts in the order given, what can be done with them, and a file of all of them."""
    if not len(rows):
        st.caption("There is no such text.")
        return
    order = "those with most wrong labels first"
    if asked != (None, None):
        order = "the surest of the model first"
    st.caption(f"{selection.plural(len(rows))}, {order}")
    selection.show_actions(chosen, "errors", "evaluate")
    shaded = shaded_text.ask_shading()
    if shaded == BY_SHARE:
        st.caption("What each word adds to the score of the first class that is extra or missed.")
    own = report.predictions
    page = rows[pager.ask_page(len(rows), PAGE, "errors page")]
    labels, predicted = np.asarray(own.labels[page]), own.predicted_of(page)
    chances = np.asarray(own.probabilities[page])

    def names(n: int, mask: NDArray[np.bool_], bound: bool = False) -> str:
        parts = []
        for number in np.flatnonzero(mask).tolist():
            about = f"{chances[n, number]:.1%}"
            about += f" of {own.thresholds[number]:.1%}" if bound else ""
            parts.append(f"{own.classes[number]} ({about})")
        return ", ".join(parts)

    def describe(n: int, explanation: Explanation) -> str:
        missed, extra = labels[n] & ~predicted[n], predicted[n] & ~labels[n]
        right = labels[n] & predicted[n]
        parts = [f"misses {names(n, missed, bound=True)}"] if missed.any() else []
        parts += [f"{names(n, extra)} extra"] if extra.any() else []
        parts += [f"{names(n, right)} right"] if right.any() else []
        parts = ["without a known word"] if explanation.blank else parts
        parts += [f"shaded for {shaded_class(n)}"] if shaded == BY_SHARE else []
        return f"Text {page[n]:,}: {'; '.join(parts)}"

    def shaded_class(n: int) -> str:
        extra, missed = predicted[n] & ~labels[n], labels[n] & ~predicted[n]
        wrong = [*np.flatnonzero(extra).tolist(), *np.flatnonzero(missed).tolist()]
        number = next((given for given in reversed(asked) if given is not None), wrong[0])
        return own.classes[number]

    def shares_of(n: int, _: Explanation) -> dict[str, str]:
        return {"of": shaded_class(n)}

    def ask_label(n: int, explanation: Explanation) -> None:
        label = format_label_set(own.names(labels[n]))
        likely = format_label_set(own.names(predicted[n]))
        suggested = {} if explanation.blank else {likely: "as predicted"}
        label_change.ask_one(chosen.data, texts[n], label, own.classes, f"errors {n}", suggested)

    words = shares_of if shaded == BY_SHARE else None
    texts = report.evaluation.texts.take(page)
    shaded_text.show_cards(model, texts, describe, words, below=ask_label)
    downloads.show_csv(
        lambda: add_misled_by(models.load(model), report.table(rows)),
        "errors",
        f"CSV of all {selection.plural(len(rows))}",
    )


def _show_lists(report: MultilabelReport) -> None:
    """Missed and extra texts by class, and pairs of classes; a click picks one."""
    own = report.predictions
    missed, extra = own.counts.labels - own.counts.hits, own.counts.predicted - own.counts.hits
    by_class = pd.DataFrame({"class": own.classes, "missed": missed, "extra": extra})
    by_class["sum"] = by_class["missed"] + by_class["extra"]
    by_class = by_class[by_class["sum"] > 0].sort_values("sum", ascending=False, kind="stable")
    st.html('<p class="chart-title">Missed and extra classes</p>')
    st.caption("A click on a number shows its texts.")
    _list(by_class.drop(columns="sum"), _BY_CLASS, lambda cell: _pick_class(by_class, cell))
    swaps = own.swaps
    pairs = np.argwhere(swaps)
    table = pd.DataFrame(
        {
            "texts": swaps[pairs[:, 0], pairs[:, 1]],
            "missed": [own.classes[row] for row in pairs[:, 0]],
            "extra": [own.classes[column] for column in pairs[:, 1]],
        }
    ).sort_values("texts", ascending=False, kind="stable")
    if table.empty:
        return
    st.html('<p class="chart-title">Classes that are taken for another</p>')
    st.caption("Texts that miss the first class and are predicted the second, which they lack.")
    _list(table, _SWAPS, lambda cell: _pick_pair(table, cell))


def _list(table: pd.DataFrame, key: str, pick: Any) -> None:
    shown = table.head(_LISTED)
    st.dataframe(
        shown,
        width="stretch",
        height=min(38 + 35 * len(shown), 318),
        hide_index=True,
        key=key,
        on_select=lambda: _picked(key, pick),
        selection_mode="single-cell",
    )


def _picked(key: str, pick: Any) -> None:
    for cell in st.session_state[key].selection.cells:
        pick(cell)


def _pick_class(table: pd.DataFrame, cell: tuple[int, str]) -> None:
    """Chooses the class that was clicked: as missed, as extra, or in both."""
    row, column = cell
    name = table["class"].iloc[row]
    st.session_state.actual = inputs.ANY if column == "extra" else name
    st.session_state.taken = name if column == "extra" else inputs.ANY


def _pick_pair(table: pd.DataFrame, cell: tuple[int, str]) -> None:
    row, _ = cell
    st.session_state.actual = table["missed"].iloc[row]
    st.session_state.taken = table["extra"].iloc[row]


def _class_rows(report: MultilabelReport) -> Iterator[dict[str, Any]]:
    for name, own in report.scores.per_class.items():
        yield {
            "class": name,
            "texts": own.texts,
            "F1": with_interval(own.f1),
            "precision": with_interval(own.precision),
            "recall": with_interval(own.recall),
            "threshold": f"{own.threshold:.1%}",
            "predicted": own.predicted,
            "average precision": with_interval(own.average_precision),
            "by chance": f"{100 * own.chance:.1f}",
        }
