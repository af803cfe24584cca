"""A trained model as a folder: safetensors, JSON and plain text; nothing is ever unpickled."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from filelock import FileLock
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from icaps.config import VECTOR_STEP, ModelConfig, TrainConfig, config_from_dict
from icaps.data.atomic import (
    COPY_AGAIN,
    check_regular_files,
    read_json,
    read_text,
    updated_folder,
    write_json,
)
from icaps.errors import CheckpointError, ConfigError
from icaps.model import ICapsNet
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import (
    BASELINE,
    CAPSULES,
    CLASSES,
    CONFIG,
    HISTORY,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    check_writable,
    read_classes,
)

FORMAT_VERSION = 2
READABLE = (1, FORMAT_VERSION)  # 1 has the frozen vectors as float16
MAX_NAME = 60  # characters of such a name
Module = TypeVar("Module", bound=nn.Module)
_WRITTEN = (CONFIG, VOCABULARY, CLASSES, WEIGHTS, METRICS, HISTORY, CAPSULES)


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
    check_writable(folder)
    with updated_folder(folder, _WRITTEN) as scratch:
        _write(checkpoint, scratch)


def rename_capsule(folder: str | Path, capsule: int, name: str) -> None:
    """Gives a primary capsule of a checkpoint a name, which stands for its number everywhere.

    White space is made single, and a name without anything else takes the name away.

    Raises:
        ConfigError: There is no such capsule, or the name is too long.
        CheckpointError: The folder is damaged, or can't be written.
    """
    folder, name = Path(folder), " ".join(name.split())
    config = config_from_dict(ModelConfig, read_json(folder / CONFIG)["model"])
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
            write_json({str(i): names[i] for i in sorted(names) if names[i]}, scratch)
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
    check_regular_files(folder)
    if (folder / BASELINE).is_file():
        raise CheckpointError(
            f"{folder} holds a baseline, which has no capsules; `icaps compare` takes it."
        )
    config = read_json(folder / CONFIG)
    _check_version(config, folder)
    try:
        model_config = config_from_dict(ModelConfig, config["model"])
        train_config = config_from_dict(TrainConfig, config["train"])
        inverse_temperature = float(config["inverse_temperature"])
        if not 0 < inverse_temperature < math.inf:
            raise ConfigError(f"inverse_temperature is {inverse_temperature}")
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise CheckpointError(f"{folder / CONFIG} is damaged ({error}). {COPY_AGAIN}") from error
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    classes = read_classes(folder / CLASSES)
    network = _read_network(folder / WEIGHTS, model_config, len(vocabulary), len(classes))
    return Checkpoint(
        network.to(device).eval(),
        vocabulary,
        classes,
        train_config,
        inverse_temperature,
        read_json(folder / METRICS),
        _read_history(folder / HISTORY),
        _read_names(folder / CAPSULES),
    )


def _write(checkpoint: Checkpoint, folder: Path) -> None:
    network = checkpoint.network
    config = {
        "format_version": FORMAT_VERSION,
        "model": dataclasses.asdict(network.config),
        "train": dataclasses.asdict(checkpoint.train_config),
        "inverse_temperature": checkpoint.inverse_temperature,
    }
    write_json(config, folder / CONFIG)
    write_json(checkpoint.metrics, folder / METRICS)
    names = {str(i): name for i, name in sorted(checkpoint.capsule_names.items())}
    write_json(names, folder / CAPSULES)
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


def _read_history(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in read_text(path).splitlines()]
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error


def _read_names(path: Path) -> dict[int, str]:
    """Names by the number of their capsule; an older checkpoint has no such file."""
    if not path.exists():
        return {}
    names = read_json(path)
    try:
        return {int(number): str(name) for number, name in names.items()}
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error


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


def _read_network(path: Path, config: ModelConfig, words: int, classes: int) -> ICapsNet:
    network = without_memory(lambda: ICapsNet(config, words, classes))
    weights = read_weights(path, shapes(network), CONFIG)
    if weights["fixed_embedding"].dtype == torch.int8:
        weights["fixed_embedding"] = weights["fixed_embedding"] * VECTOR_STEP
    network.load_state_dict({name: w.float() for name, w in weights.items()}, assign=True)
    return network


def without_memory(make: Callable[[], Module]) -> Module:
    """What `make` makes, its weights without memory: a hostile config must not allocate any."""
    with torch.device("meta"), _NoInitialisation():
        return make()


def shapes(network: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a network's weights, by name."""
    return {name: tuple(value.shape) for name, value in network.state_dict().items()}


def read_weights(
    path: Path, expected: Mapping[str, tuple[int, ...]], config: str
) -> dict[str, Tensor]:
    """The tensors of a safetensors file.

    Args:
        path: The file.
        expected: The shapes that it must hold, by name.
        config: The file beside it from which these shapes follow.

    Raises:
        CheckpointError: The file is damaged, has other names or shapes, or a value is not finite.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} is missing. {COPY_AGAIN}")
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error
    stored = {name: tuple(value.shape) for name, value in weights.items()}
    if stored != expected:
        odd = min(name for name in {**expected, **stored} if expected.get(name) != stored.get(name))
        raise CheckpointError(
            f"{path} does not fit {config}, {VOCABULARY} and {CLASSES}: {odd} is "
            f"{stored.get(odd, 'missing')} and should be {expected.get(odd, 'absent')}. "
            f"{COPY_AGAIN}"
        )
    for name, value in weights.items():
        if not math.isfinite(value.abs().sum(dtype=torch.float32).item()):
            raise CheckpointError(f"{path} is damaged ({name} has NaN or infinity). {COPY_AGAIN}")
    return weights


class _NoInitialisation(TorchFunctionMode):
    """Skips `torch.nn.init`: on "meta", normal_ alone imports torch's compiler, for seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"]
        return func(*args, **kwargs)
