"""What visitors upload as data: it is stored and read, or a message says why not."""

import gzip
import io
import zipfile
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.cache import at_once
from dashboard.widgets.data_picker import UPLOAD
from icaps.data.uploads import LONGEST_NAME, store_upload, uploads
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors

CSV = b"text,label\nsome bread,a\nmore soup,b\n"
MEGA = 10**6


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(at_once, "TEXTS", 0)  # first rows are shown, as of many texts
    return tmp_path / "cache"


@pytest.fixture
def at() -> AppTest:
    at = open_page("datasets")
    at.selectbox(key="datasets data").select(UPLOAD)
    return run(at)


def zipped(*members: tuple[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def upload(at: AppTest, name: str, content: bytes) -> AppTest:
    at.file_uploader[0].set_value((name, content, "text/csv"))
    return run(at)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", "'a.csv' is empty (0 bytes); choose a file with texts and labels."),
        ("a.csv", bytes(2_500_000), "'a.csv' has 2.5 MB, and at most 2 MB are accepted."),
        ("a.csv.gz", gzip.compress(bytes(5 * MEGA), mtime=0), "unpacks to"),
        (
            "a.zip",
            zipped(("a.csv", bytes(30 * MEGA))),
            "unpacks to 30 MB or more, and at most 4 MB",
        ),
    ],
    ids=["empty", "large", "gzip bomb", "zip bomb"],
)
def test_what_is_not_kept(
    name: str,
    content: bytes,
    sentence: str,
    at: AppTest,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = partial(store_upload, limit=2 * MEGA, unpacked_limit=4 * MEGA)
    monkeypatch.setattr("dashboard.widgets.upload_box.store_upload", small)
    (error,) = errors(upload(at, name, content))
    assert sentence in error
    assert not list((cache / "uploads").rglob("*.*"))
    assert not at.button
    assert not errors(upload(at, "good.csv", CSV))  # another one, right after
    assert at.dataframe[0].value["text"].tolist() == ["some bread", "more soup"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (zipped(("[Content_Types].xml", b"<x/>"), ("xl/s.xml", b"<x/>")), "an Office document"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "it is a PNG image"),
        (zipped(("a.csv", CSV), ("b.csv", CSV)), "it has 2 files"),
        (gzip.compress(CSV * 99, mtime=0)[:-20], "cannot be read"),
        (b"text,label\n", "holds no rows"),
        (b"\0" * 99, ""),
        (b"one column\nalone\n", ""),
    ],
    ids=["xlsx", "png", "two files", "half a gzip", "header alone", "zeros", "one column"],
)
def test_what_is_no_table_of_texts(content: bytes, sentence: str, at: AppTest) -> None:
    upload(at, "table.csv", content)
    assert len(errors(at)) == 1
    assert sentence in errors(at)[0]
    assert not [button for button in at.button if "Explore" in button.label]


@pytest.mark.parametrize(
    "name",
    [
        *("../../etc/passwd.csv", "..\\..\\x.csv", "x" * 300 + ".csv", "😀" * 300 + ".csv"),
        *("<b>**a**</b>.csv", "=1+1.csv", "a\0b.csv", ".csv", "שלום.csv", "classes.txt"),
    ],
)
def test_strange_names(name: str, at: AppTest, cache: Path) -> None:
    upload(at, name, CSV)
    assert not at.error
    (stored,) = uploads()
    assert stored.path.parent.parent == cache / "uploads"
    assert len(stored.name.encode()) <= LONGEST_NAME
    assert at.query_params["data"] == str(stored.path)
    assert at.dataframe[0].value["class"].tolist() == ["a", "b"]
    again = open_page("datasets", **at.query_params)
    assert again.selectbox(key="datasets data").value == f"upload: {stored.name}"


def test_an_upload_is_read_once(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not hashed anew by each rerun: it may be large."""
    upload(at, "a.csv", CSV)
    monkeypatch.setattr(
        "dashboard.widgets.upload_box.store_upload", lambda *_: pytest.fail("again")
    )
    assert at.query_params["data"] == run(at).query_params["data"]
    assert at.selectbox(key="datasets data").value == "upload: a.csv"


def test_two_forms_have_their_own_uploads(at: AppTest) -> None:
    upload(at, "a.csv", CSV)
    at.session_state["launcher"] = True
    at.session_state["launch data"] = UPLOAD
    run(at)
    at.file_uploader(key="launch file").set_value(("b.csv", CSV + b"third,a\n", "text/csv"))
    run(at)
    assert [len(frame.value) for frame in at.dataframe] == [2]
    assert at.text_input(key="launch name").value == "b"
    assert {stored.name for stored in uploads()} == {"a.csv", "b.csv"}
