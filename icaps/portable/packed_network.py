"""A trained network in few bytes: quantised arrays, and its forward pass in numpy.

Without an activation, what a word adds to the attention scores and to the values of all heads is
linear in its embedding, and depends on the word and its position in the window alone
(`nn.lookup`). So embeddings, one matrix and the weights after the attention are the whole network.
The pre-trained part of embeddings is stored as it is in a checkpoint, without loss, and each vector
once; the trained part has one byte per number, and the matrix two.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.config import BY_CLASS, VECTOR_STEP
from icaps.errors import ConfigError
from icaps.nn.lookup import score_and_value_columns
from icaps.text.batch import TokenBatch


def obstacle(classifier: ICapsClassifier) -> str:
    """Why a network cannot be packed, as a sentence; empty if it can be."""
    config = classifier.network_.config
    if config.activation != "none":
        return f"A network with an activation ({config.activation}) cannot be exported as a page."
    if config.routing != BY_CLASS:
        return f"A network with {config.routing} routing cannot be exported as a page."
    if config.hierarchical:
        return (
            "A network that splits texts into sentences cannot be exported as a page, since the "
            "page has no library for it; train one for short texts (--set hierarchical=false)."
        )
    if classifier.edits_:
        return (
            "A model with neutral words or capsules cannot be exported as a page; undo its edits."
        )
    if classifier.multilabel_:
        return "A model with several labels per text cannot be exported as a page."
    return ""


class PackedArray(NamedTuple):
    """An array of integers or floats, and the factor that makes its numbers real ones."""

    values: NDArray[Any]
    scale: float = 1.0

    def numbers(self) -> NDArray[np.float32]:
        """The numbers that it stands for."""
        return self.values.astype(np.float32) * np.float32(self.scale)


@dataclass(frozen=True)
class PackedNetwork:
    """The weights of a network for short texts without an activation.

    Attributes:
        kernel_size, max_words, routing_iterations, vote_scale, squash_primary: As in the network.
        arrays: By name, with V words, of which V_t have a trained part, and U distinct vectors.
            `vectors` (U, fixed_dim); `vector_of_word` (V,), a row of it; `trained` (V_t,
            trained_dim); `trained_of_word` (V - V_t,), a row of it or -1; `word_matrix` (d_e, K (I
            + d_p I)), from an embedding to scores and values, by tap; `value_bias` (I, d_p);
            `capsule_weight` (J, d_c, d_p); `capsule_bias` (I, J, d_c).
    """

    kernel_size: int
    max_words: int | None
    routing_iterations: int
    vote_scale: float
    squash_primary: bool
    arrays: dict[str, PackedArray]

    @classmethod
    def of(cls, classifier: ICapsClassifier) -> PackedNetwork:
        """Packs the network of a classifier.

        Raises:
            ConfigError: It cannot be packed; see `obstacle`.
        """
        if reason := obstacle(classifier):
            raise ConfigError(reason)
        network, config = classifier.network_, classifier.network_.config
        with torch.inference_mode():
            columns = score_and_value_columns(
                network.attention.effective_queries(), network.attention.value_weight
            )  # (d_w, I + d_p I)
            matrix = (network.region.weight @ columns).transpose(0, 1).flatten(1)
            value_bias = network.attention.value_weight @ network.region.bias
        fixed = np.rint(network.fixed_embedding.numpy() / VECTOR_STEP).astype(np.int8)
        others = np.zeros((len(network.vector_words), fixed.shape[1]), np.int8)
        others[:, : network.vector_words.shape[1]] = network.vector_words.numpy()
        vectors, vector_of_word = np.unique(
            np.concatenate([fixed, others]), axis=0, return_inverse=True
        )
        capsules = network.capsules
        return cls(
            kernel_size=config.kernel_size,
            max_words=config.max_words,
            routing_iterations=capsules.iterations,
            vote_scale=capsules.vote_scale,
            squash_primary=config.squash_primary,
            arrays={
                "vectors": PackedArray(vectors, VECTOR_STEP),
                "vector_of_word": PackedArray(vector_of_word.ravel().astype(np.int32)),
                "trained": _quantise(network.trained_embedding.weight, np.int8),
                "trained_of_word": PackedArray(network.trained_rows.numpy().astype(np.int32)),
                "word_matrix": _quantise(matrix, np.int16),
                "value_bias": PackedArray(value_bias.numpy()),
                "capsule_weight": PackedArray(capsules.capsule_weight.detach().numpy()),
                "capsule_bias": PackedArray(capsules.capsule_bias.detach().numpy()),
            },
        )

    def class_norms(self, tokens: TokenBatch) -> NDArray[np.float64]:
        """Norms of the class capsules (texts, J); 0 for a text without a known word."""
        norms = [self._class_norms(text.ids) for text in tokens]
        all_norms = np.array(norms, float).reshape(len(tokens), -1 if norms else 0)
        return np.where(tokens.blank[:, None], 0, all_norms)

    def _class_norms(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The norms (J,) of one text of N words."""
        heads, size = self._numbers["value_bias"].shape
        taps = self._embed(ids) @ self._numbers["word_matrix"]
        taps = taps.reshape(len(ids), self.kernel_size, heads * (1 + size))
        windows = np.zeros((len(ids), taps.shape[2]), np.float32)
        for tap in range(self.kernel_size):
            offset = tap - (self.kernel_size - 1) // 2
            places = np.arange(max(-offset, 0), min(len(ids) - offset, len(ids)))
            windows[places] += taps[places + offset, tap]
        scores, values = windows[:, :heads], windows[:, heads:].reshape(len(ids), size, heads)
        attention = np.exp(scores - scores.max(0, initial=-np.inf))  # alpha^i_n (N, I), eq. 3
        attention /= attention.sum(0)
        primary = np.einsum("ni,npi->ip", attention, values) + self._numbers["value_bias"]  # eq. 4
        return self._route(_squash(primary) if self.squash_primary else primary)

    def _embed(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Word embeddings e_n (N, d_e)."""
        fixed = self._numbers["vectors"][self.arrays["vector_of_word"].values[ids]]
        rows = self._trained_rows[ids]
        return np.concatenate(
            [fixed, self._numbers["trained"][rows] * (rows >= 0)[:, None]], axis=1
        )

    def _route(self, primary: NDArray[np.float32]) -> NDArray[np.float32]:
        """Dynamic routing (Algorithm 1) of primary capsules (I, d_p) to class norms (J,)."""
        votes = np.einsum("jcp,ip->ijc", self._numbers["capsule_weight"], primary)
        votes = votes + self._numbers["capsule_bias"]  # pc_j|i (I, J, d_c), eq. 8
        logits = np.zeros(votes.shape[:2], np.float32)
        for _ in range(self.routing_iterations):
            routing = np.exp(logits - logits.max(1, keepdims=True))  # beta_ij, eq. 9
            routing /= routing.sum(1, keepdims=True)
            outputs = _squash(self.vote_scale * np.einsum("ij,ijc->jc", routing, votes))
            logits += np.einsum("ijc,jc->ij", votes, outputs)
        norms: NDArray[np.float32] = np.linalg.norm(outputs, axis=1)
        return norms

    @cached_property
    def _numbers(self) -> dict[str, NDArray[np.float32]]:
        """The numbers of the arrays that are no indices."""
        return {
            name: array.numbers()
            for name, array in self.arrays.items()
            if not name.endswith("_of_word")
        }

    @cached_property
    def _trained_rows(self) -> NDArray[np.int64]:
        """The row of `trained` of each word (V,), -1 for none."""
        own = np.arange(len(self.arrays["trained"].values))
        return np.concatenate([own, self.arrays["trained_of_word"].values])

    def to_bytes(self, words: Sequence[str]) -> tuple[bytes, list[dict[str, Any]]]:
        """All arrays, then the words, as compressed bytes, and a description of the arrays.

        A table is written column by column, as the numbers of a column are alike. The words (V,)
        follow as UTF-8, one per line.
        """
        parts, index = [], []
        for name, (values, scale) in self.arrays.items():
            little = values.astype(values.dtype.newbyteorder("<"))
            by_column = values.ndim == 2 and values.dtype.kind == "i"
            parts.append(np.ascontiguousarray(little.T if by_column else little).tobytes())
            index.append(
                {
                    "name": name,
                    "type": values.dtype.name,
                    "shape": list(values.shape),
                    "scale": scale,
                    "by_column": by_column,
                }
            )
        parts.append("\n".join(words).encode())
        return zlib.compress(b"".join(parts), 9), index


def _quantise(weights: torch.Tensor, dtype: type[np.signedinteger[Any]]) -> PackedArray:
    """Weights as integers: multiples of the largest size divided by the largest integer."""
    numbers = weights.detach().numpy()
    scale = float(np.abs(numbers).max(initial=0)) / np.iinfo(dtype).max or 1.0
    return PackedArray(np.rint(numbers / scale).astype(dtype), scale)


def _squash(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The squash (eq. 6) of vectors (n, d)."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    squashed: NDArray[np.float32] = vectors * (norms / (1 + norms**2))
    return squashed
