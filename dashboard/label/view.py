"""The labels so far, with what corrects, exports or uses them."""

import json
from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from dashboard import error_boundary, nav, quotas
from dashboard.label.desk import Desk
from dashboard.url_state import LAUNCH_PLACE, NEW_TRAINING
from dashboard.widgets import data_picker, downloads
from icaps.html import printable
from icaps.label.export import KINDS
from icaps.label.log import Labelled
from icaps.label.task import EXPORTED
from icaps.reports import files

_MOST = 500  # rows of the list
_CHARACTERS = 200  # of a text in it
_MIME = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/octet-stream"}
_NAMES = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}
_WHO = {"person": "a person", "given": "the data", "model": "a model"}


def show_labels(desk: Desk) -> None:
    """What was labelled or skipped last; a row that is chosen is shown, to correct its label."""
    with st.expander(
        "Labels so far", icon=":material/list:", key="label list", on_change="rerun"
    ) as box:
        if not box.open:
            return
        entries = list({entry.id: entry for entry in reversed(desk.task.recent(_MOST))}.values())
        entries.reverse()
        if not entries:
            st.caption("Nothing is labelled yet.")
            return
        texts = desk.task.text(entry.id for entry in entries)
        table = pd.DataFrame(
            [
                (
                    ", ".join(map(printable, entry.names))
                    or ("none" if entry.label else "skipped"),
                    printable(text[:_CHARACTERS]),
                    _WHO.get(entry.by, entry.by),
                    entry.time[:16].replace("T", " "),
                )
                for entry, text in zip(entries, texts, strict=True)
            ],
            columns=["label", "text", "by", "time (UTC)"],
        )
        if not quotas.read_only():
            _ask_row(desk, entries, texts)
        event = st.dataframe(
            table,
            key=f"label rows {st.session_state.get('label rows', 0)}",
            width="stretch",
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            height=min(38 + 35 * len(table), 320),
        )
        if event.selection.rows and not quotas.read_only():
            _open_row(desk, entries[event.selection.rows[0]].id)


def _ask_row(desk: Desk, entries: Sequence[Labelled], texts: Sequence[str]) -> None:
    """Asks for a text whose label is to be corrected, for those who use no mouse."""
    version = st.session_state.get("label rows", 0)
    chosen = st.selectbox(
        "Correct the label of",
        range(len(entries)),
        index=None,
        key=f"label correct {version}",
        format_func=lambda n: printable(texts[n][:_CHARACTERS]),
        placeholder="a text of this list: type a part of it, or choose its row below",
    )
    if chosen is not None:
        _open_row(desk, entries[chosen].id)


def _open_row(desk: Desk, id: int) -> None:
    desk.open(id)
    st.session_state["label rows"] = st.session_state.get("label rows", 0) + 1
    st.rerun()


def show_files(desk: Desk) -> None:
    """Downloads of the labels and of the marked words, and pages that read the labels."""
    st.html('<p class="side-title">Labels as a file</p>')
    with st.container(horizontal=True, gap="small"):
        for kind in KINDS:
            st.download_button(
                _NAMES[kind],
                _exporter(desk, kind),
                f"{desk.name} labels.{kind}",
                _MIME[kind],
                key=f"label export {kind}",
                icon=downloads.ICON,
                on_click="ignore",
                help="Texts, labels, who gave them (the data, a person, a model), and when.",
            )
        st.download_button(
            "Marked words",
            lambda: desk.words_file.to_bytes(),
            f"{desk.name} words.jsonl",
            "application/x-ndjson",
            key="label export words",
            icon=downloads.ICON,
            on_click="ignore",
            help="As `icaps plausibility --words` reads them.",
        )
    if quotas.read_only() or not desk.task.progress().training:
        return
    with st.container(horizontal=True, gap="small"):
        for page, label in (
            ("datasets", "Open in Datasets"),
            ("evaluate", "Evaluate"),
            ("train", "Train otherwise"),
        ):
            if st.button(label, icon=nav.page(page).icon, key=f"label to {page}", type="tertiary"):
                with error_boundary.shown():
                    _open(desk, page)


def _exporter(desk: Desk, kind: str) -> Callable[[], bytes]:
    if kind != "csv":
        return lambda: desk.task.export(kind)

    def to_csv() -> bytes:  # for a spreadsheet, which would compute formulas
        rows = [json.loads(line) for line in desk.task.export("jsonl").splitlines()]
        for row in rows:
            if isinstance(row["label"], list):
                row["label"] = json.dumps(row["label"], ensure_ascii=False)
        return files.to_csv(pd.DataFrame(rows, columns=list(EXPORTED)))

    return to_csv


def _open(desk: Desk, page: str) -> None:
    """Opens a page with the labelled texts.

    Raises:
        DataError: They cannot be written.
        NotAllowedError: The app is read-only.
    """
    quotas.change("no file can be written.")
    data = str(desk.task.training_data().resolve())
    state = st.session_state
    if page == "train":
        data_picker.take(LAUNCH_PLACE, data)
        state.train_view = NEW_TRAINING
    else:
        state.data, state.data_shown = data, ""  # so that the page takes it over
        if desk.model is not None:
            state.model = desk.model.name
        state.part = "test"
    st.switch_page(nav.page(page))
