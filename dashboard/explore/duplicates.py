"""Shows duplicates: texts that are the same or nearly the same, within and across splits."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import quotas, selection
from dashboard.cache import at_once
from dashboard.selection import TextSelection
from dashboard.widgets import background_task, downloads
from dashboard.widgets.data_picker import Choice
from icaps.data.label_sets import shown_label
from icaps.explore.corrected_index import duplicates_with_labels_of
from icaps.explore.index import Index
from icaps.explore.near_duplicates import Duplicates, Pairs, find_duplicates, load_duplicates
from icaps.html import printable

_LISTED = 100  # pairs in the table; the file has more
_MAX_CHARACTERS = 400  # of a text in a table


def show_duplicates(choice: Choice, index: Index, arguments: Sequence[str]) -> None:
    """Numbers of pairs, and the pairs with what can be done with them; a button looks for them."""
    duplicates = load_duplicates(index.given)
    if duplicates is None and at_once.few_rows(index):
        quotas.request()
        with st.spinner("Comparing the texts …"):
            duplicates = find_duplicates(index.given)
    if duplicates is None:
        background_task.show(
            [*arguments, "--repeats"],
            "Look for duplicates",
            "Compares all texts with each other: the same, nearly the same, test and training.",
            f"The duplicates in {Path(choice.value).name} are found: see Datasets.",
        )
        return
    if index.given is not index:
        duplicates = duplicates_with_labels_of(duplicates, index)
    tables = _pairs_by_name(index, duplicates)
    summary = pd.DataFrame(
        [(name, pairs.total, pairs.differing) for name, pairs in tables.items()],
        columns=["kind", "pairs", "of different classes"],
    )
    st.dataframe(summary, width="stretch", hide_index=True)
    st.caption(
        "Near-duplicates: texts whose sets of three-word phrases (shingles) have a Jaccard "
        "similarity of 0.8 or more."
    )
    if not duplicates.complete:
        st.warning("There are too many near-duplicates to store; these are a part of them.")
    name = st.selectbox("Pairs of", list(tables), key="repeats of", persist_state="session")
    pairs = tables[name]
    if not len(pairs.first):
        st.caption("There are none.")
        return
    table = _pair_table(index, pairs)
    st.dataframe(table.head(_LISTED), width="stretch", hide_index=True)
    downloads.show_csv(table, "repeats", f"CSV of {len(table):,} pairs")
    selection.show_actions(_selected(choice, index, pairs, name), "repeats", "datasets")


def _selected(choice: Choice, index: Index, pairs: Pairs, name: str) -> TextSelection:
    """The texts of all pairs, each once."""
    rows = np.unique(np.concatenate([pairs.first, pairs.second]))
    what = name[0].upper() + name[1:]
    return TextSelection(
        choice.key, "", what, len(rows), lambda: index.labelled(rows), {"duplicates": name}
    )


def _pairs_by_name(index: Index, duplicates: Duplicates) -> dict[str, Pairs]:
    shown = dict(zip(index.splits, index.facts.split_names, strict=True))
    where = {name: f" in {shown[name]}" if shown[name] == name else "" for name in shown}
    tables = {f"exact duplicates{where[name]}": pairs for name, pairs in duplicates.exact.items()}
    tables |= {f"near-duplicates{where[name]}": pairs for name, pairs in duplicates.near.items()}
    if len(index.splits) > 1:
        tables |= {
            "test texts that are training texts": duplicates.leaks,
            "test texts that are nearly training texts": duplicates.near_leaks,
        }
    return tables


def _pair_table(index: Index, pairs: Pairs) -> pd.DataFrame:
    columns = {}
    for side, rows in (("first", pairs.first), ("second", pairs.second)):
        columns[f"{side} row"] = rows
        columns[f"{side} class"] = [shown_label(label) for label in index.labels_of(rows)]
        columns[f"{side} text"] = [printable(text[:_MAX_CHARACTERS]) for text in index.text(rows)]
    return pd.DataFrame({"similarity": np.round(pairs.similarity, 3), **columns})
