"""Integrated Gradients as word scores (Sundararajan et al. 2017), in batches of texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.attributions.target_norms import (
    neutral_embeddings,
    neutral_words,
    target_norms,
)
from icaps.faithfulness.texts import ExplainedTexts
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch

STEPS = 50  # points of the path from zeros to the text
AT_ONCE = 16_384  # words of all points together, which bounds memory


@dataclass
class _Path:
    """The path of one text of T words: what is integrated, and the gradients so far.

    Attributes:
        tokens: The text.
        target: The explained class, by number.
        projected: (T, K, d_w), the products of each word with the kernel.
        windows: (T, K), the words of the window at each position; T beyond the sentence.
        neutral: (T,), 1 for each neutral word, else 0; None if none is neutral.
        regions: (T, d_w), the sum of the window's products at each position.
        neutral_regions: (T, d_w), those of neutral words alone; None if there are none.
        gradient, neutral_gradient: Integrated gradients of the norm by these.
    """

    tokens: TokenBatch
    target: int
    projected: Tensor
    windows: Tensor
    neutral: Tensor | None
    regions: Tensor
    neutral_regions: Tensor | None
    gradient: Tensor
    neutral_gradient: Tensor

    def scores(self) -> Scores:
        """What each word's products contribute to the integral (T,)."""
        taps = torch.arange(self.windows.shape[1], device=self.windows.device)
        rows = F.pad(self.projected, (0, 0, 0, 0, 0, 1))[self.windows, taps]  # (T, K, d_w)
        added = (rows * self.gradient[:, None]).sum(2)  # (T, K)
        if self.neutral is not None:
            of_neutral = (rows * self.neutral_gradient[:, None]).sum(2)
            added = added + F.pad(self.neutral, (0, 1))[self.windows] * of_neutral
        total = added.new_zeros(len(self.projected) + 1)
        scores: Scores = total.index_add(0, self.windows.flatten(), added.flatten())[:-1].numpy()
        return scores


def integrated_gradients(texts: ExplainedTexts, steps: int = STEPS) -> Iterator[Scores]:
    """Integrated Gradients of the class norm, with embeddings of zeros as the baseline.

    Regions are linear in the products of words with the kernel, and these in the embeddings, so the
    gradient by the regions is enough: one per position and point of the path, which costs much less
    than one by each number of an embedding. The sum over words is the norm minus that of as many
    zero words. The points are those of the Gauss-Legendre rule. Several short texts are computed
    together, and a long one in several parts.
    """
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    points = list(zip(((1 + nodes) / 2).tolist(), (weights / 2).tolist(), strict=True))
    waiting: list[_Path] = []
    for reading, target in texts:
        words = len(reading.tokens.ids)
        if waiting and (sum(len(path.tokens.ids) for path in waiting) + words) * steps > AT_ONCE:
            yield from _finish(texts, waiting, points)
            waiting = []
        waiting.append(_start(texts, reading.tokens, target))
    yield from _finish(texts, waiting, points)


def _start(texts: ExplainedTexts, tokens: TokenBatch, target: int) -> _Path:
    network = texts.network
    ids = network.word_ids(tokens)
    layout = lay_out(tokens.words_per_sentence, network.config.kernel_size, ids.device)
    windows = layout.gather_words(layout.windows)
    windows = torch.where(windows < 0, len(ids), windows)
    taps = torch.arange(windows.shape[1], device=windows.device)
    mask = neutral_words(network, tokens, target)
    with torch.no_grad():
        projected = network.project_words(ids)
        rows = F.pad(projected, (0, 0, 0, 0, 0, 1))
        regions = rows[windows, taps].sum(1)
        neutral = neutral_regions = None
        if mask is not None:
            neutral = torch.from_numpy(mask).to(projected)
            of_neutral = rows * F.pad(neutral, (0, 1))[:, None, None]
            neutral_regions = of_neutral[windows, taps].sum(1)
    zeros = torch.zeros_like(regions)
    return _Path(
        tokens, target, projected, windows, neutral, regions, neutral_regions, zeros, zeros.clone()
    )


def _finish(
    texts: ExplainedTexts, paths: list[_Path], points: list[tuple[float, float]]
) -> Iterator[Scores]:
    """Integrates along some paths together, and returns the scores of each."""
    at_once = max(1, AT_ONCE // max(1, sum(len(path.tokens.ids) for path in paths)))
    for first in range(0, len(points), at_once):
        _add_points(texts, paths, points[first : first + at_once])
    for path in paths:
        yield path.scores()


def _add_points(
    texts: ExplainedTexts, paths: list[_Path], points: list[tuple[float, float]]
) -> None:
    """Adds the gradients at some points, each (place, weight), of all paths."""
    if not paths:
        return
    network, tokens = texts.network, TokenBatch.join([path.tokens for path in paths])
    scales = [place for place, _ in points]
    whole = torch.cat([path.regions for path in paths])  # (T, d_w)
    regions = torch.cat([whole * scale for scale in scales]).requires_grad_()
    of_neutral = None
    if any(path.neutral_regions is not None for path in paths):
        parts = [
            torch.zeros_like(path.regions) if path.neutral_regions is None else path.neutral_regions
            for path in paths
        ]
        neutral = torch.cat(parts)
        of_neutral = torch.cat([neutral * scale for scale in scales]).requires_grad_()
    lengths = np.tile(tokens.words_per_sentence, len(points))
    sentences = np.tile(tokens.sentences_per_text, len(points))
    targets = torch.tensor([path.target for path in paths] * len(points))
    layout = lay_out(lengths, network.config.kernel_size, regions.device)
    with torch.enable_grad():
        activated = network.activation(regions + network.region.bias)
        attended = network.attention(activated[layout.source], layout, sentences)
        embedded = None
        if of_neutral is not None:
            embedded = neutral_embeddings(network, attended.attention, of_neutral, lengths)
        norms = target_norms(texts, attended, embedded, sentences, targets)
        wanted = [regions] if of_neutral is None else [regions, of_neutral]
        gradients = torch.autograd.grad(norms.sum(), wanted)
    weights = regions.new_tensor([weight for _, weight in points])
    sizes = [len(path.tokens.ids) for path in paths]
    sums = [  # (T, d_w) each
        torch.einsum("p,ptw->tw", weights, gradient.unflatten(0, (len(points), -1)))
        for gradient in gradients
    ]
    for path, gradient in zip(paths, sums[0].split(sizes), strict=True):
        path.gradient += gradient
    if of_neutral is not None:
        for path, gradient in zip(paths, sums[1].split(sizes), strict=True):
            path.neutral_gradient += gradient
