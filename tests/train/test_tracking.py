"""Logging to TensorBoard and MLflow: what is logged, and that a tracker never ends a training."""

import os
import pickle
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.config import TrainConfig
from icaps.errors import ConfigError, TrackingWarning, TrainingError
from icaps.train import tracking
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.tracking import (
    MLflowCallback,
    TensorBoardCallback,
    TrackingCallback,
    open_tracker,
)
from tests.conftest import MODEL, make_texts

TRAIN = TrainConfig(
    min_frequency=0, learning_rate=0.01, batch_size=32, epochs=3, average_decay=0.9, seed=1
)
TEXTS = make_texts(180, seed=3)


class Memory(TrackingCallback):
    """Keeps what is logged; `failing` is what raises."""

    def __init__(self, failing: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.failing = failing
        self.settings: dict[str, Any] = {}
        self.points: dict[str, list[tuple[int, float]]] = {}
        self.states: list[str] = []

    def __str__(self) -> str:
        return "Logging to memory"

    def _open(self, settings: Mapping[str, Any]) -> None:
        self._fail("open")
        self.settings = dict(settings)

    def _log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._fail(name)
            self.points.setdefault(name, []).append((step, value))

    def _close(self, state: str) -> None:
        self._fail("close")
        self.states.append(state)

    def _drop(self) -> None:
        self.states.append("dropped")

    def _fail(self, action: str) -> None:
        if action == self.failing:
            raise RuntimeError(f"cannot {action}")


def fit(*callbacks: Callback, train: TrainConfig = TRAIN) -> ICapsClassifier:
    return ICapsClassifier(MODEL, train, device="cpu", callbacks=callbacks).fit(*TEXTS)


def test_what_is_logged() -> None:
    memory = Memory(every=2)
    classifier = fit(memory)
    assert memory.settings["learning_rate"] == 0.01
    assert memory.settings["region_dim"] == MODEL.region_dim
    assert memory.settings["classes"] == 3
    assert memory.settings["training_texts"] + memory.settings["validation_texts"] == 180
    history = classifier.history_
    for name, key in {
        "loss/train": "loss",
        "loss/validation": "validation_loss",
        "accuracy/validation": "validation_accuracy",
        "macro_f1/validation": "validation_macro_f1",
    }.items():
        assert memory.points[name] == [(n + 1, epoch[key]) for n, epoch in enumerate(history)]
    steps = -(-memory.settings["training_texts"] // 32)
    logged = [n for n in range(1, 3 * steps + 1) if (n - 1) % steps % 2 or n % steps == 0]
    assert [step for step, _ in memory.points["learning_rate"]] == logged
    assert memory.points["best_epoch"] == [(3, classifier.metrics_["best_epoch"])]
    final = classifier.metrics_["validation_accuracy"]
    assert memory.points["accuracy/final_validation"] == [(3, final)]
    assert memory.states == ["FINISHED"]


def step(epoch: int, number: int, loss: float) -> Step:
    return Step(epoch, 2, number, 4, loss, 100.0, 0.1)


def test_the_loss_of_a_step_is_that_since_the_last_point_and_restarts_count_on() -> None:
    memory = Memory(every=2)
    memory.on_start({})
    for number, loss in enumerate([1.0, 2.0, 3.0, 4.0], start=1):
        memory.on_step(step(1, number, loss))
    # The means of 2 and 4 steps are 2 and 4, so the sums are 4 and 16.
    assert memory.points["loss/step"] == [(2, 2.0), (4, 6.0)]
    memory.on_epoch(Epoch(1, 4.0, 0.5, 1.0))
    memory.on_restart(1)
    memory.on_step(step(1, 1, 5.0))
    memory.on_step(step(1, 2, 5.0))
    memory.on_epoch(Epoch(1, 5.0, 0.6, 1.0))
    assert memory.points["loss/step"][-1] == (6, 5.0)
    assert memory.points["loss/train"] == [(1, 4.0), (2, 5.0)]
    assert "loss/validation" not in memory.points  # is not known


def test_a_resumed_training_counts_from_where_it_was() -> None:
    memory = Memory(every=2)
    memory.on_start({})
    memory.on_step(step(2, 4, 1.0))
    assert memory.points["loss/step"] == [(8, 1.0)]


@pytest.mark.parametrize("failing", ["open", "learning_rate", "loss/validation", "close"])
def test_a_failure_is_one_warning_and_no_end_of_the_training(failing: str) -> None:
    plain, memory = Memory(), Memory(failing)
    with pytest.warns(TrackingWarning, match=f"Logging to memory failed.*cannot {failing}") as seen:
        trained = fit(memory, plain)
    assert len([warning for warning in seen if warning.category is TrackingWarning]) == 1
    assert len(trained.history_) == 3
    assert plain.states == ["FINISHED"]
    assert memory.states == ["dropped"]


def test_a_failed_training_is_logged_as_such() -> None:
    memory = Memory()

    class Bad(Callback):
        def on_epoch(self, epoch: Epoch) -> None:
            raise TrainingError("the loss is NaN")

    with pytest.raises(TrainingError):
        fit(memory, Bad())
    assert memory.states == ["FAILED"]


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        name: [(event.step, event.value) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }


def test_tensorboard(tmp_path: Path) -> None:
    fit(TensorBoardCallback(tmp_path, every=1), train=TrainConfig(**{**vars(TRAIN), "epochs": 4}))
    first = scalars(tmp_path)
    assert len(first["loss/train"]) == 4
    time.sleep(1.1)  # the names of the files have seconds, by which TensorBoard orders them
    callback = TensorBoardCallback(tmp_path, every=1)
    classifier = fit(callback)
    points = scalars(tmp_path)  # the first training is hidden
    losses = [epoch["loss"] for epoch in classifier.history_]
    assert [value for _, value in points["loss/train"]] == pytest.approx(losses)
    assert [number for number, _ in points["loss/train"]] == [1, 2, 3]
    assert len(points["loss/step"]) == 3 * -(-classifier.metrics_["training_texts"] // 32)
    callback.on_test({"accuracy": 0.75, "macro_f1": 0.5, "confusion": [[1]]})
    assert scalars(tmp_path)["accuracy/test"] == [(3, 0.75)]
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    hparams = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"learning_rate" in hparams


class StopAfter(Callback):
    """Presses Ctrl-C at the end of an epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch(self, epoch: Epoch) -> None:
        if epoch.epoch == self.epoch:
            os.kill(os.getpid(), signal.SIGINT)


def test_a_resumed_training_continues_the_curves(tmp_path: Path) -> None:
    for resume in (False, True):
        if resume:
            time.sleep(1.1)  # as above
        memory = Memory()
        callbacks: list[Callback] = [TensorBoardCallback(tmp_path / "tb", every=1), memory]
        callbacks += [] if resume else [StopAfter(2)]
        classifier = ICapsClassifier(MODEL, TRAIN, device="cpu", callbacks=callbacks)
        classifier.fit(*TEXTS, state_folder=tmp_path / "last", resume=resume)
        assert classifier.interrupted_ is not resume
        assert memory.states == ["FINISHED" if resume else "KILLED"]
    points = scalars(tmp_path / "tb")
    losses = [epoch["loss"] for epoch in classifier.history_]
    assert points["loss/train"] == [(n, pytest.approx(x)) for n, x in enumerate(losses, start=1)]
    steps = [number for number, _ in points["loss/step"]]
    assert steps == list(range(1, len(steps) + 1))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "store"


def test_mlflow(store: Path) -> None:
    callback = MLflowCallback(experiment="news", run_name="first", every=1)
    classifier = fit(callback)
    client = mlflow.MlflowClient()
    run = client.get_run(callback.run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "first"
    assert client.get_experiment(run.info.experiment_id).name == "news"
    assert run.data.params["region_dim"] == str(MODEL.region_dim)
    history = client.get_metric_history(callback.run_id, "loss/train")
    losses = [epoch["loss"] for epoch in classifier.history_]
    assert [(m.step, m.value) for m in history] == list(enumerate(losses, start=1))
    assert (
        run.data.metrics["accuracy/final_validation"]
        == (classifier.metrics_["validation_accuracy"])
    )
    callback.on_test({"accuracy": 0.75, "macro_f1": 0.5})
    run = client.get_run(callback.run_id)
    assert (run.data.metrics["accuracy/test"], run.info.status) == (0.75, "FINISHED")
    assert pickle.loads(pickle.dumps(callback)).run_id == callback.run_id


def test_the_experiment_that_is_set(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = mlflow.MlflowClient()
    by_id, by_name = client.create_experiment("first"), client.create_experiment("second")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", by_id)
    for expected in (by_id, by_name):
        callback = MLflowCallback()
        callback.on_start({})
        callback.on_failure(ValueError())
        run = client.get_run(callback.run_id)
        assert (run.info.experiment_id, run.info.status) == (expected, "FAILED")
        monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "second")


def test_an_active_run_is_used_and_left_open(store: Path) -> None:
    with mlflow.start_run() as run:
        fit(MLflowCallback())
        now = mlflow.MlflowClient().get_run(run.info.run_id)
        assert now.info.status == "RUNNING"
        assert "loss/step" in now.data.metrics


class SilentServer:
    """Accepts connections and never answers."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"


@pytest.mark.parametrize("silent", [False, True])
def test_a_server_that_does_not_answer(
    silent: bool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "_LAST_WAIT", 0.2)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    lines: list[str] = []
    server = SilentServer()
    if not silent:
        server.socket.close()
    callback = MLflowCallback(server.url, warn=lines.append)
    classifier = fit(callback)
    server.socket.close()
    assert len(classifier.history_) == 3
    (line,) = lines
    assert server.url in line
    assert ("did not answer" if silent else "failed") in line
    monkeypatch.setattr(tracking, "_LAST_WAIT", 60.0)
    callback.uri = None  # the store, which answers
    fit(callback)
    assert mlflow.MlflowClient().get_run(callback.run_id).info.status == "FINISHED"
    assert len(lines) == 1


@pytest.mark.parametrize("spec", ["wandb", "tensorboard", "tensorboard:", "", ":x"])
def test_places_that_are_none(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"tensorboard:FOLDER, mlflow, or mlflow:URI"):
        open_tracker(spec, "name", print)


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    for spec in ("mlflow", "tensorboard:x"):
        with pytest.raises(ConfigError, match=r"pip install 'icaps\[(mlflow|tensorboard)\]'"):
            open_tracker(spec, "name", print)


def test_the_command(store: Path, tmp_path: Path, data_file: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / f"{part}.csv").write_bytes(data_file.read_bytes())
    options = ["--log-to", f"tensorboard:{tmp_path / 'tb'}", "--log-to", f"mlflow:{store.as_uri()}"]
    options += ["--set", "epochs=2", "--vectors", "texts", "--device", "cpu"]
    assert main(["train", "--data", str(folder), "--out", str(tmp_path / "mine"), *options]) == 0
    points = scalars(tmp_path / "tb" / "mine")
    (run,) = mlflow.MlflowClient().search_runs(["0"])
    assert run.info.run_name == "mine"
    assert points["accuracy/test"][0][1] == pytest.approx(run.data.metrics["accuracy/test"])
    assert len(points["loss/train"]) == 2  # the scores at the end hide no point before them
