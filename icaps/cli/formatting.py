"""Formatting of texts and durations for a terminal."""

from __future__ import annotations


def one_line(text: str, width: int = 100) -> str:
    """A text on one line, cut off after `width` characters."""
    line = " ".join(text.split())
    return line[:width] + ("..." if len(line) > width else "")


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"
