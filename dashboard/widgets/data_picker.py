"""Which data the visitor means: a name, an upload, a slice or a path, and how it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import error_boundary, file_access, quotas, url_state
from dashboard.cache import data
from dashboard.cache.data import DataKey
from icaps.data.fingerprint import parts_of
from icaps.data.preview import Preview
from icaps.data.resolve import available, is_hub_name, resolve
from icaps.data.saved_slices import slices
from icaps.data.uploads import keep_upload, uploads
from icaps.errors import DataError
from icaps.html import printable

UPLOAD, PATH = "Upload a file …", "A path or a name …"
_SHOWN = 5  # rows of the preview
_LONGEST = 300  # characters of a text in it


class Choice(NamedTuple):
    """The selected data; `preview` is None if the data is not on this machine yet."""

    key: DataKey
    preview: Preview | None

    @property
    def value(self) -> str:
        """A path or a name, as `--data` takes it."""
        return self.key.value

    @property
    def reading(self) -> dict[str, Any]:
        """Options of `open_source`."""
        return self.key.reading

    @property
    def ready(self) -> bool:
        """Whether no problem with reading the data is known."""
        return self.preview is None or (not self.preview.trouble and bool(self.preview.rows))


def ask(place: str) -> Choice | None:
    """Asks for data; None while there is none. `place` tells apart who asks, in widgets' keys.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    value = _ask_value(place)
    if not value:
        return None
    file_access.check_data(value)
    key = data.key_of(value, {})
    if not _is_here(value):
        return Choice(key, None)
    key = key.read_with(_ask_reading(place, key))
    return Choice(key, data.preview(key))


def ask_on_page(place: str) -> Choice | None:
    """As `ask`; a data set in the address of the page, or from another page, comes first.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    if url_state.data_was_asked():
        take(place, st.session_state.data)
    return ask(place)


def ask_split(choice: Choice) -> str:
    """Asks for the split of a data set; the test split at first.

    Raises:
        DataError: A split lacks files.
    """
    if choice.preview is None:  # not downloaded yet, and a named data set has a test split
        return "test"
    splits = sorted(parts_of(resolve(choice.value)))  # "test" comes before "train"
    if len(splits) == 1:
        return splits[0]
    url_state.choose_among("part", splits)
    split: str = st.selectbox("Split", splits, key="part", persist_state="session")
    return split


def show_preview(choice: Choice) -> None:
    """The first rows, or what is in their way."""
    if choice.preview is None:
        st.caption("It is not on this machine yet, and is downloaded when it is needed.")
        return
    if choice.preview.trouble:
        st.error(error_boundary.plain(choice.preview.trouble), icon=":material/error:")
        st.caption("Columns and all else can be chosen under *How it is read*.")
    rows = [(label, printable(text[:_LONGEST])) for text, label in choice.preview.rows[:_SHOWN]]
    if rows:
        table = pd.DataFrame(rows, columns=["class", "text"])
        st.dataframe(table, width="stretch", hide_index=True, height="content", row_height=28)


def options() -> dict[str, str]:
    """What there is to choose from: what it is called, and what `--data` takes."""
    found = {
        (row.name if row.place or row.synthetic else f"{row.name} (download)"): row.name
        for row in sorted(
            file_access.named(), key=lambda row: (not row.synthetic, row.place is None)
        )
    }
    for upload in uploads():  # the latest first
        name = f"upload: {upload.name}"
        if name in found:  # another file that was called so
            name += f" of {upload.when:%Y-%m-%d %H:%M} UTC ({upload.path.parent.name[:4]})"
        found[name] = str(upload.path)
    try:
        found |= {f"slice: {kept.name}": str(kept.path) for kept in slices()}
    except DataError as error:  # a damaged one is not in the way of other data
        st.error(error_boundary.plain(str(error)), icon=":material/error:")
    return found


def take(place: str, value: str, reading: Mapping[str, Any] | None = None) -> None:
    """Makes data the one that is chosen, and how it is read; None leaves that as it is."""
    names = {value: name for name, value in options().items()}
    st.session_state[f"{place} data"] = names.get(value, PATH)
    st.session_state[f"{place} path"] = value
    if reading is None:
        return
    given = {
        "encoding": reading.get("encoding"),
        "delimiter": r"\t" if reading.get("delimiter") == "\t" else reading.get("delimiter"),
        "skip": reading.get("on_bad_rows") == "skip",
        f"text {value}": reading.get("text"),
        f"label {value}": reading.get("label"),
    }
    for name, said in given.items():
        if said:
            st.session_state[f"{place} {name}"] = said
        else:  # as it is found out
            st.session_state.pop(f"{place} {name}", None)


def _ask_value(place: str) -> str:
    known = options()
    key = f"{place} data"
    names = [*known, *([] if quotas.read_only() else [UPLOAD]), PATH]
    if key not in st.session_state and st.session_state.data:  # what is looked at
        take(place, st.session_state.data)
    if st.session_state.get(key) not in names:
        st.session_state[key] = names[0]
    chosen = st.selectbox("Data", names, key=key, persist_state="session")
    if chosen == UPLOAD:
        return _ask_upload(place)
    if chosen == PATH:
        return st.text_input(
            "Path or name",
            key=f"{place} path",
            placeholder="/data/texts.csv, or owner/name",
            help="A file or folder of this machine, or owner/name at the Hugging Face Hub.",
            persist_state="session",
        ).strip()
    return known[chosen]


def _ask_upload(place: str) -> str:
    file = st.file_uploader(
        "A file of texts with their classes: CSV, TSV, JSON, Parquet, compressed or not",
        key=f"{place} file",
        max_upload_size=quotas.upload_mb(),
    )
    if file is None:
        return ""
    kept: tuple[str, str] = st.session_state.get(f"{place} kept", ("", ""))
    if kept[0] != file.file_id:
        quotas.upload(file.size)
        kept = file.file_id, str(keep_upload(file.name, file))
        st.session_state[f"{place} kept"] = kept
    return kept[1] if Path(kept[1]).exists() else ""  # it may have been deleted since


def _is_here(value: str) -> bool:
    """Whether the data can be looked at without a download."""
    if file_access.exists(Path(value)):
        return True
    row = next((row for row in available() if row.name == value), None)
    if row is None and not is_hub_name(value):
        raise DataError(f"There is no file or folder {value}, and no data set of that name.")
    return row is not None and (row.place is not None or row.synthetic)


def _ask_reading(place: str, key: DataKey) -> dict[str, Any]:
    """How the data is read: found out, unless the visitor says otherwise."""
    with st.expander("How it is read", icon=":material/tune:", key=f"{place} reading"):
        reading = _ask_form(place)
        reading |= _ask_columns(place, key.value, data.preview(key.read_with(reading)))
    return reading


def _ask_form(place: str) -> dict[str, Any]:
    kept: dict[str, Any] = {"placeholder": "found out by itself", "persist_state": "session"}
    encoding = st.text_input(
        "Encoding", key=f"{place} encoding", help="Such as utf-8 or cp1252.", **kept
    )
    delimiter = st.text_input(
        "Delimiter",
        key=f"{place} delimiter",
        help=r"Between the fields of a line; \t is a tab.",
        **kept,
    )
    skip = st.checkbox(
        "Leave out rows that can't be read", key=f"{place} skip", persist_state="session"
    )
    reading: dict[str, Any] = {"encoding": encoding} if encoding else {}
    if delimiter:
        reading["delimiter"] = "\t" if delimiter == r"\t" else delimiter
    return reading | ({"on_bad_rows": "skip"} if skip else {})


def _ask_columns(place: str, value: str, found: Preview) -> dict[str, Any]:
    """The columns, where the visitor wants others than those that were found."""
    columns = [name for name in found.columns if printable(name) == name]  # a command can name it
    text = st.multiselect(
        "Text columns",
        columns,
        default=[name for name in found.text if name in columns],
        key=f"{place} text {value}",
        help="Several are joined by a space.",
        persist_state="session",
    )
    label = st.selectbox(
        "Class column",
        columns,
        index=columns.index(found.label) if found.label in columns else None,
        key=f"{place} label {value}",
        persist_state="session",
    )
    others: dict[str, Any] = {"text": text} if text and tuple(text) != found.text else {}
    return others | ({"label": label} if label and label != found.label else {})
