"""Other forms of a word, by which an unknown word is read: other cases, singular and plural."""

from __future__ import annotations

from collections.abc import Iterator

_SIBILANTS = ("s", "x", "z", "ch", "sh")  # before the "es" of a plural


def letter_cases(word: str) -> tuple[str, str, str]:
    """The word in lower case, capitalised, and in upper case."""
    lower = word.lower()
    return lower, lower.capitalize(), lower.upper()


def other_forms(word: str) -> Iterator[str]:
    """Forms of a word from the most to the least similar: its cases, its English number in these.

    They are those that a list of words has for a word that it lacks: "Oil" and "oil" for "OIL",
    "refinery" for "Refineries", "CEO" for "CEOs", "insurgents" for "insurgent". A form need not be
    an English word.
    """
    yield from letter_cases(word)
    lower = word.lower()
    if not lower.isalpha() or len(lower) < 3:
        return
    if lower.endswith("ies"):
        yield from letter_cases(lower[:-3] + "y")
    if lower.endswith("es") and lower[:-2].endswith(_SIBILANTS):
        yield from letter_cases(lower[:-2])
    if not lower.endswith("s"):
        yield from letter_cases(lower + "s")
    elif not lower.endswith(("ss", "us", "is")):
        yield from letter_cases(lower[:-1])
