"""Inference: runs a trained network on any number of texts, in batches of bounded size."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.data.label_sets import indicator, numbers_of_one
from icaps.model import Activity, ICapsNet
from icaps.nn import distributed
from icaps.nn.lookup import MAX_BYTES, MIN_READS, LookupTable, table_bytes
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch, ranges
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary

# Maximum words, and maximum texts x capsules x classes, of a forward pass, which has at least one
# text. They bound memory whatever the lengths of the texts.
BATCH_WORDS, BATCH_ROUTES = 16_384, 1_048_576
CHUNK = 2_000  # texts that are tokenized at a time

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Reading:
    """A batch of B texts and the network's output for them; one text is a batch with B = 1.

    Attributes:
        tokens: The texts as word ids.
        activity: The output, on the CPU. Class norms of blank texts are 0.
        numbers: (B,), position of each text in the input.
        texts: The texts as typed, if the input was strings; else empty.
        labels: (B,), class numbers, from `read_labelled`; else None.
        label_sets: (B, J), whether a text has a class, from `read_labelled` with several labels per
            text; `labels` is then None.
    """

    tokens: TokenBatch
    activity: Activity
    numbers: NDArray[np.int64]
    texts: Sequence[str] = ()
    labels: NDArray[np.int64] | None = None
    label_sets: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.tokens)

    def __iter__(self) -> Iterator[Reading]:
        """Each text as a reading of one."""
        words = self.tokens.words_per_text.tolist()
        sentences = self.tokens.sentences_per_text.tolist()
        *per_text, attention, sentence_attention = self.activity
        columns = [values.split(1) for values in per_text]
        columns += [attention.split(words), sentence_attention.split(sentences)]
        for n, (tokens, *activity) in enumerate(zip(self.tokens, *columns, strict=True)):
            one = slice(n, n + 1)
            labels = None if self.labels is None else self.labels[one]
            label_sets = None if self.label_sets is None else self.label_sets[one]
            yield Reading(
                tokens,
                Activity(*activity),
                self.numbers[one],
                self.texts[one],
                labels,
                label_sets,
            )

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Whether none of a text's words is in the vocabulary (B,)."""
        return self.tokens.blank

    def has_label(self, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each text of a labelled batch has one class (B,), by its number (B,)."""
        if self.label_sets is not None:
            return np.asarray(self.label_sets[np.arange(len(self)), classes])
        assert self.labels is not None
        return np.asarray(self.labels == classes)

    def take(self, texts: NDArray[np.int64]) -> Reading:
        """Texts by their numbers in the batch (n,), in this order, also several times."""
        tokens = self.tokens
        sentences = ranges(tokens.sentence_offsets[texts], tokens.sentences_per_text[texts])
        words = ranges(tokens.word_offsets[texts], tokens.words_per_text[texts])
        *per_text, attention, sentence_attention = self.activity
        columns = [values[texts] for values in per_text]
        activity = Activity(*[*columns, attention[words], sentence_attention[sentences]])
        return Reading(
            tokens.take(texts),
            activity,
            self.numbers[texts],
            [self.texts[n] for n in texts] if self.texts else (),
            None if self.labels is None else self.labels[texts],
            None if self.label_sets is None else self.label_sets[texts],
        )


def read(
    network: ICapsNet, tokens: TokenBatch, muted: Sequence[int] = (), texts: Sequence[str] = ()
) -> Iterator[Reading]:
    """Runs a network on encoded texts, in batches of bounded size.

    Args:
        network: In eval mode.
        tokens: Word ids of its vocabulary. A text without words may have no sentence.
        muted: Numbers of primary capsules that are switched off.
        texts: The same texts as strings, for `Reading.texts`.
    """
    start = 0
    for part, activity in _passes(network, tokens, muted):
        activity = Activity(*(values.cpu() for values in activity))
        blank = torch.from_numpy(part.blank)
        norms = activity.class_norms.masked_fill(blank[:, None], 0)
        stop = start + len(part)
        yield Reading(
            part,
            activity._replace(class_norms=norms),
            np.arange(start, stop),
            texts[start:stop],
        )
        start = stop


def read_texts(
    network: ICapsNet, vocabulary: Vocabulary, texts: Iterable[str], muted: Sequence[int] = ()
) -> Iterator[Reading]:
    """As `read`, from strings; `CHUNK` texts are encoded at a time.

    A second thread that encodes the next texts meanwhile would gain nothing: it and the many short
    operations of the network compete for the interpreter lock.
    """
    start = 0
    for chunk in _chunks(texts):
        for reading in read(network, encode(vocabulary, chunk, network.config), muted, chunk):
            yield dataclasses.replace(reading, numbers=start + reading.numbers)
        start += len(chunk)


def read_labelled(
    network: ICapsNet,
    vocabulary: Vocabulary,
    classes: Sequence[str],
    labelled: Iterable[tuple[str, str]],
    multilabel: bool = False,
) -> Iterator[Reading]:
    """As `read_texts`, from a stream of texts with class names, without spans.

    Under torchrun each process runs its share of the texts.

    Args:
        network, vocabulary, classes: Of a model.
        labelled: Texts with class names, or with sets of them (`data.label_sets`).
        multilabel: Whether the model has several labels per text.

    Raises:
        DataError: A label is none of the classes.
    """
    start = 0
    for chunk in _chunks(labelled):
        names = [label for _, label in chunk]
        labels = None if multilabel else numbers_of_one(names, classes)  # (chunk,)
        label_sets = indicator(names, classes) if multilabel else None  # (chunk, J)
        share = np.arange(len(chunk))[distributed.share()]
        texts = [chunk[n][0] for n in share]
        tokens = encode(vocabulary, texts, network.config, spans=False)
        for reading in read(network, tokens, texts=texts):
            numbers = share[reading.numbers]
            yield dataclasses.replace(
                reading,
                numbers=start + numbers,
                labels=None if labels is None else labels[numbers],
                label_sets=None if label_sets is None else label_sets[numbers],
            )
        start += len(chunk)


def class_norms(
    network: ICapsNet, tokens: TokenBatch, muted: Sequence[int] = ()
) -> NDArray[np.floating]:
    """Class norms of texts (texts, J), as in `read`, without the rest of the output.

    Blank texts are not run through the network.
    """
    known = ~tokens.blank
    norms = [network.capsules.capsule_bias.new_zeros(0, network.num_classes).cpu()]
    for _, activity in _passes(network, tokens.select(known), muted):
        norms.append(activity.class_norms.cpu())
    known_norms = torch.cat(norms).numpy()
    all_norms = np.zeros((len(tokens), network.num_classes), known_norms.dtype)
    all_norms[known] = known_norms
    return all_norms


def to_classes(
    activity: Activity, texts: NDArray[np.int64], classes: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Routing and contributions (n, I) each, of selected texts (n,) to one class each (n,).

    The contribution of a capsule is beta_ij (pc_j|i . cc_j) / |cc_j|. The sum over capsules is the
    norm of cc_j before the squash, with which its norm increases.
    """
    routing, agreement, outputs = (
        values.numpy() for values in (activity.routing, activity.agreement, activity.class_capsules)
    )
    lengths = np.linalg.norm(outputs[texts, classes], axis=1, keepdims=True)
    betas = routing[texts, :, classes]
    added = betas * agreement[texts, :, classes]
    return betas, np.divide(added, lengths, out=np.zeros_like(added), where=lengths > 0)


def predicted_sets(network: ICapsNet, norms: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether each class is predicted (..., J), from class norms; none where all norms are 0.

    With several labels per text these are the classes that reach their thresholds, which may be
    none; else it is the class of the largest norm.
    """
    if network.thresholds is not None:
        return network.thresholds.predicted(norms)
    largest = norms.argmax(-1)[..., None] == np.arange(norms.shape[-1])
    return np.asarray(largest & np.any(norms, axis=-1, keepdims=True))


def most_probable(network: ICapsNet, norms: NDArray[np.floating]) -> NDArray[np.int64]:
    """The number of the most probable class (...), from class norms (..., J).

    With several labels per text it is one of the predicted classes, if there are any.
    """
    if network.thresholds is not None:
        reached = network.thresholds.predicted(norms)
        norms = network.thresholds.probabilities(norms) + reached
    return np.asarray(norms.argmax(-1), np.int64)


def each_prediction(network: ICapsNet, batch: Reading) -> tuple[Reading, NDArray[np.int64]]:
    """The batch with each text once per predicted class, and these classes (n,).

    With one label per text it is the batch itself, its blank texts included. With several, texts
    without a predicted class are left out.
    """
    norms = batch.activity.class_norms.numpy()
    if network.thresholds is None:
        return batch, most_probable(network, norms)
    texts, classes = predicted_sets(network, norms).nonzero()
    return batch.take(texts), classes


def capsule_mask(network: ICapsNet, muted: Sequence[int]) -> Tensor:
    """The mask of `ICapsNet.forward` (I,): 0 for each capsule of `muted`, 1 for the others."""
    mask = torch.ones(network.config.num_capsules, device=network.fixed_embedding.device)
    mask[list(muted)] = 0
    return mask


def _passes(
    network: ICapsNet, tokens: TokenBatch, muted: Sequence[int]
) -> Iterator[tuple[TokenBatch, Activity]]:
    mask = capsule_mask(network, muted) if muted else None
    routes = network.config.num_capsules * network.num_classes
    for part in tokens.parts(BATCH_WORDS, BATCH_ROUTES // routes):
        with torch.inference_mode():
            activity = _run(network, part, mask)
        if network.edits is not None:
            on_cpu = Activity(*(values.cpu() for values in activity))
            activity = network.edits.apply(network, part, on_cpu)
        yield part, activity


def _run(network: ICapsNet, batch: TokenBatch, mask: Tensor | None) -> Activity:
    """`network(batch, mask)`, by the lookup table if the network has one."""
    table = find_table(network, len(batch.ids))
    if table is None:
        activity: Activity = network(batch, mask)
        return activity
    ids = network.word_ids(batch)
    layout = lay_out(batch.words_per_sentence, network.config.kernel_size, ids.device)
    project = network.project_words if len(network.vector_words) else None
    embeddings, attention = table.embed_sentences(ids, layout, project)
    attended = network.attention.join_sentences(embeddings, attention, batch.sentences_per_text)
    return network.route(attended, mask)


def find_table(network: ICapsNet, words: int) -> LookupTable | None:
    """The lookup table of a network that is about to read `words` words; None if it has none."""
    region, attention = network.region, network.attention
    size = len(network.fixed_embedding)
    weights = [
        network.fixed_embedding,
        network.trained_embedding.weight,
        region.weight,
        region.bias,
        attention.primary_queries,
        attention.key_weight,
        attention.value_weight,
    ]
    return network.lookup.get(words, size, weights, lambda: build_lookup_table(network))


def prepare(network: ICapsNet) -> None:
    """Builds the lookup table now, for a process that will read many texts, if there can be one."""
    find_table(network, MIN_READS * len(network.fixed_embedding))


def build_lookup_table(network: ICapsNet) -> LookupTable | None:
    """The table of a network in eval mode; None if it has an activation, or would be too large."""
    size, kernel_size = len(network.fixed_embedding), network.region.kernel_size
    large = table_bytes(size, kernel_size, network.attention.value_weight) > MAX_BYTES
    if large or network.config.activation != "none":
        return None
    return LookupTable(
        network.project_words,
        trained_words=size,
        kernel_size=kernel_size,
        queries=network.attention.effective_queries(),
        value_weight=network.attention.value_weight,
        bias=network.region.bias,
    )


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    stream = iter(items)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk
