"""Timing in turns, and printing of figures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from types import MappingProxyType
from typing import Any


def seconds(run: Callable[[], Any]) -> float:
    """Wall time of one call in seconds."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def by_turns(
    sides: Mapping[str, Callable[[], Any]],
    rounds: int,
    warm: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
    pause: float = 0,
) -> dict[str, list[float]]:
    """Seconds of each side per round, in turns; before the first round each runs once, unmeasured.

    Args:
        sides: Functions by name.
        rounds: How often each side is measured.
        warm: Called before each turn of the side of that name, unmeasured, to wake its threads.
        pause: Seconds before each turn, in which threads of the previous side that still spin (as
            those of OpenBLAS do) go to sleep.
    """
    for run in sides.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            time.sleep(pause)
            if name in warm:
                warm[name]()
            times[name].append(seconds(run))
    return times


def ratio(side: Iterable[float], other: Iterable[float]) -> float:
    """The median of the ratios of the turns, to three digits."""
    return float(f"{median(a / b for a, b in zip(side, other, strict=True)):.3g}")


def show(figures: Mapping[str, Any], as_json: bool) -> None:
    """Prints the figures as one line of JSON, or one line per figure."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' ')}: {value}")
