"""The frozen first part of word embeddings, from one or several sources of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.text.vectors import (
    AlignedVectors,
    align_vectors,
    equal_lengths,
    load_vectors,
    train_vectors,
)
from icaps.text.vocabulary import Vocabulary

TEXTS = "texts"  # the source that stands for vectors trained on the training texts

Sources = str | Path | Sequence[str | Path] | None


class FixedPart(NamedTuple):
    """Frozen numbers of each word (V, dim), and the share of the words that have some."""

    matrix: NDArray[np.float32]
    coverage: float


def listed(vectors: Sources) -> tuple[str | Path, ...]:
    """The sources one by one; None stands for the training texts."""
    if vectors is None:
        return (TEXTS,)
    return (vectors,) if isinstance(vectors, str | Path) else tuple(vectors)


def names(vectors: Sources) -> str:
    """The sources by name, without the places of files."""
    return " + ".join(
        "the training texts" if source == TEXTS else Path(source).name for source in listed(vectors)
    )


def fixed_part(
    vectors: Sources,
    words: Iterable[list[str]],
    vocabulary: Vocabulary,
    *,
    texts_dim: int,
    texts_epochs: int,
    seed: int,
    say: Callable[[str], None],
) -> FixedPart:
    """Each source's vectors side by side, all of one length (`vectors.equal_lengths`).

    Args:
        vectors: A path or gensim-data name, several of them, or `TEXTS`, which None means too.
        words: The training texts as lists of words, as often as they are asked for.
        vocabulary: Whose words get vectors.
        texts_dim: Size of vectors that are trained on the texts; 0 is none.
        texts_epochs: Passes over the texts for these.
        seed: Of vectors that are trained.
        say: Told what is done, a line each.

    Raises:
        VectorsError: Vectors can't be loaded or trained.
    """
    parts: list[AlignedVectors] = []
    for source in listed(vectors):
        if source != TEXTS:
            loaded = load_vectors(source, say)
        elif texts_dim:
            say("training word vectors on the texts")
            loaded = train_vectors(words, texts_dim, seed=seed, epochs=texts_epochs)
        else:
            continue
        aligned = align_vectors(loaded, vocabulary)
        say(
            f"{names(source)}: vectors for {aligned.vocabulary_coverage:.1%} of "
            f"{len(vocabulary)} words, {aligned.token_coverage:.1%} of the running words"
        )
        parts.append(aligned)
    nothing = np.zeros((len(vocabulary), 0), dtype=np.float32)
    matrix = np.hstack([nothing, *(equal_lengths(part.matrix) for part in parts)])
    found = np.any([np.zeros(len(vocabulary), dtype=bool), *(p.found for p in parts)], axis=0)
    return FixedPart(matrix, float(found[2:].mean()) if len(found) > 2 else 0.0)
