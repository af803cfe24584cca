"""The tokenizer: splits a text into words, with the span of each in the text as typed.

Words are case-sensitive. Rules:

- a run of letters and digits is a word, with its marks and joiners ("PS2", "naïve"); a period or
  comma between digits belongs to it ("119.6", "1,000");
- single letters with periods are a word ("U.S.", "a.m.");
- "n't", "'s", "'re", "'ve", "'ll", "'d" and "'m" are split off the word before ("do", "n't");
- in Han, Hiragana, Thai, Lao, Khmer and Myanmar, which are written without spaces, each grapheme is
  a word;
- any other grapheme that is not white space is a word: punctuation, emoji, control characters.

A grapheme is never split between words. A lone surrogate is read as U+FFFD.

HTML entities are decoded, and the span of the word covers the whole entity: "&amp;", "&#39;", and
the damaged forms in AG's News that lack the ampersand ("#39;" from code 32 on, and "quot;" and
others unless a letter or digit precedes). The space that came with the damage is dropped where it
would hide a negation ("didn #39;t" is "did", "n't"). An entity that was escaped twice
("&amp;quot;") is decoded twice, an unknown one is left as it is, and an invisible one ("&nbsp;",
"&shy;") becomes a space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from html.entities import html5
from itertools import chain, compress
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex
from tokenizers import Tokenizer as RegexSplitter
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from icaps.data.surrogates import replace_surrogates
from icaps.text.batch import UNK


class Word(NamedTuple):
    """A word as it is looked up, and its span: `original[start:end]` is the word as typed."""

    text: str
    start: int
    end: int


def split_words(text: str) -> list[Word]:
    """The words of a text in order, with spans. Spans are in code points and never overlap."""
    clean = _clean(text)
    _, counts, spans = _locate([clean.text], _PIECES)
    words = [clean.text[start:end] for start, end in spans.tolist()]
    places = _original_spans([clean], spans, counts).tolist()
    return [Word(word, *place) for word, place in zip(words, places, strict=True)]


def words_of(text: str) -> list[str]:
    """The words of `split_words` without their spans, which is faster."""
    return _words(_clean(text).text)


class Tokenizer:
    """Splits texts into words and looks up their ids.

    Args:
        id_of: Maps a word to its id.
    """

    def __init__(self, id_of: Callable[[str], int]) -> None:
        self._pieces = _Pieces(id_of)

    def encode(
        self, texts: Iterable[str], *, spans: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64] | None]:
        """Word ids of all texts (words,), number of words per text (texts,), and spans (words, 2).

        Spans are relative to the word's own text; None if they are not requested. Encode many texts
        in one call: the overhead of numpy is per call.
        """
        clean = [_clean(text) for text in texts]
        if not spans:
            entries, counts = _join(self._pieces.read(text.text) for text in clean)
            return entries["id"].copy(), counts, None
        entries, counts, places = _locate([text.text for text in clean], self._pieces)
        return entries["id"].copy(), counts, _original_spans(clean, places, counts)


# Entities are decoded first; spans are mapped back to the original text at the end.

_DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash"
_ENTITY = re.compile(
    r"(?=[&#]|\x20#39;|[aghlmnqr][a-z]{1,5};)(?:"  # a fast check of where one may start
    rf"&(?:amp;)*(?P<again>(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_DAMAGED});)"
    r"|&(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|(?:(?<=[nN])\x20(?=#39;[tT]\b))?(?P<number>#0*(?:3[2-9]|[4-9]\d|[1-9]\d{2,6});)"
    rf"|(?<![^\W_])(?:amp;)*(?P<damaged>(?:{_DAMAGED});))"
)


class _Clean(NamedTuple):
    """A text with decoded entities.

    `entities` has the start and end of each entity in the clean text, then in the original.
    """

    text: str
    entities: list[tuple[int, int, int, int]]


def _entity_text(match: re.Match[str]) -> str:
    if match["name"] and match["name"] not in html5:
        return match[0]
    # A joiner is invisible by itself, but part of a word or of an emoji.
    text = html.unescape(f"&{match[match.lastgroup or 0]}")
    return text if text in ("\u200c", "\u200d") or (text and text.isprintable()) else " "


def _clean(text: str) -> _Clean:
    """Decodes the entities of a text and replaces lone surrogates."""
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


def _original_spans(
    batch: list[_Clean], spans: NDArray[np.int64], counts: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Maps spans (words, 2) in clean texts to spans in the original texts.

    A span that covers part of an entity is extended to all of it. `counts` is the number of words
    per text.
    """
    rows = [
        (number, *entity)
        for number, clean in enumerate(batch)
        if clean.entities
        for entity in ((0, 0, 0, 0), *clean.entities)
    ]
    if not rows:
        return spans
    entity_texts, entities = np.hsplit(np.array(rows), [1])  # number of the text of each entity
    word_texts = np.repeat(np.arange(len(batch)), counts)  # and of each word
    words = np.flatnonzero(np.isin(word_texts, entity_texts))
    stride = 1 + max(len(clean.text) for clean in batch)  # between texts: one search for all
    edges = spans[words] - (0, 1)  # the first and the last character
    firsts = entity_texts[:, 0] * stride + entities[:, 0]
    before = firsts.searchsorted(edges + word_texts[words, None] * stride, side="right") - 1
    end, original_end = entities[before, 1], entities[before, 3]
    within = entities[before, (2, 3)]
    original = spans.copy()
    original[words] = np.where(edges < end, within, spans[words] - end + original_end)
    return original


# Words, as regular expressions.

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
# Two shortcuts that save a third of the time and change no result: no word starts at a space before
# ASCII, and plain letters before a space or one of these marks are a whole run.
_SHORTCUT = r"[A-Za-z]++(?=[\x20\n,;:!?)\"])"
_SPLIT = Split(Regex(rf"(?!\x20[!-~])(?:{_SHORTCUT}|{_WORD})"), behavior="removed", invert=True)

# Splits many texts at once, on all cores; its own ids of words are not used.
_SPLITTER = RegexSplitter(WordLevel({"": 0}, unk_token=""))
_SPLITTER.pre_tokenizer = _SPLIT

# The same for ASCII, where every character except "\r\n" (white space) is a grapheme: `re` takes
# about two thirds of the time. The first alternative is the shortcut again.
_PLAIN = "[A-Za-z0-9]"
_ASCII_WORD = re.compile(
    "|".join(
        (
            r"[A-Za-z]+(?=[\x20\n,;:!?)\"])",
            rf"[nN]'[tT](?!{_PLAIN})",
            rf"'(?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL])(?!{_PLAIN})",
            rf"(?:[A-Za-z]\.)+[A-Za-z](?:\.|(?!{_PLAIN}))",
            rf"{_PLAIN}+(?:(?<=[0-9])[.,](?=[0-9]){_PLAIN}+)*(?!(?<=[nN])'[tT](?!{_PLAIN}))",
            r"[^\t-\r\x20]",  # \S lacks \x1c to \x1f, white space to `re` alone
        )
    )
)
# Whether a byte is part of a word: anything but white space, without \x1c to \x1f (see above).
_IN_WORD = bytes(byte not in b"\t\n\v\f\r " for byte in range(256))


def _words(text: str) -> list[str]:
    """The words of a clean text."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return [word for word, _ in _SPLIT.pre_tokenize_str(text)]


# Many texts at once: words and spans as arrays.

_ENTRY = np.dtype([("id", np.int32), ("length", np.int32)])  # of a word, in characters
_MAX_PIECES = 65_536  # in the cache, about 15 MB
_MAX_PIECE_LENGTH = 32  # of a cached piece, in characters; longer ones hardly recur
_pack = Struct("=ii").pack


class _Pieces(dict[str, bytes]):
    """Cache of the words of each piece of text between spaces, as most pieces recur.

    A word of an ASCII text has no space in it and does not depend on what follows one. The words of
    a piece are packed as bytes, an _ENTRY each, so that pieces are joined as bytes. A full cache is
    emptied, so that rare pieces cannot permanently displace frequent ones.
    """

    def __init__(self, id_of: Callable[[str], int]) -> None:
        super().__init__()
        self._id_of = id_of

    def __missing__(self, piece: str) -> bytes:
        # A run of letters and digits is one word, so no regular expression is needed.
        packed = self.pack([piece] if piece.isalnum() else _words(piece))
        if len(piece) <= _MAX_PIECE_LENGTH:
            if len(self) >= _MAX_PIECES:
                self.clear()
            self[piece] = packed
        return packed

    def pack(self, words: Iterable[str]) -> bytes:
        """Packs words as entries."""
        return b"".join([_pack(self._id_of(word), len(word)) for word in words])

    def read(self, text: str) -> bytes:
        """The words of a clean text, packed as entries."""
        if text.isascii():
            return b"".join(map(self.__getitem__, text.split(" ")))
        return self.pack(_words(text))


_PIECES = _Pieces(lambda _: UNK)  # for `split_words`, which needs no ids


def _locate(
    texts: Sequence[str], pieces: _Pieces
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """Words of clean texts: entries (words,), number per text (texts,), and spans (words, 2)."""
    plain = np.array([text.isascii() for text in texts], dtype=bool)
    others = list(compress(texts, ~plain))
    places = [encoding.offsets for encoding in _SPLITTER.encode_batch(others)]
    next_places = iter(places)
    entries, counts = _join(
        pieces.read(text)
        if text.isascii()
        else pieces.pack(text[start:end] for start, end in next(next_places))
        for text in texts
    )
    if plain.all():
        return entries, counts, _ascii_spans(texts, entries["length"], counts)
    in_plain = np.repeat(plain, counts)  # (words,)
    spans = np.empty((len(entries), 2), np.int64)
    spans[~in_plain] = np.array([*chain.from_iterable(places)], np.int64).reshape(-1, 2)
    lengths = entries["length"][in_plain]
    spans[in_plain] = _ascii_spans(list(compress(texts, plain)), lengths, counts[plain])
    return entries, counts, spans


def _join(packed: Iterable[bytes]) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Concatenates the packed words of texts: entries (words,), and number per text (texts,)."""
    parts = list(packed)
    counts = np.array([len(part) for part in parts], np.int64) // _ENTRY.itemsize
    return np.frombuffer(b"".join(parts), _ENTRY), counts


def _ascii_spans(
    texts: Sequence[str], lengths: NDArray[np.integer], counts: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Spans (words, 2) of the words of ASCII texts, relative to the start of each text.

    Only white space stands between words, so the lengths of words determine their positions among
    the other characters.

    Args:
        texts: ASCII.
        lengths: (words,), number of characters of each word, of all texts.
        counts: (texts,), number of words of each text.
    """
    characters = "".join(texts).encode("ascii").translate(_IN_WORD)
    places = np.flatnonzero(np.frombuffer(characters, bool))
    ends = lengths.cumsum(dtype=np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.repeat(sizes.cumsum() - sizes, counts)
    return np.stack((places[ends - lengths] - starts, places[ends - 1] + 1 - starts), 1)
