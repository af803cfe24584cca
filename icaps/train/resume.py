"""Saves and loads the state of a training, from which it resumes exactly: one file."""

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

from icaps.config import ADDED, removed_setting, without_removed
from icaps.data.plain_json import parse_json
from icaps.errors import CheckpointError
from icaps.nn import distributed
from icaps.train.checkpoint_files import STATE, check_resumable

FORMAT_VERSION = 1
_OR_RESTART = "or omit --resume to train from the start."


class State(NamedTuple):
    """The state of a training: tensors by name, and its `TrainingProgress` as plain data."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class StateFolder:
    """The folder where the state of a training is stored.

    Attributes:
        folder: Contains only the state; in the folder of a model it is `last`.
        identity: The inputs of the training, as plain data: `settings` by name, and fingerprints of
            everything else that it depends on.
        state: To resume from; None: start from the beginning.
    """

    folder: Path
    identity: Mapping[str, Any]
    state: State | None = None

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any], resume: bool) -> StateFolder:
        """Opens the folder, and loads its state if `resume`.

        Raises:
            CheckpointError: There is no state, it is damaged, or it belongs to other data or
                settings.
        """
        return cls(folder, identity, _load(folder / STATE, identity) if resume else None)

    def save(self, state: State) -> None:
        """Replaces the stored state atomically; only process 0 writes.

        Raises:
            CheckpointError: It cannot be written.
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
                f"The state of the training cannot be written to {self.folder}: {error}. Make room "
                "there; --resume continues from the state that was written before."
            ) from error


def delete_state(folder: Path) -> None:
    """Deletes the state of a training that has finished, if there is one."""
    if folder.exists():
        shutil.rmtree(folder)


def fingerprint(parts: Iterable[NDArray[Any] | str]) -> str:
    """A hash (SHA-256) of arrays and strings."""
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
            header = parse_json(file.metadata()["training"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}). Copy it again from its source, {_OR_RESTART}"
        ) from error
    if header["format_version"] != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format version {header['format_version']}, and this iCaps reads "
            f"{FORMAT_VERSION}. Use the iCaps that wrote it, {_OR_RESTART}"
        )
    difference = _difference(header["identity"], json.loads(json.dumps(identity)))
    if difference:
        raise CheckpointError(
            f"The training in {path.parent} cannot be resumed: {difference}. Give the same "
            f"settings and data as at its start, {_OR_RESTART}"
        )
    return State(tensors, header["facts"])


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first difference between two identities, as a clause; empty if there is none."""
    before, now = dict(old["settings"]), new["settings"]
    if not removed_setting(before):  # as in a state of an earlier version
        before = without_removed(before)
    before = {name: value for name, value in ADDED.items() if name in now} | before
    for name in sorted(before | now):
        if before.get(name) != now.get(name):
            return f"the setting {name} was {before.get(name)!r} and is {now.get(name)!r}"
    parts = [name for name in new if name != "settings" and old.get(name) != new[name]]
    return f"it was started with other {parts[0]}" if parts else ""
