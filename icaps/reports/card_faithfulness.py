"""The faithfulness section of a model card: measured on a sample of texts, or read from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError, DataError
from icaps.evaluate.evaluation import Evaluation
from icaps.faithfulness.attributions.registry import LEAVE_ONE_OUT, PAPER, RANDOM
from icaps.faithfulness.eraser import make_rows, measure_rankings, verdicts
from icaps.faithfulness.texts import read_explained
from icaps.stats import to_plain_dict

RANKINGS = (PAPER, "contribution", LEAVE_ONE_OUT, RANDOM)  # fast, and without extra packages
_FACTS = ("texts", "blank", "seed", "rows", "verdicts")
_ROW_NAMES = ("ranking", "words", "removal")
_ROW_ESTIMATES = ("comprehensiveness", "sufficiency", "flips", "covered")


def measure_faithfulness(
    classifier: ICapsClassifier, evaluation: Evaluation, limit: int, seed: int = 0
) -> dict[str, Any]:
    """Faithfulness on a random sample of evaluated texts, as `icaps faithfulness --json` has it.

    Args:
        classifier: The model that was evaluated.
        evaluation: Its evaluation with the texts.
        limit: Largest number of texts.
        seed: The seed of the sample and of the random ranking.

    Raises:
        ConfigError: `limit` is below 1.
        DataError: The model knows no word of the sample.
    """
    if limit < 1:
        raise ConfigError(f"The limit is {limit}; it must be at least 1.")
    count, random = len(evaluation.texts), np.random.default_rng(seed)
    numbers = np.sort(random.choice(count, min(limit, count), replace=False))
    sample = evaluation.texts.take(numbers)
    texts = read_explained(classifier, sample)
    rows = make_rows(list(measure_rankings(texts, RANKINGS, seed=seed)), seed)
    return {
        "texts": len(texts),
        "blank": len(sample) - len(texts),
        "seed": seed,
        "limit": limit,
        "rows": [to_plain_dict(row) for row in rows],
        "verdicts": verdicts(rows),
    }


def read_faithfulness(path: str | Path) -> dict[str, Any]:
    """The output of `icaps faithfulness --json` in a file.

    Raises:
        DataError: The file cannot be read, or holds something else.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        facts = {name: content[name] for name in _FACTS}
        for row in facts["rows"]:
            values = [str(row[name]) for name in _ROW_NAMES]
            values += [row[name][end] for name in _ROW_ESTIMATES for end in ("mean", "low", "high")]
            if not all(isinstance(value, (str, int, float)) for value in values):
                raise ValueError("a number is missing")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is not the output of `icaps faithfulness --json` ({error}); write it again."
        ) from error
    return facts
