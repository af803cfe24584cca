"""Bucketed padding: sentences of similar lengths form dense blocks for attention.

Padding all sentences of a batch to the longest one would cost time and memory if lengths differ.
Here a sentence is a row of cells, padded to one of a few widths, and the rows of one width form a
block. A row's width depends on its sentence alone and exceeds it by at most an eighth, or by seven
cells. So memory is proportional to the number of words, and the sums over a sentence have the same
terms in any batch.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_CPU = torch.device("cpu")
_STEP = 8  # words; short sentences are padded to a multiple of it
_STEP_BITS = 3  # longer ones to a multiple of 2^-_STEP_BITS of the power of two below their length


class Layout(NamedTuple):
    """The positions of the T words of S sentences in C cells.

    Blocks are concatenated in the order of their widths, and each holds its rows one after another.

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

    def gather_words(self, values: Tensor) -> Tensor:
        """Values of cells (C, ...) in the order of words (T, ...)."""
        return values.index_select(0, self.cells)

    def gather_sentences(self, values: Tensor) -> Tensor:
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

    def pool(self, weights: Tensor, values: Tensor) -> Tensor:
        """Weighted sums over the words of each row, per head: (I, S, d), in the order of rows.

        Args:
            weights: (C, I), 0 in blank cells.
            values: (C, d), the same for all heads.
        """
        blocks = zip(self.split(weights), self.split(values), strict=True)
        sums = _join([torch.bmm(weight.transpose(1, 2), value) for weight, value in blocks])
        return sums.transpose(0, 1)

    def pool_by_head(self, weights: Tensor, values: Tensor) -> Tensor:
        """As `pool`, from values of each head (C, d, I): (S, d, I), in the order of sentences.

        Heads are the last dimension, so that the product is over contiguous memory.
        """
        blocks = zip(self.split(weights[:, None]), self.split(values), strict=True)
        return self.gather_sentences(_join([(weight * value).sum(1) for weight, value in blocks]))

    def split(self, values: Tensor) -> list[Tensor]:
        """Values of cells (C, ...) by block, each (rows, width, ...)."""
        blocks = values.split([rows * width for rows, width in self.blocks])
        return [block.unflatten(0, shape) for block, shape in zip(blocks, self.blocks, strict=True)]


def lay_out(lengths: NDArray[np.int64], kernel_size: int, device: torch.device = _CPU) -> Layout:
    """The layout of sentences in blocks.

    Args:
        lengths: (S,), words of each sentence.
        kernel_size: K, words of a window; a window of even K has one word more on the right.
        device: Where the tensors are.
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
    """Concatenates blocks; a single one is not copied."""
    return torch.cat(blocks) if len(blocks) > 1 else blocks[0]
