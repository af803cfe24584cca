"""Words with their places in the text as typed, and the vocabulary that numbers them.

Words are cased. How a text is split:

- a run of letters and digits is a word, with its marks and joiners ("PS2", "naïve"); a point or
  comma between digits belongs to it ("119.6", "1,000");
- single letters with points are a word ("U.S.", "a.m.");
- "n't", "'s", "'re", "'ve", "'ll", "'d" and "'m" come off the word before ("do", "n't");
- Han, Hiragana, Thai, Lao, Khmer and Myanmar, written without spaces, give a word a grapheme;
- any other grapheme that is no white space is a word: punctuation, emoji, control characters.

No word cuts a grapheme. A lone surrogate is read as U+FFFD.

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
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from icaps.errors import CheckpointError

PAD, UNK = 0, 1
_SPECIAL = ("<pad>", "<unk>")
_REMEDY = "Copy the file again from where it was saved, or train again."
_BATCH = 1024  # texts that the tokenizer holds at once, which bounds memory

# Oniguruma. \X is a grapheme, \y a boundary between graphemes.
_SINGLE = r"\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"[\p{{L}}&&[^{_SINGLE}]]"
_START = rf"[\p{{L}}\p{{N}}&&[^{_SINGLE}]]"
_EXTEND = r"\p{M}\p{Grapheme_Extend}\x{200C}\x{200D}\x{E33}\x{EB3}\x{1F3FB}-\x{1F3FF}"
_REST = rf"(?:{_START}|[{_EXTEND}])"
# Viramas that bind the next consonant to the grapheme (Unicode's rule GB9c, unknown to \X here).
_VIRAMA = (
    r"\x{94D}\x{9CD}\x{ACD}\x{B4D}\x{C4D}\x{D4D}\x{1039}\x{17D2}\x{1A60}\x{1B44}\x{1BAB}\x{A9C0}"
    r"\x{AAF6}\x{10A3F}\x{11133}\x{113D0}\x{1193E}\x{11A47}\x{11A99}\x{11F42}"
)
_JOINED = rf"(?:(?<=[{_VIRAMA}][{_EXTEND}]{{0,8}})(?=\p{{Lo}})\X)*+"
_AFTER = rf"(?!{_REST})"
_WORD = "|".join(
    (
        rf"(?i:n['’]t){_AFTER}",
        rf"['’](?i:s|re|ve|ll|d|m){_AFTER}",
        rf"(?:{_LETTER}\.)+{_LETTER}(?:\.|{_AFTER})\y",
        r"[0-9#*]\x{FE0F}?\x{20E3}\y",  # a keycap, not a number
        # A run, without the n of "n't".
        rf"{_START}{_REST}*(?:(?<=\p{{Nd}})[.,](?=\p{{Nd}}){_REST}+)*\y"
        rf"(?!(?<=[nN])['’][tT]{_AFTER}){_JOINED}",
        # A flag: \X counts back through all flags before it, which is quadratic.
        rf"[\x{{1F1E6}}-\x{{1F1FF}}]{{2}}[{_EXTEND}]*+{_JOINED}",
        rf"(?!\s\y|\r\n)\X{_JOINED}",
    )
)
# Two short cuts that change no word and save a third of the time: no word starts at a space before
# ASCII, and plain letters before a space or one of these marks are a whole run.
_SHORT_CUT = r"[A-Za-z]++(?=[\x20\n,;:!?)\"])"
_SPLIT = Split(Regex(rf"(?!\x20[!-~])(?:{_SHORT_CUT}|{_WORD})"), behavior="removed", invert=True)

_DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash"
_ENTITY = re.compile(
    rf"&(?:amp;)*(?P<again>(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_DAMAGED});)"
    r"|&(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|(?:(?<=[nN])\x20(?=#39;[tT]\b))?(?P<number>#0*(?:3[2-9]|[4-9]\d|[1-9]\d{2,6});)"
    rf"|(?<![^\W_])(?:amp;)*(?P<damaged>(?:{_DAMAGED});)"
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

    def original(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
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
    parts = _SPLIT.pre_tokenize_str(clean.text)
    spans = clean.original([span for _, span in parts])
    return [Word(word, *span) for (word, _), span in zip(parts, spans, strict=True)]


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
            seen.update(word for word, _ in _SPLIT.pre_tokenize_str(_clean(text).text))
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
            _encoded(clean, found.ids, found.offsets, max_words)
            for batch in _batches(texts)
            for clean, found in zip(
                batch, self._tokenizer.encode_batch([clean.text for clean in batch]), strict=True
            )
        ]

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
        tokenizer.pre_tokenizer = _SPLIT
        return tokenizer


def _encoded(
    clean: _Clean, ids: list[int], offsets: list[tuple[int, int]], max_words: int | None
) -> EncodedText:
    spans = np.array(clean.original(offsets[:max_words]), dtype=np.int64).reshape(-1, 2)
    kept = np.array(ids[:max_words], dtype=np.int64)
    whole = np.array([len(kept)], dtype=np.int64)
    return EncodedText(kept, spans, whole, truncated=len(kept) < len(ids))


def _damaged(path: Path, line: int, fault: str) -> CheckpointError:
    return CheckpointError(f"{path}, line {line} {fault}. {_REMEDY}")
