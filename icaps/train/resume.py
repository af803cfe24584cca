"""What a training keeps so that it can go on exactly: one file, which is whole or absent."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from icaps.errors import CheckpointError
from icaps.nn import distributed
from icaps.train.checkpoint_files import STATE, check_resumable

FORMAT_VERSION = 1
_ANEW = "or leave --resume out to train anew."


class State(NamedTuple):
    """Where a training stood: tensors by name, and the rest as plain data."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Last:
    """The place of a training's state.

    Attributes:
        folder: Holds the state alone; a model's folder has it as `last`.
        identity: What the state belongs to, as plain data: `settings` by name, and fingerprints
            of all else that it depends on.
        state: Where to go on from; None starts anew.
    """

    folder: Path
    identity: Mapping[str, Any]
    state: State | None = None

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any], resume: bool) -> Last:
        """The place, with the state that is there when it is to be resumed.

        Raises:
            CheckpointError: There is no state, it is damaged, or it belongs to other data or
                settings.
        """
        return cls(folder, identity, _load(folder / STATE, identity) if resume else None)

    def save(self, state: State) -> None:
        """Writes the state in the place of an older one; process 0 alone does so.

        Raises:
            CheckpointError: It can't be written.
        """
        if distributed.rank():
            return
        facts = {"format_version": FORMAT_VERSION, "identity": self.identity, "facts": state.facts}
        tensors = {name: value.cpu().contiguous() for name, value in state.tensors.items()}
        partial = self.folder / f"{STATE}.partial"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            save_file(tensors, partial, {"training": json.dumps(facts)})
            partial.replace(self.folder / STATE)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"The state of the training can't be written to {self.folder}: {error}. Make room "
                "there; --resume goes on from the state that was written before."
            ) from error


def forget(folder: Path) -> None:
    """Removes the state of a training that is finished, where there is one."""
    if folder.exists():
        shutil.rmtree(folder)


def fingerprint(parts: Iterable[NDArray[Any] | str]) -> str:
    """A text that is the same for the same arrays and texts, and practically for no others."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            part = np.frombuffer(part.encode("utf-8", "surrogatepass"), np.uint8)
        digest.update(f"{part.nbytes}:".encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _load(path: Path, identity: Mapping[str, Any]) -> State:
    check_resumable(path.parent)
    try:
        with safe_open(path, "pt") as file:
            written = json.loads(file.metadata()["training"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}). Copy it again from where it came, {_ANEW}"
        ) from error
    if written["format_version"] != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format version {written['format_version']}, and this iCaps reads "
            f"{FORMAT_VERSION}. Use the iCaps that wrote it, {_ANEW}"
        )
    different = _difference(written["identity"], json.loads(json.dumps(identity)))
    if different:
        raise CheckpointError(
            f"The training in {path.parent} can't go on: {different}. Give what it was started "
            f"with, {_ANEW}"
        )
    return State(tensors, written["facts"])


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first thing that differs between two identities, in words; empty where none does."""
    before, now = old["settings"], new["settings"]
    for name in sorted(before | now):
        if before.get(name) != now.get(name):
            return f"the setting {name} was {before.get(name)!r} and is {now.get(name)!r}"
    parts = [name for name in new if old.get(name) != new[name]]
    return f"it was started with other {parts[0]}" if parts else ""
