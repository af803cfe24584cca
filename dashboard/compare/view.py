"""Shows models compared by their predictions: scores, disagreements, speed, published numbers."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from dashboard.cache import models
from dashboard.cache.evaluations import Sample
from dashboard.compare import tables
from dashboard.model_registry import ModelFolder
from dashboard.widgets import downloads
from icaps.data.resolve import available
from icaps.evaluate import compare
from icaps.evaluate.compare import TimedPredictions
from icaps.evaluate.comparison_texts import ComparisonTexts
from icaps.evaluate.leakage import Leak, unfair_models
from icaps.evaluate.multilabel_compare import TimedSets
from icaps.evaluate.published import COLUMNS, KINDS, published


def show_too_few() -> None:
    """What to do if there is nothing to compare with."""
    st.info("Choose two or more models, or train a baseline for comparison.")


def show_scores(predictions: Sequence[TimedPredictions], leaks: Mapping[str, Leak | None]) -> None:
    """Accuracies with intervals, and whether each model differs from the first."""
    table = compare.score_table(predictions, unfair=unfair_models(leaks))
    tables.show_scores(
        table,
        leaks,
        "accuracy",
        "accuracy",
        {
            "macro F1": tables.percents(table["macro_f1"]),
            "by chance": tables.percents(table["chance"]),
            "log loss": table["log_loss"].map("{:.3f}".format).tolist(),
        },
        f"On the same {len(predictions[0].labels):,} texts. By chance: accuracy with shuffled "
        "predictions. McNemar's exact test: p is the probability that two equally good models "
        "differ by this much in the number of texts that only one of them gets right; below 0.05 "
        "is rare.",
    )


def show_disagreements(texts: ComparisonTexts, predictions: Sequence[TimedPredictions]) -> None:
    """How often models predict the same class, and the texts on which they don't."""
    tables.show_disagreements(
        compare.agreement_table(predictions),
        {"same": "same prediction", "chance": "by chance", "both_wrong": "same and wrong"},
        compare.disagreement_table(texts, predictions, compare.disagreements(predictions)),
        len(texts.texts),
        "class",
        "with the most confident models",
    )


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
