"""Class names: spelling, order and numbers; warnings on names that may be meant as one or none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from icaps.data.surrogates import replace_surrogates
from icaps.errors import DataError

# Characters that nobody sees and nobody means in a name: zero-width spaces and word joiners, byte
# order marks, soft hyphens and marks of direction. Joiners of letters and emoji are not among them.
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_MISSING = ("nan", "none", "null", "n/a", "na", "#n/a", r"\n", "-", "?", "<na>", "nat")
# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһкмтвнАВЕКМНОРСТУХІΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
    ("aeopcyxijsdhkmtbhABEKMHOPCTYXIABEZHIKMNOPTYXo"),
)
_NAMED = 3  # groups of names that are listed at most
_LONGEST = 60  # characters of a name in a message


def class_name(label: str) -> str:
    """A label as a class name: without surrounding spaces and invisible characters, and composed.

    What looks the same is the same: "Café" with a composed and with a combining accent (Unicode's
    NFC). Lone surrogates, which no file can hold, become U+FFFD.
    """
    name = label.strip()
    if name.isascii():
        return name
    name = replace_surrogates(unicodedata.normalize("NFC", _INVISIBLE.sub("", name)))
    return name.strip()


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The distinct labels, sorted as numbers if all are whole numbers, else as strings."""
    names = sorted(set(labels))
    if all(name.isascii() and name.removeprefix("-").isdecimal() for name in names):
        names.sort(key=int)
    return tuple(names)


def _comparable(label: str) -> str:
    """A label in the spelling that reading gives it; models of earlier versions have others."""
    return class_name(label).removesuffix(".0")


def class_numbers(labels: Iterable[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """The index of each label in a model's classes, (labels,).

    Raises:
        DataError: A label is not among the classes.
    """
    number_of = {name: number for number, name in enumerate(classes)}
    spelled = {_comparable(name): number for name, number in number_of.items()}
    numbers = []
    for label in labels:
        if label not in number_of and _comparable(label) in spelled:
            number_of[label] = spelled[_comparable(label)]
        if label not in number_of:
            raise DataError(
                f"The data has the class {label!r}, which the model lacks; it knows "
                f"{', '.join(classes)}."
            )
        numbers.append(number_of[label])
    return np.array(numbers, dtype=np.int64)


def class_name_warnings(counts: Mapping[str, int], kind: str = "") -> Iterator[str]:
    """Yields a sentence per sort of suspicious class names.

    Args:
        counts: Number of texts of each class.
        kind: Format of the file, see `FileDescription.format`.
    """
    groups: dict[str, list[str]] = {}
    for name in counts:
        groups.setdefault(_looks(name), []).append(name)
    alike = [names for names in groups.values() if len(names) > 1]
    if alike:
        shown = "; ".join(_counted(names, counts) for names in alike[:_NAMED])
        more = f"; and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
        yield f"class names that differ little are different classes: {shown}{more}. Make them one."
    missing = [name for name in counts if name.lower() in _MISSING]
    if missing:
        shown = _counted(missing, counts)
        yield f"class names that may stand for a missing label: {shown}. Remove such rows if so."
    if kind == "fastText" and (joined := _joined_names(counts)):
        yield (
            f"the class names look like a label and a word: {_counted(joined[:2], counts)}. Write "
            "a space after each label."
        )
    odd = [name for name in counts if _CONTROLS.search(name)]
    if odd:
        yield f"class names with control characters: {_counted(odd[:_NAMED], counts)}. Rename them."


def spelling_note(spellings: Mapping[tuple[str, str], int]) -> str:
    """A sentence on class names that were read as one although they are spelled differently."""
    shown = [
        f"{spelling[:_LONGEST]!a} ({count:,}) as {_shown(name)}"
        for (name, spelling), count in list(spellings.items())[:_NAMED]
    ]
    more = f", and {len(spellings) - _NAMED} more" if len(spellings) > _NAMED else ""
    return f"class names that look the same are read as one: {', '.join(shown)}{more}."


def _looks(name: str) -> str:
    """What a reader takes a name for, whatever its case, spaces, script and spelling of numbers."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", name)).translate(_LOOKALIKES)
    plain = " ".join(re.split(r"[\s_-]+", plain.casefold())).strip()
    if re.fullmatch(r"-?\d+(?:\.\d*)?", plain):
        return plain.rstrip("0").rstrip(".").lstrip("0") if "." in plain else plain.lstrip("0")
    return plain


def _joined_names(counts: Mapping[str, int]) -> list[str]:
    """The names with a comma or the like, if most have one and share what is before it."""
    joined = [name for name in counts if re.search(r"[,;|]", name)]
    starts = {re.split(r"[,;|]", name)[0] for name in joined}
    return joined if len(joined) * 2 > len(counts) and len(starts) * 2 <= len(joined) else []


def _counted(names: list[str], counts: Mapping[str, int]) -> str:
    return " and ".join(f"{_shown(name)} ({counts[name]:,})" for name in names[:4])


def _shown(name: str) -> str:
    """A name in quotes, with its invisible and combining characters escaped."""
    cut = name[:_LONGEST] + ("..." if len(name) > _LONGEST else "")
    return repr(cut) if unicodedata.is_normalized("NFC", cut) else ascii(cut)
