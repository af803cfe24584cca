"""What comes with the package beside the library: the dashboard, and trained models by name.

In a checkout they lie beside the folder of the library; a wheel has them in `icaps/app`.
"""

from __future__ import annotations

from pathlib import Path

_LIBRARY = Path(__file__).resolve().parent
_INSTALLED = _LIBRARY / "app"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _LIBRARY.parent
HOME = ROOT / "dashboard" / "Home.py"
CHECKPOINTS = ROOT / "checkpoints"


def model_folder(model: str | Path) -> Path:
    """The folder of a model: the path itself if it exists, else that of a shipped model's name."""
    path = Path(model)
    shipped = CHECKPOINTS / path
    if not path.exists() and len(path.parts) == 1 and shipped.is_dir():
        return shipped
    return path
