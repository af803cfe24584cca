"""What a model card says of reasons: how much of the score they carry, and their faithfulness.

Faithfulness is measured on a sample of texts, or read from a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT, CONTRIBUTION, ROUTING
from icaps.data.plain_json import parse_json
from icaps.errors import ConfigError, DataError
from icaps.evaluate.evaluation import AnyEvaluation
from icaps.faithfulness.attributions.registry import LEAVE_ONE_OUT, PAPER, RANDOM
from icaps.faithfulness.eraser import make_rows, measure_rankings, verdicts
from icaps.faithfulness.texts import read_explained
from icaps.interpret.local import Reasons
from icaps.stats import bootstrap_mean, to_plain_dict

# Fast, and without extra packages.
RANKINGS = (PAPER, CONTRIBUTION, ACCOUNT, LEAVE_ONE_OUT, RANDOM)
_COVERAGE = ("covered", "bias", "words")
_FACTS = ("texts", "blank", "seed", "rows", "verdicts")
_ROW_NAMES = ("ranking", "words", "removal")
_ROW_ESTIMATES = ("comprehensiveness", "sufficiency", "flips", "covered")


def measure_coverage(
    classifier: ICapsClassifier, evaluation: AnyEvaluation, limit: int = 1_000, seed: int = 0
) -> dict[str, Any]:
    """How much of the score the K-grams of an explanation carry, on a sample of evaluated texts.

    Args:
        classifier: The model that was evaluated.
        evaluation: Its evaluation with the texts.
        limit: Largest number of texts.
        seed: The seed of the sample.

    Returns:
        texts, the number of those with a known word, and seed; in `rankings` a row for each ranking
        of K-grams with the mean parts of the score that its words carry (covered) and that no word
        adds (bias), and the mean part of the words that they are (words), with intervals.
    """
    sample, rows, count = _sample(evaluation, limit, seed), [], 0
    for ranking in (ROUTING, ACCOUNT):
        parts = [_coverage(part) for part in classifier.reasons(sample, ranking=ranking)]
        values = np.concatenate(parts)  # (texts, 3)
        count = len(values)
        means = (bootstrap_mean(column, seed).to_dict("mean") for column in values.T)
        rows.append({"ranking": ranking, **dict(zip(_COVERAGE, means, strict=True))})
    return {"texts": count, "seed": seed, "rankings": rows}


def _coverage(part: Reasons) -> NDArray[np.float64]:
    """The parts `_COVERAGE` of each text that is not blank (texts, 3)."""
    lengths, known = part.batch.tokens.words_per_text, ~part.blank
    shaded = part.windows.count_per_word(len(part.word_shares)) > 0
    words = np.bincount(np.repeat(np.arange(len(known)), lengths), shaded, minlength=len(known))
    scores = part.norms[np.arange(len(known)), part.targets]
    columns = (
        part.covered[known],
        part.biases[known] / scores[known],
        words[known] / lengths[known],
    )
    values: NDArray[np.float64] = np.stack(columns, axis=1).astype(float)
    return values


def _sample(evaluation: AnyEvaluation, limit: int, seed: int) -> list[str]:
    """A random sample of the evaluated texts, in their order; all of them if there are fewer."""
    count, random = len(evaluation.texts), np.random.default_rng(seed)
    numbers = np.sort(random.choice(count, min(limit, count), replace=False))
    return evaluation.texts.take(numbers)


def measure_faithfulness(
    classifier: ICapsClassifier, evaluation: AnyEvaluation, limit: int, seed: int = 0
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
    sample = _sample(evaluation, limit, seed)
    texts = read_explained(classifier, sample)
    rows = make_rows(list(measure_rankings(texts, RANKINGS, seed=seed)), seed)
    return {
        "texts": len(texts),
        "blank": texts.blank,
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
        content = parse_json(Path(path).read_text(encoding="utf-8"))
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
