"""Saving and loading a baseline: a folder of JSON, text and weights; nothing is unpickled.

baseline.json    format version, kind, and the settings that its class reads
classes.txt      one class name per line
metrics.json     seed, sizes, validation and test scores
texts.safetensors  hashes of the texts of the training, see `icaps.train.text_hashes`
vocabulary.txt, weights.safetensors, model.bin
                 learnt parameters; the files depend on the kind
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from icaps.baselines.base import FASTTEXT, LINEAR, NETWORKS, WEIGHTS, Baseline
from icaps.baselines.fasttext import MODEL, FastTextBaseline
from icaps.baselines.linear import LinearBaseline
from icaps.baselines.networks import NetworkBaseline
from icaps.baselines.several_labels import read_label_thresholds
from icaps.data.atomic import COPY_AGAIN, read_json, updated_folder, write_json
from icaps.errors import CheckpointError, ICapsError
from icaps.train.checkpoint_files import (
    BASELINE,
    CLASSES,
    METRICS,
    MULTILABEL,
    TEXTS,
    VOCABULARY,
    check_writable,
    read_classes,
    write_classes,
)
from icaps.train.text_hashes import load_hashes

FORMAT_VERSION = 1
_MULTILABEL_VERSION = 2  # of a baseline of several labels per text
_FILES = (BASELINE, CLASSES, METRICS, VOCABULARY, WEIGHTS, MODEL, TEXTS)
_CLASSES: dict[str, type[Baseline]] = {
    LINEAR: LinearBaseline,
    FASTTEXT: FastTextBaseline,
    **dict.fromkeys(NETWORKS, NetworkBaseline),
}


def save_baseline(baseline: Baseline, folder: str | Path) -> None:
    """Writes a baseline to a folder in one step; an earlier baseline there is replaced.

    Raises:
        CheckpointError: The folder cannot be written, or contains something else.
    """
    folder = Path(folder)
    check_writable(folder, BASELINE)
    with updated_folder(folder, _FILES) as scratch:
        settings, version = baseline.write(scratch), FORMAT_VERSION
        if baseline.label_thresholds is not None:
            settings[MULTILABEL] = baseline.label_thresholds.to_dict()
            version = _MULTILABEL_VERSION
        content = {"format_version": version, "kind": baseline.kind, "settings": settings}
        write_json(content, scratch / BASELINE)
        write_json(baseline.metrics_, scratch / METRICS)
        write_classes(map(str, baseline.classes_), scratch / CLASSES)
        if baseline.text_hashes_ is not None:
            baseline.text_hashes_.save(scratch)
        for file in scratch.iterdir():
            if file.name in _FILES:
                file.chmod(0o644)  # safetensors writes files that only their owner may read


def load_baseline(folder: str | Path) -> Baseline:
    """Loads the baseline of a folder.

    Raises:
        CheckpointError: A file is missing, damaged, of another format version, or does not fit the
            others.
        ConfigError: The library that this kind needs is not installed.
    """
    folder = Path(folder)
    content = read_json(folder / BASELINE)
    kind, settings = content.get("kind"), content.get("settings")
    several = isinstance(settings, dict) and MULTILABEL in settings
    version = _MULTILABEL_VERSION if several else FORMAT_VERSION
    if content.get("format_version") != version:
        raise CheckpointError(
            f"{folder} has format version {content.get('format_version')}, and this iCaps reads "
            f"{version}. Use the iCaps that wrote it, or train the baseline again."
        )
    if not isinstance(kind, str) or kind not in _CLASSES or not isinstance(settings, dict):
        raise CheckpointError(
            f"{folder / BASELINE} is damaged (kind or settings are missing). {COPY_AGAIN}"
        )
    classes = np.array(read_classes(folder / CLASSES), dtype=object)
    try:
        baseline = _CLASSES[kind].read(folder, kind, classes, settings)
        baseline.label_thresholds = read_label_thresholds(settings, len(classes))
    except ICapsError:  # its message is complete
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / BASELINE} is damaged ({error}). {COPY_AGAIN}") from error
    baseline.metrics_ = read_json(folder / METRICS)
    baseline.text_hashes_ = load_hashes(folder)
    return baseline
