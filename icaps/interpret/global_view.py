"""What a model has learnt, as its checkpoint folder keeps it: counts over a corpus, and of which.

global_view/view.json           where the counts come from, typical texts, the smallest set
global_view/counts.safetensors  matrices
global_view/words.parquet       class, capsule, word and count; kgrams.parquet likewise
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from icaps.data.atomic import replaced_folder
from icaps.errors import CheckpointError
from icaps.interpret.ablation import FewCapsules, KnockOut
from icaps.interpret.tally import Cell, Tally, Typical
from icaps.train.checkpoint_files import WEIGHTS

FOLDER = "global_view"
_VERSION = 1
VIEW = "view.json"
_COUNTS, _WORDS, _KGRAMS = "counts.safetensors", "words.parquet", "kgrams.parquet"
_MATRICES = ("frequency", "right", "routing", "contribution")
_AGAIN = "Run `icaps interpret` on the model again."


@dataclass(frozen=True)
class Origin:
    """What counts were made of.

    source: The data as the user named it; part: "test" or "train"; reading: how it is read, as
    `open_source` takes it; content: the fingerprint of texts and labels; weights: of the model.
    """

    source: str
    part: str
    reading: dict[str, Any]
    content: str
    weights: str


@dataclass(frozen=True)
class GlobalView:
    """Counts over a corpus, the smallest set of capsules, and where they come from."""

    origin: Origin
    tally: Tally
    knock_out: KnockOut
    few: FewCapsules


def weights_fingerprint(checkpoint: str | Path) -> str:
    """The same for the same weights, and practically for no others.

    Raises:
        CheckpointError: The weights can't be read.
    """
    try:
        return hashlib.sha256((Path(checkpoint) / WEIGHTS).read_bytes()).hexdigest()
    except OSError as error:
        raise CheckpointError(f"The weights in {checkpoint} can't be read: {error}") from error


def save_view(view: GlobalView, checkpoint: str | Path) -> None:
    """Puts the view into a checkpoint folder, whole or not at all, in place of an older one.

    Raises:
        CheckpointError: The folder can't be written.
    """
    try:
        with replaced_folder(Path(checkpoint) / FOLDER) as folder:
            _write(view, folder)
    except OSError as error:
        raise CheckpointError(f"The view can't be written to {checkpoint}: {error}") from error


def load_view(checkpoint: str | Path, classes: int, capsules: int) -> GlobalView | None:
    """The view in a checkpoint folder; None where there is none, or it is of other weights.

    Raises:
        CheckpointError: It is damaged, or of another version.
    """
    folder = Path(checkpoint) / FOLDER
    if not folder.is_dir():
        return None
    try:
        facts = json.loads((folder / VIEW).read_text(encoding="utf-8"))
        if facts["version"] != _VERSION:
            raise CheckpointError(f"{folder} is of version {facts['version']}. {_AGAIN}")
        origin = Origin(**facts["origin"])
        if origin.weights != weights_fingerprint(checkpoint):
            return None
        return _read(folder, facts, origin, (classes, capsules))
    except (OSError, KeyError, TypeError, ValueError, SafetensorError, pa.ArrowException) as error:
        raise CheckpointError(f"{folder} is damaged ({error}). {_AGAIN}") from error


def _write(view: GlobalView, folder: Path) -> None:
    tally, knock_out = view.tally, view.knock_out
    facts: dict[str, Any] = {
        "version": _VERSION,
        "origin": dataclasses.asdict(view.origin),
        "blank": tally.blank,
        "dropped": tally.dropped,
        "few": view.few._asdict(),
        "typical": [[*cell, [*map(list, texts)]] for cell, texts in sorted(tally.typical.items())],
    }
    (folder / VIEW).write_text(json.dumps(facts), encoding="utf-8")
    matrices = {name: np.ascontiguousarray(getattr(tally, name)) for name in _MATRICES}
    matrices |= {"confusion": knock_out.confusion, "own_right": knock_out.own_right}
    save_file(matrices, folder / _COUNTS)
    (folder / _COUNTS).chmod(0o644)
    _write_counts(tally.words, folder / _WORDS, pa.int32())
    _write_counts(tally.kgrams, folder / _KGRAMS, pa.list_(pa.int32()))


def _read(
    folder: Path, facts: dict[str, Any], origin: Origin, shape: tuple[int, int]
) -> GlobalView:
    matrices = load_file(folder / _COUNTS)
    if any(matrices[name].shape != shape for name in _MATRICES):
        raise ValueError(f"its matrices are not {shape[0]} classes x {shape[1]} capsules")
    blank, dropped = int(facts["blank"]), int(facts["dropped"])
    tally = Tally(
        matrices["frequency"],
        matrices["right"],
        matrices["routing"],
        matrices["contribution"],
        blank=blank,
        dropped=dropped,
    )
    for j, i, texts in facts["typical"]:
        tally.typical[j, i] = [Typical(*text) for text in texts]
    tally.words.update(_read_counts(folder / _WORDS))
    tally.kgrams.update(_read_counts(folder / _KGRAMS))
    few = FewCapsules(**facts["few"])
    knock_out = KnockOut(matrices["confusion"], matrices["own_right"])
    return GlobalView(origin, tally, knock_out, few._replace(capsules=tuple(few.capsules)))


def _write_counts(cells: dict[Cell, Counter[Any]], path: Path, kind: pa.DataType) -> None:
    rows = [
        (j, i, item, count)
        for (j, i), counts in sorted(cells.items())
        for item, count in counts.most_common()
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = (pa.int32(), pa.int32(), kind, pa.int64())
    names = ("class", "capsule", "item", "count")
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, names), path, compression="zstd")


def _read_counts(path: Path) -> dict[Cell, Counter[Any]]:
    columns = pq.read_table(path).to_pydict().values()
    found: dict[Cell, Counter[Any]] = {}
    for j, i, item, count in zip(*columns, strict=True):
        key = tuple(item) if isinstance(item, list) else item
        found.setdefault((j, i), Counter())[key] = count
    return found
