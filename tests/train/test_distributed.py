import dataclasses
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from icaps.cli.main import main
from icaps.config import TrainConfig
from icaps.interpret.global_view import load_view
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.train.loop import Trainer
from tests.conftest import MODEL, make_texts
from tests.train.test_loop import toy_corpus

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
# A batch of 7 has uneven shards, and the epoch's last one of 1 text leaves a process without any.
SETTINGS = ["fixed_dim=8", "trained_dim=8", "region_dim=16", "min_frequency=0", "batch_size=7"]
SETTINGS += ["learning_rate=0.003", "average_decay=0.9", "epochs=2", "accumulate=2"]
SETTINGS += ["dropout=0", "embedding_dropout=0", "word_dropout=0"]
SETTINGS += ["purity_weight=0", "spread_weight=0"]  # entropies over the texts of each process

# The command, with a signal to process 1 in the third step of the second epoch.
WORKER = """
import os, signal, sys
from icaps.train import loop
from icaps.cli.main import main

step = loop.Trainer.train_step

def fateful(run, batch):
    if (run.progress.epoch, run.progress.step) == (2, 3):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return step(run, batch)

if os.environ["RANK"] == "1":
    loop.Trainer.train_step = fateful
sys.exit(main(sys.argv[2:]))
"""

# Torch takes seconds to import, so processes that aren't torchrun's are forked from one that has.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.train.test_distributed", "torch._dynamo", "icaps.classifier"])


def torchrun(*arguments: str) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*launcher, "--nproc-per-node", "2", *arguments]


def training(data: Path, out: Path, *more: str) -> list[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    where = ["--data", str(data), "--out", str(out), "--device", "cpu", "--timeout", "50"]
    return ["train", *where, "--vectors", "texts", *settings, *more]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=ENVIRONMENT
    )


def take_part(number: int, port: int, arguments: list[str], out: Path) -> None:
    """The command as torchrun would start it in one of two processes."""
    os.environ |= {"TORCHELASTIC_RUN_ID": "one", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "MASTER_PORT": str(port)}
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        with (out / name).open("ab") as file:
            os.dup2(file.fileno(), descriptor)
    sys.exit(main(arguments))


def run_two(out: Path, first: list[str], second: list[str]) -> subprocess.CompletedProcess[str]:
    """Two commands that work together, with their output in the new folder `out`."""
    out.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [
        SERVER.Process(target=take_part, args=(number, port, arguments, out))
        for number, arguments in enumerate((first, second))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=300)
        process.kill()  # where it hangs
        process.join()
    code = max(abs(process.exitcode or 0) for process in processes)
    said = [(out / name).read_text() for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(first, code, *said)


def history(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def metrics(folder: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads((folder / "metrics.json").read_text())
    return values


def assert_alike(one: Path, other: Path) -> None:
    """The same training up to the order in which gradients were added."""
    for first, second in zip(history(one), history(other), strict=True):
        assert first["loss"] == pytest.approx(second["loss"], abs=1e-4)
        assert first["validation_accuracy"] == second["validation_accuracy"]
    torch.testing.assert_close(weights(one), weights(other), rtol=0, atol=1e-3)
    assert metrics(one)["test"] == metrics(other)["test"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and beside them the models of one process and of two."""
    place = tmp_path_factory.mktemp("distributed")
    (place / "data").mkdir()
    for part, count, seed in (("train", 600, 1), ("test", 61, 2)):
        texts, labels = make_texts(count, seed)
        table = pd.DataFrame({"label": labels, "text": texts})
        table.to_csv(place / "data" / f"{part}.csv", index=False)
    assert main(training(place / "data", place / "one")) == 0
    done = run(torchrun("-m", "icaps", *training(place / "data", place / "two")))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("epoch 1: loss") == 1  # one process reports
    return place


def test_two_processes_train_what_one_does(place: Path) -> None:
    assert_alike(place / "one", place / "two")
    assert sorted(path.name for path in place.iterdir()) == ["data", "one", "two"]
    assert not (place / "two" / "last").exists()


def test_two_processes_count_what_one_does(place: Path, tmp_path: Path) -> None:
    command = ["evaluate", "--data", str(place / "data"), "--model", str(place / "one"), "--json"]
    done = run_two(tmp_path / "said", command, command)
    assert done.returncode == 0, done.stderr
    scores, test = json.loads(done.stdout), metrics(place / "one")["test"]
    assert isinstance(test, dict)
    assert {name: scores[name] for name in test} == test


def test_two_processes_train_several_labels_as_one_does(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for part, count, seed in (("train", 200, 1), ("test", 31, 2)):
        texts, labels = make_texts(2 * count, seed)
        lines = [
            json.dumps({"text": " ".join(texts[n : n + 1 + n % 2]), "label": labels[n : n + n % 3]})
            for n in range(count)
        ]
        (data / f"{part}.jsonl").write_text("\n".join(lines))
    assert main(training(data, tmp_path / "one")) == 0
    command = training(data, tmp_path / "two")
    done = run_two(tmp_path / "said", command, command)
    assert done.returncode == 0, done.stderr
    one, two = (history(tmp_path / name) for name in ("one", "two"))
    for first, second in zip(one, two, strict=True):
        assert first["loss"] == pytest.approx(second["loss"], abs=1e-4)
        assert first["validation_macro_f1"] == pytest.approx(second["validation_macro_f1"])
    models = (weights(tmp_path / name) for name in ("one", "two"))
    torch.testing.assert_close(*models, rtol=0, atol=1e-3)
    scores = [metrics(tmp_path / name)["test"] for name in ("one", "two")]
    assert scores[0]["confusion"] == scores[1]["confusion"]  # type: ignore[index]
    rules = [
        json.loads((tmp_path / name / "config.json").read_text())["multilabel"]
        for name in ("one", "two")
    ]
    for name, numbers in rules[0].items():
        assert numbers == pytest.approx(rules[1][name], rel=0.01, abs=0.01)


def test_two_processes_interpret_what_one_does(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = []
    for name in ("one", "two"):
        shutil.copytree(place / "one", tmp_path / name)
        where = ["--data", str(place / "data"), "--model", str(tmp_path / name), "--json"]
        commands.append(["interpret", *where])
    assert main(commands[0]) == 0
    alone, view = json.loads(capsys.readouterr().out), load_view(tmp_path / "one", 3, 2)
    done = run_two(tmp_path / "said", commands[1], commands[1])
    assert done.returncode == 0, done.stderr
    together, other = json.loads(done.stdout), load_view(tmp_path / "two", 3, 2)
    for name in ("shares", "effective_capsules"):
        assert np.array(together.pop(name)) == pytest.approx(np.array(alone.pop(name)), rel=1e-5)
    for name in ("words_by_share", "class_words", "class_kgrams"):  # sums differ in the last digit
        del together[name], alone[name]
    assert together == alone
    assert view is not None
    assert other is not None
    assert other.tally.words == view.tally.words
    assert other.tally.kgrams == view.tally.kgrams
    assert np.array_equal(other.knock_out.confusion, view.knock_out.confusion)
    assert view.shares is not None
    assert other.shares is not None
    magnitudes = view.shares.top_words.magnitudes
    assert other.shares.top_words.magnitudes == pytest.approx(magnitudes, rel=1e-5)
    assert other.tally.contribution == pytest.approx(view.tally.contribution, rel=1e-5)


def test_a_killed_process_ends_all_and_any_number_of_processes_resumes(
    place: Path, tmp_path: Path
) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    out = tmp_path / "out"
    command = torchrun(str(tmp_path / "worker.py"), "SIGKILL", *training(place / "data", out))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stderr is not None
    for line in process.stderr:
        if "epoch 1: loss" in line:
            break
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert (out / "last").is_dir()

    shutil.copytree(out, tmp_path / "alone")
    again = training(place / "data", out, "--resume")
    done = run_two(tmp_path / "said", again, again)
    assert done.returncode == 0, done.stderr
    assert "epoch 1: loss" not in done.stderr
    expected = weights(place / "two")
    assert all(torch.equal(value, expected[name]) for name, value in weights(out).items())
    assert metrics(out) == metrics(place / "two")

    assert main(training(place / "data", tmp_path / "alone", "--resume")) == 0
    assert_alike(tmp_path / "alone", place / "one")


def test_ctrl_c_at_one_process_stops_all_at_one_step(place: Path, tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    out = tmp_path / "out"
    command = torchrun(str(tmp_path / "worker.py"), "SIGINT", *training(place / "data", out))
    done = run(command)
    assert done.returncode != 0
    assert "saved to" in done.stderr
    assert metrics(out)["interrupted"] is True
    assert main(training(place / "data", out, "--resume")) == 0
    assert_alike(out, place / "one")


def test_processes_with_different_commands_refuse(place: Path, tmp_path: Path) -> None:
    arguments = training(place / "data", tmp_path / "out")
    done = run_two(tmp_path / "said", arguments, [*arguments, "--set", "clip_norm=4"])
    assert done.returncode != 0
    assert "icaps: The processes have different data, settings" in done.stderr
    assert not (tmp_path / "out").exists()


def test_nothing_references_the_process_group_after_its_end() -> None:
    """A group that lives on has threads that crash or hang the process as it exits."""
    code = """
import sys, torch, torch.distributed
from icaps.nn.distributed import process_group

with process_group("cpu", 60):
    group = torch.distributed.group.WORLD
    torch.optim.Adam([torch.nn.Parameter(torch.ones(1))])
assert sys.getrefcount(group) <= 2, sys.getrefcount(group)
"""
    alone = {"TORCHELASTIC_RUN_ID": "one", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    address = {"MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT | alone | address,
    )
    assert done.returncode == 0, done.stderr


def test_shares_are_all_texts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    shares = []
    for number in range(3):
        monkeypatch.setattr(distributed, "rank", lambda number=number: number)
        shares.append(np.arange(8)[distributed.share()])
    assert [len(part) for part in shares] == [3, 3, 2]
    assert sorted(np.concatenate(shares)) == list(range(8))


def test_dropout_differs_by_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step's loss, with half of the regions dropped, of one text list in each process."""
    model = dataclasses.replace(MODEL, dropout=0.5)
    config = TrainConfig(batch_size=10, epochs=1)
    losses = []
    for number in (0, 1, 0):
        monkeypatch.setattr(distributed, "rank", lambda number=number: number)
        torch.manual_seed(0)
        batch = toy_corpus(10, 1)
        losses.append(Trainer(ICapsNet(model, 12, 2), batch, config).train_step(batch))
    assert losses[0] == losses[2]
    assert losses[0] != losses[1]


def test_one_process_sends_nothing() -> None:
    assert (distributed.world_size(), distributed.rank()) == (1, 0)
    values = torch.arange(3)
    assert distributed.all_reduce(values) is values
    assert distributed.total(0.1) == 0.1
    assert distributed.same_everywhere("a")
    with distributed.process_group("cpu", 1):
        assert not torch.distributed.is_initialized()
