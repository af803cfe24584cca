"""Labels of the dots of a map, placed so that none overlaps another one or a dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHARACTER, LINE = 6.2, 14  # pixels of a character, and of a line, of a label
_GAP = 3  # pixels between a dot and its label

Box = tuple[float, float, float, float]  # left, top, right, bottom


class Label(NamedTuple):
    """A label with its place: the offset of its middle from its dot, in pixels."""

    text: str
    dx: float
    dy: float


def place_labels(
    points: NDArray[np.float64],
    radii: NDArray[np.float64],
    texts: Sequence[str],
    order: Sequence[int],
    width: float,
) -> list[Label]:
    """Places each label above, below, right or left of its dot, or leaves it out ("").

    Args:
        points: Middles of the dots (n, 2) in pixels, from the left and from the top.
        radii: (n,).
        texts: What the labels say.
        order: Numbers of the dots; the first have the first choice. The very first is always
            placed.
        width: Of the map, in pixels; no label passes its ends.
    """
    taken = np.hstack([points - radii[:, None], points + radii[:, None]])  # (n, 4)
    labels = [Label("", 0.0, 0.0)] * len(texts)
    for rank, n in enumerate(order):
        half = CHARACTER * len(texts[n]) / 2
        above, beside = radii[n] + LINE / 2, radii[n] + half + _GAP
        offsets = [(0.0, -above), (0.0, above), (beside, 0.0), (-beside, 0.0)]
        boxes = [_box(points[n] + offset, half) for offset in offsets]
        free = [
            place
            for place, box in enumerate(boxes)
            if box[0] >= 0 and box[2] <= width and not overlaps(box, taken)
        ]
        if free or rank == 0:
            place = free[0] if free else 0
            labels[n] = Label(texts[n], *(round(float(offset), 1) for offset in offsets[place]))
            taken = np.vstack([taken, boxes[place]])
    return labels


def overlaps(box: Box, others: NDArray[np.float64]) -> bool:
    """Whether a box overlaps one of others (n, 4)."""
    left, top, right, bottom = box
    apart = (others[:, 2] <= left) | (others[:, 0] >= right)
    apart |= (others[:, 3] <= top) | (others[:, 1] >= bottom)
    return not bool(apart.all())


def _box(middle: NDArray[np.float64], half: float) -> Box:
    x, y = middle.tolist()
    return x - half, y - LINE / 2, x + half, y + LINE / 2
