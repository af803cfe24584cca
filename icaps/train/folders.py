"""The folder of a trained classifier: written whole or not at all, and checked as it is read."""

from __future__ import annotations

import ctypes
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from icaps.errors import CheckpointError

VOCABULARY, CLASSES = "vocabulary.txt", "classes.txt"
WEIGHTS, METRICS = "model.safetensors", "metrics.json"
AGAIN = "Copy the folder again from where it came, or train the model again."
Module = TypeVar("Module", bound=nn.Module)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


@contextmanager
def rewriting(folder: Path, written: Sequence[str]) -> Iterator[Path]:
    """A new folder for the files `written`, which takes the place of `folder` as `replacing` does.

    What else is in `folder` goes along.

    Raises:
        CheckpointError: The place can't be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder) as scratch:
            if folder.exists():
                left_out = shutil.ignore_patterns(*written)
                shutil.copytree(folder, scratch, False, left_out, _link, dirs_exist_ok=True)
            yield scratch
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


def check_regular(folder: Path) -> None:
    """Raises CheckpointError where a pipe or a device is in a folder: reading one may never end."""
    for path in folder.rglob("*"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"{path} is no file. {AGAIN}")


def write_json(value: dict[str, Any], path: Path) -> None:
    """Writes an object.

    Raises:
        OSError: It can't be written.
    """
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_text(path: Path) -> str:
    """The text of a file of a folder; CheckpointError where it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing. {AGAIN}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} can't be read ({error}). {AGAIN}") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of a folder; CheckpointError where there is none."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise CheckpointError(f"{path} is damaged ({error}). {AGAIN}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged (it holds no object). {AGAIN}")
    return value


def read_classes(path: Path) -> tuple[str, ...]:
    """The names of classes, a line each; CheckpointError where they are none."""
    classes = tuple(read_text(path).removesuffix("\n").split("\n"))
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise CheckpointError(f"{path} must name two or more different classes. {AGAIN}")
    return classes


def unfilled(make: Callable[[], Module]) -> Module:
    """What `make` makes without memory for its weights: a hostile config must not allocate any."""
    with torch.device("meta"), _NoFilling():
        return make()


def shapes(network: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a network's weights, by name."""
    return {name: tuple(value.shape) for name, value in network.state_dict().items()}


def read_weights(
    path: Path, expected: Mapping[str, tuple[int, ...]], config: str
) -> dict[str, Tensor]:
    """The tensors of a file, which has to hold those of these names and shapes, of finite numbers.

    `config` is the file beside it that the shapes follow from.

    Raises:
        CheckpointError: It doesn't.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} is missing. {AGAIN}")
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {AGAIN}") from error
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if found != expected:
        odd = min(name for name in {**expected, **found} if expected.get(name) != found.get(name))
        raise CheckpointError(
            f"{path} does not fit {config}, {VOCABULARY} and {CLASSES}: {odd} is "
            f"{found.get(odd, 'missing')} and should be {expected.get(odd, 'absent')}. {AGAIN}"
        )
    for name, value in weights.items():
        if not math.isfinite(value.abs().sum(dtype=torch.float32).item()):
            raise CheckpointError(f"{path} is damaged ({name} holds no numbers). {AGAIN}")
    return weights


class _NoFilling(TorchFunctionMode):
    """New weights stay unfilled: on "meta", normal_ alone imports torch's compiler, for seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"]
        return func(*args, **kwargs)


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
