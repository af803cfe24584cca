"""A trained network in few bytes: quantised arrays, and its forward pass in numpy.

Embeddings, one matrix and the weights after the attention are the whole network (`word_weights`).
The pre-trained part of embeddings is stored as it is in a checkpoint, without loss, and each vector
once; the trained part has 12 bits per number, and the matrix 16.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from icaps.classifier import ICapsClassifier
from icaps.config import INDEPENDENT, VECTOR_STEP, ModelConfig
from icaps.errors import ConfigError
from icaps.interpret.edits import Edits
from icaps.model import HierarchicalAttention
from icaps.portable.word_weights import distinct_vectors, word_matrix
from icaps.text.batch import TokenBatch

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

_TRAINED_BITS = 12  # with 8, norms of a model of 20 classes differ by 0.003 and one class in 1,000
_MATRIX_BITS = 16


def obstacle(classifier: ICapsClassifier) -> str:
    """Why a network cannot be packed, as a sentence; empty if it can be."""
    activation = classifier.network_.config.activation
    if activation != "none":
        return f"A network with an activation ({activation}) cannot be exported as a page."
    if classifier.muted_:
        return (
            "A model whose capsules are switched off cannot be exported as a page; make them "
            "neutral instead (icaps repair)."
        )
    return ""


class PackedArray(NamedTuple):
    """An array of integers or floats, and the factor that makes its numbers real ones."""

    values: NDArray[Any]
    scale: float = 1.0

    def numbers(self) -> Floats:
        """The numbers that it stands for."""
        return self.values.astype(np.float32) * np.float32(self.scale)


@dataclass(frozen=True)
class PackedNetwork:
    """The weights of a network without an activation, and its edits.

    Attributes:
        config: Of the network.
        vote_scale: The factor of votes, see `model.CapsuleLayer`.
        arrays: By name, with V words, of which V_t have a trained part, and U distinct vectors.
            `vectors` (U, fixed_dim); `vector_of_word` (V,), a row of it; `trained` (V_t,
            trained_dim); `trained_of_word` (V - V_t,), a row of it or -1; `word_matrix` (d_e, K (I
            + d_p I)), from an embedding to scores and values, by tap; `value_bias` (I, d_p);
            `capsule_weight` (J, d_c, d_p); `capsule_bias` (I, J, d_c). If hierarchical, also
            `sentence_query` (I, d_p), W~^k_i^T h_i / sqrt(d_q), and `sentence_value` (I, d_p, d_p).
        edits: What is neutral; None if nothing is.
    """

    config: ModelConfig
    vote_scale: float
    arrays: dict[str, PackedArray]
    edits: Edits | None = None

    @classmethod
    def of(cls, classifier: ICapsClassifier) -> PackedNetwork:
        """Packs the network of a classifier.

        Raises:
            ConfigError: It cannot be packed; see `obstacle`.
        """
        if reason := obstacle(classifier):
            raise ConfigError(reason)
        network, attention = classifier.network_, classifier.network_.attention
        with torch.inference_mode():
            weights = {
                "value_bias": attention.value_weight @ network.region.bias,
                "capsule_weight": network.capsules.capsule_weight,
                "capsule_bias": network.capsules.capsule_bias,
            }
            if isinstance(attention, HierarchicalAttention):
                weights["sentence_query"] = attention.sentence_queries()
                weights["sentence_value"] = attention.sentence_value_weight
        vectors, vector_of_word = distinct_vectors(network)
        matrix = torch.from_numpy(word_matrix(network)).float()
        arrays = {
            "vectors": PackedArray(np.rint(vectors).astype(np.int8), VECTOR_STEP),
            "vector_of_word": PackedArray(vector_of_word.astype(np.int32)),
            "trained": _quantise(network.trained_embedding.weight, _TRAINED_BITS),
            "trained_of_word": PackedArray(network.trained_rows.numpy().astype(np.int32)),
            "word_matrix": _quantise(matrix, _MATRIX_BITS),
        }
        arrays |= {name: PackedArray(part.detach().numpy()) for name, part in weights.items()}
        return cls(network.config, network.capsules.vote_scale, arrays, network.edits)

    def class_norms(self, tokens: TokenBatch) -> NDArray[np.float64]:
        """Norms of the class capsules (texts, J); 0 for a text without a known word."""
        norms = np.zeros((len(tokens), len(self.arrays["capsule_weight"].values)))
        for n in np.flatnonzero(~tokens.blank).tolist():
            norms[n] = self._class_norms(tokens[n])
        return norms

    def _class_norms(self, text: TokenBatch) -> Floats:
        """The norms (J,) of one text of N words in S sentences."""
        heads, size = self._numbers["value_bias"].shape
        taps = self._embed(text.ids) @ self._numbers["word_matrix"]
        taps = taps.reshape(len(text.ids), self.config.kernel_size, heads * (1 + size))
        ends = text.words_per_sentence.cumsum().tolist()
        sentences = [taps[start:end] for start, end in pairwise([0, *ends])]
        primary, weights = self._attend_to_text(sentences)
        scale = np.ones((heads, 1), np.float32)
        if self.config.squash_primary:
            scale = _squash_scale(primary)
        votes, routing, sums = self._route(primary * scale)
        # s_j remains as the direction and the length of the capsule; only then are terms left out.
        if self.edits is not None and (counts := self.edits.words(text)) is not None:
            removed = self._neutral_part(sentences, weights, ~counts) * scale
            votes = votes - np.einsum("jcp,jip->ijc", self._numbers["capsule_weight"], removed)
        if self.edits is not None and self.edits.capsules is not None:
            routing = routing * self.edits.capsules
        total = self.vote_scale * np.einsum("ij,ijc,jc->j", routing, votes, sums)
        norms: Floats = np.maximum(total / (1 + (sums**2).sum(1)), 0)  # of the squash, eq. 6
        return norms

    def _attend_to_text(self, sentences: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
        """Primary capsules pc_i (I, d_p), and rho_i alpha_i of each of S sentences (n, I)."""
        attended = [self._attend(taps) for taps in sentences]
        weights = [alpha for _, alpha in attended]
        if not self.config.hierarchical:
            return attended[0][0], weights
        embeddings = np.stack([embedding for embedding, _ in attended])  # s^i_m (S, I, d_p)
        rho = _softmax((embeddings * self._numbers["sentence_query"]).sum(2))  # (S, I), eq. 14
        pooled = np.einsum("si,sid->id", rho, embeddings)
        primary = np.einsum("id,ipd->ip", pooled, self._numbers["sentence_value"])  # eq. 15
        return primary, [
            alpha * of_sentence for alpha, of_sentence in zip(weights, rho, strict=True)
        ]

    def _neutral_part(
        self, sentences: Sequence[Floats], weights: Sequence[Floats], neutral: NDArray[np.bool_]
    ) -> Floats:
        """What words that are neutral (N, J) add to primary capsules by class (J, I, d_p)."""
        values = np.concatenate(list(map(self._word_values, sentences, weights)))
        removed: Floats = np.einsum("mj,mpi->jip", neutral, values)
        if self.config.hierarchical:
            removed = np.einsum("jid,ipd->jip", removed, self._numbers["sentence_value"])
        return removed

    def _attend(self, taps: Floats) -> tuple[Floats, Floats]:
        """The embedding s^i_m (I, d_p) of a sentence of n words, and alpha^i_n (n, I)."""
        heads, size = self._numbers["value_bias"].shape
        windows = np.zeros((len(taps), taps.shape[2]), np.float32)
        for tap, places, words in self._windows(len(taps)):
            windows[places] += taps[words, tap]
        attention = _softmax(windows[:, :heads])  # eq. 3
        values = windows[:, heads:].reshape(len(taps), size, heads)
        embedding = np.einsum("ni,npi->ip", attention, values)  # eq. 4
        return embedding + self._numbers["value_bias"], attention

    def _word_values(self, taps: Floats, weights: Floats) -> Floats:
        """What each word of a sentence adds to the values (n, d_p, I), by weights (n, I)."""
        heads, size = self._numbers["value_bias"].shape
        values = taps[:, :, heads:].reshape(len(taps), self.config.kernel_size, size, heads)
        total = np.zeros((len(taps), size, heads), np.float32)
        for tap, places, words in self._windows(len(taps)):
            total[words] += values[words, tap] * weights[places, None]
        return total

    def _windows(self, length: int) -> Iterator[tuple[int, Numbers, Numbers]]:
        """By tap: positions of a sentence, and the words that their windows have there."""
        for tap in range(self.config.kernel_size):
            offset = tap - (self.config.kernel_size - 1) // 2
            places = np.arange(max(-offset, 0), min(length - offset, length))
            yield tap, places, places + offset

    def _embed(self, ids: NDArray[np.integer[Any]]) -> Floats:
        """Word embeddings e_n (N, d_e)."""
        fixed = self._numbers["vectors"][self.arrays["vector_of_word"].values[ids]]
        rows = self._trained_rows[ids]
        return np.concatenate(
            [fixed, self._numbers["trained"][rows] * (rows >= 0)[:, None]], axis=1
        )

    def _route(self, primary: Floats) -> tuple[Floats, Floats, Floats]:
        """Dynamic routing (Algorithm 1) of primary capsules (I, d_p).

        Returns:
            Votes (I, J, d_c), routing weights beta_ij (I, J), and s_j (J, d_c), whose squash is a
            class capsule.
        """
        votes = np.einsum("jcp,ip->ijc", self._numbers["capsule_weight"], primary)
        votes = votes + self._numbers["capsule_bias"]  # pc_j|i (I, J, d_c), eq. 8
        logits = np.zeros(votes.shape[:2], np.float32)
        for _ in range(self.config.routing_iterations):
            routing = self._routing(logits)  # beta_ij
            sums = self.vote_scale * np.einsum("ij,ijc->jc", routing, votes)
            outputs = sums * _squash_scale(sums)  # cc_j
            logits += np.einsum("ijc,jc->ij", votes, outputs)
        return votes, routing, sums

    def _routing(self, logits: Floats) -> Floats:
        """beta_ij (I, J) of the routing logits: eq. 9, or a sigmoid per class."""
        if self.config.routing == INDEPENDENT:
            others = max(logits.shape[1] - 1, 1)
            routing: Floats = expit(logits - np.float32(np.log(others)))
            return routing
        return _softmax(logits.T).T

    @cached_property
    def _numbers(self) -> dict[str, Floats]:
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


def _quantise(weights: torch.Tensor, bits: int) -> PackedArray:
    """Weights as signed integers of at most 16 bits: multiples of one step."""
    numbers = weights.detach().numpy()
    scale = float(np.abs(numbers).max(initial=0)) / (2 ** (bits - 1) - 1) or 1.0
    return PackedArray(np.rint(numbers / scale).astype(np.int16), scale)


def _softmax(scores: Floats) -> Floats:
    """The softmax over the first axis."""
    weights = np.exp(scores - scores.max(0, initial=-np.inf))
    shares: Floats = weights / weights.sum(0)
    return shares


def _squash_scale(vectors: Floats) -> Floats:
    """The factor (n, 1) of vectors (n, d) in their squash (eq. 6)."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scale: Floats = norms / (1 + norms**2)
    return scale
