"""Checkpoints: saves and loads a trained model as a folder of safetensors, JSON and plain text.

Nothing is pickled. The files are listed in `checkpoint_files`.

A checkpoint holds all that prediction needs, also the vectors of words that training never saw: a
byte per number, at most `vectors.MAX_VECTOR_WORDS_BYTES`, and equal vectors once. With its words,
the table of English adds about 7 MB.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from icaps.config import (
    BY_CLASS,
    VECTOR_STEP,
    ModelConfig,
    TrainConfig,
    config_from_dict,
    removed_setting,
)
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
from icaps.nn.thresholds import ClassThresholds
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import (
    BASELINE,
    CAPSULES,
    CLASSES,
    CONFIG,
    EDITS,
    HISTORY,
    METRICS,
    MULTILABEL,
    TEXTS,
    VOCABULARY,
    WEIGHTS,
    check_writable,
    read_classes,
    write_classes,
)
from icaps.train.text_hashes import TextHashes, load_hashes

_OTHER_VERSION = "Use the iCaps that wrote it, or train the model again."
FORMAT_VERSION = 3
_MULTILABEL_VERSION = 4  # of a model with several labels per text; else as 3
# 1 has the frozen vectors as float16, 2 has no vector words
READABLE = (1, 2, FORMAT_VERSION, _MULTILABEL_VERSION)
LABEL_TYPES: dict[str, Callable[[str], Any]] = {  # convert the name of a class to its label
    "str": str,
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
MAX_NAME_LENGTH = 60  # of the name of a capsule, in characters
_MAX_SHARED = 1 << 28  # bytes of vectors of words that share stored ones, which are expanded
Module = TypeVar("Module", bound=nn.Module)
_WRITTEN = (CONFIG, VOCABULARY, CLASSES, WEIGHTS, METRICS, HISTORY, CAPSULES, TEXTS, EDITS)


@dataclass(frozen=True)
class Checkpoint:
    """The contents of a checkpoint folder.

    Attributes:
        network: In eval mode.
        vocabulary: That of the network.
        classes: Names, in the order of class numbers.
        train_config: Settings of the training; those of the model are in `network.config`.
        inverse_temperature: Factor of the norms in `ICapsClassifier.predict_proba`.
        metrics: Sizes, seed and scores; `metrics.json`.
        history: A record per epoch.
        capsule_names: Names that users gave to primary capsules, by number.
        label_type: Of the labels before they became names: a key of `LABEL_TYPES`.
        hashes: Of the texts of the training; None in checkpoints of earlier versions.
        edits: What is neutral, as `interpret.edits.Edit.to_dict` returns it.
    """

    network: ICapsNet
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    train_config: TrainConfig
    inverse_temperature: float
    metrics: dict[str, Any]
    history: list[dict[str, Any]]
    capsule_names: dict[int, str] = field(default_factory=dict)
    label_type: str = "str"
    hashes: TextHashes | None = None
    edits: Sequence[dict[str, Any]] = ()

    @property
    def labels(self) -> NDArray[Any]:
        """The classes (J,) as labels of the type that they had at `fit`."""
        labels = [LABEL_TYPES[self.label_type](name) for name in self.classes]
        return np.array(labels, dtype=object if self.label_type == "str" else None)


class _WordReading(NamedTuple):
    """How the words of a checkpoint are read; older formats have the default values.

    `vector_words` and `backs_off` are those of the vocabulary, and `vector_dim` is the number of
    columns of `ICapsNet.vector_words`. `vector_rows` is the number of its different rows if only
    these are stored, with the row of each word; 0 if all are stored.
    """

    vector_words: int = 0
    vector_dim: int = 0
    backs_off: bool = False
    vector_rows: int = 0

    @classmethod
    def of(cls, checkpoint: Checkpoint, rows: int) -> _WordReading:
        vocabulary, vectors = checkpoint.vocabulary, checkpoint.network.vector_words
        return cls(vocabulary.vector_words, vectors.shape[1], vocabulary.backs_off, rows)

    def check(self, model: ModelConfig) -> None:
        """Raises ConfigError for a value that no vocabulary or network has."""
        limits = {
            "vector_words": sys.maxsize,
            "vector_dim": model.fixed_dim,
            "vector_rows": self.vector_words,
        }
        for name, limit in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= limit:
                raise ConfigError(f"{name} is {value!r}")
        if self.vector_rows and self.vector_words * self.vector_dim > _MAX_SHARED:
            raise ConfigError(f"{self.vector_words} vector words are too many")
        if type(self.backs_off) is not bool:
            raise ConfigError(f"backs_off is {self.backs_off!r}")


def label_type(classes: NDArray[Any]) -> str:
    """The key of `LABEL_TYPES` for labels, by the dtype of their classes (J,)."""
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(classes.dtype.kind, "str")


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Writes a checkpoint folder atomically.

    An existing checkpoint is replaced. Files that are not part of a checkpoint, such as a model
    card or a log, remain.

    Raises:
        CheckpointError: The folder cannot be written, or holds something else.
    """
    folder = Path(folder)
    check_writable(folder)
    with updated_folder(folder, _WRITTEN) as scratch:
        _write(checkpoint, scratch)


def rename_capsule(folder: str | Path, capsule: int, name: str) -> None:
    """Names a primary capsule of a checkpoint; the name is then shown with its number.

    White space is collapsed. An empty name removes the name.

    Raises:
        ConfigError: There is no such capsule, or the name is too long or not printable.
        CheckpointError: The folder is damaged, or cannot be written.
    """
    folder, name = Path(folder), " ".join(name.split())
    config = config_from_dict(ModelConfig, read_json(folder / CONFIG)["model"])
    last = config.num_capsules - 1
    if not 0 <= capsule <= last:
        raise ConfigError(f"There is no capsule {capsule}; they are 0 to {last}.")
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ConfigError(
            f"The name {name!r} cannot be used; give at most {MAX_NAME_LENGTH} printable "
            "characters."
        )
    try:
        with FileLock(folder / f".{CAPSULES}.lock"):
            names = _read_names(folder / CAPSULES) | {capsule: name}
            scratch = folder / f".{CAPSULES}"
            write_json({str(i): names[i] for i in sorted(names) if names[i]}, scratch)
            scratch.replace(folder / CAPSULES)
    except OSError as error:
        raise CheckpointError(f"The name cannot be written to {folder}: {error}") from error


def save_edits(folder: str | Path, edits: Sequence[dict[str, Any]]) -> None:
    """Replaces the edits of a checkpoint, and nothing else; without edits there is no such file.

    Args:
        folder: The checkpoint.
        edits: As `interpret.edits.Edit.to_dict` returns them, checked by
            `ICapsClassifier.edited`.

    Raises:
        CheckpointError: They cannot be written.
    """
    folder = Path(folder)
    try:
        with FileLock(folder / f".{EDITS}.lock"):
            scratch = folder / f".{EDITS}"
            if edits:
                write_json({"edits": list(edits)}, scratch)
                scratch.replace(folder / EDITS)
            else:
                (folder / EDITS).unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(f"The edits cannot be written to {folder}: {error}") from error


def load_checkpoint(folder: str | Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Reads and validates a checkpoint folder; the network is in eval mode.

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
            f"{folder} holds a baseline, which has no capsules; use it with `icaps compare`."
        )
    config = read_json(folder / CONFIG)
    _check_version(config, folder)
    classes = read_classes(folder / CLASSES)
    try:
        if removed := removed_setting({**config["model"], **config["train"]}):
            raise CheckpointError(f"{folder} cannot be loaded: {removed} {_OTHER_VERSION}")
        model_config = config_from_dict(ModelConfig, config["model"])
        train_config = config_from_dict(TrainConfig, config["train"])
        inverse_temperature = float(config["inverse_temperature"])
        if not 0 < inverse_temperature < math.inf:
            raise ConfigError(f"inverse_temperature is {inverse_temperature}")
        thresholds = None
        if config["format_version"] == _MULTILABEL_VERSION:
            thresholds = ClassThresholds.from_dict(config[MULTILABEL], len(classes))
        label_type = config.get("label_type", "str")  # older checkpoints have none
        list(map(LABEL_TYPES[label_type], classes))
        reading = _WordReading(**config.get("words", {}))
        reading.check(model_config)
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise CheckpointError(f"{folder / CONFIG} is damaged ({error}). {COPY_AGAIN}") from error
    vocabulary = Vocabulary.load(folder / VOCABULARY, reading.vector_words, reading.backs_off)
    network = _read_network(folder / WEIGHTS, model_config, vocabulary, reading, len(classes))
    network.thresholds = thresholds
    return Checkpoint(
        network=network.to(device).eval(),
        vocabulary=vocabulary,
        classes=classes,
        train_config=train_config,
        inverse_temperature=inverse_temperature,
        metrics=read_json(folder / METRICS),
        history=_read_history(folder / HISTORY),
        capsule_names=_read_names(folder / CAPSULES),
        label_type=label_type,
        hashes=load_hashes(folder),
        edits=_read_edits(folder / EDITS),
    )


def _write(checkpoint: Checkpoint, folder: Path) -> None:
    network = checkpoint.network
    weights = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
    weights["fixed_embedding"] = _as_bytes(weights["fixed_embedding"])
    shared = _share_rows(weights)
    model = dataclasses.asdict(network.config)
    if network.config.routing == BY_CLASS:  # as in all checkpoints before there was a choice
        del model["routing"]
    config = {
        "format_version": FORMAT_VERSION,
        "model": model,
        "train": dataclasses.asdict(checkpoint.train_config),
        "inverse_temperature": checkpoint.inverse_temperature,
        "label_type": checkpoint.label_type,
        "words": _WordReading.of(checkpoint, shared)._asdict(),
    }
    if network.thresholds is not None:
        config["format_version"] = _MULTILABEL_VERSION
        config[MULTILABEL] = network.thresholds.to_dict()
    write_json(config, folder / CONFIG)
    write_json(checkpoint.metrics, folder / METRICS)
    names = {str(i): name for i, name in sorted(checkpoint.capsule_names.items())}
    write_json(names, folder / CAPSULES)
    lines = [json.dumps(record) + "\n" for record in checkpoint.history]
    (folder / HISTORY).write_text("".join(lines), encoding="utf-8")
    write_classes(checkpoint.classes, folder / CLASSES)
    checkpoint.vocabulary.save(folder / VOCABULARY)
    if checkpoint.hashes is not None:
        checkpoint.hashes.save(folder)
    if checkpoint.edits:
        write_json({"edits": list(checkpoint.edits)}, folder / EDITS)
    save_file(weights, folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)  # safetensors creates it readable to its owner only


def _as_bytes(vectors: Tensor) -> Tensor:
    """Vectors as int8 steps if that is lossless, as in every fitted model; else unchanged."""
    steps = (vectors / VECTOR_STEP).to(torch.int8)
    return steps if torch.equal(steps * VECTOR_STEP, vectors.float()) else vectors


def _share_rows(weights: dict[str, Tensor]) -> int:
    """Replaces the vectors of vector words by the different ones, and adds the row of each word.

    Returns the number of different vectors; 0 if nothing is replaced, as all are different.
    """
    vectors = weights.get("vector_words")
    if vectors is None or not vectors.numel() or vectors.numel() > _MAX_SHARED:
        return 0
    values = vectors.numpy()
    whole = values.view(np.dtype((np.void, values.shape[1])))[:, 0]  # a row as one value
    _, first, rows = np.unique(whole, return_index=True, return_inverse=True)
    if len(first) == len(values):
        return 0
    weights["vector_words"] = torch.from_numpy(values[first])
    weights["vector_rows"] = torch.from_numpy(rows.astype(np.int32))
    return len(first)


def _expand_rows(weights: dict[str, Tensor], path: Path) -> None:
    """Undoes `_share_rows`."""
    rows, vectors = weights.pop("vector_rows"), weights["vector_words"]
    if rows.dtype != torch.int32 or not 0 <= int(rows.min()) <= int(rows.max()) < len(vectors):
        raise CheckpointError(f"{path} is damaged (vector_rows are no rows). {COPY_AGAIN}")
    weights["vector_words"] = vectors[rows.long()]


def _read_history(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in read_text(path).split("\n") if line]
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error


def _read_names(path: Path) -> dict[int, str]:
    """Names of capsules by their number; older checkpoints have no such file."""
    if not path.exists():
        return {}
    names = read_json(path)
    try:
        return {int(number): str(name) for number, name in names.items()}
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error


def _read_edits(path: Path) -> Sequence[dict[str, Any]]:
    """The edits of a model; most have none."""
    if not path.exists():
        return ()
    edits = read_json(path).get("edits")
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise CheckpointError(f"{path} is damaged (it has no list of edits). {COPY_AGAIN}")
    return edits


def _check_version(config: dict[str, Any], folder: Path) -> None:
    version = config.get("format_version")
    if version is None:
        raise CheckpointError(
            f"{folder / CONFIG} has no format_version, so this is no iCaps checkpoint."
        )
    if version not in READABLE or isinstance(version, bool):
        raise CheckpointError(
            f"{folder} has format version {version}, and this iCaps reads up to {READABLE[-1]}. "
            f"{_OTHER_VERSION}"
        )


def _read_network(
    path: Path, config: ModelConfig, vocabulary: Vocabulary, reading: _WordReading, classes: int
) -> ICapsNet:
    shape = vocabulary.vector_words, reading.vector_dim
    network = build_on_meta(
        lambda: ICapsNet(
            config,
            vocabulary.trained_words,
            classes,
            vector_words=torch.empty(shape, dtype=torch.int8),
        )
    )
    stored = shapes(network)
    if reading.vector_rows:
        stored["vector_words"] = reading.vector_rows, reading.vector_dim
        stored["vector_rows"] = (reading.vector_words,)
    weights = read_weights(path, stored, CONFIG)
    if weights["fixed_embedding"].dtype == torch.int8:
        weights["fixed_embedding"] = weights["fixed_embedding"] * VECTOR_STEP
    if weights.get("vector_words", network.vector_words).dtype != torch.int8:
        raise CheckpointError(f"{path} is damaged (vector_words are not int8). {COPY_AGAIN}")
    if reading.vector_rows:
        _expand_rows(weights, path)
    network.load_state_dict(
        {name: w if name == "vector_words" else w.float() for name, w in weights.items()},
        assign=True,
    )
    if not vocabulary.vector_words:  # not in the file
        network.vector_words = torch.empty(shape, dtype=torch.int8)
    network.trained_rows = torch.from_numpy(vocabulary.trained_rows())
    return network


def build_on_meta(build: Callable[[], Module]) -> Module:
    """A module on the meta device: its weights take no memory, however large a hostile config."""
    with torch.device("meta"), _NoInitialisation():
        return build()


def shapes(network: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a network's weights, by name."""
    return {name: tuple(value.shape) for name, value in network.state_dict().items()}


def read_weights(
    path: Path, expected: Mapping[str, tuple[int, ...]], config: str
) -> dict[str, Tensor]:
    """Reads the tensors of a safetensors file and checks their names and shapes.

    Args:
        path: The file.
        expected: The expected shapes, by name.
        config: Name of the file beside it that determines these shapes, for the message.

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
        names = {**expected, **stored}
        name = min(name for name in names if expected.get(name) != stored.get(name))
        raise CheckpointError(
            f"{path} does not fit {config}, {VOCABULARY} and {CLASSES}: {name} is "
            f"{stored.get(name, 'missing')} and should be {expected.get(name, 'absent')}. "
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
