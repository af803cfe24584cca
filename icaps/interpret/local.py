"""Local explanation: the K-grams behind the class of a text, with their weights (section 2.6).

`find_reasons` returns the K-grams of many texts as columns; `explain` an `Explanation` per text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.explanation_parts import (
    Account,
    CapsuleReason,
    KGram,
    SentenceWeight,
    WordShare,
    capsule_label,
)
from icaps.inference import Reading, most_probable
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import KGramWindows, Numbers, Weights, select_kgrams
from icaps.model import ICapsNet
from icaps.results import Explanation
from icaps.text.batch import UNK, TokenBatch, ranges

_Item = TypeVar("_Item")


class KGrams(NamedTuple):
    """The K-grams of a batch as columns (n,), text after text; a `KGram` is one row.

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


@dataclass(frozen=True, eq=False)
class Reasons:
    """The reasons for and against the target class of B texts with T words.

    Attributes:
        batch: The texts, unchanged, as words.
        account: The split of the class norms over the words.
        blank: (B,), whether none of a text's words is in the vocabulary.
        norms: (B, J), 0 for a blank text.
        predicted, targets: (B,), class numbers; `predicted` is the most probable class.
        routing: (B, I), beta_ij for the target.
        windows: The K-grams by words.
        kgrams: The same by characters, with their weights.
        predicted_sets: (B, J), whether each class is predicted, which several may be or none; None
            with one label per text.
    """

    batch: Reading
    account: BatchAccount
    norms: Weights
    predicted: Numbers
    targets: Numbers
    routing: Weights
    windows: KGramWindows
    kgrams: KGrams
    predicted_sets: NDArray[np.bool_] | None = None

    @property
    def texts(self) -> Sequence[str]:
        """The texts as they were given."""
        return self.batch.texts

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Whether none of a text's words is in the vocabulary (B,)."""
        return self.batch.blank

    @cached_property
    def word_shares(self) -> Weights:
        """What each word adds to the norm of the target (T,); `batch.tokens` has the words."""
        return self.account.word_shares(self.targets)

    @cached_property
    def biases(self) -> Weights:
        """What is added to the norm of the target whatever the words are (B,)."""
        return self.account.biases(self.targets)

    @cached_property
    def kgram_shares(self) -> Weights:
        """The sum of the shares of the words of each K-gram (n,)."""
        totals = np.concatenate([[0.0], self.word_shares.cumsum(dtype=float)])
        shares: Weights = totals[self.windows.last] - totals[self.windows.first]
        return shares

    @cached_property
    def covered(self) -> Weights:
        """The sum of the shares of the words in K-grams, relative to the norm (B,)."""
        count = self.windows.count_per_word(len(self.word_shares))
        shaded = np.concatenate([[0.0], (self.word_shares * (count > 0)).cumsum(dtype=float)])
        offsets = self.batch.tokens.word_offsets
        sums = shaded[offsets[1:]] - shaded[offsets[:-1]]
        scores = self.norms[np.arange(len(self.norms)), self.targets]
        covered: Weights = np.divide(sums, scores, out=np.zeros_like(sums), where=scores > 0)
        return covered

    def largest_words(self, shares: Weights, count: int) -> tuple[Numbers, Numbers]:
        """The words of each text whose shares are largest, for or against, the largest first.

        Args:
            shares: (T,), such as `word_shares`.
            count: Number of words per text at most.

        Returns:
            Numbers (n,) of texts in the batch, in order, and of words among all words of the batch.
        """
        tokens = self.batch.tokens
        text = np.repeat(np.arange(len(self.texts)), tokens.words_per_text)
        order = np.lexsort((-np.abs(shares), text))
        rank = np.arange(len(order)) - tokens.word_offsets[text]
        return text[rank < count], order[rank < count]

    def spell(self) -> list[str]:
        """The K-grams as strings, in the order of `kgrams`."""
        text, start, end = (column.tolist() for column in self.kgrams[:3])
        return [self.texts[n][a:b] for n, a, b in zip(text, start, end, strict=True)]


def find_reasons(
    network: ICapsNet, batch: Reading, classes: Sequence[str], options: ExplainOptions
) -> Reasons:
    """The K-grams that explain each text that is not blank, as columns.

    Args:
        network: The one that read the texts.
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        options: What to explain, and how much of it.
    """
    activity, tokens = batch.activity, batch.tokens
    norms = activity.class_norms.numpy()  # (B, J)
    predicted = most_probable(network, norms)  # (B,)
    targets = predicted
    if options.target is not None:
        targets = np.full_like(predicted, classes.index(options.target))
    account = BatchAccount(network, batch)
    routing, contribution = account.weights(targets)  # (B, I) both
    windows = select_kgrams(account, targets, options)
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
    sets = None if network.thresholds is None else network.thresholds.predicted(norms)
    return Reasons(batch, account, norms, predicted, targets, routing, windows, kgrams, sets)


def explain(
    network: ICapsNet,
    batch: Reading,
    classes: tuple[str, ...],
    options: ExplainOptions,
    *,
    probabilities: NDArray[np.float64],
    names: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[Explanation]:
    """The explanation of each text.

    Args:
        network: The one that read the texts.
        batch: The texts and what the network shows of them.
        classes: Names of the classes; `options.target` is one of them, or None.
        options: What to explain, and how much of it.
        probabilities: (B, J), of the norms.
        names: The users' names of capsules, and automatic labels of others, by number.
    """
    reasons = find_reasons(network, batch, classes, options)
    tokens, texts = batch.tokens, len(batch)
    assert tokens.truncated is not None
    text, capsule = _each_once(reasons.windows)
    capsule_numbers = range(network.config.num_capsules)
    labels = tuple(capsule_label(i, names.get(i, "")) for i in capsule_numbers)

    kgrams = _split(_kgrams(reasons, names), np.bincount(reasons.windows.text, minlength=texts))
    counts = _split(reasons.windows.count_per_word(len(tokens.ids)).tolist(), tokens.words_per_text)
    capsules = _split(_capsules(reasons, text, capsule, names), np.bincount(text, minlength=texts))
    sentences: Iterable[tuple[SentenceWeight, ...]] = [()] * texts
    if network.config.hierarchical:
        weights = _sentences(reasons, text, capsule)
        sentences = _split(weights, tokens.sentences_per_text)
    predicted, targets = reasons.predicted.tolist(), reasons.targets.tolist()
    norms, rows = reasons.norms.tolist(), probabilities.tolist()
    unknown, truncated = tokens.unknown_share.tolist(), tokens.truncated.tolist()
    blank, thresholds = reasons.blank.tolist(), network.thresholds
    columns = zip(kgrams, counts, sentences, capsules, reasons.account.texts(), strict=True)
    for n, (text_kgrams, text_counts, text_sentences, text_capsules, account) in enumerate(columns):
        scores, target = norms[n], targets[n]
        by_class = Account(account.by_class(), account.bias.sum(1))
        by_capsule = Account(account.by_capsule(target), account.bias[target])
        counted = None if account.counts is None else account.counts[:, target]
        words = _words(batch.tokens[n], text_counts, by_class.shares[:, target], counted)
        rival, sets = max(scores[:target] + scores[target + 1 :]), None
        if thresholds is not None and reasons.predicted_sets is not None:
            rival = float(thresholds.norms[target])
            order = np.argsort(-probabilities[n], kind="stable")
            sets = tuple(classes[j] for j in order if reasons.predicted_sets[n, j])
        yield Explanation(
            text=batch.texts[n],
            classes=classes,
            predicted=classes[predicted[n]],
            target=classes[target],
            scores=tuple(scores),
            probabilities=tuple(rows[n]),
            margin=scores[target] - rival,
            kernel_size=network.config.kernel_size,
            kgrams=text_kgrams,
            words=words,
            sentences=text_sentences,
            capsules=text_capsules,
            unknown_share=unknown[n],
            truncated=truncated[n],
            blank=blank[n],
            ranking=options.ranking,
            account=by_class,
            capsule_account=by_capsule,
            by_region=network.config.activation != "none",
            capsule_labels=labels,
            predicted_classes=sets,
            thresholds=() if thresholds is None else tuple(thresholds.thresholds.tolist()),
        )


def _each_once(windows: KGramWindows) -> tuple[Numbers, Numbers]:
    """Text and capsule (n,) of K-grams, each capsule of a text once, in their order."""
    pairs = np.stack([windows.text, windows.capsule])
    _, first = np.unique(pairs, axis=1, return_index=True)
    text, capsule = pairs[:, np.sort(first)]
    return text, capsule


def _split(items: Iterable[_Item], sizes: Numbers) -> Iterator[tuple[_Item, ...]]:
    """Splits an iterable into consecutive groups of these sizes (groups,), one in memory."""
    iterator = iter(items)
    return (tuple(islice(iterator, size)) for size in sizes.tolist())


def _kgrams(reasons: Reasons, names: Mapping[int, str]) -> Iterator[KGram]:
    columns = (column.tolist() for column in (*reasons.kgrams, reasons.kgram_shares))
    for text, start, end, capsule, routing, alpha, sentence, rho, contribution, share in zip(
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
            share=share,
        )


def _words(
    tokens: TokenBatch,
    counts: Sequence[int],
    shares: Weights,
    counted: NDArray[np.bool_] | None,
) -> tuple[WordShare, ...]:
    """The words of one text: the K-grams over each, what it adds, and whether it counts."""
    assert tokens.spans is not None
    columns = [*tokens.spans.T.tolist(), counts, shares.tolist(), (tokens.ids != UNK).tolist()]
    if counted is not None:
        columns.append((~counted).tolist())
    return tuple(map(WordShare, *columns))


def _capsules(
    reasons: Reasons, text: Numbers, capsule: Numbers, names: Mapping[int, str]
) -> Iterator[CapsuleReason]:
    """Capsules (n,) of texts (n,) with all their weights, beta, alpha and rho, and their shares."""
    activity, tokens = reasons.batch.activity, reasons.batch.tokens
    routing = activity.routing.numpy()[text, capsule].tolist()  # (n, J)
    alpha = _column(activity.attention.numpy(), tokens.words_per_text, text, capsule)
    rho = _column(activity.sentence_attention.numpy(), tokens.sentences_per_text, text, capsule)
    shares = reasons.account.capsule_shares(reasons.targets)[text, capsule].tolist()
    for number, betas, alphas, rhos, share in zip(
        capsule.tolist(), routing, alpha, rho, shares, strict=True
    ):
        yield CapsuleReason(number, tuple(betas), alphas, rhos, names.get(number, ""), share)


def _column(
    weights: Weights, sizes: Numbers, text: Numbers, capsule: Numbers
) -> Iterator[tuple[float, ...]]:
    """The attention (rows, I) of each text and capsule (n,) as a tuple.

    `sizes` (B,) is the number of rows of each text.
    """
    rows = ranges((sizes.cumsum() - sizes)[text], sizes[text])
    values = weights[rows, np.repeat(capsule, sizes[text])]
    return _split(values.tolist(), sizes[text])


def _sentences(reasons: Reasons, text: Numbers, capsule: Numbers) -> Iterator[SentenceWeight]:
    """Each sentence with its share, and the mean of its rho over the capsules (n,) by beta_ij."""
    batch, tokens, spans = reasons.batch, reasons.batch.tokens, reasons.batch.tokens.spans
    assert spans is not None
    beta = np.zeros_like(reasons.routing)  # (B, I)
    beta[text, capsule] = reasons.routing[text, capsule]
    shares = np.divide(beta, beta.sum(1, keepdims=True), out=beta, where=beta > 0)
    text_of_sentence = np.repeat(np.arange(len(batch)), tokens.sentences_per_text)
    rho = batch.activity.sentence_attention.numpy()  # (sentences, I)
    weights = (rho * shares[text_of_sentence]).sum(1)  # (sentences,)
    ends = tokens.words_per_sentence.cumsum()
    starts = ends - tokens.words_per_sentence
    totals = np.concatenate([[0.0], reasons.word_shares.cumsum(dtype=float)])
    columns = (spans[starts, 0], spans[ends - 1, 1], weights, totals[ends] - totals[starts])
    return map(SentenceWeight, *(column.tolist() for column in columns))
