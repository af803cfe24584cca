"""Leave-one-out (occlusion) as word scores: the drop of the class norm without one word."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.perturbation import class_norms_per_batch, remove
from icaps.faithfulness.texts import ExplainedTexts


def leave_one_out(texts: ExplainedTexts, removal: str) -> Iterator[Scores]:
    """The class norm of each text minus that without the word; `removal`: see `perturbation`."""
    variants = (
        remove(reading.tokens, ~np.eye(len(reading.tokens.ids), dtype=bool), removal)
        for reading in texts.readings
    )
    norms = class_norms_per_batch(texts.network, variants, texts.muted)
    for (reading, target), without in zip(texts, norms, strict=True):  # without: (words, J)
        yield float(reading.activity.class_norms[0, target]) - without[:, target]
