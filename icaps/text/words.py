"""Where the words of a text are.

Words are cased. How a text is split:

- a run of letters and digits is a word, with its marks and joiners ("PS2", "naïve"); a point or
  comma between digits belongs to it ("119.6", "1,000");
- single letters with points are a word ("U.S.", "a.m.");
- "n't", "'s", "'re", "'ve", "'ll", "'d" and "'m" come off the word before ("do", "n't");
- Han, Hiragana, Thai, Lao, Khmer and Myanmar, written without spaces, give a word a grapheme;
- any other grapheme that is no white space is a word: punctuation, emoji, control characters.

No word cuts a grapheme.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

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
SPLIT = Split(Regex(rf"(?!\x20[!-~])(?:{_SHORT_CUT}|{_WORD})"), behavior="removed", invert=True)

# Splits many texts at once, on all cores; the numbers that it gives words are no use.
_SPLITTER = Tokenizer(WordLevel({"": 0}, unk_token=""))
_SPLITTER.pre_tokenizer = SPLIT

# The same for ASCII, where any character is a grapheme but "\r\n", which is white space: `re` takes
# about two thirds of the time for it. The first way is the short cut again.
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
# Whether a byte is in a word: not white space, but \x1c to \x1f, which `re` alone counts as such.
_IN_WORD = bytes(byte not in b"\t\n\v\f\r " for byte in range(256))


def words_alone(text: str) -> list[str]:
    """The words of a text without lone surrogates."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return [word for word, _ in SPLIT.pre_tokenize_str(text)]


def places_of_others(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Where the words of texts of any script are, without lone surrogates, on all cores."""
    return [encoding.offsets for encoding in _SPLITTER.encode_batch(texts)]


def spans_of_ascii(
    texts: Sequence[str], lengths: NDArray[np.integer], counts: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Where the words of ASCII texts are (words, 2), each counted from the start of its own text.

    White space is all that is between words, so that a word's length and the lengths of those
    before it say where it is among the other characters.

    Args:
        texts: ASCII.
        lengths: (words,), characters of each word of `words_alone`, of all texts end to end.
        counts: (texts,), words of each.
    """
    characters = "".join(texts).encode("ascii").translate(_IN_WORD)
    places = np.flatnonzero(np.frombuffer(characters, bool))
    ends = lengths.cumsum(dtype=np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.repeat(sizes.cumsum() - sizes, counts)
    return np.stack((places[ends - lengths] - starts, places[ends - 1] + 1 - starts), 1)
