"""Takes files from visitors: one, or two that are the train and the test part of one data set."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dashboard import quotas
from icaps.data.uploads import is_upload, store_parts, store_upload
from icaps.errors import DataError

FORMATS = "CSV, TSV, JSON or Parquet, compressed or not"
_OF_TEST = re.compile(r"(?:^|[^a-z])(?:test|val|valid|validation|dev|eval)(?![a-z])", re.IGNORECASE)


def stored(place: str) -> str:
    """The key of the session state that has the path of what was uploaded in the last run."""
    return f"{place} uploaded"


def ask(place: str) -> str:
    """Asks for one or two files with texts and their classes; the page runs again with them.

    Raises:
        DataError: A file can't be stored.
        NotAllowedError: It may not be uploaded here.
    """
    files = st.file_uploader(
        f"A file with texts and their classes: {FORMATS}. Or two: training and test texts",
        key=f"{place} file",
        accept_multiple_files=True,
        max_upload_size=quotas.upload_mb(),
    )
    if len(files) > 2:
        raise DataError(
            f"These are {len(files)} files; choose one, or two: training and test texts."
        )
    if len(files) == 1:
        _store_one(place, files[0])
    elif files:
        _ask_parts(place, files)
    return ""


def ask_texts(place: str) -> str:
    """Asks for a file of texts without classes; the page runs again with it.

    Raises:
        DataError: It can't be stored.
        NotAllowedError: It may not be uploaded here.
    """
    file = st.file_uploader(
        f"A file of texts: one per line, or {FORMATS}",
        key=f"{place} file",
        max_upload_size=quotas.upload_mb(),
    )
    if file is not None:
        _store_one(place, file)
    return ""


def ask_test_file(place: str, value: str) -> None:
    """Asks for test texts to join to an upload of one file; the page runs again with both.

    Raises:
        DataError: They can't be stored.
        NotAllowedError: They may not be uploaded here.
    """
    train = Path(value)
    if quotas.read_only() or not is_upload(train) or train.is_dir():
        return
    with st.expander("Add a test file", icon=":material/post_add:", key=f"{place} test"):
        file = st.file_uploader(
            f"Test texts and their classes: {FORMATS}",
            key=f"{place} test file",
            max_upload_size=quotas.upload_mb(),
        )
        if file is not None:
            quotas.upload(file.size)
            with train.open("rb") as content:
                _rerun_with(place, _joined((train.name, content), (file.name, file)))


def _ask_parts(place: str, files: Sequence[UploadedFile]) -> None:
    """Asks which of two files has the test texts, at first the one whose name says so."""
    names = [file.name for file in files]
    st.selectbox(
        "Test texts",
        range(2),
        index=_test_file(files),
        format_func=names.__getitem__,
        key=f"{place} test part",
        help="The other file has the training texts.",
    )
    if st.button("Join both to one data set", key=f"{place} join", type="primary"):
        test = st.session_state[f"{place} test part"]
        for file in files:
            quotas.upload(file.size)
        train = files[1 - test]
        _rerun_with(place, _joined((train.name, train), (names[test], files[test])))


def _test_file(files: Sequence[UploadedFile]) -> int:
    """The number of the file whose name says that it has test texts, or else of the smaller one."""
    of_test = [bool(_OF_TEST.search(file.name)) for file in files]
    if sum(of_test) == 1:
        return of_test.index(True)
    return 0 if files[0].size < files[1].size else 1


def _store_one(place: str, file: UploadedFile) -> None:
    quotas.upload(file.size)
    _rerun_with(place, store_upload(file.name, file))


def _joined(train: tuple[str, BinaryIO], test: tuple[str, BinaryIO]) -> Path:
    return store_parts({"train": train, "test": test})


def _rerun_with(place: str, path: Path) -> None:
    st.session_state[stored(place)] = str(path)
    st.rerun()
