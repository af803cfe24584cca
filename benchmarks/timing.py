"""Time by turns, and figures printed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any


def seconds(run: Callable[[], Any]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def by_turns(sides: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each side in each round; first each runs once, unmeasured, to be warm."""
    for run in sides.values():
        run()
    turns = [{name: seconds(run) for name, run in sides.items()} for _ in range(rounds)]
    return {name: [turn[name] for turn in turns] for name in sides}


def ratio(side: Iterable[float], other: Iterable[float]) -> float:
    """The median of the ratios of the turns, to three digits."""
    return float(f"{median(a / b for a, b in zip(side, other, strict=True)):.3g}")


def show(figures: Mapping[str, Any], as_json: bool) -> None:
    """Prints the figures, as one line of JSON or a line each."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' ')}: {value}")
