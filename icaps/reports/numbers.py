"""Numbers as a person reads them; what is not known is a dash."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING = "–"


def count(value: int) -> str:
    """Such as "7,600"."""
    return f"{value:,}"


def percent(value: float | None) -> str:
    """A share, such as "92.16%"."""
    return NOTHING if value is None else f"{value:.2%}"


def signed(value: float | None) -> str:
    """A difference of shares, such as "+0.96%"."""
    return NOTHING if value is None else f"{value:+.2%}"


def decimals(value: float | None, digits: int) -> str:
    """A number with so many digits after the point."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def within(value: float | None, ends: Sequence[float]) -> str:
    """A share with its interval, such as "92.16% (91.53 to 92.74)"."""
    low, high = ends
    return f"{percent(value)} ({100 * low:.2f} to {100 * high:.2f})"
