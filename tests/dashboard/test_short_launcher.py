"""The short form in the sidebar, and the steps after a training."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.train.estimates import Cost
from dashboard.train.setting_fields import SPECIALISED
from dashboard.url_state import NEW_TRAINING, TRAININGS
from icaps.cli.request import TrainRequest
from icaps.runs import jobs
from icaps.runs.folder import QUEUED, Status
from tests.conftest import make_texts
from tests.dashboard.run_folders import at_work, done, open_page, run, write_run
from tests.dashboard.test_launcher import ESTIMATE, Started, open_launcher, unescaped, widget
from tests.dashboard.visitor import page_html


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Nothing is trained or measured."""
    found = Started()
    monkeypatch.setattr(jobs, "start", found.start)
    monkeypatch.setattr("dashboard.cache.data.estimate", found.measure)
    return found


def keys(at: AppTest) -> set[str]:
    return {button.key for button in at.button if button.key}


def in_sidebar(page: str = "explain") -> AppTest:
    at = open_page(page)
    at.session_state["launcher"] = True
    at.session_state["launch data"] = "synthetic"
    return run(at)


def settings_of(arguments: list[str]) -> dict[str, str]:
    return dict(TrainRequest.from_arguments(arguments).settings)


def links(at: AppTest) -> dict[str, str]:
    return {p.proto.label.replace("\\", ""): p.proto.query_string for p in at.get("page_link")}


def test_the_sidebar_starts_what_suits_the_texts(started: Started) -> None:
    at = in_sidebar()
    labels = [w.label for w in (*at.sidebar.selectbox, *at.sidebar.text_input)]
    assert labels == ["Model", "Data", "Name"]
    assert unescaped(at.sidebar.caption[0].value) == "about 500 texts, 2 classes: up to 8 min."
    at.button(key="launch start").click()
    run(at)
    assert not at.error
    ((_, name, arguments, _),) = started.calls
    assert name == "synthetic"
    assert arguments[:3] == ["train", "--data", "synthetic"]
    assert not {"--set", "--preset"} & set(arguments)
    (toast,) = at.toast
    assert toast.value.startswith("synthetic has started")
    assert "(train?run=synthetic&train_view=Trainings)" in toast.value


def test_settings_of_the_page_hold_in_the_sidebar(started: Started) -> None:
    at = open_launcher("synthetic", **{"launch data": "synthetic"})
    assert not at.sidebar.selectbox  # one form at a time
    widget(at, "number_input", "epochs").set_value(7)
    widget(at, "text_input", "max_words").set_value("12")
    at.multiselect(key="launch vectors").set_value(["texts", "english"])
    at.text_input(key="launch watch").set_value("mine")
    run(at)
    at.switch_page("../pages/many.py")
    at.session_state["launcher"] = True
    run(at)
    assert "2 settings of yours" in at.sidebar.caption[0].value
    at.button(key="launch start").click()
    assert not run(at).error
    request = TrainRequest.from_arguments(started.calls[-1][2])
    assert request.settings == {"epochs": "7", "max_words": "12"}
    assert (request.vectors, request.watch) == (("texts", "english"), "mine")


@pytest.mark.parametrize("page", ["explain", "train"])
def test_a_training_that_runs_is_not_started_again(
    page: str, models: Path, started: Started
) -> None:
    at = open_launcher(**{"launch data": "synthetic"}) if page == "train" else in_sidebar()
    at.button(key="launch start").click()
    run(at)
    ((_, name, arguments, _),) = started.calls
    (models / name).rmdir()
    folder = write_run(models, name, Status(QUEUED, 1), arguments=arguments)
    with at_work(folder):
        at.session_state["train_view"] = NEW_TRAINING
        run(at)
        assert {"launch started", "launch again"} <= keys(at)
        assert "launch start" not in keys(at)
        assert at.button(key="launch started").disabled
        at.button(key="launch again").click()
        run(at)
    assert [call[1] for call in started.calls] == ["synthetic", "synthetic 2"]


def test_a_second_click_that_comes_late_starts_nothing(models: Path, started: Started) -> None:
    at = in_sidebar()
    arguments = ["train", "--data", "synthetic", "--watch", at.session_state["launch watch"]]
    folder = write_run(models, "of another window", Status(QUEUED, 1), arguments=arguments)
    with at_work(folder):
        at.button(key="launch start").click()  # it was there when it was clicked
        run(at)
        assert started.calls == []
        assert at.button(key="launch started").disabled


def test_one_switch_makes_capsules_specialise(started: Started) -> None:
    at = open_launcher(**{"launch data": "synthetic"})
    (switch,) = [t for t in at.toggle if t.label.startswith("Give each capsule")]
    assert switch.value  # as the recipe has it
    switch.set_value(False)
    run(at)
    assert widget(at, "number_input", "purity_weight").value == 0
    at.button(key="launch start").click()
    run(at)
    weights = {"purity_weight": "0.0", "spread_weight": "0.0"}
    assert settings_of(started.calls[-1][2]) == weights
    at.session_state["train_view"] = NEW_TRAINING
    run(at)
    at.selectbox(key="launch base").select("ag_news-short")
    run(at)
    (switch,) = [t for t in at.toggle if t.label.startswith("Give each capsule")]
    assert not switch.value  # the paper has no such losses
    switch.set_value(True)
    run(at)
    at.button(key="launch start").click()
    run(at)
    found = settings_of(started.calls[-1][2])
    assert {name: float(value) for name, value in found.items()} == SPECIALISED


def test_the_cost_of_few_texts_and_of_texts_without_classes() -> None:
    few = replace(ESTIMATE, texts=77, exact=True, seconds_per_epoch=0.1, seconds=1.2)
    assert Cost(few, 1.2).short == "77 texts, 2 classes: a few seconds"
    assert ". A few seconds in total; a model of" in Cost(few, 1.2).sentences
    assert "40 s per epoch, up to 16 min in total" in Cost(ESTIMATE, 960).sentences


def test_the_estimate_includes_the_second_training(started: Started, tmp_path: Path) -> None:
    """500 texts in 12 epochs of 40 s; with 500 more the second has 6 epochs of 80 s."""
    pd.DataFrame({"text": make_texts(500, 3)[0]}).to_csv(tmp_path / "more.csv", index=False)
    at = open_launcher(**{"launch data": "synthetic"})
    widget(at, "number_input", "epochs").set_value(12)
    at.session_state["launch unlabelled data"] = "A path or a name …"
    at.session_state["launch unlabelled path"] = str(tmp_path / "more.csv")
    run(at)
    assert [c.value for c in at.caption if "up to 16 min in total" in c.value]


def with_model(models: Path, name: str, **options: Any) -> None:
    folder = write_run(models, name, done(), **options).path
    shutil.copytree(models / "small", folder, dirs_exist_ok=True)


def test_the_next_steps_after_a_training(models: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    pd.DataFrame(dict(zip(("text", "label"), make_texts(9, 1), strict=True))).to_csv(texts)
    with_model(models, "mine", arguments=["train", "--data", str(texts)])
    baseline = ["baseline", "linear", "--data", str(texts)]
    write_run(models, "plain", done(), arguments=baseline)
    found = links(open_page("train", run="mine"))
    data = str(texts).replace("/", "%2F")
    assert found["Open in Explain"] == "model=mine"
    assert found["What its capsules do"] == "model=mine"
    assert found["Evaluate on the held-out texts"] == f"model=mine&part=held_out&data={data}"
    assert found["Compare with a baseline"] == f"compared=mine&data={data}"
    assert found["Its texts in Datasets"] == f"model=mine&data={data}"
    at = open_page("train", run="plain")
    found = links(at)
    assert found["Compare it with a model"] == f"compared=mine%2Cplain+%28baseline%29&data={data}"
    assert "Evaluate mine on the same texts" in found
    captions = [caption.value for caption in at.caption]
    assert "A baseline is fitted in one step, so there are no curves over epochs." in captions
    assert at.session_state["train_view"] == TRAININGS


def test_before_the_end_there_is_the_model_as_it_learns(models: Path) -> None:
    with_model(models, "mine")
    folder = write_run(models, "bare", Status(QUEUED, 1))
    shutil.rmtree(models / "mine")
    with at_work(folder):
        at = open_page("train", run="bare")
        assert "What its capsules do" not in links(at)
        assert "Watch" in links(at)
        assert "Explain with it" not in links(at)  # there is no model yet
        shutil.copytree(models / "small", folder.path, dirs_exist_ok=True)
        assert links(run(at))["Explain with it"] == "model=bare"
        assert 'role="progressbar" aria-label="bare"' in page_html(at)
