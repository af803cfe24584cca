"""An explanation as lines for a terminal: quoted K-grams, shares in words, and a text in colour.

No character of a text reaches the terminal that the terminal would act on.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from icaps.escaping import escape_active
from icaps.html import decimals
from icaps.word_account import AccountRow, WordAccount

_RESET = "\x1b[0m"
# Backgrounds of the shades, from weak to strong, for black letters: as light as each other and of
# growing saturation, so that they suit light and dark terminals.
_FOR = ("109", "73", "37", "38", "39")
_AGAINST = ("144", "180", "179", "215", "208")
_BOLD_FROM = 4  # shade
_MOST_SENTENCES = 5  # in lines without colour


def shows_color(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether colours are for this stream: a terminal, unless NO_COLOR is set or TERM is dumb."""
    plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
    return stream.isatty() and not plain


def escape(text: str) -> str:
    """`text` on one line, where characters that a terminal acts on are escaped, such as \\u001b.

    White space such as a line break becomes a space.
    """
    return escape_active(re.sub(r"[\t\n\v\f\r\x85\u2028\u2029]+", " ", text))


def quote(text: str) -> str:
    """`text` as a JSON string on one line, without characters that a terminal acts on."""
    return escape_active(json.dumps(text, ensure_ascii=False))


def account_lines(account: WordAccount, color: bool = False) -> list[str]:
    """The words for a class and against it with their shares, and what is added up.

    The numbers sum to the score. A long text has lines for its sentences too, unless `color` is
    set: then `shaded_lines` shows them.
    """
    rows = account.rows
    words = [row for row in rows if row.words and row.key != "r"]
    lines = []
    for side, sign in (("For", 1), ("Against", -1)):
        listed = [row for row in words if row.share * sign > 0]
        listed.sort(key=lambda row: -abs(row.share))
        if listed:
            shown = ", ".join(_word(account, row, color) for row in listed)
            lines.append(f"{side} {escape(account.name)}: {shown}")
    parts = [f"bias {_signed(account, rows[0].share)}"]
    parts += [f"{row.label} {_signed(account, row.share)}" for row in rows if row.key == "r"]
    score = f"{account.score:.{account.digits}f}"
    lines.append(f"All together, with {' and '.join(parts)}: {score}")
    return lines + ([] if color else _sentence_lines(account))


def _word(account: WordAccount, row: AccountRow, color: bool) -> str:
    """A word with its share, and with the number of its occurrences where there are several."""
    times = f" ×{len(row.words)}" if len(row.words) > 1 else ""
    word = row.label.removesuffix(times)
    level = max((account.levels[number] for number in row.words), key=abs)
    shown = _shade(escape(word), int(level)) if color else quote(word)
    return f"{shown}{times} {_signed(account, row.share)}"


def _sentence_lines(account: WordAccount) -> list[str]:
    """The sentences of a long text with the largest shares, in their order."""
    rows = account.sentence_rows
    if len(rows) < 2:
        return []
    largest = sorted(rows, key=lambda row: -abs(row.share))[:_MOST_SENTENCES]
    lines = [
        f"  {_signed(account, row.share)}  {quote(account.text[row.start : row.end].strip())}"
        for row in rows
        if row in largest
    ]
    rest = [row.share for row in rows if row not in largest]
    lines += [f"  {_signed(account, sum(rest))}  all other sentences"] if rest else []
    return ["By sentence:", *lines]


def shaded_lines(account: WordAccount) -> Iterator[str]:
    """The text in colour, with the shades of `WordAccount`; words against are underlined.

    A long text has a line for each sentence, which starts with its share.
    """
    starts, rows = [start for start, _ in account.spans], account.sentence_rows
    if not rows:
        yield _shaded(account, range(len(starts)), 0, len(account.text)).strip()
    for row in rows:
        words = range(bisect_left(starts, row.start), bisect_left(starts, row.end))
        text = _shaded(account, words, row.start, row.end).strip()
        yield f"{_signed(account, row.share):>8}  {text}"


def _shaded(account: WordAccount, words: Sequence[int], start: int, end: int) -> str:
    """A part of the text with its words in colour, as far as it was read."""
    parts, place = [], start
    for number in words:
        first, last = account.spans[number]
        parts.append(escape(account.text[place:first]))
        parts.append(_shade(escape(account.text[first:last]), int(account.levels[number])))
        place = last
    parts.append(escape(account.text[place : max(place, min(end, account.unread))]))
    return "".join(parts)


def _shade(text: str, level: int) -> str:
    """Escaped text on the background of a shade."""
    if not level:
        return text
    background = (_FOR if level > 0 else _AGAINST)[abs(level) - 1]
    style = ("4;" if level < 0 else "") + ("1;" if abs(level) >= _BOLD_FROM else "")
    return f"\x1b[{style}38;5;16;48;5;{background}m{text}{_RESET}"


def _signed(account: WordAccount, share: float) -> str:
    """A share with the digits of the account."""
    return decimals(share, account.digits, sign=True)
