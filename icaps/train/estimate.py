"""What a training will take, measured before it starts on a sample of its texts."""

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
from scipy.stats import binom
from torch import Tensor

from icaps.config import ModelConfig, TrainConfig
from icaps.data.sample import Sample, draw_sample
from icaps.data.source import Source
from icaps.errors import DataError
from icaps.model import ICapsNet
from icaps.text.batch import TokenBatch
from icaps.text.fixed_part import TEXTS, Sources, listed
from icaps.text.sentences import encode
from icaps.text.vectors import load_vectors, train_vectors
from icaps.text.vocabulary import Vocabulary
from icaps.train.dataset import Corpus, KnownWords
from icaps.train.loop import VALIDATION_BATCH, choose_device
from icaps.train.pace import Pace, measure_pace
from icaps.train.precision import choose_precision
from icaps.train.recipe import Suggestion, suggest

_DRAWN = 20_000  # texts of the sample
_COUNTED, _ENCODED = 4_000_000, 800_000  # characters of them whose words are counted; encoded
# Measured on both networks, by the most memory that processes had.
_LIBRARIES = 520_000_000  # bytes of a process that trains next to nothing
_STEP_SHARE = 2.5  # what a step takes, in what its forward pass keeps for the gradient
_VALIDATED_SHARE = 0.7  # likewise, of a batch without gradients
_SLOWEST_FALL = 0.99  # of the power by which words grow, a doubling
_VECTOR_TEXTS = 250  # that vectors are trained on to see how long it takes
_WHOLE = ModelConfig(hierarchical=True, max_words=None)  # how texts are read to measure them


class Spread(NamedTuple):
    """Of some numbers the mean, the median and what 95% of them don't pass."""

    mean: float
    median: float
    most: float


@dataclass(frozen=True)
class Estimate:
    """What a training will take on this machine.

    Attributes:
        texts: How many there are, the held-out ones among them.
        exact: Whether all were read; else the number, the classes and the rest come from a part.
        classes: Names, sorted.
        words: Words a text, before it is cut.
        vocabulary: V, the words that are kept, `<pad>` and `<unk>` included.
        parameters: Numbers that are trained.
        checkpoint_bytes: Of the folder, about.
        peak_bytes: Memory of the process, about.
        seconds_per_epoch: With its validation.
        seconds: Of all epochs, if `patience` ends it no earlier, and of `unk_steps`.
        vector_seconds: Of the word vectors that are trained on the texts before the first epoch; 0
            for none. Reading the texts, which takes less, is in neither.
        suggestion: Settings that suit these texts.
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
    suggestion: Suggestion


def estimate(
    source: Source,
    model: ModelConfig,
    train: TrainConfig,
    vectors: Sources = None,
    seconds: float = 2.0,
) -> Estimate:
    """Reads for at most `seconds`, then takes real training steps for about one more.

    Before these the precision of products is measured, once for each size, in about half a second.

    The steps are those of a network of these very sizes on texts drawn from all that were read.
    Torch's random state stays as it was. Vectors from a file are loaded for their size alone, and
    those with a name are downloaded, as the training would.

    Raises:
        DataError: A file can't be read, there is no text, or all are of one class.
        VectorsError: The vectors can't be loaded.
    """
    sample = draw_sample(source, _DRAWN, seconds, train.seed)
    if len(sample.classes) < 2:
        raise DataError(f"All {sample.texts} texts have one class; a classifier needs two.")
    held_out = max(math.ceil(train.validation_share * sample.texts), len(sample.classes))
    training = max(1, sample.texts - held_out)
    vocabulary, size = _vocabulary(sample, training, train.min_frequency)
    places = _chosen(sample.drawn, _ENCODED)
    drawn = [sample.drawn[n] for n in places]
    whole = encode(vocabulary, drawn, dataclasses.replace(_WHOLE, language=model.language))
    dim = model.fixed_dim * listed(vectors).count(TEXTS)
    model = dataclasses.replace(model, fixed_dim=dim + _loaded_dim(vectors))
    encoded = encode(vocabulary, drawn, model)
    corpus = Corpus.from_tokens(encoded, [sample.labels[n] for n in places])
    with torch.random.fork_rng():
        torch.manual_seed(train.seed)
        network = ICapsNet(model, size, len(sample.classes)).to(choose_device())
        network.region.precision = choose_precision(train.product_precision, network).precision
        pace = measure_pace(network, corpus, train, training)
    words = float(encoded.words_per_text.mean())
    steps = math.ceil(training / train.batch_size)
    per_epoch = _steps(pace, steps, training * words) + pace.validated * held_out
    # A step for <unk> takes one of a batch's parts (and float32, which is left out of account).
    of_unk = _steps(pace, train.unk_steps, train.unk_steps * train.batch_size * words)
    return Estimate(
        sample.texts,
        sample.exact,
        sample.classes,
        _spread(whole.words_per_text),
        size,
        _numbers(network.parameters()),
        _checkpoint_bytes(network),
        _peak_bytes(network, pace, encoded.words_per_text, train, held_out),
        per_epoch,
        per_epoch * train.epochs + of_unk / train.accumulate,
        _vector_seconds(corpus, vocabulary, dim, train) * training,
        _suggest(whole, sample.texts),
    )


def suggest_settings(source: Source, language: str = "en", seconds: float = 2.0) -> Suggestion:
    """Settings that suit the texts, of which a sample is read for at most so many seconds.

    Raises:
        DataError: A file can't be read, or there is no text.
    """
    sample = draw_sample(source, _DRAWN, seconds)
    nothing = Vocabulary.build((), 0)  # lengths don't depend on which words are known
    drawn = [sample.drawn[n] for n in _chosen(sample.drawn, _ENCODED)]
    whole = encode(nothing, drawn, dataclasses.replace(_WHOLE, language=language))
    return _suggest(whole, sample.texts)


def expected_words(counts: NDArray[np.int64], growth: float, min_frequency: int) -> int:
    """How many words a corpus has more than F times, by how often a sample of it has each.

    Were frequencies of words Zipf's power law, those that a corpus has more than F times would be
    as many as those that a part of 1 / g of it has more than F / g times, while F / g is 1 or more.
    Beyond that they grow by a power of the number of texts (Heaps 1978), which falls from one
    doubling to the next as it does from the quarter to the half and to the whole of the sample. On
    English texts, 500 of them tell the words of 42,000 within a fifth where F is 1 or more, and
    within 40% where it is 0.

    Args:
        counts: (words,), how often the sample has each.
        growth: g, the texts of the corpus for one of the sample.
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
    fall = min(power / math.log2(half / quarter), _SLOWEST_FALL)
    doublings = math.log2(growth / max(min_frequency, 1))
    times: float = 2.0 ** (power * fall * (1 - fall**doublings) / (1 - fall))
    return round(whole * times)


def _in_part(counts: NDArray[np.int64], share: float, least: int) -> float:
    """How many words a share of the texts has more than `least` times, as can be expected."""
    return float(binom.sf(least, counts, share).sum())


def _above(counts: NDArray[np.int64], least: float) -> float:
    """How many counts are above `least`; between whole numbers, in a line."""
    whole = int(least)
    below, next_ = (float((counts > n).sum()) for n in (whole, whole + 1))
    return below + (next_ - below) * (least - whole)


def _vocabulary(sample: Sample, training: int, min_frequency: int) -> tuple[Vocabulary, int]:
    """The words that the sample tells of, and how many there will be."""
    counted = _chosen(sample.drawn, _COUNTED)
    seen = Vocabulary.build((sample.drawn[n] for n in counted), 0)
    size = 2 + expected_words(
        np.array(seen.counts[2:], np.int64), training / len(counted), min_frequency
    )
    return Vocabulary(seen.words[:size], seen.counts[:size]), size


def _chosen(texts: Sequence[str], characters: int) -> NDArray[np.int64]:
    """Places, rising, of texts of about so many characters in all.

    They are evenly spaced in the order of lengths, so that few texts have the lengths of all: at
    random, a few long ones would make most of the difference.
    """
    sizes = np.array([len(text) for text in texts])
    number = math.ceil(len(texts) * min(1.0, characters / max(int(sizes.sum()), 1)))
    spaced = (np.arange(number) + 0.5) * (len(texts) / number)
    return np.sort(sizes.argsort(kind="stable")[spaced.astype(np.int64)])


def _spread(values: NDArray[np.int64]) -> Spread:
    most = np.quantile(values, 0.95, method="inverted_cdf")
    return Spread(float(values.mean()), float(np.median(values)), float(most))


def _suggest(whole: TokenBatch, texts: int) -> Suggestion:
    lengths = whole.words_per_text
    return suggest(lengths, whole.sentences_per_text, whole.words_per_sentence, texts)


def _loaded_dim(vectors: Sources) -> int:
    return sum(load_vectors(name).vector_size for name in listed(vectors) if name != TEXTS)


def _vector_seconds(corpus: Corpus, vocabulary: Vocabulary, dim: int, train: TrainConfig) -> float:
    """Seconds a text, measured on some; 0 where `dim` is."""
    if not dim:
        return 0.0
    some = KnownWords(corpus.select(np.arange(min(len(corpus), _VECTOR_TEXTS))), vocabulary)
    train_vectors([["word"]], dim, seed=train.seed)  # imports gensim, which is not the texts' doing
    started = time.perf_counter()
    train_vectors(some, dim, seed=train.seed, epochs=train.vector_epochs)
    return (time.perf_counter() - started) / len(some.corpus)


def _steps(pace: Pace, steps: int, words: float) -> float:
    """Seconds of so many steps, of so many words in all."""
    return pace.step * steps + pace.word * words


def _numbers(tensors: Iterable[Tensor]) -> int:
    return sum(values.numel() for values in tensors)


def _checkpoint_bytes(network: ICapsNet) -> int:
    """Four bytes a weight, one a frozen number, and about a dozen for the line of a word."""
    words = len(network.fixed_embedding)
    return 4 * _numbers(network.parameters()) + network.fixed_embedding.numel() + 12 * words


def _peak_bytes(
    network: ICapsNet, pace: Pace, lengths: NDArray[np.int64], train: TrainConfig, held_out: int
) -> int:
    """Libraries, weights, and the larger of the longest step and the longest batch validated.

    Each weight has a gradient, an average, the best so far and two numbers of Adam; the frozen
    ones have a copy in the average.
    """
    random = np.random.default_rng(train.seed)

    def longest(texts: int) -> int:
        return int(random.choice(lengths, (100, texts)).sum(1).max())

    weights = 6 * 4 * _numbers(network.parameters()) + 2 * 4 * network.fixed_embedding.numel()
    step = _STEP_SHARE * longest(-(-train.batch_size // train.accumulate))
    validated = _VALIDATED_SHARE * longest(min(held_out, VALIDATION_BATCH))
    return round(_LIBRARIES + weights + pace.kept * max(step, validated))
