"""iCaps: interpretable capsule networks for text classification, after Wang, Hu and Ji (2020).

    >>> import icaps
    >>> classifier = icaps.load("ag_news")
    >>> for explanation in classifier.explain(["Oil prices fall as output rises."]):
    ...     print(explanation.to_text())

The names below are imported when they are first used: `import icaps` imports no torch.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.config import ExplainOptions, ModelConfig, TrainConfig
    from icaps.portable.onnx_runner import OnnxClassifier
    from icaps.results import Explanation
    from icaps.trained_model import TrainedModel

__all__ = [
    "ExplainOptions",
    "Explanation",
    "ICapsClassifier",
    "ModelConfig",
    "OnnxClassifier",
    "TrainConfig",
    "TrainedModel",
    "load",
]

_MODULES = {
    "ExplainOptions": "icaps.config",
    "Explanation": "icaps.results",
    "ICapsClassifier": "icaps.classifier",
    "ModelConfig": "icaps.config",
    "OnnxClassifier": "icaps.portable.onnx_runner",
    "TrainConfig": "icaps.config",
    "TrainedModel": "icaps.trained_model",
}


def load(folder: str | Path, device: str = "auto") -> ICapsClassifier:
    """The trained classifier in a folder, or of a shipped name; see `ICapsClassifier.load`.

    Raises:
        CheckpointError: The folder is damaged, or is not a checkpoint.
    """
    from icaps.classifier import ICapsClassifier

    return ICapsClassifier.load(folder, device)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
