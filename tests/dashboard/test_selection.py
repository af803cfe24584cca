"""Texts that are carried from page to page, and saved as slices."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard import selection, url_state
from dashboard.cache.data import key_of
from dashboard.selection import TextSelection, data_name
from dashboard.widgets.data_picker import PATH
from icaps.data.saved_slices import slices
from icaps.data.source import open_source
from icaps.explore.index import make_index
from tests.conftest import make_texts
from tests.dashboard.run_folders import run
from tests.dashboard.visitor import errors, page_html
from tests.explore.indexed import write

WORD = "bread"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = write(tmp_path / "texts", train=list(zip(*make_texts(60, 1), strict=True)))
    make_index(place, {})
    return place


@pytest.fixture
def at(data: Path) -> AppTest:
    """The page Datasets with the rows that have a word."""
    at = AppTest.from_file(str(Path("dashboard/Home.py").resolve()), default_timeout=60)
    at.query_params["data"] = str(data)
    at.switch_page("../pages/datasets.py")
    at.session_state["data_tabs"], at.session_state["rows words"] = "Rows", WORD
    return run(at)


def with_word() -> list[str]:
    texts = make_texts(60, 1)[0]
    return [text for text in texts if re.search(rf"\b{WORD}\b", text, re.IGNORECASE)]


def click(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click()
    return run(at)


def stored(at: AppTest) -> Path:
    return selection_of(at).path


def selection_of(at: AppTest) -> selection.Carried:
    carried: selection.Carried = at.session_state["carried texts"]
    return carried


def test_texts_are_carried_to_another_page(at: AppTest) -> None:
    texts = with_word()
    assert len(texts) > 3
    click(at, "Rows to evaluate")
    assert at.title[0].value == "Evaluate"
    title = f"{len(texts)} texts of texts"
    assert at.selectbox(key="datasets data").value == f"selected: {title}"
    assert [record.text for record in open_source(stored(at))] == texts
    assert f"Selected: {title}" in page_html(at)
    assert f"with “{WORD}”" in page_html(at)
    assert [link.proto.label for link in at.get("page_link")][:4] == [
        "Open in Datasets",
        "Evaluate",
        "Shortcuts",
        "Many texts",
    ]


def test_the_first_text_is_explained(at: AppTest) -> None:
    click(at, "Rows to explain")
    assert at.text_area(key="text").value == with_word()[0]


def test_it_is_cleared(at: AppTest, data: Path) -> None:
    click(at, "Rows to evaluate")
    next(button for button in at.button if button.label == "Clear").click()
    run(at)
    assert "Selected: " not in page_html(at)
    assert at.selectbox(key="datasets data").value == PATH
    assert at.text_input(key="datasets path").value == str(data)


def test_a_slice_is_trained_on(at: AppTest) -> None:
    click(at, "Rows slice")
    at.text_input(key="slice name").set_value("with bread")
    click(at, "save slice")
    (saved,) = slices()
    assert saved.origin["query"] == {"words": WORD}
    click(at, "Rows train")
    assert at.title[0].value == "Train"
    assert at.selectbox(key=f"{url_state.LAUNCH_PLACE} data").value == "slice: with bread"


def test_it_is_saved_from_the_bar(at: AppTest) -> None:
    click(at, "Rows to shortcuts")
    click(at, "bar slice")
    at.text_input(key="slice name").set_value("mine")
    click(at, "save slice")
    assert [kept.rows for kept in slices()] == [len(with_word())]
    assert "slice: mine" in at.selectbox(key="datasets data").options


def test_nothing_is_carried_in_read_only_mode(
    at: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text(f'read_only = true\ndata_roots = ["{tmp_path}"]\n')
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    keys = {button.key for button in run(at).button}
    assert "Rows to explain" in keys
    assert not keys & {"Rows to evaluate", "Rows slice"}


def test_too_many_are_not_copied(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MOST_CARRIED", 2)
    run(at)
    assert at.button(key="Rows to evaluate").disabled
    assert not at.button(key="Rows slice").disabled


def test_a_file_that_is_gone_is_no_selection(at: AppTest) -> None:
    click(at, "Rows to evaluate")
    stored(at).unlink()
    run(at)
    assert "Selected: " not in page_html(at)
    assert len(errors(at)) == 1


@pytest.fixture
def chosen(data: Path) -> Iterator[TextSelection]:
    rows = [("a <b> text", "x"), ("more", "y")]
    yield TextSelection(key_of(str(data), {}), "test", "World, not Sci/Tech", 2, lambda: rows, {})
    st.session_state.clear()


def test_a_selection_in_words(chosen: TextSelection) -> None:
    assert chosen.title == "2 texts of texts, test"
    assert chosen.stored["split"] == "test"
    assert data_name("/a/b/some news.csv") == "some news.csv"
    assert data_name("/a/slices/mine.parquet") == "mine"
    assert data_name("ag_news") == "ag_news"
