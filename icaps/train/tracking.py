"""Logs a training to TensorBoard or MLflow: settings, losses, scores per epoch, final scores.

A tracker that fails never ends a training: a `TrackingWarning` says so, once, and the rest is not
logged. MLflow is called from a thread of its own, so a server that is slow does not delay training.

    >>> from icaps.train.tracking import MLflowCallback
    >>> ICapsClassifier(callbacks=[MLflowCallback()]).fit(texts, labels)
"""

from __future__ import annotations

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from icaps.errors import ConfigError, TrackingWarning
from icaps.train.callbacks import Callback, Epoch, RecentLoss, Step
from icaps.train.metrics import known_scores

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from torch.utils.tensorboard import SummaryWriter

EVERY = 10  # steps from one point of the loss to the next
TENSORBOARD, MLFLOW = "tensorboard", "mlflow"
_LAST_WAIT = 60.0  # seconds for what is not sent when a training ends
_FINISHED, _STOPPED, _FAILED = "FINISHED", "KILLED", "FAILED"  # states of MLflow


def _warn(message: str) -> None:
    warnings.warn(message, TrackingWarning, stacklevel=3)


class TrackingCallback(Callback):
    """Base class: what is logged, under which names, and at which steps.

    Per step, every `every` steps: `loss/step`, the mean since the point before, `learning_rate` and
    `texts_per_second`. Per epoch: `loss/train`, and `loss/validation`, `accuracy/validation` and
    `macro_f1/validation`. At the end: `accuracy/final_validation` and `macro_f1/final_validation`
    of the network that is returned, `best_epoch`, and `accuracy/test` and so on.

    If a training starts again from its first epoch (`restarts`), steps and epochs count on.

    Args:
        every: Number of steps from one point to the next.
        warn: Receives the warnings as lines; by default they are a `TrackingWarning`.
    """

    def __init__(self, every: int = EVERY, warn: Callable[[str], None] = _warn) -> None:
        if every < 1:
            raise ConfigError(f"every is {every}; it must be at least 1.")
        self.every = every
        self.warn = warn
        self._failed = False
        self._begin()

    def _begin(self) -> None:
        self._loss = RecentLoss()
        self._step = 0  # the last one, counted over all epochs and restarts
        self._epoch = self._epochs_before = 0  # the last one, and those before a restart

    @abstractmethod
    def _open(self, settings: Mapping[str, Any]) -> None:
        """Opens a run and logs the settings."""

    @abstractmethod
    def _log(self, values: Mapping[str, float], step: int) -> None:
        """Logs values at a step or epoch."""

    @abstractmethod
    def _close(self, state: str) -> None:
        """Ends the run; `_log` and another `_close` may follow, for the scores of a test."""

    @abstractmethod
    def _drop(self) -> None:
        """Lets go of what is open, after a failure."""

    def on_start(self, settings: Mapping[str, Any]) -> None:
        """Opens a run and logs the settings."""
        self._failed = False
        self._begin()
        self._attempt(lambda: self._open(settings))

    def on_restart(self, restarts: int) -> None:
        """Lets the following steps and epochs count on."""
        self._epochs_before, self._loss = self._epoch, RecentLoss()

    def on_step(self, step: Step) -> None:
        """Logs the recent loss, the learning rate and the speed."""
        first = (step.epoch - 1) * step.steps + step.step  # above 1 if the training was resumed
        self._step = self._step + 1 if self._step else first
        if step.step % self.every and step.step != step.steps:
            return
        values = {
            "loss/step": self._loss.at(step),
            "learning_rate": step.learning_rate,
            "texts_per_second": step.texts_per_second,
        }
        self._loss.mark(step)
        self._attempt(lambda: self._log(values, self._step))

    def on_epoch(self, epoch: Epoch) -> None:
        """Logs the losses and the scores of the validation."""
        values = {
            "loss/train": epoch.loss,
            "loss/validation": epoch.validation_loss,
            "accuracy/validation": epoch.validation_accuracy,
            "macro_f1/validation": epoch.validation_macro_f1,
        }
        known = {name: value for name, value in values.items() if value is not None}
        self._epoch = self._epochs_before + epoch.epoch
        self._attempt(lambda: self._log(known, self._epoch))

    def on_end(self, metrics: Mapping[str, Any]) -> None:
        """Logs the scores of the network that is returned, and ends the run."""
        values = {
            "best_epoch": metrics["best_epoch"],
            "accuracy/final_validation": metrics["validation_accuracy"],
            "macro_f1/final_validation": metrics["validation_macro_f1"],
        }
        self._attempt(lambda: self._log(values, self._epoch))
        state = _STOPPED if metrics["interrupted"] else _FINISHED
        self._attempt(lambda: self._close(state))

    def on_failure(self, error: BaseException) -> None:
        """Ends the run as failed."""
        self._attempt(lambda: self._close(_FAILED))

    def on_test(self, scores: Mapping[str, Any]) -> None:
        """Logs the scores of a test."""
        values = {f"{name}/test": value for name, value in known_scores(scores).items()}
        self._attempt(lambda: self._log(values, self._epoch))
        self._attempt(lambda: self._close(_FINISHED))

    def _attempt(self, action: Callable[[], None]) -> None:
        """Does something, unless the tracker failed before; warns if it fails now."""
        if self._failed:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001 (of whatever kind: the training must go on)
            self._failed = True
            self._drop()
            self.warn(f"{self} failed, so the rest of the training is not logged: {error}")


class TensorBoardCallback(TrackingCallback):
    """Logs a training to a folder that TensorBoard reads: `tensorboard --logdir FOLDER`.

    The page HPARAMS compares the settings and final scores of several trainings. A later training
    in the same folder hides the points of an earlier one, but not those that it was resumed after.

    Args:
        folder: Of this training; TensorBoard names the curves by it.
        every, warn: As in `TrackingCallback`.

    Raises:
        ConfigError: The package tensorboard is not installed.
    """

    def __init__(
        self, folder: str | Path, every: int = EVERY, warn: Callable[[str], None] = _warn
    ) -> None:
        _check_installed(TENSORBOARD)
        super().__init__(every, warn)
        self.folder = Path(folder)
        self._settings: dict[str, Any] = {}  # not yet logged
        self._final: dict[str, float] = {}
        self._continues = False  # whether the folder has points of an earlier training
        self._writer: SummaryWriter | None = None

    def __str__(self) -> str:
        return f"Logging to TensorBoard's folder {self.folder}"

    def _open(self, settings: Mapping[str, Any]) -> None:
        self._settings = {name: _plain(value) for name, value in settings.items()}
        self._continues = any(self.folder.glob("*tfevents*"))

    def _log(self, values: Mapping[str, float], step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        if self._writer is None:
            purge_step = None  # else it would hide the points of this training, after its end
            if self._continues:
                purge_step = 0 if step <= self.every else step
                self._continues = False
            self._writer = SummaryWriter(str(self.folder), purge_step=purge_step)
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()
        self._final = {name: value for name, value in values.items() if "/final" in name}

    def _close(self, state: str) -> None:
        if self._writer is None:
            return
        if self._final and self._settings:
            self._writer.add_hparams(self._settings, self._final, run_name=".")
            self._settings = {}
        self._writer.close()
        self._writer = None

    def _drop(self) -> None:
        self._writer = None


class MLflowCallback(TrackingCallback):
    """Logs a training as a run of MLflow.

    It is the active run of `mlflow.start_run` if there is one, which is then left open; else that
    of MLFLOW_RUN_ID; else a new one.

    Args:
        uri: Of the tracking server or store; None: as MLflow is set up, such as by
            MLFLOW_TRACKING_URI.
        experiment: Its name; it is created if there is none. None: that of `mlflow.set_experiment`,
            MLFLOW_EXPERIMENT_NAME or MLFLOW_EXPERIMENT_ID, or MLflow's default.
        run_name: Name of a new run; None: MLflow chooses one.
        every, warn: As in `TrackingCallback`.

    Attributes:
        run_id: Of the run, once there is one.

    Raises:
        ConfigError: MLflow is not installed.
    """

    def __init__(
        self,
        uri: str | None = None,
        experiment: str | None = None,
        run_name: str | None = None,
        every: int = EVERY,
        warn: Callable[[str], None] = _warn,
    ) -> None:
        _check_installed(MLFLOW)
        super().__init__(every, warn)
        self.uri = uri
        self.experiment = experiment
        self.run_name = run_name
        self.run_id = ""
        self._owned = True  # whether the run is ended by this callback
        self._calls: _Calls | None = None  # while the run is open

    def __str__(self) -> str:
        return f"Logging to MLflow{f' at {self.uri}' if self.uri else ''}"

    def _open(self, settings: Mapping[str, Any]) -> None:
        import mlflow
        from mlflow.entities import Param

        active = mlflow.active_run()  # of this thread
        self.run_id = active.info.run_id if active else os.environ.get("MLFLOW_RUN_ID", "")
        self._owned = active is None
        params = [Param(name, str(value)) for name, value in settings.items()]

        def open_run(client: MlflowClient) -> None:
            if not self.run_id:
                self.run_id = self._create_run(client)
            client.log_batch(self.run_id, params=params)

        self._send(open_run)

    def _create_run(self, client: MlflowClient) -> str:
        name = self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME")
        number = os.environ.get("MLFLOW_EXPERIMENT_ID", "0")  # 0 is that of the default
        if name is not None:
            known = client.get_experiment_by_name(name)
            number = known.experiment_id if known else client.create_experiment(name)
        return str(client.create_run(number, run_name=self.run_name).info.run_id)

    def _log(self, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, float(value), now, step) for name, value in values.items()]
        self._send(lambda client: client.log_batch(self.run_id, metrics=metrics))

    def _close(self, state: str) -> None:
        if self._owned:
            self._send(lambda client: client.set_terminated(self.run_id, state))
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.finish(_LAST_WAIT)

    def _drop(self) -> None:
        self._calls = None

    def _send(self, call: Callable[[MlflowClient], object]) -> None:
        """Calls MLflow in the background; raises what an earlier call raised."""
        import mlflow

        if self._calls is None:
            self._calls = _Calls()
        uri = self.uri if self._owned else None
        self._calls.add(lambda: call(mlflow.MlflowClient(uri)))


class _Calls:
    """Calls that a thread of its own makes, one after the other, up to the first that fails."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, daemon=True)  # does not delay the process's end
        self._thread.start()

    def add(self, call: Callable[[], object]) -> None:
        """Adds a call; raises the error of an earlier one."""
        if self._error is not None:
            raise self._error
        self._queue.put(call)

    def finish(self, timeout: float) -> None:
        """Waits for all calls; raises the error of one, or TimeoutError if they take too long."""
        self._queue.put(None)
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        if self._thread.is_alive():
            raise TimeoutError(f"it did not answer within {timeout:.0f} seconds")

    def _run(self) -> None:
        try:
            while (call := self._queue.get()) is not None:
                call()
        except Exception as error:  # noqa: BLE001 (raised in the thread of the training)
            self._error = error


def open_tracker(spec: str, name: str, warn: Callable[[str], None]) -> TrackingCallback:
    """The callback for a place: "tensorboard:FOLDER", "mlflow" or "mlflow:URI".

    Args:
        spec: The place.
        name: Of the training: of its folder in that of TensorBoard, or of its run in MLflow.
        warn: As in `TrackingCallback`.

    Raises:
        ConfigError: There is no such tracker, or its package is not installed.
    """
    tracker, _, place = spec.partition(":")
    if tracker == TENSORBOARD and place:
        return TensorBoardCallback(Path(place) / name, warn=warn)
    if tracker == MLFLOW:
        return MLflowCallback(place or None, run_name=name, warn=warn)
    raise ConfigError(
        f"A training cannot be logged to {spec!r}: give tensorboard:FOLDER, mlflow, or mlflow:URI."
    )


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise ConfigError(f"To log to it, run `pip install 'icaps[{package}]'`.")


def _plain(value: Any) -> Any:
    """A value that TensorBoard has as a setting."""
    return value if isinstance(value, bool | int | float | str) else str(value)
