"""A demonstration: everything can be looked at, and nothing changed, whatever a browser sends."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dashboard import file_access, quotas, selection, tasks, training_jobs
from dashboard.cache import at_once, data
from dashboard.capsules import inputs
from dashboard.explore import inputs as dataset_questions
from dashboard.model_registry import SHIPPED
from dashboard.quotas import NotAllowedError
from dashboard.selection import TextSelection
from dashboard.train import inputs as train_questions
from dashboard.widgets import data_picker, upload_box
from icaps.data.uploads import store_upload, uploads
from icaps.runs import jobs
from icaps.runs.folder import STOPPED, Status
from tests.dashboard.run_folders import as_run, done, open_page, write_run
from tests.dashboard.visitor import errors, open_app, type_text, verdict

CSV = b"text,label\nsome words,a\nother words,b\n"


@pytest.fixture(autouse=True)
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.toml").write_text("read_only = true\n")
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def all_files(tmp_path: Path, models: Path) -> Iterator[None]:
    """Nothing is written, but for locks that say nothing."""

    def state() -> dict[Path, int]:
        files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]
        return {path: path.stat().st_mtime_ns for path in files}

    before = state()
    yield
    assert state() == before


def labels(at: Any) -> list[str]:
    return [button.label for button in at.button]


def test_texts_are_explained(all_files: None) -> None:
    at = type_text(open_app(), "bake bread")
    assert verdict(at) == "Cooking"
    assert "This demonstration is read-only" in at.sidebar.caption[0].value
    assert not [box for box in at.expander if box.label == "Train a model"]


def test_many_texts_are_explained(all_files: None) -> None:
    at = open_page("many")
    at.text_area(key="lines").set_value("bake bread\nsail the tide")
    at.run()
    at.button[0].click().run()
    assert at.dataframe[0].value["predicted"].tolist() == ["Cooking", "Sailing"]


def test_trainings_are_shown_without_what_changes_them(models: Path) -> None:
    write_run(models, "stopped", Status(STOPPED, 1), resumable=True)
    write_run(models, "done", done())
    for name in ("stopped", "done"):
        assert labels(open_page("train", run=name)) == []


def test_data_sets_are_shown_without_what_changes_them(tmp_path: Path) -> None:
    stored = store_upload("a.csv", io.BytesIO(CSV))
    at = open_page("datasets", data=str(stored))
    assert [tab.label for tab in at.tabs][:2] == ["Overview", "Words"]  # few texts: at once
    assert not (tmp_path / "cache" / "explored").exists()
    assert labels(at) == []
    assert not at.file_uploader
    options = at.selectbox(key="datasets data").options
    assert "Upload a file …" not in options
    assert not [name for name in options if "download" in name or "synthetic" in name]


def test_many_texts_are_not_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = open_page("datasets", data=str(store_upload("a.csv", io.BytesIO(CSV))))
    assert at.dataframe[0].value["text"].tolist() == ["some words", "other words"]
    assert "this has not been computed" in at.info[0].value


def test_few_texts_are_evaluated(
    tmp_path: Path, all_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICAPS_MODELS", str(SHIPPED))
    at = open_page("evaluate", data="news_sample", model="ag_news")
    assert next(metric.value for metric in at.metric if metric.label == "Accuracy") == "95.42%"
    assert not (tmp_path / "cache").exists()


def test_capsules_keep_their_names(models: Path, interpreted: Path) -> None:
    shutil.rmtree(models / "small")
    shutil.copytree(interpreted, models / "small")
    at = open_page("capsules")
    assert not at.error
    assert "Save" not in labels(at)


def test_links_reach_nothing_that_would_be_made_or_fetched(all_files: None) -> None:
    for value in ("synthetic", "ag_news", "owner/name", "/etc/passwd"):
        assert "may not be read here" in errors(open_page("datasets", data=value))[0]


def test_no_action_is_done_whatever_is_requested(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions that change something, called as by a browser that shows hidden buttons."""
    run = as_run(write_run(models, "one", Status(STOPPED, 1), resumable=True))
    stored = store_upload("a.csv", io.BytesIO(CSV))
    for name in ("start", "resume", "stop", "delete"):
        monkeypatch.setattr(jobs, name, lambda *_: pytest.fail("it was done"))
    monkeypatch.setattr(tasks, "Task", lambda _: pytest.fail("it was started"))
    for name in ("delete_upload", "delete_slice"):
        monkeypatch.setattr(dataset_questions, name, lambda *_: pytest.fail("it was done"))
    for name in ("save_texts", "store_selection"):
        monkeypatch.setattr(selection, name, lambda *_: pytest.fail("it was saved"))
    chosen = TextSelection(data.key_of(str(stored), {}), "", "all", 1, lambda: [("a", "b")], {})
    monkeypatch.setattr(upload_box, "store_upload", lambda *_: pytest.fail("it was kept"))
    monkeypatch.setattr(inputs, "rename_capsule", lambda *_: pytest.fail("renamed"))
    monkeypatch.setattr(quotas, "read_only", lambda: False)  # everything is offered
    pressed(monkeypatch)
    actions = [
        lambda: train_questions.show_actions(run),
        lambda: train_questions._ask_delete(run),
        lambda: dataset_questions.ask_delete(
            data_picker.Choice(data.key_of(str(stored), {}), None)
        ),
        lambda: selection.save_slice(chosen, "mine"),
        lambda: selection.carry(chosen),
        lambda: tasks.start(("explore", str(stored))),
        lambda: quotas.upload(5),
        lambda: quotas.new_run(models),
        lambda: quotas.waiting(models),
        lambda: quotas.new_slice(),
    ]
    for action in actions:
        with pytest.raises(NotAllowedError):
            action()
    assert [upload.path for upload in uploads()] == [stored]
    assert training_jobs.max_running() == 1
    assert file_access.confined()


def pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every button is pressed."""
    for module in (train_questions, dataset_questions):
        button = SimpleNamespace(**{name: getattr(module.st, name) for name in dir(module.st)})
        button.button = lambda *_, **__: True
        monkeypatch.setattr(module, "st", button)
