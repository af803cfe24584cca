"""Whether bytes are plainly text of a Western European language in Windows' encoding, cp1252.

Any bytes can be read in any single-byte encoding. What tells the right one is the result: words
whose letters and marks are where a language of Western Europe has them. The rules are strict, since
a wrong guess would be silent: a Polish, Czech or Turkish text in its own encoding breaks them
within a few words, and so does French that was written by a Mac or by DOS.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

_ENOUGH = 2000  # words with letters beyond ASCII that are judged at most
_TOLERATED = 50  # such words of which one may break the rules
_SINGLE = 30  # such words from which on they must be of one language

# The letters beyond a to z of languages whose text is read as cp1252 without a question. Letters
# that only rarer languages have (ð ý þ of Icelandic, š ž of Finnish and Estonian loans) are those
# that bytes of other encodings become most often, so such texts are asked about.
_ALPHABETS = {
    "French": "àâçèéêëîïôùûüœæÿ",
    "German": "äöüßéèáà",
    "Spanish": "áéíñóúüç",
    "Portuguese": "áâãàçéêíóôõúü",
    "Italian": "àèéìíîòóùú",
    "Catalan": "àçèéíïòóúü",
    "Dutch": "áäèéëêïíöóüúç",
    "Danish and Norwegian": "æøåéèêóòôüöä",
    "Swedish and Finnish": "äåöéüà",
}
_LETTERS = "".join(sorted(set("".join(_ALPHABETS.values()))))
_UPPER = "".join(c.upper() for c in _LETTERS if len(c.upper()) == 1 and c not in "ßÿ")
# Marks of typed text that stand at the edges of words, never inside them.
_MARKS = "“”‘’‚„…–—«»‹›©®™§°€£¥¢•·´¨¡¿ªº²³½¼¾±×÷µ¶†‡‰¦¬\u00a0\u00ad¸ˆ˜"
_EDGE = r"\s!-/:-@\[-`{-~“”‘’«»–—•"
_WORD = re.compile(f"[^{_EDGE}]+")
_LONGEST = 100  # characters of a word that are judged, as the time grows with their square
_CASE = re.compile(f"[a-z{_LETTERS}][{_UPPER}]|[A-Z{_UPPER}][{_UPPER}][a-z{_LETTERS}]")
_CONSONANT = "bcdfghjklmnpqrstvwxz"
# A letter where no language of these has it, as letters of other languages come out in cp1252.
_MISPLACED = re.compile(
    "|".join(
        (
            "ã(?![oesn]|$)",  # Portuguese: não, mãe, amanhã
            "õ(?!e)",  # Portuguese: ações
            "[iu]ã(?![o])",
            "û(?![trlcnmqe]|$)|[^aodgbmrfpcleustnj]û",  # French: août, sûr
            "ç(?![aouãóõâ]|$)",
            "ñ(?![aeiouáéíóúü]|$)",
            "œ(?![udeist])",
            "æ$|[aeiou]æ|æ[aiou]",  # Danish: træner
            f"[aeiou]ø|^øe(?![rn]|$)|ø[{_CONSONANT}]{{3}}",
            "[šž]",
            "â(?:[jkqwxy]|s?$)",
            "(?<!voc)(?<!^v)(?<!^l)(?<!cr)(?<!^d)(?<!beb)(?<!merc)(?<!qu)(?<!rev)ê$",
            "î(?![tlnmes]|$)",
            "ì.|ò[a-z]{4}|ù[b-z]{2}",  # Italian: lunedì
            "(?<![aeiou])ï|(?<![aeiout])ë",  # naïve, Brontë
            f"è(?:[aeiouy]|[{_CONSONANT}]{{3}}|[{_CONSONANT}]{{1,2}}[aoy]$)",  # French: mètre
            "[0-9][à-ÿ]|[à-ÿ][0-9]",
        )
    )
)
# Marks where nobody types them: they are letters in the encodings of Macs and of DOS.
_MISUSED = re.compile(
    f"[a-z{_LETTERS}](?:•|–[a-z{_LETTERS}])|[a-z{_LETTERS}][—–](?=\\s|$)|[a-z{_LETTERS}]‘|‚|€[a-z]{{2}}|µ[a-z]{{3}}|¡[A-Z](?=\\W|$)"
    f"|”[a-z{_LETTERS}]|(?<!\\S)[ÑÐÕÔÒ](?!\\S)",
    re.MULTILINE,
)
_LOWER_RUN = re.compile(f"[{_LETTERS}]{{3}}")
# Letters that no word of one language has side by side in one word.
_CLASHES = tuple(
    re.compile(f"{a}.*{b}|{b}.*{a}")
    for a, b in (
        ("[áíúó]", "[èìøåæëùòïâêîûà]"),
        ("[ãõ]", "[åäößøæùìòèëïîûñ]"),
        ("[äöüß]", "[èìâêîûùòãõøæñà]"),
        ("ø", "[áèùìëíúâêîû]"),
        ("æ", "[áèùìëíúšâêîûñç]"),
        ("ñ", "[àèìòùâêîôûäëïåøæ]"),
        ("å", "[èìâêîûùòëïçñ]"),
    )
)


def is_plainly_western(sample: bytes) -> bool:
    """Whether the bytes, which are not ASCII alone, are plainly Western European in cp1252."""
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if "¤" in text or "ˆ" in text or "˜" in text:  # letters and the euro of other encodings
        return False
    runs = (match[0] for match in _WORD.finditer(text))
    words = [run[:_LONGEST] for run in islice((r for r in runs if not r.isascii()), _ENOUGH)]
    broken = sum(map(_is_broken, words)) + sum(1 for _ in _MISUSED.finditer(text))
    if "„" not in text:  # in German the mark “ closes
        broken += sum(1 for _ in re.finditer(f"[a-z{_LETTERS}]“", text))
    letters = Counter(c for word in words for c in word.lower() if c > "\x7f" and c.isalpha())
    total = letters.total()
    if total >= _SINGLE:
        covered = max(sum(letters[c] for c in alphabet) for alphabet in _ALPHABETS.values())
        share = total / max(sum(1 for _ in re.finditer(r"\w+", text)), 1)
        if covered < 0.9 * total and share > 0.05:  # fewer are names in English
            return False
        french = sum(letters[c] for c in "éèàêç")
        if covered == sum(letters[c] for c in _ALPHABETS["French"]) and share > 0.05:
            others = [a for name, a in _ALPHABETS.items() if name != "French"]
            if max(sum(letters[c] for c in a) for a in others) < covered and (
                letters["é"] * 4 < total or french * 2 < total
            ):
                return False
    return broken * _TOLERATED <= len(words) if len(words) >= _TOLERATED else not broken


def _is_broken(word: str) -> bool:
    """Whether a word has a letter or a mark where no Western European language has it."""
    core = word.strip(_MARKS)
    if not core or core.isascii():
        # Marks alone, or around plain letters: quotes must open before and close after them.
        inner = word.strip("".join(set(_MARKS) - set("‚„²³¹¼½¾¡¢£¥¦¬±µ¶¸ªº¿÷×")))
        return bool(
            re.search(r"[a-z][‚„²³¹¼½¾¡¢¥¦¬±µ¶¸ªº¿÷×]|[¢£¥¦¬±¶¸ªº¹³²¼½¾÷×][a-z]", inner, re.I)
        )
    for c in core:
        if c > "\x7f" and c not in _LETTERS and c not in _UPPER and c not in "·’‘\u00ad":
            return True
    if core != word and re.search(
        f"[a-z{_LETTERS}][‚„²³¹¼½¾¡¢£¥¦¬±µ¶¸ªº¿÷×¨]|[¢£¥¦¬±¶¸ªº¹³²¼½¾÷×°†‡‰¨´][a-z{_LETTERS}]",
        word,
        re.I,
    ):
        return True
    lower = core.lower()
    if _CASE.search(core) or _LOWER_RUN.search(lower) or _MISPLACED.search(lower):
        return True
    high = sum(c > "\x7f" for c in lower)
    if high > 1 and high * 2 > len(lower) and lower != "één":
        return True
    return any(clash.search(lower) for clash in _CLASHES)
