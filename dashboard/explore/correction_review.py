"""Shows the corrected labels of a data set; undoes, downloads and uploads them."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import streamlit as st

from dashboard import corrections, error_boundary, quotas
from dashboard.cache import data
from dashboard.widgets import downloads, pager
from dashboard.widgets.data_picker import Choice
from icaps.data.correction_files import read_corrections
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.text_hash import text_hash
from icaps.data.uploads import safe_name
from icaps.explore.corrected_index import CorrectedIndex, labels_by_hash
from icaps.explore.index import Index
from icaps.html import printable

PAGE = 50  # labels in the table
_MAX_CHARACTERS = 400  # of a text in the table
_TABLE, _UPLOAD = "corrections table", "corrections file"
_KINDS = {"csv": "CSV", "jsonl": "JSONL", "parquet": "Parquet"}


def show(choice: Choice, index: Index) -> None:
    """All corrected labels, the latest first, and what can be done with them.

    Raises:
        DataError: Their file is damaged, or one that was uploaded can't be used.
        NotAllowedError: The app is read-only, or a limit is exceeded.
    """
    layer = corrections.layer(choice.value)
    labels = corrections.labels(choice.value)
    if not labels:
        st.caption(
            "No label of this data is corrected. Labels are changed where they are seen: in Rows "
            "here, in the errors on Evaluate, and in the texts on Shortcuts. The data itself is "
            "never changed."
        )
    else:
        _show_facts(layer.count, index)
        changes = layer.own and not quotas.read_only()
        _show_table(choice, labels, changes)
        if changes:
            _ask_batch(choice, labels)
        _show_files(LabelFile(layer.path))
        st.caption(error_boundary.plain(f"For commands: --corrections {layer.path}"))
    if layer.own and not quotas.read_only():
        _ask_upload(choice, index)


def _show_facts(count: int, index: Index) -> None:
    opened = isinstance(index, CorrectedIndex)
    with st.container(horizontal=True, gap="medium"):
        st.metric("Corrected texts", f"{count:,}", width=150)
        if isinstance(index, CorrectedIndex):
            st.metric("Rows with another label", f"{index.corrected.sum():,}", width=200)
    if not opened:
        st.caption("The data is open without them: the toggle above opens it with them.")


def _show_table(choice: Choice, labels: Sequence[GivenLabel], changes: bool) -> None:
    """A page of the labels; those that are selected can be undone."""
    last = {text_hash(label.text): label for label in labels}
    page = labels[::-1][pager.ask_page(len(labels), PAGE, "corrections page")]
    table = pd.DataFrame(
        {
            "text": [printable(label.text[:_MAX_CHARACTERS]) for label in page],
            "before": [printable(label.before) for label in page],
            "after": [printable(label.label) or "skipped" for label in page],
            "who": [printable(label.by) for label in page],
            "when (UTC)": [label.time.replace("T", " ")[:19] for label in page],
            "counts": [last[text_hash(label.text)] is label for label in page],
        }
    )
    replaced = not table["counts"].all()
    event = st.dataframe(
        table,
        width="stretch",
        height=min(38 + 35 * len(table), 520),
        hide_index=True,
        key=f"{_TABLE} {len(labels)} {labels[-1].batch}",  # after a change nothing is selected
        on_select="rerun" if changes else "ignore",
        selection_mode="multi-row",
        column_order=[name for name in table.columns if name != "counts" or replaced],
        column_config={
            "text": st.column_config.TextColumn(width="large"),
            "counts": st.column_config.CheckboxColumn(help="Not replaced by a later one."),
        },
    )
    if not changes:
        return
    rows = event.selection.rows
    name = f"Undo {corrections.plural(len(rows))}" if rows else "Undo the selected"
    if st.button(name, icon=":material/undo:", key="undo selected", disabled=not rows):
        of_batch: dict[str, list[str]] = {}
        for row in rows:
            of_batch.setdefault(page[row].batch, []).append(page[row].text)
        for batch, texts in of_batch.items():
            corrections.undo(choice.value, batch, texts)
        st.rerun()


def _ask_batch(choice: Choice, labels: Sequence[GivenLabel]) -> None:
    """Undoes all labels that were changed together."""
    sizes = Counter(label.batch for label in labels)
    first = {label.batch: label for label in reversed(labels)}
    batches = {batch: _describe(first[batch], size) for batch, size in reversed(sizes.items())}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = st.selectbox(
            "Changed together", list(batches), format_func=batches.__getitem__, key="batch to undo"
        )
        if st.button("Undo all of these", icon=":material/undo:", key="undo batch"):
            corrections.undo(choice.value, batch)
            st.rerun()


def _describe(label: GivenLabel, size: int) -> str:
    when = label.time.replace("T", " ")[:16]
    change = f"{label.before} → {label.label}" if label.before else label.label or "skipped"
    more = f" and {size - 1:,} more" if size > 1 else ""
    return printable(f"{when} by {label.by}: {change}{more}")


def _show_files(file: LabelFile) -> None:
    with st.container(horizontal=True):
        for kind, name in _KINDS.items():
            downloads.show_file(partial(file.to_bytes, kind), f"corrections.{kind}", name)


def _ask_upload(choice: Choice, index: Index) -> None:
    """Adds the labels of a file as one batch."""
    state = st.session_state
    number = state.get(f"{_UPLOAD} number", 0)  # a new field for each file
    with st.expander("Upload corrections", icon=":material/upload:", key="upload corrections"):
        file = st.file_uploader(
            "Texts with their right labels: a file that was downloaded here, one of `icaps "
            "corrections` or `icaps label`, or any labelled texts. Texts that this data does not "
            "have are left out.",
            key=f"{_UPLOAD} {number}",
            max_upload_size=quotas.upload_mb(),
        )
        if message := state.pop(f"{_UPLOAD} message", ""):
            st.success(error_boundary.plain(message), icon=":material/check:")
        if file is None or not st.button("Add these labels", type="primary", key="add labels"):
            return
        quotas.upload(file.size)
        present = labels_by_hash(index, data.text_hashes(index))
        with TemporaryDirectory() as folder:
            path = Path(folder) / safe_name(file.name)
            path.write_bytes(file.getbuffer())
            labels = list(read_corrections(path, present, corrections.who()))
        count = corrections.change(choice.key, labels)
        state[f"{_UPLOAD} message"] = f"{corrections.plural(count)} added from {file.name}."
        state[f"{_UPLOAD} number"] = number + 1
        st.rerun()
