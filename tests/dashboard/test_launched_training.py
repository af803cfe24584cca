"""One real training, from the form to its curves and its settings taken over."""

import time
from pathlib import Path

import pandas as pd

from dashboard.model_registry import runs_folder
from dashboard.url_state import NEW_TRAINING
from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.cli.request import TrainRequest, read_arguments
from icaps.runs.folder import DONE, Run, find_runs
from tests.conftest import make_texts
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import shown_text
from tests.train.test_recipe import same_models

WAIT = 180.0  # seconds
SMALL = {
    **{"fixed_dim": 8, "trained_dim": 8, "region_dim": 24, "query_dim": 4, "class_dim": 6},
    **{"epochs": 2, "batch_size": 8, "learning_rate": 0.01, "average_decay": 0.9},
}
WATCHED = "--we bake bread"


def test_a_training_that_is_started_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "my texts.csv"
    texts, labels = make_texts(120, 1)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    at = open_page("train", data=str(path))
    assert at.session_state["train_view"] == NEW_TRAINING
    fields = {(w.key or "").split(" ")[1]: w for w in at.number_input}
    for name, value in SMALL.items():
        fields[name].set_value(value)
    at.text_input(key="launch watch").set_value(WATCHED)
    run(at)
    assert not at.error
    assert any("in total" in caption.value for caption in at.caption)
    at.button(key="launch start").click()
    run(at)
    assert not at.error
    assert at.selectbox(key="run").value == "my texts"
    request = run_named("my texts").request
    assert request is not None
    given = TrainRequest.from_arguments(request.arguments).settings
    assert given == {name: str(value) for name, value in SMALL.items()}

    found = ended("my texts")
    assert found.status.state == DONE, found.folder.log_tail()
    assert [plain for plain in (toast.value for toast in run(at).toast) if "done" in plain]
    assert found.request is not None
    assert TrainRequest.from_arguments(found.request.arguments).settings == given
    assert read_arguments(found.request.arguments).watch == WATCHED

    at.toggle(key="table curve-accuracy").set_value(True)
    assert run(at).dataframe[0].value["epoch"].tolist() == [1.0, 2.0]
    at.session_state["train_tabs"] = "Reasons"
    assert shown_text(run(at)).startswith(WATCHED)
    at.button(key="duplicate").click()
    run(at)
    assert at.text_input(key="launch name").value == "my texts 2"
    assert {(w.key or "").split(" ")[1]: w.value for w in at.number_input}.items() >= SMALL.items()
    best = ICapsClassifier.load(found.path)
    assert len(best.history_) == 2


def test_nothing_changed_trains_the_model_of_command_line_and_estimator(
    tmp_path: Path, default_sources: None
) -> None:
    """To the last bit: each chooses the same settings for the same texts."""
    path = tmp_path / "plain.csv"
    texts, labels = make_texts(60, 1)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    at = open_page("train", data=str(path))
    assert at.session_state["train_view"] == NEW_TRAINING
    assert not at.error
    at.button(key="launch start").click()
    assert not run(at).error
    request = run_named("plain").request
    assert request is not None
    assert not {"--set", "--preset", "--vectors"} & set(request.arguments)
    command = tmp_path / "command"
    assert main(["train", "--data", str(path), "--out", str(command)]) == 0
    fitted = ICapsClassifier().fit(texts, labels)
    fitted.save(tmp_path / "fitted")
    assert fitted.metrics_["recipe"]
    assert same_models(command, tmp_path / "fitted")
    found = ended("plain")
    assert found.status.state == DONE, found.folder.log_tail()
    assert same_models(found.path, command)


def ended(name: str) -> Run:
    """A run after its end, or after `WAIT`."""
    end = time.monotonic() + WAIT
    while run_named(name).status.live and time.monotonic() < end:
        time.sleep(0.2)
    return run_named(name)


def run_named(name: str) -> Run:
    return next(found for found in find_runs(runs_folder()) if found.name == name)
