"""A fresh clone without data: the pages open with results of the shipped models on news_sample."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.model_registry import SHIPPED
from icaps.data import news_sample
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors


@pytest.fixture(autouse=True)
def fresh_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_MODELS", str(SHIPPED))
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("ICAPS_NETWORK", "off")
    monkeypatch.chdir(tmp_path)


def accuracy(at: AppTest) -> str:
    return next(metric.value for metric in at.metric if metric.label == "Accuracy")


@pytest.mark.parametrize("page", ["evaluate", "shortcuts", "datasets"])
def test_the_data_suits_the_model(page: str) -> None:
    at = open_page(page)
    assert errors(at) == []
    assert at.selectbox(key="model").value == "ag_news"
    assert at.selectbox(key="datasets data").value == news_sample.NAME


def test_an_evaluation_is_there() -> None:
    at = open_page("evaluate")
    assert accuracy(at) == "95.42%"
    assert not [button for button in at.button if (button.key or "").startswith("task")]


def test_two_models_are_compared() -> None:
    at = open_page("compare")
    assert errors(at) == []
    assert at.selectbox(key="compare data").value == news_sample.NAME
    assert at.dataframe[0].value["model"].tolist() == ["ag_news", "ag_news_paper"]
    assert at.dataframe[0].value["accuracy"].tolist() == ["95.42%", "95.00%"]


def test_the_strongest_words_are_measured_where_there_is_no_shortcut() -> None:
    at = open_page("shortcuts")
    assert "No shortcut was found" in at.success[0].value
    assert {"company", "team"} <= set(at.dataframe[0].value["finding"])


def test_the_sample_is_explored() -> None:
    at = open_page("datasets")
    assert [tab.label for tab in at.tabs][:3] == ["Overview", "Words", "Rows"]


def test_a_model_without_data_says_which_and_offers_another() -> None:
    at = open_page("evaluate", model="newsgroups")
    assert errors(at) == []
    assert "alt" in at.info[0].value
    assert "and 14 more" in at.info[0].value
    (other,) = (button for button in at.button if button.label.startswith("Look at"))
    other.click()
    assert accuracy(run(at)) == "95.42%"
