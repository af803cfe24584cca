"""How much each word of a text counts for a class, by what the network itself shows.

The network attends to windows of K words, so the weight of a position goes to each word of its
window, as a K-gram covers them (section 2.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.faithfulness.perturbation import norms_of_each, remove
from icaps.inference import Reading, capsule_mask, contributions
from icaps.model import ICapsNet
from icaps.nn.packing import lay_out

Scores = NDArray[np.floating]  # (words,)


@dataclass(frozen=True)
class Texts:
    """Texts that a network read, none of them blank, and the class of each that is explained.

    muted: Primary capsules that are switched off; targets: class numbers.
    """

    network: ICapsNet
    muted: tuple[int, ...]
    readings: tuple[Reading, ...]
    targets: tuple[int, ...]

    @classmethod
    def predicted(
        cls, network: ICapsNet, muted: tuple[int, ...], readings: tuple[Reading, ...]
    ) -> Texts:
        """Those of the readings that are not blank, each with the class that it got."""
        known = tuple(reading for reading in readings if not reading.blank[0])
        targets = tuple(int(reading.activity.class_norms.argmax()) for reading in known)
        return cls(network, muted, known, targets)

    def __len__(self) -> int:
        return len(self.readings)

    def __iter__(self) -> Iterator[tuple[Reading, int]]:
        return iter(zip(self.readings, self.targets, strict=True))

    @property
    def kept(self) -> Tensor | None:
        """(I,), 0 for each capsule that is switched off; None where none is."""
        return capsule_mask(self.network, self.muted) if self.muted else None


def routing(texts: Texts) -> Iterator[Scores]:
    """The paper's weights: the sum over capsules of beta_ij rho^i_m alpha^i_n."""
    for reading, target in texts:
        yield _attended(texts, reading, reading.activity.routing[0, :, target])


def contribution(texts: Texts) -> Iterator[Scores]:
    """As `routing`, with what a capsule adds to the class in place of beta_ij.

    That is beta_ij (u_j|i . cc_j) / |cc_j| (`inference.contributions`), which knows how strongly
    a capsule votes, and may be negative.
    """
    for reading, target in texts:
        yield _attended(texts, reading, contributions(reading.activity)[0, :, target])


def attention_gradient(texts: Texts) -> Iterator[Scores]:
    """The sum over capsules of alpha^i_n times the slope of the class norm in it.

    Attention is taken as if it were free (Serrano and Smith 2019).
    """
    network = texts.network
    for reading, target in texts:
        tokens, ids = reading.tokens, network.ids_of(reading.tokens)
        layout = lay_out(tokens.words_per_sentence, network.config.kernel_size, ids.device)
        attention = network.attention
        with torch.no_grad():
            regions = network.regions(ids, layout)
            embeddings, alpha = attention.embed_sentences(regions, layout)
        with torch.enable_grad():
            embeddings.requires_grad_()  # (sentences, I, d_p)
            attended = attention.join_sentences(embeddings, alpha, tokens.sentences_per_text)
            norm = network.route(attended, texts.kept).class_norms[0, target]
            (slope,) = torch.autograd.grad(norm, embeddings)
        towards = torch.einsum("sip,ipw->siw", slope, attention.value_weight.detach())
        lengths = torch.from_numpy(tokens.words_per_sentence).to(ids.device)
        towards = towards.repeat_interleave(lengths, 0)  # (words, I, d_w)
        slopes = torch.einsum("nw,niw->ni", regions[layout.cells], towards)
        weights = (slopes * alpha).sum(1).cpu().numpy()
        yield spread(weights, tokens.words_per_sentence, network.config.kernel_size)


def leave_one_out(texts: Texts, removal: str) -> Iterator[Scores]:
    """By how much the class norm falls when a word alone is removed."""
    variants = (
        remove(reading.tokens, ~np.eye(len(reading.tokens.ids), dtype=bool), removal)
        for reading in texts.readings
    )
    norms = norms_of_each(texts.network, variants, texts.muted)
    for (reading, target), found in zip(texts, norms, strict=True):
        yield float(reading.activity.class_norms[0, target]) - found[:, target]


def spread(weights: Scores, sentences: NDArray[np.int64], kernel_size: int) -> Scores:
    """Gives the weight of each position (words,) to all words of its window, clipped at sentences.

    `sentences` (sentences,) has the words of each.
    """
    places = np.arange(len(weights))
    sentence = np.repeat(np.arange(len(sentences)), sentences)
    found = np.zeros_like(weights)
    left = (kernel_size - 1) // 2
    for offset in range(-left, kernel_size - left):
        words = places + offset
        inside = (words >= 0) & (words < len(weights))
        inside &= sentence[words.clip(0, len(weights) - 1)] == sentence
        found[words[inside]] += weights[inside]
    return found


def _attended(texts: Texts, reading: Reading, capsules: Tensor) -> Scores:
    """Weights of capsules (I,) over the words that they attend to."""
    sentences, activity = reading.tokens.words_per_sentence, reading.activity
    rho = activity.sentence_attention.numpy().repeat(sentences, axis=0)  # (words, I)
    weights = (activity.attention.numpy() * rho) @ capsules.numpy()
    return spread(weights, sentences, texts.network.config.kernel_size)
