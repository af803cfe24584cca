"""A small data set of our own, made of templates by a seed: synthetic, and called so everywhere.

It needs no network and no licence, which makes it the one to try things with. It is not a
benchmark: no person wrote its texts, and what a model scores on it says nothing of real ones.

There are 5 topics of equal size, and three kinds of text, in both parts alike:

- most have words of their topic among general ones, and now and then one of another topic;
- one in twelve is vague: fewer words of its topic, and some of others;
- one in twenty is a contrast, "less about the soup than about the guitar", where the words are of
  two topics and only their order tells which it is.

Then 2% of the labels are changed to another topic, so that no model should score more than 98%.
A linear model of TF-IDF words scores 93.5% on the test part.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from icaps.data.cache import data_folder, make_ready
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.synthetic_words import CONTRASTS, GENERAL, SENTENCES, TIMES, TOPICS, Words

NAME = "synthetic"
CLASSES = tuple(TOPICS)
ROWS = {"train": 3000, "test": 600}
LABEL_NOISE = 0.02
_VERSION = 1  # of the texts, in the folder's name: a new one must not meet the old in a cache
_SEED = 2020
_FEWEST, _MOST = 8, 40  # words of a text
_VAGUE, _CONTRAST = 0.08, 0.05  # shares of the kinds of text
_OWN, _OWN_ALONE = 0.75, 0.95  # chance that a word is of the topic; in a text of one sentence
_OWN_VAGUE = 0.45
_OTHER, _OTHER_VAGUE = 0.03, 0.15  # chance that it is of another one
_FIELD = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


def home() -> Path:
    """Where the data set lives in the cache."""
    return data_folder() / f"{NAME}-{_VERSION}"


def make(progress: ProgressReporter = SILENT) -> Path:
    """The folder of the synthetic data set, made unless it is there.

    Returns:
        A folder with train.parquet, test.parquet (text, label from 0) and classes.txt.

    Raises:
        DataError: The cache folder can't be written.
    """
    return make_ready(home(), _fill, progress)


def generate() -> dict[str, list[tuple[str, int]]]:
    """The texts with their labels (of CLASSES), by part; the same at every call, no text twice."""
    rng = random.Random(_SEED)
    seen: set[str] = set()
    return {part: _rows(rng, count, seen) for part, count in ROWS.items()}


def _fill(folder: Path) -> None:
    import pyarrow as pa

    from icaps.data.convert import SCHEMA, write_classes, write_part

    for part, rows in generate().items():
        texts, labels = zip(*rows, strict=True)
        batch = pa.RecordBatch.from_pydict({"text": texts, "label": labels}, schema=SCHEMA)
        write_part(folder / f"{part}.parquet", [batch])
    write_classes(folder, CLASSES)


def _rows(rng: random.Random, count: int, seen: set[str]) -> list[tuple[str, int]]:
    rows = []
    for n in range(count):
        label = n % len(CLASSES)
        text = _text(rng, label)
        while text in seen or not _FEWEST <= len(text.split()) <= _MOST:
            text = _text(rng, label)
        seen.add(text)
        rows.append((text, label))
    for n in rng.sample(range(count), round(count * LABEL_NOISE)):
        text, label = rows[n]
        rows[n] = text, (label + rng.randrange(1, len(CLASSES))) % len(CLASSES)
    rng.shuffle(rows)
    return rows


def _text(rng: random.Random, label: int) -> str:
    others = [topic for n, topic in enumerate(TOPICS.values()) if n != label]
    kind = rng.random()
    if kind < _CONTRAST:
        return _contrast(rng, TOPICS[CLASSES[label]], rng.choice(others))
    vague = kind < _CONTRAST + _VAGUE
    sentences = rng.sample(SENTENCES, rng.choice((1, 2, 2, 3)))
    own, other = _OWN if len(sentences) > 1 else _OWN_ALONE, _OTHER
    if vague:
        own, other = _OWN_VAGUE, _OTHER_VAGUE
    sources = [TOPICS[CLASSES[label]], GENERAL, *others]
    weights = [own, 1 - own - other, *[other / len(others)] * len(others)]
    return " ".join(_sentence(rng, sentence, sources, weights) for sentence in sentences)


def _contrast(rng: random.Random, own: Words, other: Words) -> str:
    first = _sentence(rng, rng.choice(SENTENCES), [GENERAL], [1])
    second = rng.choice(CONTRASTS)
    second = second.format(own=_word(rng, own.thing), other=_word(rng, other.thing))
    return f"{first} {second}"


def _sentence(rng: random.Random, template: str, sources: list[Words], weights: list[float]) -> str:
    def fill(field: re.Match[str]) -> str:
        if field[1] == "time":
            return rng.choice(TIMES)
        (source,) = rng.choices(sources, weights)
        words: tuple[str, ...] = getattr(source, field[1])
        return _word(rng, words)

    text = _ARTICLE.sub(r"\1n ", _FIELD.sub(fill, template))
    return text[0].upper() + text[1:]


def _word(rng: random.Random, words: tuple[str, ...]) -> str:
    """Early words are more frequent, as in real texts: by one over their rank, evened out."""
    (word,) = rng.choices(words, [1 / (rank + 4) for rank in range(len(words))])
    return word
