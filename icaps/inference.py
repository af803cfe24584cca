"""A trained network over texts: batches of bounded size in, what each text shows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps import distributed
from icaps.corpus import Corpus, class_numbers
from icaps.corpus_files import Encoded, encode_numbers
from icaps.layers import Packed
from icaps.model import Activity, ICapsNet
from icaps.sentences import encode
from icaps.tables import run
from icaps.text import UNK, EncodedText, Vocabulary

BATCH_WORDS = 16_384  # words a pass, which bounds memory whatever the lengths of the texts
CHUNK = 2_000  # texts of a stream that are held at a time


class Reading(NamedTuple):
    """One text and what the network shows of it, on the CPU.

    norms (J,), 0 for a blank text; routing (I, J), beta; attention (words, I), alpha;
    sentence_attention (sentences, I), rho; contribution (I, J), see `contributions`.
    """

    text: str
    encoded: EncodedText
    norms: Tensor
    routing: Tensor
    attention: Tensor
    sentence_attention: Tensor
    contribution: Tensor

    @property
    def blank(self) -> bool:
        """Whether the vocabulary has none of the text's words."""
        return self.encoded.blank


class Pass(NamedTuple):
    """A batch of labelled texts of a stream that went through the network.

    numbers (texts,), where each stands in the stream, from 0; labels (texts,), class numbers; known
    (texts,), whether any of a text's words is in the vocabulary; the batch and what it showed.
    """

    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    known: NDArray[np.bool_]
    packed: Packed
    activity: Activity


def read_texts(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str], muted: Sequence[int] = ()
) -> Iterator[list[Reading]]:
    """Readings of texts, a batch at a time; a text without a known word has norms of 0.

    Args:
        network: In eval mode.
        vocabulary: That of the network.
        texts: In memory.
        muted: Numbers of primary capsules that are switched off.
    """
    return read_encoded(network, texts, encode(vocabulary, texts, network.config), muted)


def read_encoded(
    network: ICapsNet,
    texts: Sequence[str],
    encoded: Sequence[EncodedText],
    muted: Sequence[int] = (),
) -> Iterator[list[Reading]]:
    """As `read_texts`, of texts that are encoded already."""
    kept = kept_capsules(network, muted) if muted else None
    for start, stop, _, activity in _passes(network, encoded, kept):
        batch = encoded[start:stop]
        words = activity.attention.cpu().split([len(text.ids) for text in batch])
        sentences = activity.sentence_attention.cpu().split([len(t.sentences) for t in batch])
        contribution = contributions(activity).cpu()
        columns = (activity.class_norms.cpu(), activity.routing.cpu(), words, sentences)
        yield [
            _silenced(Reading(*values))
            for values in zip(texts[start:stop], batch, *columns, contribution, strict=True)
        ]


def contributions(activity: Activity) -> Tensor:
    """What each capsule adds to each class: beta_ij (u_j|i . cc_j) / |cc_j|, (B, I, J).

    Summed over capsules it is the length of cc_j before the squash, which its norm grows with.
    """
    directions = torch.nn.functional.normalize(activity.class_capsules, dim=2)
    return activity.routing * (activity.votes * directions[:, None]).sum(3)


def class_norms(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str], muted: Sequence[int] = ()
) -> Tensor:
    """Norms of texts (texts, J) alone, as `read_texts` gives them, for less.

    The next texts are encoded while the network reads: its products leave the interpreter free.
    """
    kept = kept_capsules(network, muted) if muted else None
    norms = [torch.zeros(0, network.capsules.capsule_bias.shape[1])]
    chunks = [list(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
    with ThreadPoolExecutor(1) as encoder:
        waiting = [
            encoder.submit(encode_numbers, vocabulary, network.config, chunk) for chunk in chunks
        ]
        for encoded in waiting:
            norms += _norms_of(network, encoded.result(), kept)
    return torch.cat(norms)


def _norms_of(network: ICapsNet, encoded: Encoded, kept: Tensor | None) -> Iterator[Tensor]:
    """Norms of encoded texts, a batch at a time."""
    device = network.fixed_embedding.device
    ids, lengths, counts = (torch.from_numpy(part) for part in encoded)
    sentence_ends = np.concatenate([[0], encoded.counts.cumsum()])
    word_ends = np.concatenate([[0], encoded.lengths.cumsum()])[sentence_ends]
    for start, stop in _batch_bounds(np.diff(word_ends).tolist()):
        words = slice(word_ends[start], word_ends[stop])
        sentences = slice(sentence_ends[start], sentence_ends[stop])
        packed = Packed(ids[words], lengths[sentences], counts[start:stop])
        with torch.inference_mode():
            found = run(network, packed.to(device), kept).class_norms.cpu()
        known = np.add.reduceat(
            np.append(encoded.ids[words] != UNK, False), word_ends[start:stop] - word_ends[start]
        )
        known[np.diff(word_ends[start : stop + 1]) == 0] = 0  # reduceat sees the next text there
        yield found * torch.from_numpy(known > 0)[:, None]


def stream_passes(
    network: ICapsNet,
    vocabulary: Vocabulary,
    classes: Sequence[str],
    labelled: Iterable[tuple[str, str]],
) -> Iterator[Pass]:
    """This process's share of a stream of texts and names of classes, in bounded memory.

    Raises:
        DataError: A label is none of the classes.
    """
    stream, seen = iter(labelled), 0
    while chunk := list(islice(stream, CHUNK)):
        labels = class_numbers((label for _, label in chunk), classes)
        mine = np.arange(len(chunk))[distributed.share()]
        encoded = encode(vocabulary, [chunk[n][0] for n in mine], network.config)
        for start, stop, packed, activity in _passes(network, encoded, None):
            numbers = mine[start:stop]
            known = np.array([not text.blank for text in encoded[start:stop]], dtype=bool)
            yield Pass(seen + numbers, labels[numbers], known, packed, activity)
        seen += len(chunk)


def kept_capsules(network: ICapsNet, muted: Sequence[int]) -> Tensor:
    """(I,), 0 for each capsule of `muted` and 1 for the others."""
    kept = torch.ones(network.config.num_capsules, device=network.fixed_embedding.device)
    kept[list(muted)] = 0
    return kept


def _passes(
    network: ICapsNet, encoded: Sequence[EncodedText], kept: Tensor | None
) -> Iterator[tuple[int, int, Packed, Activity]]:
    device = network.fixed_embedding.device
    for start, stop in _batch_bounds([len(text.ids) for text in encoded]):
        batch = encoded[start:stop]
        packed = Corpus.from_encoded(batch, [0] * len(batch)).pack()
        with torch.inference_mode():
            activity = run(network, packed.to(device), kept)
        yield start, stop, packed, activity


def _silenced(reading: Reading) -> Reading:
    return reading._replace(norms=torch.zeros_like(reading.norms)) if reading.blank else reading


def _batch_bounds(lengths: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive runs of texts of at most BATCH_WORDS words in all, or one longer text."""
    start, words = 0, 0
    for n, length in enumerate(lengths):
        if n > start and words + length > BATCH_WORDS:
            yield start, n
            start, words = n, 0
        words += length
    if start < len(lengths):
        yield start, len(lengths)
