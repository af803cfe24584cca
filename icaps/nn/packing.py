"""Sentences of like lengths side by side, so that attention works on whole rows."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_CPU = torch.device("cpu")
_STEP = 8  # words, to multiples of which short sentences are filled up
_SHARE = 3  # longer ones to multiples of 2^-_SHARE of the power of two below their length


class Layout(NamedTuple):
    """Cells in rows, a row a sentence: sentences of one width are a block, and blocks follow.

    A row's width depends on its sentence alone, and is at most an eighth longer or a few words. So
    memory follows the number of words whatever the lengths, and a text's sums are taken over the
    same numbers in any batch.

    Attributes:
        blocks: Rows and width of each block, of which there is one at least.
        source: (cells,), the token in each cell; some token in a blank one.
        blank: (cells,), whether it holds none.
        regions: (cells, K), the tokens around each, -1 where the sentence ends, -2 for a blank.
        cells: (tokens,), where each token is.
        rows: (sentences,), the row of each.
    """

    blocks: list[tuple[int, int]]
    source: Tensor
    blank: Tensor
    regions: Tensor
    cells: Tensor
    rows: Tensor

    def split(self, values: Tensor) -> list[Tensor]:
        """Values (cells, ...) by block, each (rows, width, ...)."""
        sizes = [rows * width for rows, width in self.blocks]
        parts = zip(values.split(sizes), self.blocks, strict=True)
        return [part.unflatten(0, block) for part, block in parts]

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax of scores (cells, heads) over each row's words; 0 where it is blank."""
        return self.softmax_of_rows(scores.masked_fill(self.blank[:, None], -torch.inf))

    def softmax_of_rows(self, scores: Tensor) -> Tensor:
        """As `softmax`, of scores that are -inf where it is blank."""
        return joined([part.softmax(1).flatten(0, 1) for part in self.split(scores)])


def joined(blocks: list[Tensor]) -> Tensor:
    """Blocks end to end; one alone is not copied."""
    return torch.cat(blocks) if len(blocks) > 1 else blocks[0]


def lay_out(lengths: NDArray[np.int64], kernel_size: int, device: torch.device = _CPU) -> Layout:
    """The layout, on `device`, of sentences of so many words each (sentences,).

    A region is `kernel_size` words; an even number has one word more on the right.
    """
    words = lengths
    step = np.maximum(np.exp2(np.frexp(words)[1] - 1 - _SHARE), _STEP).astype(np.int64)
    widths = -(words // -step) * step
    order = np.argsort(widths, kind="stable")
    starts = (words.cumsum() - words)[order]
    widths, words = widths[order], words[order]
    place = np.arange(widths.sum()) - np.repeat(widths.cumsum() - widths, widths)
    until = np.repeat(words, widths)
    filled = place < until
    source = np.where(filled, np.repeat(starts, widths) + place, 0)
    cells = np.empty(words.sum(), dtype=np.int64)
    cells[source[filled]] = filled.nonzero()[0]
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    offsets = np.arange(kernel_size) - (kernel_size - 1) // 2
    reached = place[:, None] + offsets
    inside = (reached >= 0) & (reached < until[:, None])
    regions = np.where(inside, source[:, None] + offsets, -1)
    regions[~filled] = -2
    blocks = [(count, width) for width, count in Counter(widths.tolist()).items()]
    arrays = (source, ~filled, regions, cells, rows)
    return Layout(
        blocks or [(0, 0)],
        *(torch.from_numpy(array).to(device) for array in arrays),
    )
