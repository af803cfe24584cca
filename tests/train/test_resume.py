import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.config import TrainConfig
from icaps.errors import CheckpointError
from icaps.model import ICapsNet
from icaps.train.callbacks import Epoch, Step
from icaps.train.checkpoint_files import STATE
from icaps.train.loop import TrainingProgress, train
from icaps.train.resume import State, StateFolder, fingerprint
from icaps.train.signals import DeferredInterrupt
from tests.conftest import MODEL, make_texts
from tests.train.test_loop import Recorder, network, toy_corpus

CONFIG = TrainConfig(batch_size=32, epochs=4, learning_rate=0.01, average_decay=0.9, seed=5)
IDENTITY = {"settings": {"dropout": 0.1}, "data": "a", "vocabulary": "b", "vectors": None}


class StopAt(Recorder):
    """Presses Ctrl-C at one step or at the end of one epoch."""

    def __init__(self, epoch: int, step: int | None) -> None:
        super().__init__()
        self.place = epoch, step

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        if (step.epoch, step.step) == self.place:
            signal.raise_signal(signal.SIGINT)

    def on_epoch(self, epoch: Epoch) -> None:
        super().on_epoch(epoch)
        if (epoch.epoch, None) == self.place:
            signal.raise_signal(signal.SIGINT)


def run(
    recorder: Recorder, last: StateFolder | None = None, config: TrainConfig = CONFIG
) -> tuple[ICapsNet, TrainingProgress]:
    net = network()
    return net, train(net, toy_corpus(100, 1), toy_corpus(50, 2), config, [recorder], last)


def same_weights(one: ICapsNet, other: ICapsNet) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


@pytest.mark.parametrize("place", [(1, 1), (2, 3), (3, 4), (2, None)])
def test_a_stopped_training_resumes_exactly(place: tuple[int, int | None], tmp_path: Path) -> None:
    """Stopped in the first epoch, in the middle, at an epoch's last step, and after an epoch."""
    whole = Recorder()
    expected, progress = run(whole)
    before, after = StopAt(*place), Recorder()
    assert run(before, StateFolder.open(tmp_path, IDENTITY, False))[1].interrupted
    resumed, rest = run(after, StateFolder.open(tmp_path, IDENTITY, True))
    assert same_weights(expected, resumed)
    assert not rest.interrupted
    assert (before.steps[-1].epoch, before.steps[-1].step) == (place[0], place[1] or 4)
    losses = [(step.epoch, step.step, step.loss) for step in whole.steps]
    assert [(s.epoch, s.step, s.loss) for s in before.steps + after.steps] == losses

    def untimed(progress: TrainingProgress) -> TrainingProgress:
        history = [dataclasses.replace(epoch, seconds=0) for epoch in progress.history]
        return dataclasses.replace(progress, history=history)

    assert untimed(rest) == untimed(progress)


def test_a_finished_training_resumes_without_a_step(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, epochs=9, patience=1)
    expected, progress = run(Recorder(), StateFolder.open(tmp_path, IDENTITY, False), config)
    assert progress.epoch == progress.best_epoch + 2
    recorder = Recorder()
    resumed, rest = run(recorder, StateFolder.open(tmp_path, IDENTITY, True), config)
    assert same_weights(expected, resumed)
    assert rest == progress
    assert recorder.steps == []


def test_dropout_and_order_differ_by_epoch_and_seed() -> None:
    weights = [run(Recorder(), config=dataclasses.replace(CONFIG, seed=n))[0] for n in (1, 1, 2)]
    assert same_weights(weights[0], weights[1])
    assert not same_weights(weights[0], weights[2])


@pytest.mark.parametrize("accumulate", [3, 50])
def test_parts_of_a_batch_add_up_to_its_mean(accumulate: int) -> None:
    """With more parts than texts too."""
    model = dataclasses.replace(MODEL, embedding_dropout=0, dropout=0, word_dropout=0)
    config = TrainConfig(batch_size=32, epochs=1, learning_rate=1e-3, clip_norm=0)
    results = []
    for parts in (1, accumulate):
        torch.manual_seed(0)
        net, recorder = ICapsNet(model, 12, 2), Recorder()
        settings = dataclasses.replace(config, accumulate=parts)
        train(net, toy_corpus(100, 1), toy_corpus(50, 2), settings, [recorder])
        results.append((net, [step.loss for step in recorder.steps]))
    (whole, losses), (parted, same_losses) = results
    assert same_losses == pytest.approx(losses, abs=1e-6)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(parted.state_dict()[name], value, rtol=0, atol=1e-6)


def test_a_state_round_trip(tmp_path: Path) -> None:
    state = State({"a": torch.arange(3), "b": torch.rand(2, 2).T}, {"loss": 0.1 + 0.2})
    StateFolder.open(tmp_path / "last", IDENTITY, False).save(state)
    back = StateFolder.open(tmp_path / "last", IDENTITY, True).state
    assert back is not None
    assert back.facts == state.facts
    assert all(torch.equal(back.tensors[name], state.tensors[name]) for name in state.tensors)
    assert [path.name for path in (tmp_path / "last").iterdir()] == [STATE]


def test_a_failed_write_leaves_the_older_state(tmp_path: Path) -> None:
    last = StateFolder.open(tmp_path, IDENTITY, False)
    last.save(State({}, {"epoch": 1}))
    (tmp_path / f"{STATE}.partial").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written"):
        last.save(State({}, {"epoch": 2}))
    state = StateFolder.open(tmp_path, IDENTITY, True).state
    assert state is not None
    assert state.facts == {"epoch": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"dropout": 0.2}}, "setting dropout was 0.1 and is 0.2"),
        ({"settings": {"dropout": 0.1, "new": 1}}, "setting new was None and is 1"),
        ({"data": "c"}, "started with other data"),
        ({"vocabulary": "c"}, "started with other vocabulary"),
        ({"vectors": "glove.txt"}, "started with other vectors"),
    ],
)
def test_it_resumes_only_with_the_same_settings_and_data(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    StateFolder.open(tmp_path, IDENTITY, False).save(State({}, {}))
    with pytest.raises(CheckpointError, match=f"{message}.*omit --resume"):
        StateFolder.open(tmp_path, IDENTITY | change, True)


def test_a_state_of_an_earlier_version_resumes_if_its_settings_mean_the_same(
    tmp_path: Path,
) -> None:
    old = {"dropout": 0.1, "oov": "zeros", "product_precision": "auto"}
    StateFolder.open(tmp_path, IDENTITY | {"settings": old}, False).save(State({}, {"epoch": 1}))
    state = StateFolder.open(tmp_path, IDENTITY, True).state
    assert state is not None
    assert state.facts == {"epoch": 1}
    progress = TrainingProgress(history=[Epoch(1, 0.5, 0.25, 2.0)], epoch=2)
    assert (
        TrainingProgress.from_facts(dataclasses.asdict(progress) | {"precision": "float32"})
        == progress
    )
    old = {"dropout": 0.1, "oov": "mean"}
    StateFolder.open(tmp_path, IDENTITY | {"settings": old}, False).save(State({}, {}))
    with pytest.raises(CheckpointError, match="setting oov was 'mean' and is None"):
        StateFolder.open(tmp_path, IDENTITY, True)


def test_damaged_and_foreign_states(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing to resume"):
        StateFolder.open(tmp_path, IDENTITY, True)
    StateFolder.open(tmp_path, IDENTITY, False).save(State({"a": torch.rand(100)}, {}))
    whole = (tmp_path / STATE).read_bytes()
    for damaged in (b"", whole[:50], whole[:-1]):
        (tmp_path / STATE).write_bytes(damaged)
        with pytest.raises(CheckpointError, match="is damaged"):
            StateFolder.open(tmp_path, IDENTITY, True)
    (tmp_path / STATE).write_bytes(whole.replace(b'format_version\\": 1', b'format_version\\": 7'))
    with pytest.raises(CheckpointError, match="format version 7"):
        StateFolder.open(tmp_path, IDENTITY, True)


def test_fingerprints() -> None:
    array = np.arange(6)
    assert fingerprint([array, "ab"]) == fingerprint([np.arange(6), "ab"])
    others = (["ab", array], [array, "a", "b"], [array[::-1], "ab"], [array[:5], "ab"])
    assert len({fingerprint(other) for other in (*others, [array, "ab"])}) == 5
    assert fingerprint([np.arange(12)[::2]]) == fingerprint([np.arange(0, 12, 2)])
    assert fingerprint(["\ud800"]) != fingerprint(["?"])


def test_the_first_ctrl_c_is_deferred_and_the_second_acts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupt() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGINT)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a job that the shell put behind
    try:
        with DeferredInterrupt() as stop:
            signal.raise_signal(signal.SIGINT)
        assert not stop.requested
    finally:
        signal.signal(signal.SIGINT, before)


SETTINGS = ["fixed_dim=8", "trained_dim=8", "region_dim=16", "min_frequency=0", "batch_size=8"]
SETTINGS += ["learning_rate=0.003", "average_decay=0.9", "epochs=6", "patience=6"]


def command(data: Path, out: Path, *more: str) -> list[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    where = ["--data", str(data), "--out", str(out), "--device", "cpu", "--vectors", "texts"]
    return ["train", *where, *settings, *more]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for part, count, seed in (("train", 600, 1), ("test", 60, 2)):
        texts, labels = make_texts(count, seed)
        pd.DataFrame({"label": labels, "text": texts}).to_csv(folder / f"{part}.csv", index=False)
    return folder


def test_a_killed_training_resumes_to_the_same_model(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, out = data.parent / "whole", data.parent / "out"
    assert main(command(data, whole)) == 0
    assert not (whole / "last").exists()

    process = subprocess.Popen(
        [sys.executable, "-m", "icaps", *command(data, out)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "epoch 2" in line:
            break
    process.kill()
    process.communicate()
    assert {"last", "config.json"} <= {path.name for path in out.iterdir()}  # the best so far

    capsys.readouterr()
    assert main(command(data, out, "--resume", "--set", "dropout=0.1")) == 2
    assert "the setting dropout was 0.4 and is 0.1" in capsys.readouterr().err
    assert main(command(data, out, "--resume")) == 0
    log = capsys.readouterr().err
    assert "epoch 1:" not in log
    assert "epoch 6:" in log
    weights, expected = (load_file(folder / "model.safetensors") for folder in (out, whole))
    assert weights.keys() == expected.keys()
    torch.testing.assert_close(weights, expected, rtol=0, atol=0)  # to the last bit
    metrics, wanted = (json.loads((f / "metrics.json").read_text()) for f in (out, whole))
    assert metrics == wanted
    assert not (out / "last").exists()

    assert main(command(data, out, "--resume")) == 2
    assert "nothing to resume" in capsys.readouterr().err
    assert main(command(data, out, "--set", "epochs=1")) == 0  # anew, in place of a finished one


def test_other_data_are_refused(tmp_path: Path) -> None:
    settings = TrainConfig(min_frequency=0, batch_size=32, epochs=1)
    texts, labels = make_texts(90, 1)
    state = {"state_folder": tmp_path / "last"}
    classifier = ICapsClassifier(MODEL, settings, device="cpu")
    first = classifier.fit(texts, labels, **state).network_
    again = classifier.fit(texts, labels, **state, resume=True).network_
    assert same_weights(again, first)
    for other in (texts[::-1], [*texts[:-1], texts[-1] + " bread"]):
        with pytest.raises(CheckpointError, match="started with other data"):
            classifier.fit(other, labels, **state, resume=True)
