"""A baseline as a folder: JSON, text, safetensors or fastText's own file; nothing is unpickled.

baseline.json    its kind, and what else is needed to read it
classes.txt      a name a line
metrics.json     seed, sizes, validation and test scores
vocabulary.txt, weights.safetensors, model.bin
                 what it has learnt, by kind
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from icaps.baselines.base import WEIGHTS, Baseline
from icaps.baselines.fasttext import MODEL, FastTextBaseline
from icaps.baselines.kinds import FASTTEXT, LINEAR, NETWORKS
from icaps.baselines.linear import LinearBaseline
from icaps.baselines.neural import NetworkBaseline
from icaps.data.atomic import COPY_AGAIN, read_json, updated_folder, write_json
from icaps.errors import CheckpointError, ICapsError
from icaps.train.checkpoint_files import (
    BASELINE,
    CLASSES,
    METRICS,
    VOCABULARY,
    check_writable,
    read_classes,
)

FORMAT_VERSION = 1
_WRITTEN = (BASELINE, CLASSES, METRICS, VOCABULARY, WEIGHTS, MODEL)
_CLASSES: dict[str, type[Baseline]] = {
    LINEAR: LinearBaseline,
    FASTTEXT: FastTextBaseline,
    **dict.fromkeys(NETWORKS, NetworkBaseline),
}


def save_baseline(baseline: Baseline, folder: str | Path) -> None:
    """Writes the folder, whole or not at all; a baseline that was there is replaced.

    Raises:
        CheckpointError: The place can't be written, or holds something else.
    """
    folder = Path(folder)
    check_writable(folder, BASELINE)
    with updated_folder(folder, _WRITTEN) as scratch:
        settings = baseline.write(scratch)
        about = {"format_version": FORMAT_VERSION, "kind": baseline.kind, "settings": settings}
        write_json(about, scratch / BASELINE)
        write_json(baseline.metrics_, scratch / METRICS)
        names = "\n".join(map(str, baseline.classes_))
        (scratch / CLASSES).write_text(names + "\n", encoding="utf-8")
        for file in scratch.iterdir():
            if file.name in _WRITTEN:
                file.chmod(0o644)  # safetensors leaves its own to its owner


def load_baseline(folder: str | Path) -> Baseline:
    """Reads and checks a folder.

    Raises:
        CheckpointError: A file is missing, damaged, of another format version, or does not fit
            the others.
        ConfigError: The library that this kind needs isn't installed.
    """
    folder = Path(folder)
    about = read_json(folder / BASELINE)
    if about.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            f"{folder} has format version {about.get('format_version')}, and this iCaps reads "
            f"{FORMAT_VERSION}. Use the iCaps that wrote it, or train the baseline again."
        )
    kind, settings = about.get("kind"), about.get("settings")
    if not isinstance(kind, str) or kind not in _CLASSES or not isinstance(settings, dict):
        raise CheckpointError(f"{folder / BASELINE} is damaged (it names no kind). {COPY_AGAIN}")
    classes = np.array(read_classes(folder / CLASSES), dtype=object)
    try:
        baseline = _CLASSES[kind].read(folder, kind, classes, settings)
    except ICapsError:  # it says already what to do
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / BASELINE} is damaged ({error}). {COPY_AGAIN}") from error
    baseline.metrics_ = read_json(folder / METRICS)
    return baseline
