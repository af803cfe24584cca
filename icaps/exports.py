"""The account of a text for other libraries: shap and pandas.

Works on plain data. Both libraries are imported when they are first used; shap is optional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from icaps.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import shap

INSTALL = "pip install 'icaps[shap]'"

Shares = NDArray[np.floating[Any]]


def shap_explanation(
    text: str,
    spans: Sequence[tuple[int, int]],
    shares: Shares,
    bias: Shares,
    classes: Sequence[str],
    is_cut: bool = False,
) -> shap.Explanation:
    """The shares of a text's words as the SHAP values of its words.

    `data` are pieces of the text which, joined, are the text as far as it was read: each word with
    what follows it up to the next word. `feature_names` are the words alone.

    Args:
        text: The text as it was given.
        spans: Start and end of each of the W words that were read.
        shares: (W, J).
        bias: (J,), the base values.
        classes: Names of the J classes.
        is_cut: Whether words after the last one were not read; then "…" follows it.

    Raises:
        ConfigError: shap is not installed, or the text has no words, which shap cannot hold.
    """
    if not spans:
        raise ConfigError("The text has no words, so there is nothing for shap to show.")
    try:
        import shap
    except ImportError as error:
        raise ConfigError(f"For a shap.Explanation run `{INSTALL}`.") from error
    cuts = [0, *(start for start, _ in spans[1:]), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    if is_cut:
        pieces[-1] = text[cuts[-2] : spans[-1][1]] + " …"
    return shap.Explanation(
        values=shares.astype(float),
        base_values=bias.astype(float),
        data=np.array(pieces, dtype=object),
        display_data=np.array([f"word {n}" for n in range(1, 1 + len(spans))], dtype=object),
        feature_names=[text[start:end] for start, end in spans],
        output_names=list(classes),
    )


def word_frame(
    text: str,
    words: Mapping[str, Sequence[Any]],
    sentences: Sequence[int],
    columns: Mapping[str, Shares],
) -> pd.DataFrame:
    """A row per word of a text.

    Args:
        text: The text as it was given.
        words: Columns of the words, of which `start` and `end` are their offsets.
        sentences: Starts of the sentences; none for a text that is not split, which has one.
        columns: More columns, each (W,).
    """
    import pandas as pd

    frame = pd.DataFrame(words)
    spans = zip(words["start"], words["end"], strict=True)
    frame.insert(0, "word", [text[start:end] for start, end in spans])
    numbers = np.searchsorted(sentences, frame["start"], side="right") - 1
    frame["sentence"] = numbers if len(sentences) else 0
    return pd.concat([frame, pd.DataFrame(dict(columns), index=frame.index)], axis=1)
