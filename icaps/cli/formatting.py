"""Formatting of texts for a terminal."""

from __future__ import annotations


def one_line(text: str, width: int = 100) -> str:
    """A text on one line, cut off after `width` characters."""
    line = " ".join(text.split())
    return line[:width] + ("..." if len(line) > width else "")
