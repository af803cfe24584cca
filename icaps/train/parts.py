"""Parts of a data set by name, among them the texts that a model's training held out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icaps.data.source import Source, open_source
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.train.text_hashes import load_hashes

HELD_OUT = "held_out"  # the part of a data set that a model's training held out


def open_part(
    place: Any, part: str, reading: Mapping[str, Any], model: str | Path | None = None
) -> Source:
    """Opens a part of a data set as `open_source` does; HELD_OUT is one for the data of a model.

    The part HELD_OUT has the texts of the part "train", or of a single file, whose hash is that of
    a text that was held out of the model's training.

    Args:
        place: As of `open_source`.
        part: "train", "test", or HELD_OUT.
        reading: Options of `open_source`.
        model: The folder of the model or baseline; only used for HELD_OUT.

    Raises:
        CheckpointError: The stored hashes are damaged.
        DataError: The data does not exist, or the model does not know which texts were held out.
    """
    if part != HELD_OUT:
        return open_source(place, part, **reading)
    hashes = None if model is None else load_hashes(model)
    if hashes is None:
        raise DataError(
            f"{model or 'The model'} does not say which texts were held out of its training, as it "
            "was trained by an earlier iCaps. Train it again, or use a test part."
        )
    held_out = frozenset(hashes.held_out.tolist())
    return open_source(place, "train", **reading).filtered(
        lambda text: text_hash(text) in held_out,
        f"None of these texts was held out of the training of {model}. Use the data that it was "
        "trained on, or another part.",
    )
