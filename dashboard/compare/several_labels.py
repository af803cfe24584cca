"""Shows models with several labels per text compared by their predictions."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from dashboard.compare import charts
from dashboard.compare.view import LISTED, MAX_CHARACTERS, trained_on
from dashboard.widgets import chart_card, downloads
from icaps.evaluate import multilabel_compare
from icaps.evaluate.compare import ComparisonTexts, unfair_models
from icaps.evaluate.leakage import Leak
from icaps.evaluate.multilabel_compare import TimedSets
from icaps.html import p_value, printable

SCORES, DISAGREEMENTS, MATCHED, SIZES = (
    "Scores",
    "Disagreements",
    "Capsules matched",
    "Speed and size",
)
TABS = (SCORES, DISAGREEMENTS, MATCHED, SIZES)
_NO_VALUE = "–"


def show_scores(predictions: Sequence[TimedSets], leaks: Mapping[str, Leak | None]) -> None:
    """Macro F1 with intervals and the other scores, and whether each differs from the first.

    Models that were trained on the texts, by `leaks`, are marked, and are not tested.
    """
    unfair = unfair_models(leaks)
    table = multilabel_compare.set_score_table(predictions, unfair=unfair)
    table["trained on them"] = [trained_on(leaks[own.name]) for own in predictions]
    table["fair"] = [own.name not in unfair for own in predictions]
    chart_card.show(
        lambda ink: charts.accuracies(table, ink, "macro_f1"),
        table,
        "macro F1",
        "Macro F1 of each model, with its 95% interval",
    )
    columns = {
        "model": table["model"],
        "trained on these": table["trained on them"],
        "macro F1": table["macro_f1"].map("{:.2%}".format),
        "95% interval": _intervals(table, "low", "high", "{:.2%}"),
    }
    if "p_value" in table:
        columns |= {
            "difference from first": _written(table["difference"], "{:+.2%}"),
            "its 95% interval": _intervals(table, "difference_low", "difference_high", "{:+.2%}"),
            "McNemar p": [_NO_VALUE if pd.isna(p) else p_value(p) for p in table["p_value"]],
        }
    columns |= {
        "by chance": _written(table["chance"], "{:.2%}"),
        "micro F1": _written(table["micro_f1"], "{:.2%}"),
        "average precision": _written(table["average_precision"], "{:.2%}"),
        "all labels right": _written(table["subset_accuracy"], "{:.2%}"),
        "Hamming loss": _written(table["hamming_loss"], "{:.2%}"),
    }
    st.dataframe(pd.DataFrame(columns), width="stretch", hide_index=True)
    st.caption(
        f"On the same {len(predictions[0]):,} texts. By chance: macro F1 with shuffled "
        "predictions. McNemar's exact test: p is the probability that two equally good models "
        "differ by this much in the number of texts whose labels only one of them gets all right; "
        "below 0.05 is rare. Comparing several models is several tests."
        + (" A model that was trained on these texts is not tested." if unfair else "")
    )


def show_disagreements(texts: ComparisonTexts, predictions: Sequence[TimedSets]) -> None:
    """How often models predict the same classes, and the texts on which they don't."""
    pairs = multilabel_compare.set_agreement_table(predictions)
    for column in ("same", "same_classes", "chance"):
        pairs[column] = pairs[column].map("{:.2%}".format)
    names = {
        "one": "first model",
        "other": "second model",
        "same": "same classes",
        "same_classes": "same, class by class",
        "chance": "by chance",
        "both_wrong": "same and not all right",
    }
    st.dataframe(pairs.rename(columns=names), width="stretch", hide_index=True)
    numbers = multilabel_compare.set_disagreements(predictions)
    if not len(numbers):
        st.info("They predict the same classes for all texts.")
        return
    table = multilabel_compare.set_disagreement_table(texts, predictions, numbers)
    st.caption(
        f"The predictions differ on {len(numbers):,} of {len(texts.texts):,} texts"
        + (f"; the {LISTED} that differ most:" if len(numbers) > LISTED else ":")
    )
    listed = table.head(LISTED).drop(columns=["number", "text"])
    listed["text"] = [printable(text[:MAX_CHARACTERS]) for text in table["text"].head(LISTED)]
    st.dataframe(listed, width="stretch", hide_index=True)
    downloads.show_csv(table, "disagreements")


def _written(column: pd.Series, form: str) -> list[str]:
    return [_NO_VALUE if pd.isna(value) else form.format(value) for value in column]


def _intervals(table: pd.DataFrame, low: str, high: str, form: str) -> list[str]:
    ends = zip(_written(table[low], form), _written(table[high], form), strict=True)
    return [_NO_VALUE if left == _NO_VALUE else f"{left} to {right}" for left, right in ends]
