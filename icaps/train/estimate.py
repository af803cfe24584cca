"""Estimates time, memory and model size of a training, by steps on a sample of its texts."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import binom
from torch import Tensor

from icaps.config import ModelConfig, TrainConfig
from icaps.data.label_sets import indicator, is_multilabel
from icaps.data.sample import Sample, draw_sample
from icaps.data.source import Source
from icaps.errors import DataError
from icaps.model import ICapsNet
from icaps.nn.device import choose_device
from icaps.text.coverage import VectorCoverage
from icaps.text.sentences import encode
from icaps.text.vectors import TEXTS, LoadedVectors, Sources, list_sources, train_vectors
from icaps.text.vocabulary import Vocabulary
from icaps.train.dataset import Corpus, KnownWords
from icaps.train.loop import VALIDATION_BATCH, backward, validate
from icaps.train.optimizer import AveragedAdam
from icaps.train.recipe import Recipe, choose, measure

_SAMPLE_TEXTS = 20_000
# Maximum characters of the sample for counting words, and for encoding.
_COUNTED, _ENCODED = 4_000_000, 800_000
_STEP_SECONDS = 1.0  # duration of the measured steps
_MIN_STEPS = 4  # however long they take; the first, which allocates memory, is not counted
# Fitted to the peak memory of processes that trained both kinds of networks.
_LIBRARIES = 520_000_000  # bytes of a process that trains a tiny network
_STEP_SHARE = 2.5  # memory of a step, relative to what its forward pass stores for the gradient
_VALIDATION_SHARE = 0.7  # the same for a batch without gradients
_MAX_FALL = 0.99  # maximum factor of the exponent of vocabulary growth, per doubling
_VECTOR_TEXTS = 250  # number of texts on which the training of word vectors is timed
_WHOLE = ModelConfig(hierarchical=True, max_words=None)  # to measure texts without truncation


class Spread(NamedTuple):
    """Mean, median and 95% quantile of some numbers."""

    mean: float
    median: float
    most: float


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a training on this machine.

    Attributes:
        texts: Number of texts, including the validation texts.
        exact: Whether all texts were read; otherwise all values are extrapolated from a part.
        classes: Names, sorted.
        words: Words per text, before truncation.
        vocabulary: V, the number of words with `<pad>` and `<unk>`.
        parameters: Number of trained parameters.
        checkpoint_bytes: Approximate size of the checkpoint folder.
        peak_bytes: Approximate peak memory of the process.
        seconds_per_epoch: Including validation.
        seconds: Of all epochs, if `patience` does not end them earlier, and of `unk_steps`.
        vector_seconds: Of training word vectors on the texts before the first epoch; 0 if there are
            none. The shorter time of reading the texts is not included anywhere.
        suggestion: The recipe for these texts.
        coverage: How many of the words have a vector; None if all vectors are trained on the texts.
    """

    texts: int
    exact: bool
    classes: tuple[str, ...]
    words: Spread
    vocabulary: int
    parameters: int
    checkpoint_bytes: int
    peak_bytes: int
    seconds_per_epoch: float
    seconds: float
    vector_seconds: float
    suggestion: Recipe
    coverage: VectorCoverage | None = None


class Pace(NamedTuple):
    """The cost of training steps.

    Attributes:
        step: Seconds per step.
        word: Seconds per word, in addition.
        validation: Seconds per text that is validated.
        stored: Bytes per word that the forward pass stores for the gradient.
    """

    step: float
    word: float
    validation: float
    stored: float

    def seconds(self, steps: int, words: float) -> float:
        """Duration of a number of steps with a total number of words."""
        return self.step * steps + self.word * words


def estimate(
    source: Source,
    model: ModelConfig,
    train: TrainConfig,
    vectors: Sources = None,
    seconds: float = 2.0,
) -> Estimate:
    """Estimates the cost of a training from a sample of texts and real training steps.

    Reads texts for at most `seconds`, then trains a network of the real size for about one second,
    on texts drawn from all that were read. Torch's random state is restored. Vectors from a file
    are loaded to determine their size, and those with a name are downloaded, as in the training.

    Raises:
        DataError: A file cannot be read, there is no text, or all are of one class.
        VectorsError: The vectors cannot be loaded.
    """
    sample = draw_sample(source, _SAMPLE_TEXTS, seconds, train.seed)
    if len(sample.classes) < 2:
        count = "one" if sample.classes else "no"
        raise DataError(f"All {sample.total} texts have {count} class; a classifier needs two.")
    validated = max(math.ceil(train.validation_share * sample.total), len(sample.classes))
    trained = max(1, sample.total - validated)
    seen, size = _count_words(sample, trained, train.min_frequency)
    vocabulary = Vocabulary(seen.words[:size], seen.counts[:size])
    loaded = LoadedVectors(vectors, lambda line: None)
    positions = _by_length(sample.texts, _ENCODED)
    drawn = [sample.texts[n] for n in positions]
    whole = encode(vocabulary, drawn, dataclasses.replace(_WHOLE, language=model.language))
    coverage = loaded.coverage(seen)
    low = coverage is not None and coverage.low
    dim = model.fixed_dim * list_sources(vectors, low).count(TEXTS)
    model = dataclasses.replace(model, fixed_dim=dim + loaded.dim)
    encoded = encode(vocabulary, drawn, model)
    several = is_multilabel(sample.distinct)
    label_sets = indicator(sample.distinct, sample.classes) if several else None
    corpus = Corpus.from_tokens(encoded, [sample.labels[n] for n in positions], label_sets)
    with torch.random.fork_rng():
        torch.manual_seed(train.seed)
        vector_words = torch.zeros(_vector_words(loaded, vocabulary), loaded.dim, dtype=torch.int8)
        network = ICapsNet(model, size, len(sample.classes), vector_words=vector_words)
        network.to(choose_device())
        pace = measure_pace(network, corpus, train, trained)
    words = float(encoded.words_per_text.mean())
    steps = math.ceil(trained / train.batch_size)
    per_epoch = pace.seconds(steps, trained * words) + pace.validation * validated
    # A step of `fit_unk` has the texts of one of a batch's `accumulate` parts.
    unk = pace.seconds(train.unk_steps, train.unk_steps * train.batch_size * words)
    return Estimate(
        texts=sample.total,
        exact=sample.exact,
        classes=sample.classes,
        words=_spread(whole.words_per_text),
        vocabulary=size,
        parameters=_count(network.parameters()),
        checkpoint_bytes=_checkpoint_bytes(network) + loaded.vector_words_bytes,
        peak_bytes=_peak_bytes(network, pace, encoded.words_per_text, train, validated),
        seconds_per_epoch=per_epoch,
        seconds=per_epoch * train.epochs + unk / train.accumulate,
        vector_seconds=_vector_seconds(corpus, vocabulary, dim, train) * trained,
        suggestion=_suggest(sample, model.language),
        coverage=coverage,
    )


def suggest_settings(source: Source, language: str = "en", seconds: float = 2.0) -> Recipe:
    """The recipe for a sample of the texts, read for at most `seconds`.

    It is that of the training if all texts were read; else it may differ a little.

    Raises:
        DataError: A file cannot be read, or there is no text.
    """
    return _suggest(draw_sample(source, _SAMPLE_TEXTS, seconds), language)


def measure_pace(network: ICapsNet, corpus: Corpus, train: TrainConfig, texts: int) -> Pace:
    """Measures training steps on batches drawn from a corpus.

    It changes the network and torch's random state.

    Args:
        network: A network of the real size, on its device.
        corpus: A sample of the training texts, at least one.
        train: Settings.
        texts: Number of training texts.
    """
    random = np.random.default_rng(train.seed)

    def draw() -> Corpus:
        return corpus.select(random.integers(len(corpus), size=min(train.batch_size, texts)))

    network.train()
    stored = _stored_bytes(network, draw())
    optimizer = AveragedAdam(network, train, -(-texts // train.batch_size))
    words: list[int] = []
    times: list[float] = []
    end = time.perf_counter() + _STEP_SECONDS
    while len(times) < _MIN_STEPS or time.perf_counter() < end:
        batch, started = draw(), time.perf_counter()
        backward(network, batch, train)
        optimizer.step()
        times.append(time.perf_counter() - started)
        words.append(len(batch.tokens().ids))
    # Non-negative least squares, as a line through few points might have a negative coefficient.
    rows = np.stack([np.ones(len(words) - 1), words[1:]], axis=1)
    step, word = nnls(rows, np.array(times[1:]))[0].tolist()
    batch, started = draw(), time.perf_counter()
    validate(network.eval(), batch)
    return Pace(step, word, (time.perf_counter() - started) / len(batch), stored)


def _stored_bytes(network: ICapsNet, batch: Corpus) -> float:
    """Bytes per word that the forward pass stores for the gradient, without the weights."""
    own = {values.untyped_storage().data_ptr() for values in network.state_dict().values()}
    stored: dict[int, int] = {}

    def note(values: Tensor) -> Tensor:
        storage = values.untyped_storage()
        stored[storage.data_ptr()] = storage.nbytes()
        return values

    tokens = batch.tokens()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda values: values):
        activity = network(tokens)
    del activity
    total = sum(size for address, size in stored.items() if address not in own)
    return total / max(len(tokens.ids), 1)


def expected_words(counts: NDArray[np.int64], growth: float, min_frequency: int) -> int:
    """Extrapolates the vocabulary size of a corpus from word counts in a sample.

    If frequencies of words followed Zipf's power law, a corpus would have as many words more than F
    times as a part of 1 / g of it has more than F / g times, as long as F / g is at least 1. Beyond
    that they grow by a power of the number of texts (Heaps 1978), which falls from one doubling to
    the next as it does from a quarter to a half and to the whole of the sample. On English texts, a
    sample of 500 predicts the words of 42,000 texts within a fifth if F is at least 1, and within
    40% if it is 0.

    Args:
        counts: (words,), how often each occurs in the sample.
        growth: g, the number of texts of the corpus over that of the sample.
        min_frequency: F.
    """
    if growth <= 1:
        return round(_in_part(counts, growth, min_frequency))
    least = min(min_frequency, 1)
    if min_frequency / growth >= 1:
        return round(_above(counts, min_frequency / growth))
    whole, half, quarter = (_in_part(counts, share, least) for share in (1, 0.5, 0.25))
    if half <= quarter:  # there is no word, or all are there
        return round(whole)
    power = math.log2(whole / half)
    fall = min(power / math.log2(half / quarter), _MAX_FALL)
    doublings = math.log2(growth / max(min_frequency, 1))
    times: float = 2.0 ** (power * fall * (1 - fall**doublings) / (1 - fall))
    return round(whole * times)


def _in_part(counts: NDArray[np.int64], share: float, least: int) -> float:
    """The expected number of words with more than `least` occurrences in a share of the texts."""
    return float(binom.sf(least, counts, share).sum())


def _above(counts: NDArray[np.int64], least: float) -> float:
    """The number of counts above `least`, interpolated linearly between integers."""
    whole = int(least)
    below, next_ = (float((counts > n).sum()) for n in (whole, whole + 1))
    return below + (next_ - below) * (least - whole)


def _count_words(sample: Sample, training: int, min_frequency: int) -> tuple[Vocabulary, int]:
    """All words of the sample, and the estimated size of the vocabulary of the corpus."""
    counted = _by_length(sample.texts, _COUNTED)
    seen = Vocabulary.build((sample.texts[n] for n in counted), 0)
    size = 2 + expected_words(
        np.array(seen.counts[2:], np.int64), training / len(counted), min_frequency
    )
    return seen, size


def _by_length(texts: Sequence[str], characters: int) -> NDArray[np.int64]:
    """Positions, sorted, of texts with about this number of characters in total.

    They are evenly spaced in the order of lengths, so that few texts represent all lengths: in a
    random sample, the total would depend mostly on a few long texts.
    """
    sizes = np.array([len(text) for text in texts])
    number = math.ceil(len(texts) * min(1.0, characters / max(int(sizes.sum()), 1)))
    spaced = (np.arange(number) + 0.5) * (len(texts) / number)
    return np.sort(sizes.argsort(kind="stable")[spaced.astype(np.int64)])


def _spread(values: NDArray[np.int64]) -> Spread:
    most = np.quantile(values, 0.95, method="inverted_cdf")
    return Spread(float(values.mean()), float(np.median(values)), float(most))


def _suggest(sample: Sample, language: str) -> Recipe:
    facts = measure(
        sample.spaced,
        texts=sample.total,
        classes=len(sample.classes),
        largest_class=max(sample.counts, default=0) / sample.read,
        language=language,
        multilabel=is_multilabel(sample.distinct),
    )
    return choose(facts)


def _vector_words(loaded: LoadedVectors, vocabulary: Vocabulary) -> int:
    """The number of words that are read by their vectors alone."""
    return min(loaded.max_vector_words, len(set(loaded.words) - set(vocabulary.words)))


def _vector_seconds(corpus: Corpus, vocabulary: Vocabulary, dim: int, train: TrainConfig) -> float:
    """Seconds per text of training vectors, measured on a few texts; 0 if `dim` is 0."""
    if not dim:
        return 0.0
    sample = KnownWords(corpus.select(np.arange(min(len(corpus), _VECTOR_TEXTS))), vocabulary)
    train_vectors([["word"]], dim, seed=train.seed)  # imports gensim, which should not be timed
    started = time.perf_counter()
    train_vectors(sample, dim, seed=train.seed, epochs=train.vector_epochs)
    return (time.perf_counter() - started) / len(sample.corpus)


def _count(tensors: Iterable[Tensor]) -> int:
    return sum(values.numel() for values in tensors)


def _checkpoint_bytes(network: ICapsNet) -> int:
    """Four bytes per weight, one per frozen number, and about twelve per word of the vocabulary.

    Without the vectors of vector words, which may share them.
    """
    words = len(network.fixed_embedding) + len(network.vector_words)
    return 4 * _count(network.parameters()) + network.fixed_embedding.numel() + 12 * words


def _peak_bytes(
    network: ICapsNet, pace: Pace, lengths: NDArray[np.int64], train: TrainConfig, held_out: int
) -> int:
    """Libraries, weights, and the larger of the longest step and the longest validation batch.

    Each weight has a gradient, an average, a best value and two moments of Adam; the frozen numbers
    are stored twice.
    """
    random = np.random.default_rng(train.seed)

    def longest(texts: int) -> int:
        return int(random.choice(lengths, (100, texts)).sum(1).max())

    weights = 6 * 4 * _count(network.parameters()) + 2 * 4 * network.fixed_embedding.numel()
    weights += 2 * network.vector_words.numel()
    step = _STEP_SHARE * longest(-(-train.batch_size // train.accumulate))
    validated = _VALIDATION_SHARE * longest(min(held_out, VALIDATION_BATCH))
    return round(_LIBRARIES + weights + pace.stored * max(step, validated))
