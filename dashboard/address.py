"""How a page is looked at, as its address tells it: a parameter where it isn't as at first."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from icaps.html import printable
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import PERPLEXITY, SPACES
from icaps.interpret.tables import ORDERS, VALUES

MAX_WORDS = 300  # characters of what rows are looked for by


class View(NamedTuple):
    """A widget by its key: its value at first, and how that is read and written."""

    first: Any
    read: Callable[[str], Any]  # None of what can't be meant
    write: Callable[[Any], str] = str


def _one_of(options: Sequence[Any], first: Any = None) -> View:
    named = {str(option): option for option in options}
    return View(options[0] if first is None else first, named.get)


def _words(text: str) -> str:
    return printable(text)[:MAX_WORDS]


COUNTS, SHARES = "counts", "shares of the class"  # in the cells of a confusion matrix
SIZES = (500, 2_000, 10_000, 50_000)  # texts that models are compared on
CARD_LIMITS = (0, 50, 200, 500)  # texts that reasons are measured on for a model's card
CAPSULE_TABS = ("Words", "K-grams", "Typical texts", "Switched off")
TRAIN_TABS = ("Curves", "Reasons", "Settings", "Log")
DATA_TABS = ("Overview", "Words", "Rows", "Repeats", "Map")
COMPARE_TABS = (
    "Scores",
    "Disagreements",
    "Same class, other reasons",
    "Capsules matched",
    "Speed and size",
    "Published",
)

VIEWS = {
    "cell_value": _one_of(tuple(VALUES)),
    "columns": _one_of(ORDERS),
    "capsule_tab": _one_of(CAPSULE_TABS),
    "space": _one_of(SPACES),
    "method": _one_of(METHODS),
    "perplexity": _one_of([float(n) for n in range(1, 51)], PERPLEXITY),
    "map_seed": _one_of(range(10_000)),
    "train_tabs": _one_of(TRAIN_TABS),
    "beside": View([], lambda text: printable(text).split(","), ",".join),
    "data_tabs": _one_of(DATA_TABS),
    "rows words": View("", _words),
    "rows regex": View("", _words),
    "compare_tab": _one_of(COMPARE_TABS),
    "compare size": _one_of(SIZES, SIZES[1]),
    "cells show": _one_of((COUNTS, SHARES)),
    "card limit": _one_of(CARD_LIMITS),
}


def parameter(key: str) -> str:
    """What a widget is called in an address."""
    return key.replace(" ", "_")
