"""The files of a checkpoint folder: names, checks of folders, class names, fingerprint of weights.

    config.json        ModelConfig, TrainConfig, calibration factor, type of labels, format version,
                       how many words are vector words
    vocabulary.txt     a word and its count per line, in the order of ids
    classes.txt        a name per line
    model.safetensors  weights; the frozen vectors as bytes, which is lossless, also those of vector
                       words, so that no file of vectors is needed
    metrics.json       seed, sizes, validation and test scores
    history.jsonl      a record per epoch
    capsules.json      names that users gave to primary capsules
    examples.json      a few short texts to start from (`train.examples`)
    edits.json         what is neutral (`interpret.edits`); only if something is
    texts.safetensors  hashes of the texts of the training, see `text_hashes`
    baseline.json      in place of config.json: the folder is that of a baseline
    last/              state.safetensors, from which `icaps train --resume` continues

Nothing here imports torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from icaps.data.atomic import COPY_AGAIN, read_json, read_text
from icaps.errors import CheckpointError, DataError

CONFIG, BASELINE = "config.json", "baseline.json"
VOCABULARY, CLASSES = "vocabulary.txt", "classes.txt"
EXAMPLES = "examples.json"
WEIGHTS, METRICS = "model.safetensors", "metrics.json"
HISTORY, CAPSULES, EDITS = "history.jsonl", "capsules.json", "edits.json"
TEXTS = "texts.safetensors"
MULTILABEL = "multilabel"  # key of the thresholds of several labels per text, in CONFIG or BASELINE
LAST, STATE = "last", "state.safetensors"
# Written by the process of a training; described in `icaps.runs.folder`.
RUN_FILES = (
    "request.json",
    "status.json",
    "progress.jsonl",
    "snapshots.jsonl",
    "train.log",
    "stop",
    ".lock",
)


def gives_several_labels(folder: str | Path) -> bool:
    """Whether the model or baseline of a folder gives a text several labels.

    Raises:
        CheckpointError: Its configuration cannot be read.
    """
    baseline = Path(folder) / BASELINE
    if not baseline.is_file():
        return MULTILABEL in read_json(Path(folder) / CONFIG)
    settings = read_json(baseline).get("settings")
    return isinstance(settings, dict) and MULTILABEL in settings


def check_writable(folder: str | Path, config: str = CONFIG) -> None:
    """Checks that a model may be written to a folder.

    Args:
        folder: It may be new, empty, that of a run, or that of an earlier model of the same kind.
        config: CONFIG for a checkpoint, BASELINE for a baseline.

    Raises:
        CheckpointError: The folder exists and holds something else.
    """
    folder = Path(folder)
    if folder.is_dir():
        inside = {entry.name for entry in folder.iterdir()}
        if config in inside or inside <= {LAST, *RUN_FILES}:
            return
    if folder.exists():
        kind = "checkpoint" if config == CONFIG else "baseline"
        raise CheckpointError(f"{folder} exists and is not a {kind}; choose another folder.")


def check_resumable(last: Path) -> None:
    """Raises CheckpointError if the folder `last` of a run has no state to resume from."""
    if not (last / STATE).is_file():
        raise CheckpointError(
            f"There is nothing to resume in {last}: no training was stopped there after its first "
            "epoch. Give the folder of one that was, or omit --resume to train from the start."
        )


def check_class_names(names: Iterable[str]) -> None:
    """Raises DataError for a class name that cannot be stored in `classes.txt`."""
    for name in names:
        if not name.strip():
            raise DataError(f"The class name {name!r} is empty; give the class a name.")
        if "\n" in name or "\r" in name:
            raise DataError(
                f"The class name {name!r} has a line end; rename the class, or strip "
                "the labels: [label.strip() for label in labels]."
            )
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"The class name {name!r} has half of a character (a lone surrogate), which cannot "
                "be stored in a file; rename the class."
            ) from error


def write_classes(classes: Iterable[str], path: Path) -> None:
    """Writes the class names, one per line."""
    path.write_bytes("".join(f"{name}\n" for name in classes).encode())


def read_classes(path: Path) -> tuple[str, ...]:
    """Reads the class names, one per line.

    Only a line feed, perhaps after a carriage return, ends a line. A name may contain other
    characters that `str.splitlines` splits at, such as U+2028.

    Raises:
        CheckpointError: There are fewer than two names, or two are equal.
    """
    classes = tuple(read_text(path).removesuffix("\n").split("\n"))
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise CheckpointError(f"{path} must name two or more different classes. {COPY_AGAIN}")
    return classes


def weights_fingerprint(checkpoint: str | Path) -> str:
    """SHA-256 of the weights in a checkpoint folder, and of its edits if it has some.

    Raises:
        CheckpointError: The weights cannot be read.
    """
    folder = Path(checkpoint)
    try:
        content = hashlib.sha256((folder / WEIGHTS).read_bytes())
        if (folder / EDITS).exists():
            content.update((folder / EDITS).read_bytes())
        return content.hexdigest()
    except OSError as error:
        raise CheckpointError(f"The weights in {checkpoint} cannot be read: {error}") from error


def model_fingerprint(checkpoint: str | Path) -> str:
    """SHA-256 of all that the explanations of a checkpoint depend on.

    Raises:
        CheckpointError: A file of it cannot be read.
    """
    files = [read_text(Path(checkpoint) / name) for name in (CONFIG, VOCABULARY, CLASSES)]
    content = "\0".join([weights_fingerprint(checkpoint), *files])
    return hashlib.sha256(content.encode()).hexdigest()
