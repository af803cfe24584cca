"""Training against shortcuts: texts that have some words are also read without them.

What a model learns of such a text must then hold without the words, too. The copies have the
label of their text and are in its part, training or validation, so that the epoch is chosen by both
as well. In the other texts, and in the originals, nothing changes: a model may still use the
words where they are, unless they are made neutral besides (`interpret.edits`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np

from icaps.errors import ConfigError
from icaps.text.batch import UNK
from icaps.text.tokenizer import words_of
from icaps.text.vocabulary import Vocabulary
from icaps.train.dataset import Corpus, TrainingData
from icaps.train.labels import Numbers

MASKED_WORDS = "masked_words"  # in the metrics of a model
_AT_ONCE = 2_000  # texts in memory while copies are looked for


def with_masked_copies(data: TrainingData, words: Sequence[str]) -> TrainingData:
    """The data with a copy of each text that has some words, which is read without them.

    Args:
        data: The prepared texts.
        words: Words, or K-grams of several words, as in texts.

    Raises:
        ConfigError: A word is not in the vocabulary, or no training text has any.
    """
    sequences = tuple(_ids(text, data.vocabulary) for text in words)
    parts = [
        dataclasses.replace(part, masked=sequences) for part in (data.training, data.validation)
    ]
    copies = [_copies(part) for part in parts]
    if not len(copies[0]):
        raise ConfigError(f"No training text has {' or '.join(map(repr, words))}.")
    digest = hashlib.blake2b(repr(sequences).encode(), digest_size=16).hexdigest()
    training, validation = (  # copies come first, as self-training adds its texts at the end
        dataclasses.replace(part, texts=np.concatenate([of_part, part.texts]))
        for part, of_part in zip(parts, copies, strict=True)
    )
    return dataclasses.replace(
        data, training=training, validation=validation, content=f"{data.content} {digest}"
    )


def _ids(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    words = words_of(text)
    if not words:
        raise ConfigError(f"{text!r} has no word; give one as it stands in texts.")
    ids = tuple(map(vocabulary.id, words))
    if UNK in ids:
        raise ConfigError(f"The training texts do not have {words[ids.index(UNK)]!r} often enough.")
    return ids


def _copies(corpus: Corpus) -> Numbers:
    """The numbers of the copies of texts with the words, of which something is left."""
    found = [np.zeros(0, np.int64)]
    for start in range(0, len(corpus), _AT_ONCE):
        part = corpus.select(np.arange(start, min(start + _AT_ONCE, len(corpus))))
        tokens = part.tokens()
        masked = corpus.with_masked_words(tokens)
        text_of = np.repeat(np.arange(len(part)), tokens.words_per_text)
        counts = np.bincount(text_of[masked], minlength=len(part))
        some = (counts > 0) & (counts < tokens.words_per_text)
        found.append(part.texts[some].astype(np.int64) + len(corpus.all_labels))
    copies: Numbers = np.concatenate(found)
    return copies
