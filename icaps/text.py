"""Words with their places in the text as typed, and the vocabulary that numbers them.

`icaps.words` says where words end. A lone surrogate is read as U+FFFD.

HTML entities are read as the character that they stand for, and the word's span covers the whole
entity: "&amp;", "&#39;", and the forms that AG's News has lost the ampersand of ("#39;" from code
32 on, and "quot;" and the like where no letter or digit stands before). The space that came with
the damage goes where it would hide a negation ("didn #39;t" is "did", "n't"). An entity that was
escaped again ("&amp;quot;") is read through, one of a name that HTML doesn't have stays as it is,
and one that shows nothing ("&nbsp;", "&shy;") is a space.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from html.entities import html5
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.errors import CheckpointError
from icaps.pieces import Pieces, join, split
from icaps.words import words_alone

PAD, UNK = 0, 1
_SPECIAL = ("<pad>", "<unk>")
_REMEDY = "Copy the file again from where it was saved, or train again."
_BATCH = 1024  # texts that are split at once, which bounds memory

_DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash"
_ENTITY = re.compile(
    r"(?=[&#]|\x20#39;|[aghlmnqr][a-z]{1,5};)(?:"  # where one may start: to look there saves time
    rf"&(?:amp;)*(?P<again>(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_DAMAGED});)"
    r"|&(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|(?:(?<=[nN])\x20(?=#39;[tT]\b))?(?P<number>#0*(?:3[2-9]|[4-9]\d|[1-9]\d{2,6});)"
    rf"|(?<![^\W_])(?:amp;)*(?P<damaged>(?:{_DAMAGED});))"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Word(NamedTuple):
    """A word as it is looked up, and its place: `original[start:end]` is what is shown."""

    text: str
    start: int
    end: int


class _Clean(NamedTuple):
    """Text without entities, and where the entities were.

    `entities` has the start and end of each in the clean text, then in the original.
    """

    text: str
    entities: list[tuple[int, int, int, int]]


def _entity_text(match: re.Match[str]) -> str:
    if match["name"] and match["name"] not in html5:
        return match[0]
    # A joiner shows nothing by itself, yet it is part of a word or of an emoji.
    text = html.unescape(f"&{match[match.lastgroup or 0]}")
    return text if text in ("\u200c", "\u200d") or (text and text.isprintable()) else " "


def replace_surrogates(text: str) -> str:
    """`text` as Rust can take it, of the same length: lone surrogates become U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _clean(text: str) -> _Clean:
    text = replace_surrogates(text)
    pieces: list[str] = []
    entities: list[tuple[int, int, int, int]] = []
    done = length = 0
    for match in _ENTITY.finditer(text) if ";" in text else ():
        read = _entity_text(match)
        if read == match[0]:
            continue
        start, end = match.span()
        pieces += (text[done:start], read)
        length += start - done
        entities.append((length, length + len(read), start, end))
        length += len(read)
        done = end
    return _Clean("".join((*pieces, text[done:])) if pieces else text, entities)


_UNNUMBERED = Pieces(lambda _: UNK)


def split_words(text: str) -> list[Word]:
    """The words of a text, in order; spans count code points of `text`, and never overlap."""
    clean = _clean(text)
    _, counts, spans = split([clean.text], _UNNUMBERED)
    words = [clean.text[start:end] for start, end in spans.tolist()]
    places = _original([clean], spans, counts).tolist()
    return [Word(word, *place) for word, place in zip(words, places, strict=True)]


@dataclass(frozen=True)
class EncodedText:
    """A text as numbers: ids (words,) and spans (words, 2), code points into the text as typed.

    `sentences` (sentences,) has the words of each; a text that is not split is one sentence.
    `truncated` says whether words past the limit were left out.
    """

    ids: NDArray[np.int64]
    spans: NDArray[np.int64]
    sentences: NDArray[np.int64]
    truncated: bool

    @property
    def blank(self) -> bool:
        """Whether the vocabulary has none of the words."""
        return not bool((self.ids != UNK).any())

    @property
    def unknown_share(self) -> float:
        """Share of the words that the vocabulary lacks, 0 to 1; 0 where there are no words."""
        return float((self.ids == UNK).mean()) if self.ids.size else 0.0


def _batches(texts: Iterable[str]) -> Iterator[list[_Clean]]:
    cleaned = map(_clean, texts)
    while batch := list(islice(cleaned, _BATCH)):
        yield batch


class _Ids(dict[str, int]):
    """Numbers of words, UNK of any other one: looked up without a step of Python."""

    def __missing__(self, word: str) -> int:
        return UNK


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows, in id order, `<pad>` and `<unk>` first.

    `counts` says how often each was seen in the texts it was built from: 0 for `<pad>`, and for
    `<unk>` how many words were dropped.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def build(cls, texts: Iterable[str], min_frequency: int) -> Vocabulary:
        """Keep the words seen more than `min_frequency` times, the most frequent first.

        `texts` is read once, so that it may stream; words of one count are in the alphabet's order.
        """
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(words_alone(_clean(text).text))
        kept = [(word, count) for word, count in seen.items() if count > min_frequency]
        kept.sort(key=lambda item: (-item[1], item[0]))
        dropped = seen.total() - sum(count for _, count in kept)
        return cls(
            (*_SPECIAL, *(word for word, _ in kept)), (0, dropped, *(count for _, count in kept))
        )

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read what `save` wrote.

        Raises:
            CheckpointError: The file can't be read, or a line of it is wrong.
        """
        path = Path(path)
        try:
            lines = path.read_bytes().decode("utf-8").split("\n")
        except OSError as error:
            raise CheckpointError(f"{path} can't be read: {error.strerror}. {_REMEDY}") from error
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise _damaged(path, line, "is not UTF-8") from error
        counts: dict[str, int] = {}
        for number, entry in enumerate(lines if lines[-1] else lines[:-1], 1):
            word, _, count = entry.removesuffix("\r").rpartition("\t")
            if not (word and count.isascii() and count.isdigit()):
                raise _damaged(path, number, f"is not a word, a tab and a count: {entry[:80]!r}")
            if word in counts:
                raise _damaged(path, number, f"has the word {word!r} for the second time")
            counts[word] = int(count)
        words = tuple(counts)
        for number, special in enumerate(_SPECIAL, 1):
            if words[number - 1 : number] != (special,):
                raise _damaged(path, number, f"must be the entry of {special}")
        return cls(words, tuple(counts.values()))

    def save(self, path: str | Path) -> None:
        """Write a UTF-8 text file with a line a word in id order: the word, a tab, its count."""
        lines = (f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True))
        Path(path).write_bytes("".join(lines).encode())

    def encode(self, texts: Sequence[str], max_words: int | None = None) -> list[EncodedText]:
        """Each text's ids and spans, those of the first `max_words` words if that is given."""
        return [encoded for batch in _batches(texts) for encoded in self._encode(batch, max_words)]

    def encode_ids(
        self, texts: Iterable[str], max_words: int | None = None
    ) -> list[NDArray[np.int32]]:
        """The ids that `encode` gives each text, sooner: nobody asks for their places."""
        return [ids for batch in _batches(texts) for ids in self._encode_ids(batch, max_words)]

    def _encode_ids(self, batch: list[_Clean], max_words: int | None) -> list[NDArray[np.int32]]:
        entries, counts = join(self._pieces.read(clean.text) for clean in batch)
        ids = entries["id"].copy()
        return [ids[start:end][:max_words] for start, end in _runs(counts.tolist())]

    def _encode(self, batch: list[_Clean], max_words: int | None) -> list[EncodedText]:
        """All at once, as numpy takes as long for a text as for many."""
        entries, counts, spans = split([clean.text for clean in batch], self._pieces)
        ids, spans = entries["id"].astype(np.int64), _original(batch, spans, counts)
        kept = counts
        if max_words is not None:
            kept = np.minimum(counts, max_words)
            within = np.arange(len(ids)) - np.repeat(counts.cumsum() - counts, counts) < max_words
            ids, spans = ids[within], spans[within]
        return [
            EncodedText(ids[start:end], spans[start:end], kept[n : n + 1], truncated)
            for n, ((start, end), truncated) in enumerate(
                zip(_runs(kept.tolist()), (kept < counts).tolist(), strict=True)
            )
        ]

    def id(self, word: str) -> int:
        """The number of a word, `UNK` where it is unknown."""
        return self._ids[word]

    def __len__(self) -> int:
        """How many words there are, `<pad>` and `<unk>` included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word has a number of its own."""
        return word in self._ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return _Ids({word: number for number, word in enumerate(self.words)})

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self._ids.__getitem__)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is remembered, which a process that is sent this finds again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _runs(counts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Where each run of so many starts and ends, of runs end to end."""
    end = 0
    for count in counts:
        yield end, end + count
        end += count


def _original(
    batch: list[_Clean], spans: NDArray[np.int64], counts: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Spans of the words of clean texts (words, 2) in the original texts.

    One that cuts an entity has the whole of it. `counts` are the words of each text.
    """
    rows = [
        (number, *entity)
        for number, clean in enumerate(batch)
        if clean.entities
        for entity in ((0, 0, 0, 0), *clean.entities)
    ]
    if not rows:
        return spans
    of_entity, entities = np.hsplit(np.array(rows), [1])
    of_word = np.repeat(np.arange(len(batch)), counts)
    words = np.flatnonzero(np.isin(of_word, of_entity))
    apart = 1 + max(len(clean.text) for clean in batch)  # texts, so that one search does for all
    edges = spans[words] - (0, 1)  # the first and the last character
    firsts = of_entity[:, 0] * apart + entities[:, 0]
    before = firsts.searchsorted(edges + of_word[words, None] * apart, side="right") - 1
    end, original_end = entities[before, 1], entities[before, 3]
    within = entities[before, (2, 3)]
    found = spans.copy()
    found[words] = np.where(edges < end, within, spans[words] - end + original_end)
    return found


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
