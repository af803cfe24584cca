"""The trained models and baselines that the app can show."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from icaps.interpret.global_view import FOLDER, VIEW
from icaps.runs.folder import RunFolder
from icaps.shipped import CHECKPOINTS as SHIPPED
from icaps.shipped import ROOT
from icaps.train.checkpoint_files import BASELINE, CAPSULES, CONFIG, EDITS, WEIGHTS

_LATER = (CAPSULES, f"{FOLDER}/{VIEW}")  # files that are written after the training
OWN = ROOT / "runs"


@dataclass(frozen=True)
class ModelFolder:
    """A checkpoint folder, valid or damaged.

    `stamp` changes when a file in it is written, and when its edits are undone.
    """

    name: str
    path: Path
    stamp: int

    @property
    def shipped(self) -> bool:
        """Whether the model is part of the repository."""
        return self.path.parent == SHIPPED

    @property
    def bytes_on_disk(self) -> int:
        """The size of all its files."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def roots() -> list[Path]:
    """The folders whose subfolders are models.

    These are checkpoints/ (shipped) and runs/ (the user's own) of the repository, unless the
    environment variable ICAPS_MODELS has a list of folders, as in PATH.
    """
    given = os.environ.get("ICAPS_MODELS", "")
    return [Path(part) for part in given.split(os.pathsep) if part] or [SHIPPED, OWN]


def runs_folder() -> Path:
    """The folder of new trainings: the last one of `roots`."""
    return roots()[-1].resolve()


def find_models() -> list[ModelFolder]:
    """All models: the newest first, then the shipped ones by name, as a clone resets their times.

    A model's name is the shortest end of its path that is unique.
    """
    return _find(CONFIG, WEIGHTS)


def default_model(models: Iterable[ModelFolder]) -> ModelFolder:
    """The model of a visitor who has not chosen one; `models` are those of `find_models`.

    It is the first one that is shipped, or else the newest that is not being trained, if any.
    """
    models = list(models)
    shipped = next((model for model in models if model.shipped), None)
    if shipped is not None:
        return shipped
    return next((m for m in models if not RunFolder(m.path).status().live), models[0])


def model_in(folder: Path) -> ModelFolder | None:
    """The model in a folder; None if there is none."""
    resolved = folder.resolve()
    return next((model for model in find_models() if model.path == resolved), None)


def find_baselines() -> list[ModelFolder]:
    """All baselines, the newest first."""
    return _find(BASELINE)


def _find(*files: str) -> list[ModelFolder]:
    """The folders that have one of these files."""
    candidates = [folder for root in roots() if root.is_dir() for folder in root.iterdir()]
    stamps = {
        folder.resolve(): _stamp(folder, *files)
        for folder in candidates
        if not folder.name.startswith(".")
    }
    folders = sorted(
        (path for path, stamp in stamps.items() if stamp),
        key=lambda path: (0, path) if path.parent == SHIPPED else (-stamps[path], path),
    )
    return [
        ModelFolder(
            _name(folder, folders),
            folder,
            # Edits may be older than the weights and are deleted when they are undone.
            max(stamps[folder], _stamp(folder, *_LATER)) + _stamp(folder, EDITS),
        )
        for folder in folders
    ]


def _name(folder: Path, folders: Sequence[Path]) -> str:
    """The name of a folder, with as many of its parents as make it unique."""
    for length in range(1, len(folder.parts)):
        tail = folder.parts[-length:]
        if sum(other.parts[-length:] == tail for other in folders) == 1:
            return "/".join(tail)
    return str(folder)


def _stamp(folder: Path, *names: str) -> int:
    """The time of the last change to these files in ns; 0 if none exists."""
    files = [folder / name for name in names]
    return max((file.stat().st_mtime_ns for file in files if file.is_file()), default=0)
