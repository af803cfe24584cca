"""The parts of the page Compare that are the same for one label per text and for several."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from dashboard.compare import charts
from dashboard.widgets import chart_card, downloads
from icaps.evaluate.leakage import Leak, percent, unfair_models
from icaps.html import p_value, printable

LISTED = 200  # texts in a table
MAX_CHARACTERS = 300  # of a text in a table
_NO_VALUE = "–"


def show_scores(
    table: pd.DataFrame,
    leaks: Mapping[str, Leak | None],
    value: str,
    score: str,
    others: Mapping[str, Sequence[str]],
    about: str,
) -> None:
    """A score of each model with its interval, its difference from the first, and other scores.

    Args:
        table: From `compare.score_table` or `multilabel_compare.set_score_table`.
        leaks: How many of the texts each model was trained on. Those that were are marked, and are
            not tested.
        value: The column of the score.
        score: What it is called.
        others: The columns of the other scores, as they are shown.
        about: What the table shows, in sentences.
    """
    unfair = unfair_models(leaks)
    table["trained on them"] = [_trained_on(leaks[name]) for name in table["model"]]
    table["fair"] = [name not in unfair for name in table["model"]]
    chart_card.show(
        lambda ink: charts.accuracies(table, ink, value),
        table,
        score,
        f"{score[0].upper()}{score[1:]} of each model, with its 95% interval",
    )
    columns = {
        "model": table["model"],
        "trained on these": table["trained on them"],
        score: percents(table[value]),
        "95% interval": _intervals(table, "low", "high", "{:.2%}"),
    }
    if "p_value" in table:
        columns |= {
            "difference from first": _formatted(table["difference"], "{:+.2%}"),
            "its 95% interval": _intervals(table, "difference_low", "difference_high", "{:+.2%}"),
            "McNemar p": [_NO_VALUE, *map(_p_value, table["p_value"].iloc[1:])],
        }
    st.dataframe(pd.DataFrame({**columns, **others}), width="stretch", hide_index=True)
    not_tested = " A model that was trained on these texts is not tested." if unfair else ""
    st.caption(f"{about} Comparing several models is several tests.{not_tested}")


def show_disagreements(
    pairs: pd.DataFrame,
    names: Mapping[str, str],
    table: pd.DataFrame,
    texts: int,
    predicted: str,
    first: str,
) -> None:
    """How often models agree, and the texts on which they don't.

    Args:
        pairs: From `compare.agreement_table` or `multilabel_compare.set_agreement_table`.
        names: What its columns are called.
        table: The texts with different predictions, with columns number and text.
        texts: Number of all texts.
        predicted: What models predict for a text: "class" or "classes".
        first: Which texts are listed, if there are many.
    """
    for column in names.keys() & {"same", "same_classes", "chance"}:
        pairs[column] = percents(pairs[column])
    columns = {"one": "first model", "other": "second model", **names}
    st.dataframe(pairs.rename(columns=columns), width="stretch", hide_index=True)
    if table.empty:
        st.info(f"They predict the same {predicted} for all texts.")
        return
    st.caption(
        f"The predictions differ on {len(table):,} of {texts:,} texts"
        + (f"; the {LISTED} {first}:" if len(table) > LISTED else ":")
    )
    listed = table.head(LISTED).drop(columns=["number", "text"])
    listed["text"] = [printable(text[:MAX_CHARACTERS]) for text in table["text"].head(LISTED)]
    st.dataframe(listed, width="stretch", hide_index=True)
    downloads.show_csv(table, "disagreements")


def percents(column: pd.Series) -> list[str]:
    """Shares in percent; a dash for NaN."""
    return _formatted(column, "{:.2%}")


def _trained_on(leak: Leak | None) -> str:
    """The share of the texts that a model was trained on."""
    if leak is None:
        return "not known"
    return percent(leak.share) if leak.training else "no"


def _formatted(column: pd.Series, form: str) -> list[str]:
    return [_NO_VALUE if pd.isna(value) else form.format(value) for value in column]


def _intervals(table: pd.DataFrame, low: str, high: str, form: str) -> list[str]:
    """Intervals as text; a dash for the first model, which has no difference."""
    return [
        _NO_VALUE if pd.isna(start) else f"{form.format(start)} to {form.format(end)}"
        for start, end in zip(table[low], table[high], strict=True)
    ]


def _p_value(value: float) -> str:
    """A p value; NaN is that of a model that was trained on the texts."""
    return "not a fair test" if pd.isna(value) else p_value(value)
