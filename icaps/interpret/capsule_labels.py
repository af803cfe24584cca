"""What capsules are called: by the words that add most through them, as counted over a corpus.

The words are stored with the global view of a model (`interpret.global_view`). Reading them needs
neither pandas nor pyarrow, so that they are loaded with the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from icaps.data.plain_json import parse_json
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import weights_fingerprint

FOLDER = "global_view"  # in a checkpoint folder
VIEW = "view.json"
LABEL_WORDS = "label_words"  # in VIEW
_WORDS = 2  # in a label


def automatic_label(capsule: int, words: Sequence[str]) -> str:
    """The number of a capsule and its first words, such as "13 NASA scientists"; "" without words.

    Args:
        capsule: Its number, from 0.
        words: Its words (`tables.label_words`), the most relevant first.
    """
    return f"{capsule} {' '.join(words[:_WORDS])}" if words else ""


def load_label_words(checkpoint: str | Path) -> list[list[str]] | None:
    """The words of all capsules, as they are stored with a model.

    An empty list if nothing was counted for these weights, or if the counts are damaged, which
    `load_view` reports; None if the counts are of an older version, which stores no words.
    """
    file = Path(checkpoint) / FOLDER / VIEW
    if not file.is_file():
        return []
    try:
        facts = parse_json(file.read_text(encoding="utf-8"))
        if facts["origin"]["weights"] != weights_fingerprint(checkpoint):
            return []
        words = facts.get(LABEL_WORDS)
        return None if words is None else [list(map(str, row)) for row in words]
    except (OSError, KeyError, TypeError, ValueError, CheckpointError):
        return []
