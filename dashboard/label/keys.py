"""The key of each class, and of what else is done with a text."""

from collections.abc import Sequence

UNDO, SKIP, CONFIRM, MARK = "Z", "S", "Enter", "M"
# Streamlit keeps C and R for itself. Letters in the order of the keyboard's rows.
_KEYS = "1234567890QWETYUIOPADFGHJKLXVBN"
MAX_CLASSES = len(_KEYS)  # with a key each
LIKELIEST = 9  # classes with a key if there are more


def of_classes(classes: Sequence[str], likeliest: Sequence[str]) -> dict[str, str]:
    """The classes that have a button, with their keys, in the order of the buttons.

    A class keeps its key from text to text. If there are more classes than keys, the likeliest ones
    of this text have the digits.

    Args:
        classes: All classes.
        likeliest: Classes of this text, the likeliest first.
    """
    if len(classes) <= MAX_CLASSES:
        return dict(zip(classes, _KEYS, strict=False))
    first = list(dict.fromkeys([*likeliest, *classes]))[:LIKELIEST]
    return dict(zip(first, _KEYS, strict=False))
