"""Orders of the columns of C that make its pattern visible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from icaps.errors import ConfigError

ORDERS = ("class", "size", "clustered", "number")


def column_order(frequency: NDArray[np.int64], by: str) -> list[int]:
    """Capsules from left to right, by C (J, I); ties keep the lower number first.

    "class" puts those of one main class side by side, the larger first; "size" is by wins;
    "clustered" puts columns of like shares side by side (average linkage, optimal leaf order);
    "number" leaves them. Capsules that never win come last in all but the last.

    Raises:
        ConfigError: There is no such order.
    """
    if by not in ORDERS:
        raise ConfigError(f"The order is {by!r}; it must be one of {', '.join(ORDERS)}.")
    numbers = list(range(frequency.shape[1]))
    if by == "number":
        return numbers
    wins = frequency.sum(0)
    dead = [i for i in numbers if not wins[i]]
    alive = [i for i in numbers if wins[i]]
    if by == "clustered" and len(alive) > 2:
        shares = (frequency[:, alive] / wins[alive]).T
        tree = linkage(shares, method="average", optimal_ordering=True)
        return [alive[n] for n in leaves_list(tree)] + dead
    main = frequency.argmax(0) if by == "class" else np.zeros_like(wins)
    return sorted(alive, key=lambda i: (main[i], -wins[i], i)) + dead
