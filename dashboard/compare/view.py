"""Shows models compared by their predictions: scores, disagreements, speed, published numbers."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from dashboard.cache import models
from dashboard.cache.evaluations import Sample
from dashboard.compare import charts
from dashboard.model_registry import ModelFolder
from dashboard.widgets import chart_card, downloads
from icaps.data.resolve import available
from icaps.evaluate import compare
from icaps.evaluate.compare import ComparisonTexts, TimedPredictions
from icaps.evaluate.leakage import Leak, percent
from icaps.evaluate.multilabel_compare import TimedSets
from icaps.evaluate.published import COLUMNS, KINDS, published
from icaps.html import p_value, printable

LISTED = 200  # texts in a table
MAX_CHARACTERS = 300  # of a text in a table


def show_too_few() -> None:
    """What to do if there is nothing to compare with."""
    st.info("Choose two or more models, or train a baseline for comparison.")


def show_scores(predictions: Sequence[TimedPredictions], leaks: Mapping[str, Leak | None]) -> None:
    """Accuracies with intervals, and whether each model differs from the first.

    Models that were trained on the texts, by `leaks`, are marked, and are not tested.
    """
    unfair = compare.unfair_models(leaks)
    table = compare.score_table(predictions, unfair=unfair)
    table["trained on them"] = [trained_on(leaks[own.name]) for own in predictions]
    table["fair"] = [own.name not in unfair for own in predictions]
    chart_card.show(
        lambda ink: charts.accuracies(table, ink),
        table,
        "accuracies",
        "Accuracy of each model, with its 95% interval",
    )
    columns = {
        "model": table["model"],
        "trained on these": table["trained on them"],
        "accuracy": table["accuracy"].map("{:.2%}".format),
        "95% interval": _intervals(table, "low", "high", "{:.2%}"),
    }
    if "p_value" in table:
        columns |= {
            "difference from first": _formatted(table["difference"], "{:+.2%}"),
            "McNemar p": [
                "–" if name == predictions[0].name else _p_value(value)
                for name, value in zip(table["model"], table["p_value"], strict=True)
            ],
            "its 95% interval": _intervals(table, "difference_low", "difference_high", "{:+.2%}"),
        }
    columns |= {
        "macro F1": table["macro_f1"].map("{:.2%}".format),
        "by chance": table["chance"].map("{:.2%}".format),
        "log loss": table["log_loss"].map("{:.3f}".format),
    }
    st.dataframe(pd.DataFrame(columns), width="stretch", hide_index=True)
    st.caption(
        f"On the same {len(predictions[0].labels):,} texts. By chance: accuracy with shuffled "
        "predictions. McNemar's exact test: p is the probability that two equally good models "
        "differ by this much in the number of texts that only one of them gets right; below 0.05 "
        "is rare. Comparing several models is several tests."
        + (" A model that was trained on these texts is not tested." if unfair else "")
    )


def show_disagreements(texts: ComparisonTexts, predictions: Sequence[TimedPredictions]) -> None:
    """How often models agree, and the texts on which they don't."""
    pairs = compare.agreement_table(predictions)
    for column in ("same", "chance"):
        pairs[column] = pairs[column].map("{:.2%}".format)
    names = {
        "one": "first model",
        "other": "second model",
        "same": "same prediction",
        "chance": "by chance",
        "both_wrong": "same and wrong",
    }
    st.dataframe(pairs.rename(columns=names), width="stretch", hide_index=True)
    numbers = compare.disagreements(predictions)
    if not len(numbers):
        st.info("They predict the same class for all texts.")
        return
    table = compare.disagreement_table(texts, predictions, numbers)
    st.caption(
        f"The predictions differ on {len(numbers):,} of {len(texts.texts):,} texts"
        + (f"; the {LISTED} with the most confident models:" if len(numbers) > LISTED else ":")
    )
    listed = table.head(LISTED).drop(columns=["number", "text"])
    listed["text"] = [printable(text[:MAX_CHARACTERS]) for text in table["text"].head(LISTED)]
    st.dataframe(listed, width="stretch", hide_index=True)
    downloads.show_csv(table, "disagreements")


def show_sizes(
    predictions: Sequence[TimedPredictions | TimedSets], folders: Mapping[str, ModelFolder]
) -> None:
    """How fast each model is on these texts, and how large."""
    model_folders = [folders[own.name] for own in predictions]
    table = pd.DataFrame(
        {
            "model": [own.name for own in predictions],
            "texts per second": [round(own.texts_per_second) for own in predictions],
            "accuracy": [float(own.correct.mean()) for own in predictions],
            "MB": [folder.bytes_on_disk / 1e6 for folder in model_folders],
            "numbers": [models.weights(folder) for folder in model_folders],
        }
    )
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        column_config={
            "texts per second": st.column_config.NumberColumn(format="localized"),
            "accuracy": st.column_config.NumberColumn(format="percent"),
            "MB": st.column_config.NumberColumn(format="%.1f"),
            "numbers": st.column_config.NumberColumn(format="localized"),
        },
    )
    st.caption(
        f"Measured on this machine while predicting the {len(predictions[0].labels):,} texts, from "
        "text to probabilities. Numbers: all that a model stores, that is weights, frozen vectors "
        "and IDF. MB: the size of its folder."
    )
    # Scripts may read the file by the earlier name of this column.
    downloads.show_csv(
        table.rename(columns={"texts per second": "texts a second"}), "speed and size"
    )


def show_published(sample: Sample, predictions: Sequence[TimedPredictions]) -> None:
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
    name = sample.data.value
    test_rows = {row.name: row.test_rows for row in available()}.get(name)
    if name in COLUMNS and test_rows == len(predictions[0].labels):
        rows += [
            {
                "model": own.name,
                "from": f"all {test_rows:,} test texts, just now",
                "source": KINDS["measured"],
                COLUMNS[name]: 100 * float(own.correct.mean()),
            }
            for own in predictions
        ]
    elif name in COLUMNS:
        st.caption("Use all test texts to see the measured accuracies beside the published ones.")
    table = pd.DataFrame(rows)
    measured = table["source"] == KINDS["measured"]
    tint = "background-color: #2f89a833"
    style = table.style.apply(
        lambda row: [tint if measured[row.name] else ""] * len(row), axis=1
    ).format("{:.4g}", subset=list(COLUMNS.values()), na_rep="–")
    st.dataframe(style, width="stretch", height="content", hide_index=True)
    st.caption(
        "Accuracies on the test texts, in percent. DPCNN and DRNN are better than all models in "
        "the paper's table, which leaves them out; their papers give error rates. Rows that were "
        "measured here are tinted."
    )
    downloads.show_csv(table, "published")


def _intervals(table: pd.DataFrame, low: str, high: str, form: str) -> list[str]:
    """Intervals as text; a dash for the first model, which has no difference."""
    return [
        "–" if pd.isna(start) else f"{form.format(start)} to {form.format(end)}"
        for start, end in zip(table[low], table[high], strict=True)
    ]


def _p_value(value: float) -> str:
    """A p value; NaN is that of a model that was trained on the texts, or of the first one."""
    return "not a fair test" if pd.isna(value) else p_value(value)


def trained_on(leak: Leak | None) -> str:
    """The share of the texts that a model was trained on."""
    if leak is None:
        return "not known"
    return percent(leak.share) if leak.training else "no"


def _formatted(column: pd.Series, form: str) -> list[str]:
    return ["–" if pd.isna(value) else form.format(value) for value in column]
