"""The synthetic data set: small, and generated from templates and a seed.

It needs neither network nor licence, so it is suited for first experiments. It is not a benchmark:
no person wrote its texts, and scores on it say nothing about real texts.

There are 5 topics of equal size, and three kinds of text, in both parts alike:

- most have words of their topic among general ones, and sometimes one of another topic;
- one in twelve is vague: fewer words of its topic, and some of others;
- one in twenty is a contrast, "less about the soup than about the guitar", where the words are of
  two topics and only their order determines the right one.

Then 2% of the labels are changed to another topic, so that no model should score more than 98%.
A linear model of TF-IDF words scores 93.5% on the test part. The words are in synthetic.toml.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

from icaps.data.cache import data_folder, make_ready
from icaps.data.reporting import SILENT, ProgressReporter

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WordLists = dict[str, tuple[str, ...]]  # by place in a sentence: person, thing, verb, ...


def _word_lists(table: dict[str, str]) -> WordLists:
    return {place: tuple(words.split()) for place, words in table.items()}


_RESOURCE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TIMES, SENTENCES, CONTRASTS = (_RESOURCE[name] for name in ("times", "sentences", "contrasts"))
TOPICS = {topic: _word_lists(table) for topic, table in _RESOURCE["topics"].items()}
GENERAL = _word_lists(_RESOURCE["general"])

NAME = "synthetic"
CLASSES = tuple(TOPICS)
ROWS = {"train": 3000, "test": 600}
LABEL_NOISE = 0.02
_VERSION = 1  # of the texts; part of the folder's name, as a cache may hold older ones
_SEED = 2020
_FEWEST, _MOST = 8, 40  # words per text
_VAGUE, _CONTRAST = 0.08, 0.05  # shares of these kinds of text
_OWN, _OWN_ALONE = 0.75, 0.95  # probability of a word of the topic; in a text of one sentence
_OWN_VAGUE = 0.45
_OTHER, _OTHER_VAGUE = 0.03, 0.15  # probability of a word of another topic
_FIELD = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


def home() -> Path:
    """The data set's folder in the cache."""
    return data_folder() / f"{NAME}-{_VERSION}"


def make(progress: ProgressReporter = SILENT) -> Path:
    """Generates the synthetic data set in the cache, unless it is there, and returns its folder.

    Returns:
        A folder with train.parquet, test.parquet (text, label from 0) and classes.txt.

    Raises:
        DataError: The cache folder cannot be written.
    """
    return make_ready(home(), _fill, progress)


def generate() -> dict[str, list[tuple[str, int]]]:
    """Generates texts and labels (of CLASSES) per part: the same each time, without duplicates."""
    rng = random.Random(_SEED)
    seen: set[str] = set()
    return {part: _rows(rng, count, seen) for part, count in ROWS.items()}


def _fill(folder: Path) -> None:
    import pyarrow as pa

    from icaps.data.convert import SCHEMA, write_class_names, write_part

    for part, rows in generate().items():
        texts, labels = zip(*rows, strict=True)
        batch = pa.RecordBatch.from_pydict({"text": texts, "label": labels}, schema=SCHEMA)
        write_part(folder / f"{part}.parquet", [batch])
    write_class_names(folder, CLASSES)


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


def _contrast(rng: random.Random, own: WordLists, other: WordLists) -> str:
    first = _sentence(rng, rng.choice(SENTENCES), [GENERAL], [1])
    second = rng.choice(CONTRASTS)
    second = second.format(own=_word(rng, own["thing"]), other=_word(rng, other["thing"]))
    return f"{first} {second}"


def _sentence(
    rng: random.Random, template: str, sources: list[WordLists], weights: list[float]
) -> str:
    def fill(field: re.Match[str]) -> str:
        if field[1] == "time":
            return str(rng.choice(TIMES))
        (source,) = rng.choices(sources, weights)
        return _word(rng, source[field[1]])

    text = _ARTICLE.sub(r"\1n ", _FIELD.sub(fill, template))
    return text[0].upper() + text[1:]


def _word(rng: random.Random, words: tuple[str, ...]) -> str:
    """Draws a word; early ones are more frequent, as in real texts: by 1 / (rank + 4)."""
    (word,) = rng.choices(words, [1 / (rank + 4) for rank in range(len(words))])
    return word
