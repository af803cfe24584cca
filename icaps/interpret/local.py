"""Local explanation: the K-grams that decide the class of a text, with their weights (section 2.6).

`find_reasons` returns the K-grams of many texts as columns; `explain` an `Explanation` per text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.inference import Reading, to_classes
from icaps.interpret.kgrams import KGramWindows, Numbers, Weights, changes, ranges, top_kgrams
from icaps.results import CapsuleReason, Explanation, KGram, SentenceWeight, WordCount

_Item = TypeVar("_Item")


class KGrams(NamedTuple):
    """The K-grams of a batch as columns (n,), text after text; `results.KGram` is one row.

    `text` is the number of the text in its batch, from 0; `start` and `end` are offsets in it, in
    code points.
    """

    text: Numbers
    start: Numbers
    end: Numbers
    capsule: Numbers
    routing: Weights
    attention: Weights
    sentence: Numbers
    sentence_attention: Weights
    contribution: Weights


class Reasons(NamedTuple):
    """The reasons for and against the target class of B texts.

    Attributes:
        texts: The texts, unchanged.
        blank: (B,), whether none of a text's words is in the vocabulary.
        norms: (B, J), 0 for a blank text.
        predicted, targets: (B,), class numbers.
        routing: (B, I), beta_ij for the target.
        windows: The K-grams by words.
        kgrams: The same by characters, with their weights.
    """

    texts: Sequence[str]
    blank: NDArray[np.bool_]
    norms: Weights
    predicted: Numbers
    targets: Numbers
    routing: Weights
    windows: KGramWindows
    kgrams: KGrams

    def spell(self) -> list[str]:
        """The K-grams as strings, in the order of `kgrams`."""
        text, start, end = (column.tolist() for column in self.kgrams[:3])
        return [self.texts[n][a:b] for n, a, b in zip(text, start, end, strict=True)]


def find_reasons(
    batch: Reading, classes: Sequence[str], kernel_size: int, options: ExplainOptions
) -> Reasons:
    """The K-grams that explain each text that is not blank, as columns.

    Args:
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        kernel_size: K.
        options: What to explain, and how much of it.
    """
    activity, tokens = batch.activity, batch.tokens
    norms = activity.class_norms.numpy()  # (B, J)
    predicted = norms.argmax(1)  # (B,)
    targets = predicted
    if options.target is not None:
        targets = np.full_like(predicted, classes.index(options.target))
    routing, contribution = to_classes(activity, np.arange(len(batch)), targets)  # (B, I) both
    windows = top_kgrams(batch, routing, contribution, kernel_size, options)
    text, capsule, sentence, position, first, last = windows
    assert tokens.spans is not None
    kgrams = KGrams(
        text=text,
        start=tokens.spans[first, 0],
        end=tokens.spans[last - 1, 1],
        capsule=capsule,
        routing=routing[text, capsule],
        attention=activity.attention.numpy()[position, capsule],
        sentence=sentence - tokens.sentence_offsets[text],
        sentence_attention=activity.sentence_attention.numpy()[sentence, capsule],
        contribution=contribution[text, capsule],
    )
    return Reasons(batch.texts, batch.blank, norms, predicted, targets, routing, windows, kgrams)


def explain(
    batch: Reading,
    classes: tuple[str, ...],
    kernel_size: int,
    options: ExplainOptions,
    *,
    probabilities: NDArray[np.float64],
    hierarchical: bool,
    names: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[Explanation]:
    """The explanation of each text.

    Args:
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        kernel_size: K.
        options: What to explain, and how much of it.
        probabilities: (B, J), of the norms.
        hierarchical: Whether texts are split into sentences.
        names: The user's names of capsules, by number.
    """
    reasons = find_reasons(batch, classes, kernel_size, options)
    tokens, texts = batch.tokens, len(batch)
    assert tokens.truncated is not None
    text, capsule = reasons.windows.text, reasons.windows.capsule
    is_new = changes(text, capsule)  # each capsule of a text once
    text, capsule = text[is_new], capsule[is_new]

    kgrams = _split(_kgrams(reasons, names), np.bincount(reasons.windows.text, minlength=texts))
    words = _split(_words(batch, reasons.windows), tokens.words_per_text)
    capsules = _split(_capsules(batch, text, capsule, names), np.bincount(text, minlength=texts))
    sentences: Iterable[tuple[SentenceWeight, ...]] = [()] * texts
    if hierarchical:
        weights = _sentences(batch, reasons.routing, text, capsule)
        sentences = _split(weights, tokens.sentences_per_text)
    predicted, targets = reasons.predicted.tolist(), reasons.targets.tolist()
    norms, rows = reasons.norms.tolist(), probabilities.tolist()
    unknown, truncated = tokens.unknown_share.tolist(), tokens.truncated.tolist()
    blank = reasons.blank.tolist()
    columns = zip(kgrams, words, sentences, capsules, strict=True)
    for n, (text_kgrams, text_words, text_sentences, text_capsules) in enumerate(columns):
        scores, target = norms[n], targets[n]
        yield Explanation(
            text=batch.texts[n],
            classes=classes,
            predicted=classes[predicted[n]],
            target=classes[target],
            scores=tuple(scores),
            probabilities=tuple(rows[n]),
            margin=scores[target] - max(scores[:target] + scores[target + 1 :]),
            kernel_size=kernel_size,
            kgrams=text_kgrams,
            words=text_words,
            sentences=text_sentences,
            capsules=text_capsules,
            unknown_share=unknown[n],
            truncated=truncated[n],
            blank=blank[n],
            ranking=options.ranking,
        )


def _split(items: Iterable[_Item], sizes: Numbers) -> Iterator[tuple[_Item, ...]]:
    """Splits an iterable into consecutive groups of these sizes (groups,), one in memory."""
    iterator = iter(items)
    return (tuple(islice(iterator, size)) for size in sizes.tolist())


def _kgrams(reasons: Reasons, names: Mapping[int, str]) -> Iterator[KGram]:
    columns = (column.tolist() for column in reasons.kgrams)
    for text, start, end, capsule, routing, alpha, sentence, rho, contribution in zip(
        *columns, strict=True
    ):
        yield KGram(
            text=reasons.texts[text][start:end],
            start=start,
            end=end,
            capsule=capsule,
            routing=routing,
            attention=alpha,
            sentence=sentence,
            sentence_attention=rho,
            capsule_name=names.get(capsule, ""),
            contribution=contribution,
        )


def _words(batch: Reading, windows: KGramWindows) -> Iterator[WordCount]:
    spans = batch.tokens.spans
    assert spans is not None
    counts = windows.count_per_word(len(spans))
    return map(WordCount, *spans.T.tolist(), counts.tolist())


def _capsules(
    batch: Reading, text: Numbers, capsule: Numbers, names: Mapping[int, str]
) -> Iterator[CapsuleReason]:
    """Capsules (n,) of texts (n,) with all their weights: beta, alpha and rho."""
    activity, tokens = batch.activity, batch.tokens
    routing = activity.routing.numpy()[text, capsule].tolist()  # (n, J)
    alpha = _column(activity.attention.numpy(), tokens.words_per_text, text, capsule)
    rho = _column(activity.sentence_attention.numpy(), tokens.sentences_per_text, text, capsule)
    for number, betas, alphas, rhos in zip(capsule.tolist(), routing, alpha, rho, strict=True):
        yield CapsuleReason(number, tuple(betas), alphas, rhos, names.get(number, ""))


def _column(
    weights: Weights, sizes: Numbers, text: Numbers, capsule: Numbers
) -> Iterator[tuple[float, ...]]:
    """The attention (rows, I) of each text and capsule (n,) as a tuple.

    `sizes` (B,) is the number of rows of each text.
    """
    rows = ranges((sizes.cumsum() - sizes)[text], sizes[text])
    values = weights[rows, np.repeat(capsule, sizes[text])]
    return _split(values.tolist(), sizes[text])


def _sentences(
    batch: Reading, routing: Weights, text: Numbers, capsule: Numbers
) -> Iterator[SentenceWeight]:
    """Each sentence with the mean of its rho over the capsules (n,), weighted by beta_ij."""
    tokens, spans = batch.tokens, batch.tokens.spans
    assert spans is not None
    beta = np.zeros_like(routing)  # (B, I)
    beta[text, capsule] = routing[text, capsule]
    shares = np.divide(beta, beta.sum(1, keepdims=True), out=beta, where=beta > 0)
    text_of_sentence = np.repeat(np.arange(len(batch)), tokens.sentences_per_text)
    rho = batch.activity.sentence_attention.numpy()  # (sentences, I)
    weights = (rho * shares[text_of_sentence]).sum(1)  # (sentences,)
    ends = tokens.words_per_sentence.cumsum()
    starts = ends - tokens.words_per_sentence
    columns = (spans[starts, 0], spans[ends - 1, 1], weights)
    return map(SentenceWeight, *(column.tolist() for column in columns))
