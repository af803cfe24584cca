"""Columns that cannot be detected are asked for on the spot, and messages have no server paths."""

import io
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import error_boundary
from icaps.data.uploads import store_upload
from tests.dashboard.run_folders import run

UNCLEAR = (
    "number;origin;the words of it;mood\n1;web;a long review of bread;good\n"
    "2;app;a long review of soup;bad\n3;web;a long review of the tide;good\n"
)
KEY = "datasets use columns"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def stored() -> str:
    return str(store_upload("mine.csv", io.BytesIO(UNCLEAR.encode())))


def picker(data: str) -> AppTest:
    """A page of the data picker alone."""

    def page() -> None:
        from dashboard import url_state
        from dashboard.widgets import data_picker

        url_state.restore()
        choice = data_picker.ask_on_page("datasets")
        assert choice is not None
        url_state.publish_data(choice.value)
        data_picker.show_preview(choice)

    at = AppTest.from_function(page, default_timeout=30)
    at.query_params["data"] = data
    return run(at)


def texts(at: AppTest) -> list[str]:
    return list(at.dataframe[0].value["text"])


def plain(text: str) -> str:
    return text.replace("\\", "").replace(error_boundary.WORD_JOINER, "")


def test_the_likeliest_columns_are_preset_beside_the_first_rows(stored: str) -> None:
    at = picker(stored)
    assert not at.error
    (question,) = at.info
    assert "mine.csv has the columns number, origin, the words of it, mood." in plain(
        question.value
    )
    assert at.multiselect(key=f"datasets text {stored}").value == ["the words of it"]
    assert at.selectbox(key=f"datasets label {stored}").value in ("mood", "origin")
    assert list(at.dataframe[0].value.columns) == ["number", "origin", "the words of it", "mood"]
    assert not [button for button in at.button if "Explore" in button.label]
    at.selectbox(key=f"datasets label {stored}").select("mood")
    assert texts(run(at))[0] == "a long review of bread"
    assert not at.info
    assert list(at.dataframe[0].value["class"]) == ["good", "bad", "good"]


def test_they_are_taken_by_a_button(stored: str) -> None:
    at = picker(stored)
    at.button(key=KEY).click()
    assert texts(run(at))[2] == "a long review of the tide"
    assert not [button for button in at.button if button.key == KEY]
    at.multiselect(key=f"datasets text {stored}").set_value(["the words of it", "number"])
    assert texts(run(at))[0] == "a long review of bread 1"


def test_a_message_names_an_upload_without_its_folder(stored: str) -> None:
    text = error_boundary.message(
        f"{stored}, line 3: it is ragged; see {Path(stored).parents[2]}/x"
    )
    assert plain(text).startswith("mine.csv, line 3: it is ragged; see /")


@pytest.mark.parametrize("ask", ["ask", "ask_short"])
def test_an_encoding_is_asked_for_beside_a_line_in_each(ask: str) -> None:
    lines = ["text,label"]
    lines += [f"Příliš žluťoučký kůň úpěl ďábelské ódy číslo {n},a" for n in range(9)]
    lines += [f"Něžný děťátko jde domů přes řeku {n},b" for n in range(9)]
    data = str(store_upload("czech.csv", io.BytesIO("\n".join(lines).encode("cp1250"))))

    def page(ask: str, data: str) -> None:
        import streamlit as st

        from dashboard import error_boundary, url_state
        from dashboard.widgets import data_picker

        url_state.restore()
        if "datasets path" not in st.session_state:
            data_picker.take("datasets", data)
        with error_boundary.shown():
            choice = getattr(data_picker, ask)("datasets")
            if choice is not None:
                data_picker.show_preview(choice)

    at = AppTest.from_function(page, default_timeout=30, args=(ask, data))
    run(at)
    assert not at.error
    (question,) = at.info
    assert plain(question.value).startswith("czech.csv can be read in several ways.")
    choices = at.radio(key="datasets encoding choice")
    assert any("kůň úpěl" in plain(option) for option in choices.options)
    assert not at.dataframe
    choices.set_value("cp1250")
    run(at)
    assert not at.error
    assert not at.info
    assert texts(at)[0].startswith("Příliš žluťoučký kůň")
