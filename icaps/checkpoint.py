"""A trained model as a folder: safetensors, JSON and plain text; nothing is ever unpickled."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from icaps.config import VECTOR_STEP, ModelConfig, TrainConfig, config_from_dict
from icaps.errors import CheckpointError, ConfigError
from icaps.model import ICapsNet
from icaps.run_folder import CONFIG, check_place
from icaps.text import Vocabulary

FORMAT_VERSION = 2
READABLE = (1, FORMAT_VERSION)  # 1 has the frozen vectors as float16
VOCABULARY, CLASSES = "vocabulary.txt", "classes.txt"
WEIGHTS, METRICS, HISTORY = "model.safetensors", "metrics.json", "history.jsonl"
CAPSULES = "capsules.json"  # names that users gave to primary capsules
MAX_NAME = 60  # characters of such a name
_WRITTEN = (CONFIG, VOCABULARY, CLASSES, WEIGHTS, METRICS, HISTORY, CAPSULES)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


@dataclass(frozen=True)
class Checkpoint:
    """All that a checkpoint folder holds.

    `inverse_temperature` turns norms into probabilities; `history` has a record an epoch;
    `metrics` is free-form; `capsule_names` are those that were given, by number.
    """

    network: ICapsNet
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    train_config: TrainConfig
    inverse_temperature: float
    metrics: dict[str, Any]
    history: list[dict[str, Any]]
    capsule_names: dict[int, str] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Writes the folder beside its place and then renames it, so that it is whole or absent.

    An older checkpoint there is replaced, and files in it that are no part of a checkpoint (a
    model card, say) are kept: the same files, so that a log that is being written goes on.

    Raises:
        CheckpointError: The place can't be written, or holds something else.
    """
    folder = Path(folder)
    check_place(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder) as scratch:
            if folder.exists():
                written = shutil.ignore_patterns(*_WRITTEN)
                shutil.copytree(folder, scratch, False, written, _link, dirs_exist_ok=True)
            _write(checkpoint, scratch)
    except OSError as error:
        raise CheckpointError(f"The checkpoint can't be written to {folder}: {error}") from error


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of `folder` when the block ends without an error."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield scratch
        _swap(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def rename_capsule(folder: str | Path, capsule: int, name: str) -> None:
    """Gives a primary capsule of a checkpoint a name, which stands for its number everywhere.

    White space is made single, and a name without anything else takes the name away.

    Raises:
        ConfigError: There is no such capsule, or the name is too long.
        CheckpointError: The folder is damaged, or can't be written.
    """
    folder, name = Path(folder), " ".join(name.split())
    config = config_from_dict(ModelConfig, _read_json(folder / CONFIG)["model"])
    last = config.num_capsules - 1
    if not 0 <= capsule <= last:
        raise ConfigError(f"There is no capsule {capsule}; they are 0 to {last}.")
    if len(name) > MAX_NAME or not name.isprintable():
        raise ConfigError(
            f"The name {name!r} can't be used; give at most {MAX_NAME} characters that can be seen."
        )
    try:
        with FileLock(folder / f".{CAPSULES}.lock"):
            names = _read_names(folder / CAPSULES) | {capsule: name}
            scratch = folder / f".{CAPSULES}"
            _write_json({str(i): names[i] for i in sorted(names) if names[i]}, scratch)
            scratch.replace(folder / CAPSULES)
    except OSError as error:
        raise CheckpointError(f"The name can't be written to {folder}: {error}") from error


def load_checkpoint(folder: str | Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Reads and checks a folder; the network comes back in eval mode.

    Raises:
        CheckpointError: A file is missing, damaged, of another format version, or does not fit
            the others.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckpointError(
            f"There is no checkpoint folder {folder}; give one that holds {CONFIG}."
        )
    config = _read_json(folder / CONFIG)
    _check_version(config, folder)
    try:
        model_config = config_from_dict(ModelConfig, config["model"])
        train_config = config_from_dict(TrainConfig, config["train"])
        inverse_temperature = float(config["inverse_temperature"])
        if not 0 < inverse_temperature < math.inf:
            raise ConfigError(f"inverse_temperature is {inverse_temperature}")
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise CheckpointError(f"{folder / CONFIG} is damaged ({error}). {_AGAIN}") from error
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    classes = _read_classes(folder / CLASSES)
    network = _read_network(folder / WEIGHTS, model_config, len(vocabulary), len(classes))
    return Checkpoint(
        network.to(device).eval(),
        vocabulary,
        classes,
        train_config,
        inverse_temperature,
        _read_json(folder / METRICS),
        _read_history(folder / HISTORY),
        _read_names(folder / CAPSULES),
    )


_AGAIN = "Copy the folder again from where it came, or train the model again."


def _write(checkpoint: Checkpoint, folder: Path) -> None:
    network = checkpoint.network
    config = {
        "format_version": FORMAT_VERSION,
        "model": dataclasses.asdict(network.config),
        "train": dataclasses.asdict(checkpoint.train_config),
        "inverse_temperature": checkpoint.inverse_temperature,
    }
    _write_json(config, folder / CONFIG)
    _write_json(checkpoint.metrics, folder / METRICS)
    names = {str(i): name for i, name in sorted(checkpoint.capsule_names.items())}
    _write_json(names, folder / CAPSULES)
    lines = [json.dumps(record) + "\n" for record in checkpoint.history]
    (folder / HISTORY).write_text("".join(lines), encoding="utf-8")
    (folder / CLASSES).write_text("\n".join(checkpoint.classes) + "\n", encoding="utf-8")
    checkpoint.vocabulary.save(folder / VOCABULARY)
    weights = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
    weights["fixed_embedding"] = _as_bytes(weights["fixed_embedding"])
    save_file(weights, folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)


def _as_bytes(vectors: Tensor) -> Tensor:
    """Vectors as int8 steps where that loses nothing, as in each fitted model; else as given."""
    steps = (vectors / VECTOR_STEP).to(torch.int8)
    return steps if torch.equal(steps * VECTOR_STEP, vectors.float()) else vectors


def _swap(scratch: Path, folder: Path) -> None:
    """Puts `scratch` where `folder` is; a rename can't replace a folder that isn't empty."""
    scratch.chmod(0o755)
    if not folder.exists():
        scratch.rename(folder)
    elif _exchanged(scratch, folder):  # then `scratch` is what is to go
        return
    else:
        old = folder.with_name(f"{scratch.name}-old")
        folder.rename(old)
        scratch.rename(folder)
        shutil.rmtree(old)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether both have changed places in one go, so that nobody finds either missing.

    Linux can do so where its C library and the file system do.
    """
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    paths = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
    return bool(rename(*paths, _RENAME_EXCHANGE) == 0)


def _link(source: str, target: str) -> None:
    """The same file in another place; a copy where the file system has no such links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _write_json(value: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing. {_AGAIN}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} can't be read ({error}). {_AGAIN}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise CheckpointError(f"{path} is damaged ({error}). {_AGAIN}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged (it holds no object). {_AGAIN}")
    return value


def _read_history(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in _read_text(path).splitlines()]
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {_AGAIN}") from error


def _read_names(path: Path) -> dict[int, str]:
    """Names by the number of their capsule; an older checkpoint has no such file."""
    if not path.exists():
        return {}
    names = _read_json(path)
    try:
        return {int(number): str(name) for number, name in names.items()}
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged ({error}). {_AGAIN}") from error


def _read_classes(path: Path) -> tuple[str, ...]:
    classes = tuple(_read_text(path).removesuffix("\n").split("\n"))
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise CheckpointError(f"{path} must name two or more different classes. {_AGAIN}")
    return classes


def _check_version(config: dict[str, Any], folder: Path) -> None:
    version = config.get("format_version")
    if version is None:
        raise CheckpointError(
            f"{folder / CONFIG} has no format_version, so this is no iCaps checkpoint."
        )
    if version not in READABLE or isinstance(version, bool):
        raise CheckpointError(
            f"{folder} has format version {version}, and this iCaps reads up to {FORMAT_VERSION}. "
            "Use the iCaps that wrote it, or train the model again."
        )


class _NoFilling(TorchFunctionMode):
    """New weights stay unfilled: on "meta", normal_ alone imports torch's compiler, for seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"]
        return func(*args, **kwargs)


def _read_network(path: Path, config: ModelConfig, words: int, classes: int) -> ICapsNet:
    if not path.is_file():
        raise CheckpointError(f"{path} is missing. {_AGAIN}")
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {_AGAIN}") from error
    with torch.device("meta"), _NoFilling():  # a hostile config must not allocate memory
        network = ICapsNet(config, words, classes)
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if found != expected:
        odd = min(name for name in expected | found if expected.get(name) != found.get(name))
        raise CheckpointError(
            f"{path} does not fit {CONFIG}, {VOCABULARY} and {CLASSES}: {odd} is "
            f"{found.get(odd, 'missing')} and should be {expected.get(odd, 'absent')}. {_AGAIN}"
        )
    if weights["fixed_embedding"].dtype == torch.int8:
        weights["fixed_embedding"] = weights["fixed_embedding"] * VECTOR_STEP
    weights = {name: value.float() for name, value in weights.items()}
    for name, value in weights.items():
        if not math.isfinite(value.abs().sum().item()):
            raise CheckpointError(f"{path} is damaged ({name} holds no numbers). {_AGAIN}")
    network.load_state_dict(weights, assign=True)
    return network
