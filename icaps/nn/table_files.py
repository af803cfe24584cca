"""Tables of words kept in files and mapped into memory, so that a model's is computed but once.

Processes that map the same file share its memory. It lies beside the data sets, under a name that
follows from the weights: a model that is trained again never finds the table of the one before.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable
from hashlib import sha256  # of the usual ones the quickest here: 1.4 GB/s
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icaps.data.cache import FOLDER_SETTING, data_folder

KEPT = 4  # files; a new one takes the place of the oldest
_VERSION = 1  # of what a file holds
_LOG = logging.getLogger(__name__)


def file_of(weights: Iterable[Tensor]) -> Path:
    """Where the table of a network with these weights is, or would be."""
    digest = sha256(str(_VERSION).encode())
    for tensor in weights:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return data_folder() / "tables" / f"{digest.hexdigest()[:32]}.f32"


def map_rows(path: Path, shape: tuple[int, ...]) -> Tensor | None:
    """The rows of a table as `keep_rows` wrote them, or None where they are not, or not whole."""
    try:
        if path.stat().st_size != 4 * int(np.prod(shape)):
            return None
        # "c", as torch wants what it could write to; what is written stays in this process.
        return torch.from_numpy(np.memmap(path, np.float32, "c", shape=shape))
    except OSError:  # isn't there, or may not be read: it is computed as if it had never been kept
        return None


def keep_rows(path: Path, rows: Tensor) -> None:
    """Writes a table, whole or not at all; where that fails, a line of the log says so."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            try:
                rows.cpu().numpy().tofile(file)
                file.flush()
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink()
                raise
        kept = sorted(path.parent.glob("*.f32"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning(
            "A table of %d MB can't be kept in %s (%s), so it will be computed again. Make room "
            "there, or name another folder in the environment variable %s.",
            *(rows.nbytes // 10**6, path.parent, error.strerror, FOLDER_SETTING),
        )
