"""Which model said so: its name and the fingerprint of its weights."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from icaps.interpret.global_view import weights_fingerprint


class ModelName(NamedTuple):
    """A model by the name of its folder, and by its weights, whose fingerprint is of no others."""

    name: str
    weights: str


def model_name(folder: str | Path) -> ModelName:
    """The name of the model in a folder: the same wherever the folder lies.

    Raises:
        CheckpointError: The weights can't be read.
    """
    return ModelName(Path(folder).resolve().name, weights_fingerprint(folder))
