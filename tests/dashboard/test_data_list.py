"""Which data a page lists: uploads first, and nothing that the model cannot be scored on."""

import io
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.widgets.data_list import PATH, UPLOAD
from icaps.data.part_files import has_part
from icaps.data.uploads import store_upload, uploads
from tests.dashboard.run_folders import open_page, run

FITS = b"text,label\nsome bread,Cooking\nthe tide,Sailing\n"
FOREIGN = b"text,label\nsome bread,Cooking\na song,Music\n"
KEY = "datasets data"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def store(name: str, content: bytes) -> str:
    return str(store_upload(name, io.BytesIO(content)))


def options(at: AppTest) -> list[str]:
    return list(at.selectbox(key=KEY).options)


def test_uploads_come_first_and_downloads_last() -> None:
    store("mine.csv", FOREIGN)
    names = options(open_page("datasets"))
    assert names[:2] == [UPLOAD, "upload: mine.csv"]
    downloads = [name.endswith(" (download)") for name in names[:-1]]
    assert downloads == sorted(downloads)
    assert names[-1] == PATH


def test_data_of_other_classes_is_left_out_and_the_first_that_fits_is_chosen() -> None:
    store("fits.csv", FITS)
    store("other.csv", FOREIGN)
    at = open_page("evaluate")
    assert options(at) == [UPLOAD, "upload: fits.csv", PATH]
    assert at.selectbox(key=KEY).value == "upload: fits.csv"
    (caption,) = (c.value for c in at.caption if "left out" in c.value)
    assert "“" not in caption
    assert "'Music'" in caption.replace("\\", "")
    at.toggle(key="datasets data all").set_value(True)
    assert "upload: other.csv" in options(run(at))


def test_data_that_does_not_fit_says_so_and_offers_no_button() -> None:
    at = open_page("evaluate", data=store("other.csv", FOREIGN))
    assert at.selectbox(key=KEY).value == "upload: other.csv"
    assert "does not suit the model" in at.warning[0].value
    assert "Music" in at.warning[0].value
    assert not [button for button in at.button if "Evaluate" in button.label]


def test_without_data_that_fits_the_page_asks_for_a_file() -> None:
    at = open_page("evaluate")
    assert at.selectbox(key=KEY).value == UPLOAD
    assert at.file_uploader
    assert not at.error


def test_what_is_chosen_for_a_visitor_follows_the_model() -> None:
    """Not so what the visitor has chosen."""
    fits = store("fits.csv", FITS)
    at = open_page("datasets")
    at.switch_page("../pages/evaluate.py")
    assert run(at).selectbox(key=KEY).value == "upload: fits.csv"
    other = store("other.csv", FOREIGN)
    at = open_page("datasets", data=other)
    at.switch_page("../pages/evaluate.py")
    assert run(at).selectbox(key=KEY).value == "upload: other.csv"
    assert at.warning
    at.query_params["data"] = fits
    assert run(at).selectbox(key=KEY).value == "upload: fits.csv"
    assert not at.warning


def test_an_upload_is_chosen_by_its_name() -> None:
    at = open_page("datasets")
    at.selectbox(key=KEY).select(UPLOAD)
    run(at).file_uploader[0].set_value(("mine.csv", FITS, "text/csv"))
    assert run(at).selectbox(key=KEY).value == "upload: mine.csv"
    assert at.query_params["data"] == str(uploads()[0].path)
    assert not at.error


def test_two_files_are_joined_by_their_names() -> None:
    at = open_page("datasets")
    at.selectbox(key=KEY).select(UPLOAD)
    files = [("my_test.csv", FITS, "text/csv"), ("my_train.csv", FITS + FITS, "text/csv")]
    run(at).file_uploader[0].set_value(files)
    assert run(at).selectbox(key="datasets test part").value == 0
    at.button(key="datasets join").click()
    assert run(at).selectbox(key=KEY).value == "upload: my_train + my_test"
    (stored,) = uploads()
    assert has_part(stored.path, "train")
    assert (stored.path / "test.csv").read_bytes() == FITS
    assert (stored.path / "train.csv").read_bytes() == FITS + FITS
    at = open_page("evaluate", data=str(stored.path))
    assert at.selectbox(key="part").options == ["test", "train"]


def test_a_test_file_is_added_to_an_upload() -> None:
    at = open_page("datasets", data=store("mine.csv", FITS))
    at.file_uploader(key="datasets test file").set_value(("more.tsv", FOREIGN, "text/csv"))
    assert run(at).selectbox(key=KEY).value == "upload: mine + more"
    assert not [box for box in at.file_uploader if box.key == "datasets test file"]
    path = Path(at.query_params["data"])
    assert (path / "train.csv").read_bytes() == FITS
    assert (path / "test.tsv").read_bytes() == FOREIGN


def test_more_than_two_files_are_refused() -> None:
    at = open_page("datasets")
    at.selectbox(key=KEY).select(UPLOAD)
    run(at).file_uploader[0].set_value([(f"{n}.csv", FITS, "text/csv") for n in range(3)])
    assert "3 files" in run(at).error[0].value
    assert not uploads()
