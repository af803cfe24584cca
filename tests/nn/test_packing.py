"""The layout of sentences in blocks: cells of words, softmax and weighted sums."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from icaps.nn.packing import lay_out

LENGTHS = [7, 0, 1, 23, 8, 9, 7, 64, 65, 3]
REACH = {1: (0, 0), 2: (0, 1), 3: (1, 1), 4: (1, 2), 5: (2, 2)}  # words to the left and right


@given(st.lists(st.integers(0, 300), min_size=1, max_size=30), st.sampled_from(list(REACH)))
def test_every_word_has_its_cell(lengths: list[int], kernel_size: int) -> None:
    layout = lay_out(np.array(lengths), kernel_size)
    left, right = REACH[kernel_size]
    tokens = torch.arange(sum(lengths))
    assert torch.equal(layout.source[layout.cells], tokens)
    assert torch.equal(layout.blank.nonzero()[:, 0].sort().values, rest_of(layout.cells, layout))
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    for start, length in zip(starts, lengths, strict=True):
        around = layout.windows[layout.cells[start : start + length]].tolist()
        inside = range(start, start + length)
        assert around == [
            [m if m in inside else -1 for m in range(n - left, n + right + 1)] for n in inside
        ]
    assert (layout.windows[layout.blank] == -1).all()
    assert layout.has_words().tolist() == [length > 0 for length in lengths]
    rows = [row for count, size in layout.blocks for row in [size] * count]
    for row, length in zip(layout.rows.tolist(), lengths, strict=True):
        assert length <= rows[row] < max(length + 8, 1.125 * length + 1)
    assert sorted(layout.rows.tolist()) == list(range(len(lengths)))
    assert sum(rows) == len(layout.source)


def rest_of(cells: Tensor, layout: object) -> Tensor:
    every = torch.ones(len(layout.source), dtype=torch.bool)  # type: ignore[attr-defined]
    every[cells] = False
    return every.nonzero()[:, 0]


def test_a_long_text_does_not_widen_the_short_ones() -> None:
    layout = lay_out(np.array([5] * 500 + [20_000]), 3)
    assert layout.blocks == [(500, 8), (1, 20_480)]


def test_the_width_of_a_row_does_not_depend_on_other_sentences() -> None:
    alone = {length: lay_out(np.array([length]), 3).blocks[0][1] for length in LENGTHS}
    layout = lay_out(np.array(LENGTHS), 3)
    rows = [size for count, size in layout.blocks for _ in range(count)]
    together = [rows[row] for row in layout.rows.tolist()]
    assert together == [alone[length] for length in LENGTHS]


def plain(regions: list[Tensor], directions: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Equations 1 to 4, sentence by sentence: values first, then their weighted sum."""
    weights = [(region @ directions.T).softmax(0) for region in regions]
    embeddings = [
        torch.einsum("ni,ipw,nw->ip", weight, values, region)
        for weight, region in zip(weights, regions, strict=True)
    ]
    return torch.stack(embeddings), torch.cat(weights)


def drawn() -> tuple[list[Tensor], Tensor, Tensor]:
    torch.manual_seed(0)
    regions = [torch.randn(length, 5, dtype=torch.float64) for length in LENGTHS]
    directions = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    values = torch.randn(3, 2, 5, dtype=torch.float64, requires_grad=True)
    for region in regions:
        region.requires_grad_()
    return regions, directions, values


def test_pooling_and_its_gradients_equal_plain_products() -> None:
    regions, directions, values = drawn()
    layout = lay_out(np.array(LENGTHS), 3)
    cells = torch.cat(regions)[layout.source]
    weights = layout.softmax(cells @ directions.T)
    embeddings = torch.bmm(layout.pool(weights, cells), values.transpose(1, 2)).transpose(0, 1)
    actual = layout.gather_sentences(embeddings), layout.gather_words(weights)
    expected = plain(regions, directions, values)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    assert (weights[layout.blank] == 0).all()
    torch.manual_seed(1)
    shares = [torch.randn_like(part) for part in expected]
    inputs = [*regions, directions, values]
    gradients = [
        torch.autograd.grad(sum((side[n] * shares[n]).sum() for n in (0, 1)), inputs)
        for side in (actual, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_pooling_of_values_per_head() -> None:
    torch.manual_seed(0)
    lengths = np.array([3, 0, 9, 2])
    scores, values = torch.randn(14, 2).double(), torch.randn(14, 2, 4).double()
    layout = lay_out(lengths, 3)
    weights = layout.softmax(scores[layout.source])
    assert weights[layout.blank].abs().max() == 0
    sums = layout.pool_by_head(weights, values[layout.source].transpose(1, 2))
    start = 0
    for row, length in enumerate(lengths.tolist()):
        place = slice(start, start + length)
        expected = torch.einsum("ni,nid->id", scores[place].softmax(0), values[place])
        torch.testing.assert_close(sums[row].T, expected, rtol=0, atol=1e-12)
        start += length
