"""A trained network over texts: batches of bounded size in, what each text shows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.data.records import class_numbers
from icaps.model import Activity, ICapsNet
from icaps.nn import distributed
from icaps.nn.layers import Packed
from icaps.nn.lookup import run
from icaps.text.batch import Encoded, EncodedText, Part, Placed
from icaps.text.sentences import encode_numbers, place
from icaps.text.vocabulary import Vocabulary

# A pass has as many words, or texts times capsules times classes, at most, and one text at least:
# which bounds memory whatever the lengths of the texts.
BATCH_WORDS, BATCH_ROUTES = 16_384, 1_048_576
CHUNK = 2_000  # texts that are held as numbers at a time


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


class ReadBatch(NamedTuple):
    """B texts and what the network shows of them, on the CPU, where norms of blank texts are 0.

    blank (B,), whether the vocabulary has none of a text's words.
    """

    texts: Sequence[str]
    placed: Placed
    blank: NDArray[np.bool_]
    activity: Activity

    def split(self) -> list[Reading]:
        """Text by text."""
        numbers, activity = self.placed.numbers, self.activity
        words, sentences = numbers.words.tolist(), numbers.counts.tolist()
        columns = (
            *(self.texts, self.placed.split(), activity.class_norms, activity.routing),
            *(activity.attention.split(words), activity.sentence_attention.split(sentences)),
            contributions(activity),
        )
        return [Reading(*values) for values in zip(*columns, strict=True)]


def read_batches(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str], muted: Sequence[int] = ()
) -> Iterator[ReadBatch]:
    """What a network shows of texts, a batch at a time.

    So many texts are held as numbers at a time. A thread that encodes the next ones meanwhile gains
    nothing: it and the network's many short products wait for each other's interpreter lock.

    Args:
        network: In eval mode.
        vocabulary: That of the network.
        texts: In memory.
        muted: Numbers of primary capsules that are switched off.
    """
    for chunk in _chunks(texts):
        yield from _read(network, chunk, place(vocabulary, chunk, network.config), muted)


def read_texts(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str], muted: Sequence[int] = ()
) -> Iterator[list[Reading]]:
    """As `read_batches`, text by text."""
    for batch in read_batches(network, vocabulary, texts, muted):
        yield batch.split()


def read_encoded(
    network: ICapsNet,
    texts: Sequence[str],
    encoded: Sequence[EncodedText],
    muted: Sequence[int] = (),
) -> Iterator[list[Reading]]:
    """As `read_texts`, of texts that are encoded already."""
    for batch in _read(network, texts, Placed.join(encoded), muted):
        yield batch.split()


def _read(
    network: ICapsNet, texts: Sequence[str], placed: Placed, muted: Sequence[int]
) -> Iterator[ReadBatch]:
    kept = kept_capsules(network, muted) if muted else None
    for part, _, activity in _passes(network, placed.numbers, kept):
        activity = Activity(*(values.cpu() for values in activity))
        here = placed.take(part)
        blank = here.numbers.known == 0
        norms = activity.class_norms.masked_fill(torch.from_numpy(blank)[:, None], 0)
        shown = activity._replace(class_norms=norms)
        yield ReadBatch(texts[part.texts], here, blank, shown)


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    return (list(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK))


def contributions(activity: Activity) -> Tensor:
    """What each capsule adds to each class: beta_ij (u_j|i . cc_j) / |cc_j|, (B, I, J).

    Summed over capsules it is the length of cc_j before the squash, which its norm grows with.
    """
    lengths: Tensor = torch.linalg.vector_norm(activity.class_capsules, dim=2)[:, None]
    found = activity.routing * activity.agreement / lengths
    return found.masked_fill(lengths == 0, 0)


def to_classes(
    activity: Activity, texts: NDArray[np.int64], classes: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Routing and `contributions` of some texts (n,), each to one class (n,): (n, I) both."""
    routing, agreement, outputs = (
        values.cpu().numpy()
        for values in (activity.routing, activity.agreement, activity.class_capsules)
    )
    lengths = np.linalg.norm(outputs[texts, classes], axis=1, keepdims=True)
    betas = routing[texts, :, classes]
    added = betas * agreement[texts, :, classes]
    return betas, np.divide(added, lengths, out=np.zeros_like(added), where=lengths > 0)


def class_norms(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str], muted: Sequence[int] = ()
) -> NDArray[np.floating]:
    """Norms of texts (texts, J) alone, as `read_batches` gives them, for less."""
    parts = (encode_numbers(vocabulary, network.config, chunk) for chunk in _chunks(texts))
    norms = [norms_of(network, encoded, muted) for encoded in parts]
    return np.concatenate([np.zeros((0, network.num_classes), np.float32), *norms])


def norms_of(
    network: ICapsNet, encoded: Encoded, muted: Sequence[int] = ()
) -> NDArray[np.floating]:
    """Class norms of encoded texts (texts, J), 0 where no word is known, in passes of bounded size.

    Args:
        network: In eval mode.
        encoded: Texts of its vocabulary; one without a word may have no sentence.
        muted: Numbers of primary capsules that are switched off.
    """
    kept = kept_capsules(network, muted) if muted else None
    known = encoded.known > 0
    found = [network.capsules.capsule_bias.new_zeros(0, network.num_classes).cpu()]
    for _, _, activity in _passes(network, encoded.select(known), kept):
        found.append(activity.class_norms.cpu())
    of_known = torch.cat(found).numpy()
    norms = np.zeros((len(known), network.num_classes), of_known.dtype)
    norms[known] = of_known
    return norms


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
        encoded = encode_numbers(vocabulary, network.config, [chunk[n][0] for n in mine])
        known = encoded.known > 0
        for part, packed, activity in _passes(network, encoded, None):
            numbers = mine[part.texts]
            yield Pass(seen + numbers, labels[numbers], known[part.texts], packed, activity)
        seen += len(chunk)


def kept_capsules(network: ICapsNet, muted: Sequence[int]) -> Tensor:
    """(I,), 0 for each capsule of `muted` and 1 for the others."""
    kept = torch.ones(network.config.num_capsules, device=network.fixed_embedding.device)
    kept[list(muted)] = 0
    return kept


def _passes(
    network: ICapsNet, encoded: Encoded, kept: Tensor | None
) -> Iterator[tuple[Part, Packed, Activity]]:
    device = network.fixed_embedding.device
    routes = network.config.num_capsules * network.num_classes
    for part in encoded.parts(BATCH_WORDS, BATCH_ROUTES // routes):
        taken = encoded.take(part)
        packed = Packed(*map(torch.from_numpy, (taken.ids, taken.lengths, taken.counts)))
        with torch.inference_mode():
            activity = run(network, packed.to(device), kept)
        yield part, packed, activity
