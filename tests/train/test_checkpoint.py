import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError, ConfigError
from icaps.train.checkpoint import load_checkpoint, rename_capsule, save_checkpoint
from tests.conftest import MODEL, TRAIN, make_texts


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def test_round_trip_keeps_everything(classifier: ICapsClassifier, folder: Path) -> None:
    checkpoint = load_checkpoint(folder)
    assert checkpoint.classes == ("Cooking", "Gardens", "Sailing")
    assert checkpoint.vocabulary == classifier.vocabulary_
    assert checkpoint.train_config == classifier.train
    assert checkpoint.metrics == classifier.metrics_
    assert checkpoint.history == classifier.history_
    assert checkpoint.inverse_temperature == classifier.inverse_temperature_
    saved, loaded = classifier.network_.state_dict(), checkpoint.network.state_dict()
    assert saved.keys() == loaded.keys()
    assert all(torch.equal(saved[name], loaded[name]) for name in saved)
    assert not checkpoint.network.training


def test_reading_it_imports_no_compiler(folder: Path) -> None:
    """torch._dynamo takes seconds to import, and filling new weights on "meta" would do so."""
    program = (
        "import sys; from icaps.train.checkpoint import load_checkpoint; "
        "load_checkpoint(sys.argv[1]); print('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(folder)]
    assert subprocess.check_output(command, text=True).strip() == "False"


def test_nothing_in_it_is_pickled(folder: Path) -> None:
    for file in folder.iterdir():
        assert not file.read_bytes().startswith((b"\x80", b"PK"))


def test_saving_again_replaces_the_model_and_keeps_the_card(
    classifier: ICapsClassifier, folder: Path
) -> None:
    (folder / "README.md").write_text("card")
    (folder / "model.safetensors").write_bytes(b"")
    classifier.save(folder)
    load_checkpoint(folder)
    assert (folder / "README.md").read_text() == "card"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]  # no scratch left


def test_a_folder_of_something_else_is_not_overwritten(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CheckpointError, match="is not a checkpoint; choose another folder"):
        classifier.save(tmp_path)
    with pytest.raises(CheckpointError, match="choose another folder"):
        classifier.save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def edit_model(path: Path, **values: object) -> None:
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"model": config["model"] | values}))


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "vocabulary.txt",
        "classes.txt",
        "model.safetensors",
        "metrics.json",
        "history.jsonl",
    ],
)
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=rf"{name}.*(again|No such)"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "metrics.json"])
@pytest.mark.parametrize("keep", [0, 7, 100])
def test_a_truncated_file(folder: Path, name: str, keep: int) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=rf"{name} is damaged.*train the model again"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.txt", "classes.txt", "history.jsonl"])
def test_binary_rubbish(folder: Path, name: str) -> None:
    (folder / name).write_bytes(bytes(range(128, 256)) * 4)
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.txt", "classes.txt", "new"])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError, match=rf"{name} is not a regular file\. Copy"):
        ICapsClassifier.load(folder)


def test_a_future_format(folder: Path) -> None:
    edit(folder / "config.json", format_version=5)
    with pytest.raises(CheckpointError, match=r"version 5, .* reads up to 4\. Use the iCaps"):
        load_checkpoint(folder)


def test_settings_of_earlier_versions(classifier: ICapsClassifier, folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    old = {"share_class_weight": True, "route_gradient": True, "oov": "zeros"}
    config["model"] |= old
    config["train"]["product_precision"] = "bfloat16"
    path.write_text(json.dumps(config))
    checkpoint = load_checkpoint(folder)
    assert checkpoint.network.config == classifier.network_.config
    assert checkpoint.train_config == classifier.train
    for name, value in {
        "share_class_weight": False,
        "route_gradient": False,
        "oov": "mean",
    }.items():
        changed = {**config, "model": config["model"] | {name: value}}
        path.write_text(json.dumps(changed))
        message = f"cannot be loaded: The setting {name} is {value!r}, which only earlier versions"
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(folder)


def test_format_1_has_float16_vectors(classifier: ICapsClassifier, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    assert weights["fixed_embedding"].dtype == torch.int8
    weights["fixed_embedding"] = classifier.network_.fixed_embedding.half()
    save_file(weights, folder / "model.safetensors")
    edit(folder / "config.json", format_version=1)
    loaded = load_checkpoint(folder).network
    assert torch.equal(loaded.fixed_embedding, classifier.network_.fixed_embedding)


def test_vectors_that_are_not_steps_are_stored_unchanged(folder: Path) -> None:
    checkpoint = load_checkpoint(folder)
    checkpoint.network.fixed_embedding = checkpoint.network.fixed_embedding / 3
    save_checkpoint(checkpoint, folder)
    loaded = load_checkpoint(folder).network
    assert torch.equal(loaded.fixed_embedding, checkpoint.network.fixed_embedding)


def test_a_foreign_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint folder .*; give one that holds"):
        load_checkpoint(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text('{"architectures": ["BertForMaskedLM"]}')
    with pytest.raises(CheckpointError, match="this is no iCaps checkpoint"):
        load_checkpoint(tmp_path)


def test_sizes_that_do_not_fit(folder: Path) -> None:
    edit_model(folder / "config.json", class_dim=9_999)  # must not be allocated
    with pytest.raises(CheckpointError, match=r"capsules\.capsule_bias is .* and should be"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"dropout": 2},
        {"dropout": "x"},
        {"colour": 1},
        {"region_dim": 10**13, "fixed_dim": 10**13},
        {"kernel_size": 10**30},
        {"routing_iterations": 10**9},
    ],
)
def test_impossible_settings_in_a_checkpoint(folder: Path, values: dict[str, object]) -> None:
    edit_model(folder / "config.json", **values)
    with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
        load_checkpoint(folder)


@pytest.mark.parametrize("value", [0, -2.5, float("nan"), float("inf"), "x"])
def test_an_invalid_temperature(folder: Path, value: object) -> None:
    edit(folder / "config.json", inverse_temperature=value)
    with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["metrics.json", "history.jsonl"])
def test_a_number_of_thousands_of_digits(folder: Path, name: str) -> None:
    (folder / name).write_text('{"a": ' + "9" * 5_000 + "}\n")
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        load_checkpoint(folder)


def test_one_class_more_than_weights(folder: Path) -> None:
    with (folder / "classes.txt").open("a") as file:
        file.write("Chess\n")
    with pytest.raises(CheckpointError, match="does not fit"):
        load_checkpoint(folder)


def test_weights_that_are_not_finite(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["region.bias"][0] = float("nan")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"region\.bias has NaN or infinity"):
        load_checkpoint(folder)


def test_names_of_capsules_are_stored(folder: Path) -> None:
    rename_capsule(folder, 2, "  oil\nand  gas ")
    rename_capsule(folder, 0, "<b>&")
    assert load_checkpoint(folder).capsule_names == {0: "<b>&", 2: "oil and gas"}
    rename_capsule(folder, 2, " ")
    classifier = ICapsClassifier.load(folder)
    assert classifier.capsule_names_ == {0: "<b>&"}
    classifier.save(folder)
    assert load_checkpoint(folder).capsule_names == {0: "<b>&"}
    ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*make_texts(60, seed=1)).save(folder)
    assert load_checkpoint(folder).capsule_names == {}  # other weights, other capsules


@pytest.mark.parametrize(
    ("capsule", "name", "fault"),
    [
        (6, "x", "they are 0 to 5"),
        (-1, "x", "they are 0 to 5"),
        (0, "x" * 61, "at most 60 printable"),
        (0, "a\x00b", "printable characters"),
        (0, "a\u202eb", "printable characters"),
    ],
)
def test_invalid_names_of_capsules(folder: Path, capsule: int, name: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        rename_capsule(folder, capsule, name)


@pytest.mark.parametrize("content", ["[]", '{"a": "b"}', "{"])
def test_damaged_names(folder: Path, content: str) -> None:
    (folder / "capsules.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"capsules\.json is damaged"):
        load_checkpoint(folder)


def test_two_rename_at_once(folder: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda i: rename_capsule(folder, i, f"name {i}"), range(6)))
    assert load_checkpoint(folder).capsule_names == {i: f"name {i}" for i in range(6)}
