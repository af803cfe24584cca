"""The likeliest encodings of bytes that fit several, with a line of the text in each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from icaps.data.problems import EncodingCandidate
from icaps.data.western import is_plainly_western

_WESTERN = "àâäáãåæçéèêëíìîïñóòôöõøœúùûüßÿ"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώςϊϋΐΰ"
_CENTRAL = (
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýž",
    "áäčďéíľĺňóôŕšťúýž",
    "áéíóöőúüű",
    "ăâîșşțţ",
    "čćđšž",
)
# Encodings with the letters of languages that are written in them, the commoner ones first.
_ENCODINGS: dict[str, Sequence[str]] = {
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1251": (_CYRILLIC,),
    "koi8-r": (_CYRILLIC,),
    "iso8859-5": (_CYRILLIC,),
    "cp866": (_CYRILLIC,),
    "cp1253": (_GREEK,),
    "iso8859-7": (_GREEK,),
    "cp1254": ("çğıöşüâîû",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),
    "cp1255": ("אבגדהוזחטיכךלמםנןסעפףצץקרשת",),
    "cp1256": ("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژگک",),
    "cp874": ("".join(map(chr, range(0xE01, 0xE4F))),),
    "cp1258": ("àâăđêôơư\u0300\u0301\u0303\u0309\u0323áéíóú",),
    "cp1252": (_WESTERN, "áéíóúýæöðþ"),
    "mac-roman": (_WESTERN,),
    "iso8859-15": (_WESTERN + "šž€",),
    "cp850": (_WESTERN,),
}
_MARKS = "“”‘’‚„…–—«»‹›©®™§°€£•·´ \u00ad!?.,"
_MOST = 5  # candidates
_WIDTH = 80  # characters of a sample
_LEAST = 0.85  # share of characters beyond ASCII that fit
_BYTES = 1 << 16  # that are judged


def guess_encodings(sample: bytes) -> list[EncodingCandidate]:
    """The likeliest encodings of bytes that are not UTF-8, the likeliest first; at most five."""
    from charset_normalizer import from_bytes

    part = sample[:_BYTES]
    scores = [(_score(part, name, letters), name) for name, letters in _ENCODINGS.items()]
    fitting = [name for score, name in sorted(scores, key=lambda s: -s[0]) if score >= _LEAST]
    others = [guess.encoding for guess in from_bytes(part)]
    wide = [name for name in others if not _is_single_byte(name)]
    # Where a script of many bytes per character fits, one of single bytes hardly does.
    names = [*wide[:2], *fitting, *(() if fitting else others), "cp1252", "latin-1"]
    line = _line(part)
    candidates: list[EncodingCandidate] = []
    texts = set[str]()
    for name in dict.fromkeys(names):
        try:
            text, sample_line = part.decode(name, "ignore"), line.decode(name, "ignore").strip()
        except LookupError:
            continue
        if text not in texts:
            texts.add(text)
            candidates.append(EncodingCandidate(name, sample_line[:_WIDTH]))
    return candidates[:_MOST]


def _score(sample: bytes, name: str, alphabets: Sequence[str]) -> float:
    """How well the characters beyond ASCII are letters of one language, and the case of letters."""
    try:
        text = sample.decode(name)
    except UnicodeDecodeError:
        return 0.0
    high = [c for c in text if c > "\x7f"]
    letters = [c for c in high if c not in _MARKS]
    if not letters:
        return 0.0
    flips = sum(1 for a, b in pairwise(text) if _clash(a, b))
    share = max(sum(c.lower() in alphabet for c in letters) for alphabet in alphabets)
    score = share / len(letters) - 2 * flips / len(letters) - 0.05 * (len(high) > len(letters) * 2)
    if name == "cp1252" and not is_plainly_western(sample):
        score -= 0.1
    return score


def _clash(before: str, after: str) -> bool:
    """Whether no word has these two letters side by side: a case or a script changes there."""
    if (before.isascii() and after.isascii()) or not (before.isalpha() and after.isalpha()):
        return False
    if before.islower() and after.isupper():
        return True
    return max(before, after) >= "\u0370" and before.isascii() != after.isascii()


def _is_single_byte(name: str) -> bool:
    try:
        return len(bytes(range(0x20, 0x7F)).decode(name)) == 95 and bool(_table(name))
    except UnicodeDecodeError:
        return False


def _table(name: str) -> str:
    decoded = bytes(range(0xA0, 0x100)).decode(name, "replace")
    return decoded if len(decoded) == 96 and decoded.count("\ufffd") < 60 else ""


def _line(sample: bytes) -> bytes:
    """The line with the most bytes beyond ASCII, from the first of them on."""
    lines = re.split(rb"[\r\n]+", sample)
    best = max(lines, key=lambda line: sum(byte > 127 for byte in line[:400]))
    return best[:400]
