"""Whether a model's reasons decide: measured on some texts, or read from what was measured."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icaps.errors import ConfigError, DataError
from icaps.evaluate.cache import Evaluated
from icaps.faithfulness.eraser import measure_rankings
from icaps.faithfulness.rankings import LEAVE_ONE_OUT
from icaps.faithfulness.table import CONTROL, PAPER, make_rows, verdicts
from icaps.faithfulness.word_scores import Texts
from icaps.inference import read_texts
from icaps.stats import plain

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

# Those that any installation has and that are fast, beside the control.
RANKINGS = (PAPER, "contribution", LEAVE_ONE_OUT, CONTROL)
_ESTIMATES = ("comprehensiveness", "sufficiency", "flips", "covered")
_NAMES = ("ranking", "words", "removal")


def measured(
    classifier: ICapsClassifier, evaluated: Evaluated, limit: int, seed: int = 0
) -> dict[str, Any]:
    """What `icaps faithfulness --json` tells of a random sample of texts that were evaluated.

    Args:
        classifier: Which was evaluated.
        evaluated: The texts.
        limit: Texts, at most.
        seed: Of the sample and all that is random.

    Raises:
        ConfigError: `limit` is below 1.
        DataError: The model knows no word of the sample.
    """
    if limit < 1:
        raise ConfigError(f"The limit is {limit}; it must be at least 1.")
    count, random = len(evaluated.texts), np.random.default_rng(seed)
    numbers = np.sort(random.choice(count, min(limit, count), replace=False))
    network, muted = classifier.network_, classifier.muted_
    drawn = evaluated.texts.take(numbers)
    batches = read_texts(network, classifier.vocabulary_, drawn, muted)
    texts = Texts.predicted(network, muted, tuple(chain.from_iterable(batches)))
    if not len(texts):
        raise DataError("The model knows no word of these texts; give it texts of its own kind.")
    rows = make_rows(list(measure_rankings(texts, RANKINGS, seed=seed)), seed)
    return {
        "texts": len(texts),
        "blank": len(drawn) - len(texts),
        "seed": seed,
        "limit": limit,
        "rows": [plain(row) for row in rows],
        "verdicts": verdicts(rows),
    }


def read_measured(path: str | Path) -> dict[str, Any]:
    """What `icaps faithfulness --json` wrote to a file.

    Raises:
        DataError: The file can't be read, or holds something else.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        told = {name: found[name] for name in ("texts", "blank", "seed", "rows", "verdicts")}
        for row in told["rows"]:
            checked = [str(row[name]) for name in _NAMES]
            checked += [row[name][part] for name in _ESTIMATES for part in ("mean", "low", "high")]
            if not all(isinstance(value, (str, int, float)) for value in checked):
                raise ValueError("a number of it is missing")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is not what `icaps faithfulness --json` writes ({error}); write it again."
        ) from error
    return told
