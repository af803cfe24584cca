"""Asks for many texts, typed or of a file, and when to explain them."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import streamlit as st

from dashboard import error_boundary, quotas, settings, url_state
from dashboard.cache import data, models
from dashboard.cache.data import DataKey
from dashboard.example_texts import EXAMPLES
from dashboard.many import table
from dashboard.many.charts import names_of
from dashboard.model_registry import ModelFolder
from dashboard.widgets import data_picker, live_text
from icaps.data.preview import UNCLEAR
from icaps.data.problems import FileError, UnclearColumnsError
from icaps.data.unlabelled import TextRows, open_unlabelled
from icaps.html import printable

TYPED, FILE = "Typed texts", "A file or data set"
PLACE = "many"  # prefix of the keys of its data picker
_SOURCE, _BEGUN = "many source", "many begun"


class Texts(NamedTuple):
    """The texts to explain, with the other columns of their rows, if they are of a file."""

    texts: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    data: DataKey | None

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as a table."""
        return pd.DataFrame(self.columns)


def ask_texts(model: ModelFolder) -> Texts:
    """Asks for texts: the lines of a box, or those of a file; at most as many as are allowed.

    At first the box has the examples of the model.

    Raises:
        DataError: The file can't be read.
        NotAllowedError: There are too many texts, or one is too long.
    """
    state = st.session_state
    if url_state.links_other_data():
        data_picker.take(PLACE, state.data)
        state[_SOURCE] = FILE
    source = st.segmented_control(
        "Source",
        [TYPED, FILE],
        key=_SOURCE,
        default=TYPED,
        label_visibility="collapsed",
        persist_state="session",
    )
    if source == FILE:
        return _ask_file()
    if not state.get(_BEGUN) and state.lines == "\n".join(EXAMPLES.values()):
        state.lines = _example_lines(model)
    state[_BEGUN] = True
    lines = st.text_area(
        "Texts, one per line",
        key="lines",
        height=160,
        max_chars=1_000_000,
        placeholder="Paste texts here, one per line",
        persist_state="session",
    )
    live_text.apply_while_typing("Texts, one per line")
    return Texts(table.from_lines(lines), {}, None)


def are_examples(model: ModelFolder, texts: Texts) -> bool:
    """Whether the texts are the examples, which are explained without being asked for."""
    return texts.data is None and texts.texts == table.from_lines(_example_lines(model))


def _example_lines(model: ModelFolder) -> str:
    return "\n".join(" ".join(text.split()) for text in models.examples(model).values())


def ask_start(texts: tuple[str, ...]) -> bool:
    """The button that starts; whether it was pressed."""
    count = f"{len(texts):,} text{'' if len(texts) == 1 else 's'}"
    return st.button(f"Explain {count}", type="primary", disabled=not texts)


def publish(texts: Texts) -> None:
    """Writes the state of the page to its address."""
    if texts.data is None:
        url_state.publish(url_state.MANY)
    else:
        url_state.publish_data(texts.data.value, url_state.MANY_OF_FILE)


def ask_class(predicted: pd.Series) -> str:
    """Asks for the predicted class whose texts are listed; empty for all."""
    counts = names_of(predicted[predicted != ""]).value_counts()
    everything = f"all ({len(predicted):,})"
    names = {everything: "", **{f"{name} ({n:,})": str(name) for name, n in counts.items()}}
    chosen = st.selectbox("Predicted class", list(names), key="many class")
    return names[chosen]


def _ask_file() -> Texts:
    if quotas.read_only():
        return _ask_unstored()
    key = data_picker.ask_texts(PLACE)
    if key is None:
        return Texts((), {}, None)
    text = st.session_state.get(f"{PLACE} text {key.value}")
    reading = {"text": text, "on_bad_rows": "skip"} if text else {"on_bad_rows": "skip"}
    try:
        rows = data.text_rows(key.read_with(reading), settings.current().table_rows)
    except FileError as error:
        if error.problem.kind not in UNCLEAR:
            raise
        _ask_unclear(key, error)
        return Texts((), {}, None)
    _ask_columns(key, tuple(rows.columns), rows.text)
    chosen = st.session_state[f"{PLACE} text shown {key.value}"]
    if chosen and tuple(chosen) != rows.text:
        _use(f"{PLACE} text {key.value}", chosen)
        st.rerun()
    return _texts(rows, key)


def _ask_unclear(key: DataKey, error: FileError) -> None:
    """Asks for the column of the texts, at first the likeliest, beside the first rows."""
    found = data.first_rows(key)
    columns, text = found.columns, found.text
    if found.unclear is not None:
        columns, text = found.unclear.names, found.unclear.text
    if isinstance(error, UnclearColumnsError):
        columns, text = error.columns, error.text_candidates[:1]
    names = ", ".join(columns)
    st.info(
        error_boundary.plain(
            f"{Path(key.value).name} has the columns {names}. Which has the texts?"
        ),
        icon=":material/help:",
    )
    if found.unclear is not None:
        rows = [[printable(value[:200]) for value in row] for row in found.unclear.rows]
        head = [printable(name) for name in found.unclear.names]
        st.dataframe(pd.DataFrame(rows, columns=head), hide_index=True, width="stretch")
    _ask_columns(key, tuple(dict.fromkeys([*columns, *found.columns])), text)
    chosen = st.session_state[f"{PLACE} text shown {key.value}"]
    st.button(
        "Use these columns",
        type="primary",
        disabled=not chosen,
        on_click=_use,
        args=(f"{PLACE} text {key.value}", chosen),
    )


def _ask_columns(key: DataKey, columns: tuple[str, ...], text: tuple[str, ...]) -> None:
    names = [name for name in columns if printable(name) == name]
    st.multiselect(
        "Text columns",
        names,
        default=[name for name in text if name in names],
        key=f"{PLACE} text shown {key.value}",
        help="Several are joined with a space.",
        persist_state="session",
    )


def _use(key: str, columns: list[str]) -> None:
    st.session_state[key] = list(columns)


def _ask_unstored() -> Texts:
    """As `_ask_file`, in an app that stores nothing."""
    file = st.file_uploader(
        "A file of texts: one per line, or CSV, TSV, JSON or Parquet, compressed or not",
        key="file",
        max_upload_size=quotas.upload_mb(),
    )
    if file is None:
        return Texts((), {}, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"texts{''.join(Path(file.name).suffixes[-2:])}"
        path.write_bytes(file.getvalue())
        rows = open_unlabelled(path).first_rows(settings.current().table_rows)
    return _texts(rows, None)


def _texts(rows: TextRows, key: DataKey | None) -> Texts:
    """The texts, with what is said about those that are not read."""
    if rows.more:
        st.caption(
            f"The first {len(rows.texts):,} texts are read, which is the limit here; `icaps "
            "explain` reads all."
        )
    if rows.problems:
        first = next(iter(rows.problems.first.values()))[0]
        left_out = f"{rows.problems.total:,} rows cannot be read and are left out, such as {first}"
        st.warning(error_boundary.message(left_out), icon=":material/warning:")
    for number, text in enumerate(rows.texts, start=1):
        quotas.text(text, f"Text {number:,}")
    texts = tuple(map(printable, rows.texts))
    used = {name for name in rows.text if len(rows.text) == 1}  # it is the column "text" of ours
    columns = {name: v for name, v in rows.columns.items() if name not in used}
    return Texts(texts, {printable(name): values for name, values in columns.items()}, key)
