"""Vectors that cover almost nothing of the texts stop a training before it starts."""

from pathlib import Path

import pytest

from icaps.errors import VectorsError
from icaps.text.vector_files import ENGLISH
from icaps.text.vectors import TEXTS, LoadedVectors

WORDS = ["rain fell on hills", "rain fell again"]


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    path = tmp_path / "foreign.txt"
    path.write_text("zug 1 2\nberg 2 1\nregen 3 1\n")
    return str(path)


def select(sources: object, share: float) -> None:
    loaded = LoadedVectors(sources, lambda line: None)  # type: ignore[arg-type]
    loaded.select(loaded.build_vocabulary(WORDS, 0), share)


def test_it_stops_unless_told_to_go_on(foreign: str) -> None:
    with pytest.raises(VectorsError, match=r"vectors for 0% .* --vectors texts; .* min_coverage=0"):
        select(foreign, 0.05)
    select(foreign, 0.0)
    select([foreign, TEXTS], 0.05)
    select(ENGLISH, 0.05)
    select(None, 1.0)  # the default adds vectors of the texts
