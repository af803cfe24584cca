"""Where the writing of a page lies: what overlaps, what is cut off, what leaves the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Geometry(NamedTuple):
    """What is wrong with a page; empty lists if nothing is."""

    overlaps: list[list[str]]  # pairs of writings, one over the other
    cut: list[str]  # writings that are cut off and can't be scrolled to
    wide: list[str]  # places that have to be scrolled sideways
    burst: list[str]  # boxes of bounded height whose content runs on below them


def measure(page: Page) -> Geometry:
    """Where the writing of the page lies in the window as it is."""
    return Geometry(**page.evaluate(_SCRIPT))
