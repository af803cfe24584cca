"""Which trained models there are to choose from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from icaps.interpret.global_view import FOLDER, VIEW
from icaps.train.checkpoint_files import BASELINE, CAPSULES, CONFIG, WEIGHTS

ROOT = Path(__file__).resolve().parents[1]
_LATER = (CAPSULES, f"{FOLDER}/{VIEW}")  # files that come after the training
SHIPPED, OWN = ROOT / "checkpoints", ROOT / "runs"


@dataclass(frozen=True)
class ModelFolder:
    """A checkpoint folder, whole or damaged; `stamp` changes when anything in it is written."""

    name: str
    path: Path
    stamp: int

    @property
    def shipped(self) -> bool:
        """Whether it came with the app."""
        return self.path.parent == SHIPPED

    @property
    def bytes_on_disk(self) -> int:
        """Size of all its files."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def roots() -> list[Path]:
    """Folders whose subfolders are models.

    The environment variable ICAPS_MODELS, a list of folders as in PATH, stands in for the two of
    the repository: checkpoints/ (shipped) and runs/ (the user's own).
    """
    given = os.environ.get("ICAPS_MODELS", "")
    return [Path(part) for part in given.split(os.pathsep) if part] or [SHIPPED, OWN]


def runs_folder() -> Path:
    """Where trainings are started: the last of the folders of models."""
    return roots()[-1].resolve()


def find_models() -> list[ModelFolder]:
    """All models: the newest first, and last the shipped ones by name, whose times are a clone's.

    Named by the end of their path that tells them apart.
    """
    return _find(CONFIG, WEIGHTS)


def find_baselines() -> list[ModelFolder]:
    """All baselines, the newest first."""
    return _find(BASELINE)


def _find(*files: str) -> list[ModelFolder]:
    """Folders with one of these files."""
    found = [folder for root in roots() if root.is_dir() for folder in root.iterdir()]
    stamps = {
        folder.resolve(): _stamp(folder, *files)
        for folder in found
        if not folder.name.startswith(".")
    }
    folders = sorted(
        (path for path, stamp in stamps.items() if stamp),
        key=lambda path: (0, path) if path.parent == SHIPPED else (-stamps[path], path),
    )
    return [
        ModelFolder(_name(folder, folders), folder, max(stamps[folder], _stamp(folder, *_LATER)))
        for folder in folders
    ]


def _name(folder: Path, folders: Sequence[Path]) -> str:
    """The folder's name, with as many of its parents as no other folder shares."""
    for length in range(1, len(folder.parts)):
        tail = folder.parts[-length:]
        if sum(other.parts[-length:] == tail for other in folders) == 1:
            return "/".join(tail)
    return str(folder)


def _stamp(folder: Path, *names: str) -> int:
    """Time of the last change to these files; 0 where there is none."""
    files = [folder / name for name in names]
    return max((file.stat().st_mtime_ns for file in files if file.is_file()), default=0)
