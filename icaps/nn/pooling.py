"""Attention to words and the values it brings, forward and backward without a needless copy.

The same as softmax and products left to autograd (`tests/test_layout.py`), in two thirds of the
time: gradients of all blocks are written where they belong, and in a layout that the next product
takes as it is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from icaps.nn.packing import Layout


class _Pool(torch.autograd.Function):
    """Regions, directions and value weights to embeddings (rows, I, d_p), weights (cells, I)."""

    @staticmethod
    def forward(
        ctx: Any, regions: Tensor, directions: Tensor, value_weight: Tensor, layout: Layout
    ) -> tuple[Tensor, Tensor]:
        weights = layout.softmax(regions @ directions.T)
        pooled = regions.new_empty(len(layout.rows), *directions.shape)  # (rows, I, d_w)
        for weight, region, out in zip(
            layout.split(weights), layout.split(regions), _of_rows(pooled, layout), strict=True
        ):
            torch.bmm(weight.transpose(1, 2), region, out=out)
        embeddings = torch.bmm(pooled.transpose(0, 1), value_weight.transpose(1, 2))
        ctx.save_for_backward(regions, directions, value_weight, weights, pooled)
        ctx.layout = layout
        ctx.set_materialize_grads(False)
        return embeddings.transpose(0, 1), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        regions, directions, value_weight, weights, pooled = ctx.saved_tensors
        layout: Layout = ctx.layout
        of_embeddings, of_weights = gradients
        if of_embeddings is None:
            of_embeddings = regions.new_zeros(len(pooled), *value_weight.shape[:2])
        by_head = of_embeddings.transpose(0, 1)  # (I, rows, d_p)
        # In this order, as a product with d_p columns takes six times as long.
        of_values = torch.bmm(by_head.transpose(1, 2), pooled.transpose(0, 1))
        of_pooled = torch.bmm(by_head, value_weight).transpose(0, 1)  # (rows, I, d_w)
        of_regions, of_scores = torch.empty_like(regions), torch.empty_like(weights)
        sides = map(layout.split, (regions, weights, of_regions, of_scores))
        more = layout.split(of_weights) if of_weights is not None else [None] * len(layout.blocks)
        for region, weight, to_region, to_score, out, extra in zip(
            *sides, _of_rows(of_pooled, layout), more, strict=True
        ):
            of_weight = torch.bmm(region, out.transpose(1, 2))
            if extra is not None:
                of_weight += extra
            torch.bmm(weight, out, out=to_region)
            torch.ops.aten._softmax_backward_data.out(
                of_weight, weight, 1, weight.dtype, grad_input=to_score
            )
        of_directions = of_scores.T @ regions
        return of_regions.addmm_(of_scores, directions), of_directions, of_values, None


def _of_rows(values: Tensor, layout: Layout) -> list[Tensor]:
    return list(values.split([rows for rows, _ in layout.blocks]))


def pool(
    regions: Tensor, directions: Tensor, value_weight: Tensor, layout: Layout
) -> tuple[Tensor, Tensor]:
    """Each head's weighted sum of values (equations 1 to 4).

    Args:
        regions: (cells, d_w).
        directions: (I, d_w), what each head looks for.
        value_weight: W^v (I, d_p, d_w).
        layout: Of the sentences.

    Returns:
        (rows, I, d_p), and the weights (cells, I), 0 in blank cells.
    """
    pooled: tuple[Tensor, Tensor] = _Pool.apply(regions, directions, value_weight, layout)  # type: ignore[no-untyped-call]
    return pooled
