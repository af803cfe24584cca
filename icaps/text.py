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
from dataclasses import dataclass
from functools import cached_property
from html.entities import html5
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from icaps.errors import CheckpointError
from icaps.words import SPLIT, Span, words_alone, words_and_spans

PAD, UNK = 0, 1
_SPECIAL = ("<pad>", "<unk>")
_REMEDY = "Copy the file again from where it was saved, or train again."
_BATCH = 1024  # texts that the tokenizer holds at once, which bounds memory

_DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash"
_ENTITY = re.compile(
    r"(?=[&#\x20aghlmnqr])(?:"  # where one may start, which saves two fifths of the time
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
    """Text without entities; where each of its characters starts and ends in the original.

    No places stand for the same places.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def original(self, spans: list[Span]) -> list[Span]:
        if not self.starts:
            return spans
        starts, ends = self.starts, self.ends
        return [(starts[start], ends[end - 1]) for start, end in spans]


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
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _ENTITY.finditer(text) if ";" in text else ():
        read = _entity_text(match)
        if read == match[0]:
            continue
        start, end = match.span()
        pieces += (text[done:start], read)
        starts += [*range(done, start), *[start] * len(read)]
        ends += [*range(done + 1, start + 1), *[end] * len(read)]
        done = end
    if not pieces:
        return _Clean(text, [], [])
    starts += range(done, len(text))
    ends += range(done + 1, len(text) + 1)
    return _Clean("".join((*pieces, text[done:])), starts, ends)


def split_words(text: str) -> list[Word]:
    """The words of a text, in order; spans count code points of `text`, and never overlap."""
    clean = _clean(text)
    words, spans = words_and_spans(clean.text)
    return [Word(word, *span) for word, span in zip(words, clean.original(spans), strict=True)]


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
        return [
            _encoded(clean, ids, spans, max_words)
            for batch in _batches(texts)
            for clean, (ids, spans) in zip(batch, self._numbered(batch), strict=True)
        ]

    def encode_ids(
        self, texts: Iterable[str], max_words: int | None = None
    ) -> list[NDArray[np.int32]]:
        """The ids that `encode` gives each text, in half the time: nobody asks for their places."""
        number = self._ids.get
        return [
            np.array(
                [number(word, UNK) for word in words_alone(_clean(text).text)[:max_words]], "i4"
            )
            for text in texts
        ]

    def _numbered(self, batch: list[_Clean]) -> Iterator[tuple[list[int], list[Span]]]:
        """Ids and spans of each text's words, in the order of the batch.

        `tokenizers` takes all texts that aren't ASCII at once, and may use all cores for them.
        """
        others = [clean.text for clean in batch if not clean.text.isascii()]
        encodings = iter(self._tokenizer.encode_batch(others) if others else ())
        for clean in batch:
            if clean.text.isascii():
                words, spans = words_and_spans(clean.text)
                yield [self._ids.get(word, UNK) for word in words], spans
            else:
                encoding = next(encodings)
                yield encoding.ids, encoding.offsets

    def id(self, word: str) -> int:
        """The number of a word, `UNK` where it is unknown."""
        return self._ids.get(word, UNK)

    def __len__(self) -> int:
        """How many words there are, `<pad>` and `<unk>` included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word has a number of its own."""
        return word in self._ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer(WordLevel(self._ids, unk_token=_SPECIAL[UNK]))
        tokenizer.pre_tokenizer = SPLIT
        return tokenizer


def _encoded(
    clean: _Clean, ids: list[int], offsets: list[Span], max_words: int | None
) -> EncodedText:
    flat = chain.from_iterable(clean.original(offsets[:max_words]))
    spans = np.fromiter(flat, dtype=np.int64).reshape(-1, 2)  # pairs would take twice the time
    kept = np.array(ids[:max_words], dtype=np.int64)
    whole = np.array([len(kept)], dtype=np.int64)
    return EncodedText(kept, spans, whole, truncated=len(kept) < len(ids))


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
