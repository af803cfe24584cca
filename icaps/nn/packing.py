"""Sentences of like lengths side by side, so that attention works on dense blocks.

Padding all sentences of a batch to the longest one would cost time and memory where lengths differ.
Here a sentence is a row of cells, filled up to one of a few widths, and the rows of one width are a
block. A row's width depends on its sentence alone and exceeds it by at most an eighth, or by seven
cells. So memory grows with the number of words whatever their lengths, and the sums over a sentence
have the same terms in any batch.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

_CPU = torch.device("cpu")
_STEP = 8  # words; short sentences are filled up to a multiple of it
_STEP_BITS = 3  # longer ones to a multiple of 2^-_STEP_BITS of the power of two below their length


class Layout(NamedTuple):
    """Where the words of S sentences are among C cells.

    Blocks follow each other, sorted by width, and so do the rows of a block.

    Attributes:
        blocks: Number of rows and width of each block, of which there is at least one.
        source: (C,), the word in each cell; any word in a blank cell.
        blank: (C,), whether a cell has no word.
        windows: (C, K), the words around each word; -1 beyond the sentence, and in blank cells.
        cells: (T,), the cell of each word.
        rows: (S,), the row of each sentence.
    """

    blocks: list[tuple[int, int]]
    source: Tensor
    blank: Tensor
    windows: Tensor
    cells: Tensor
    rows: Tensor

    def of_words(self, values: Tensor) -> Tensor:
        """Values of cells (C, ...) in the order of words (T, ...)."""
        return values.index_select(0, self.cells)

    def of_sentences(self, values: Tensor) -> Tensor:
        """Values of rows (S, ...) in the order of sentences (S, ...)."""
        return values.index_select(0, self.rows)

    def has_words(self) -> Tensor:
        """Whether a sentence has a word (S,); one without is a row of width 0, the first block."""
        count, width = self.blocks[0]
        return self.rows >= (count if width == 0 else 0)

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax of each head's scores (C, I) over the words of each row; 0 in blank cells."""
        scores = scores.masked_fill(self.blank[:, None], -torch.inf)
        return _join([block.softmax(1).flatten(0, 1) for block in self.split(scores)])

    def pool_values(self, weights: Tensor, regions: Tensor, value_weight: Tensor) -> Tensor:
        """Each sentence's sum of values W_i w_n, by each head's weights: (S, I, d_p).

        Args:
            weights: (C, I), 0 in blank cells.
            regions: w_n (C, d_w).
            value_weight: W_i (I, d_p, d_w).
        """
        sums: Tensor = _PoolValues.apply(weights, regions, value_weight, self)  # type: ignore[no-untyped-call]
        return self.of_sentences(sums)

    def pool_by_head(self, weights: Tensor, values: Tensor) -> Tensor:
        """As `pool_values`, of values that each head has already (C, d, I): (S, d, I).

        Heads come last, since numbers that lie side by side are multiplied at once.
        """
        blocks = zip(self.split(weights[:, None]), self.split(values), strict=True)
        return self.of_sentences(_join([(weight * value).sum(1) for weight, value in blocks]))

    def split(self, values: Tensor) -> list[Tensor]:
        """Values of cells (C, ...) by block, each (rows, width, ...)."""
        blocks = values.split([rows * width for rows, width in self.blocks])
        return [block.unflatten(0, shape) for block, shape in zip(blocks, self.blocks, strict=True)]


class _PoolValues(torch.autograd.Function):
    """sum_n alpha^i_n W_i w_n, pooled first and projected then, as W_i (sum_n alpha^i_n w_n).

    Plain products left to autograd give the same; they copy all regions and their gradients several
    times, and a training step takes a ninth longer. Here each block's gradients are written where
    they belong, and in a layout that the next product takes as it is.
    """

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, regions: Tensor, value_weight: Tensor, layout: Layout
    ) -> Tensor:
        blocks = zip(layout.split(weights), layout.split(regions), strict=True)
        pooled = _join([torch.bmm(weight.transpose(1, 2), region) for weight, region in blocks])
        ctx.save_for_backward(weights, regions, value_weight, pooled)  # pooled: (rows, I, d_w)
        ctx.layout = layout
        return torch.bmm(pooled.transpose(0, 1), value_weight.transpose(1, 2)).transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # (rows, I, d_p)
        weights, regions, value_weight, pooled = ctx.saved_tensors
        layout: Layout = ctx.layout
        by_head = gradient.transpose(0, 1)  # (I, rows, d_p)
        # In this order, as a product with d_p columns takes six times as long.
        of_value_weight = torch.bmm(by_head.transpose(1, 2), pooled.transpose(0, 1))
        of_pooled = torch.bmm(by_head, value_weight).transpose(0, 1)  # (rows, I, d_w)
        of_weights, of_regions = torch.empty_like(weights), torch.empty_like(regions)
        sides = map(layout.split, (weights, regions, of_weights, of_regions))
        rows = of_pooled.split([count for count, _ in layout.blocks])
        for weight, region, to_weight, to_region, of_sum in zip(*sides, rows, strict=True):
            torch.bmm(region, of_sum.transpose(1, 2), out=to_weight)
            torch.bmm(weight, of_sum, out=to_region)
        return of_weights, of_regions, of_value_weight, None


def lay_out(lengths: NDArray[np.int64], kernel_size: int, device: torch.device = _CPU) -> Layout:
    """The layout of sentences, whose tensors are on `device`.

    Args:
        lengths: (S,), words of each sentence.
        kernel_size: K, words of a window; an even window has one word more on the right.
        device: That of the network.
    """
    step = np.maximum(np.exp2(np.frexp(lengths)[1] - 1 - _STEP_BITS), _STEP).astype(np.int64)
    widths = -(lengths // -step) * step
    order = np.argsort(widths, kind="stable")
    starts = (lengths.cumsum() - lengths)[order]
    widths, lengths = widths[order], lengths[order]
    place = np.arange(widths.sum()) - np.repeat(widths.cumsum() - widths, widths)  # in its row
    ends = np.repeat(lengths, widths)
    filled = place < ends
    source = np.where(filled, np.repeat(starts, widths) + place, 0)
    cells = np.empty(lengths.sum(), dtype=np.int64)
    cells[source[filled]] = filled.nonzero()[0]
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    offsets = np.arange(kernel_size) - (kernel_size - 1) // 2
    reached = place[:, None] + offsets
    inside = (reached >= 0) & (reached < ends[:, None]) & filled[:, None]
    windows = np.where(inside, source[:, None] + offsets, -1)
    blocks = [(count, width) for width, count in Counter(widths.tolist()).items()]
    arrays = (source, ~filled, windows, cells, rows)
    tensors = (torch.from_numpy(array).to(device) for array in arrays)
    return Layout(blocks or [(0, 0)], *tensors)


def _join(blocks: list[Tensor]) -> Tensor:
    """Blocks end to end; a single one is not copied."""
    return torch.cat(blocks) if len(blocks) > 1 else blocks[0]
