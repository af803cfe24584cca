"""The labelled news texts that are part of this package; samples/README.md describes them."""

from __future__ import annotations

from pathlib import Path

NAME = "news_sample"
CLASSES = ("World", "Sports", "Business", "Sci/Tech")
ROWS = 240
FILE = Path(__file__).with_name("samples") / f"{NAME}.csv"  # a single file, so without parts
