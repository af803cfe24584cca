"""The K-grams that explain texts: by routing and attention (section 2.6), or by the account.

All texts of a batch at once. Ties go to the lower capsule, then to the earlier position.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ACCOUNT, CONTRIBUTION, ExplainOptions
from icaps.inference import Reading
from icaps.interpret.account import BatchAccount
from icaps.text.batch import ranges

Numbers = NDArray[np.int64]
Weights = NDArray[np.floating[Any]]


class KGramWindows(NamedTuple):
    """The K-grams of a batch as columns (n,), text after text, by the positions of their words.

    Attributes:
        text: Number of the text, from 0.
        capsule: The primary capsule that attends to the K-gram.
        sentence: Number among all sentences of the batch.
        position: Number of the middle word among all words of the batch.
        first, last: The K-gram is the words from `first` to before `last`.
    """

    text: Numbers
    capsule: Numbers
    sentence: Numbers
    position: Numbers
    first: Numbers
    last: Numbers

    def count_per_word(self, words: int) -> Numbers:
        """Number of K-grams over each of the `words` words of the batch."""
        starts = np.bincount(self.first, minlength=words + 1)
        ends = np.bincount(self.last, minlength=words + 1)
        counts: Numbers = (starts - ends).cumsum()[:words]
        return counts


def select_kgrams(account: BatchAccount, targets: Numbers, options: ExplainOptions) -> KGramWindows:
    """The K-grams that explain each text of a batch that is not blank, by the ranking of `options`.

    Args:
        account: Of the batch.
        targets: (B,), the class to explain of each text.
        options: The ranking, and the numbers of capsules, sentences and K-grams.
    """
    if options.ranking == ACCOUNT:
        return kgrams_by_account(account, targets, options)
    kernel_size, counted = account.network.config.kernel_size, account.windows_count(targets)
    windows = top_kgrams(account.batch, *account.weights(targets), kernel_size, options, counted)
    if counted is None:
        return windows
    return KGramWindows(*(column[counted[windows.position]] for column in windows))


def top_kgrams(
    batch: Reading,
    routing: Weights,
    contribution: Weights,
    kernel_size: int,
    options: ExplainOptions,
    counted: NDArray[np.bool_] | None = None,
) -> KGramWindows:
    """The K-grams that explain each text that is not blank, by the paper's rule.

    The first capsules of the ranking are selected, in each the sentences with the largest rho, and
    in these the positions with the largest alpha. A K-gram is the window of K words that the
    convolution reads at such a position, clipped at the ends of the sentence.

    Args:
        batch: The texts and what the network shows of them.
        routing: (B, I), beta_ij for the class to explain; 0 for a capsule that is switched off,
            which has no K-gram.
        contribution: (B, I), what each capsule adds to that class.
        kernel_size: K.
        options: Numbers of capsules, sentences and K-grams, and the ranking of the capsules.
        counted: (T,), whether the window at each position has a word that counts for the class; the
            others come last. None if all have.
    """
    tokens, capsules = batch.tokens, routing.shape[1]
    alpha = batch.activity.attention.numpy()  # (words, I)
    if counted is not None:
        alpha = np.where(counted[:, None], alpha, alpha - 2)  # below all others
    rho = batch.activity.sentence_attention.numpy()  # (sentences, I)
    lengths = tokens.words_per_sentence
    sentence_end = lengths.cumsum()

    ranks = contribution if options.ranking == CONTRIBUTION else routing
    ranks = np.where(routing > 0, ranks, -inf)  # (B, I)
    known = np.flatnonzero(~batch.blank)
    place, text = largest_per_segment(
        ranks[known].ravel(), np.full(len(known), capsules), options.top_capsules
    )
    text, capsule = known[text], place % capsules  # (pairs,)

    first_sentence, sentences = tokens.sentence_offsets[text], tokens.sentences_per_text[text]
    sentence, pair = _top_rows(rho, capsule, first_sentence, sentences, options.top_sentences)
    text, capsule = text[pair], capsule[pair]

    start = sentence_end[sentence] - lengths[sentence]
    position, pair = _top_rows(alpha, capsule, start, lengths[sentence], options.top_kgrams)
    text, capsule, sentence = text[pair], capsule[pair], sentence[pair]

    first = position - (kernel_size - 1) // 2
    return KGramWindows(
        text=text,
        capsule=capsule,
        sentence=sentence,
        position=position,
        first=np.maximum(first, start[pair]),
        last=np.minimum(first + kernel_size, sentence_end[sentence]),
    )


def kgrams_by_account(
    account: BatchAccount, targets: Numbers, options: ExplainOptions
) -> KGramWindows:
    """The K-grams that add most to the class norm of each text that is not blank.

    One after another, that window is selected whose words add most, where words of the K-grams
    before it do not count again. Words at its ends that add less than a hundredth of the norm are
    left out. As many K-grams are selected as the numbers of `options` multiply to, or fewer: each
    adds something, and together they cover at most half of the text, or K words. The capsule of a
    K-gram is the one through which it adds most.

    Args:
        account: Of a batch.
        targets: (B,), the class to explain of each text.
        options: The numbers of capsules, sentences and K-grams.
    """
    tokens, kernel_size = account.batch.tokens, account.network.config.kernel_size
    shares = account.word_shares(targets)  # (T,)
    lengths = tokens.words_per_sentence
    ends = np.repeat(lengths.cumsum(), lengths)  # of each word's sentence
    position = np.arange(len(shares))
    first = position - (kernel_size - 1) // 2
    last = np.minimum(first + kernel_size, ends)
    first = np.maximum(first, ends - np.repeat(lengths, lengths))

    known = np.flatnonzero(~account.batch.blank)
    starts, words = tokens.word_offsets[known], tokens.words_per_text[known]
    places = ranges(starts, words)
    limit, covered = np.maximum(words // 2, kernel_size), np.zeros(len(shares), dtype=bool)
    norms = account.batch.activity.class_norms.numpy()[np.arange(len(targets)), targets]
    selected = []  # text, position, first and last of the K-grams of each rank
    for _ in range(options.top_capsules * options.top_kgrams * options.top_sentences):
        totals = np.concatenate([[0.0], np.where(covered, 0, shares).cumsum(dtype=float)])
        added = (totals[last] - totals[first])[places]
        place, number = largest_per_segment(np.where(added > 0, added, -inf), words, 1)
        middle = places[place]
        start, stop = _trim(first[middle], last[middle], shares, norms[known[number]] / 100)
        with_it = covered.copy()
        with_it[ranges(start, stop - start)] = True
        sizes = np.add.reduceat(with_it[places], words.cumsum() - words)[number]
        kept = (sizes <= limit[number]) & (stop > start)
        covered[ranges(start[kept], (stop - start)[kept])] = True
        selected.append(np.stack([known[number], middle, start, stop])[:, kept])
    text, middle, start, stop = np.concatenate(selected, axis=1)
    order = text.argsort(kind="stable")
    text, middle = text[order], middle[order]
    capsule = account.capsules_of(middle, targets[text])
    sentence = np.repeat(np.arange(len(lengths)), lengths)[middle]
    return KGramWindows(text, capsule, sentence, middle, start[order], stop[order])


def _trim(
    first: Numbers, last: Numbers, shares: Weights, least: Weights
) -> tuple[Numbers, Numbers]:
    """Windows (n,) without the words at their ends whose shares (T,) are less than `least` (n,)."""
    first, last = first.copy(), last.copy()
    for _ in range((last - first).max(initial=0)):
        first += (first < last) & (shares.take(first, mode="clip") < least)
        last -= (first < last) & (shares[last - 1] < least)
    return first, last


def largest_per_segment(values: Weights, lengths: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The positions of the largest values of each segment, and the segment of each.

    Within a segment the largest value comes first, and equal values in their order. For the small
    `count` of an explanation, one pass per value is faster than sorting.

    Args:
        values: The segments end to end; -inf is never selected.
        lengths: (segments,), none of them 0.
        count: Number of values per segment; all if there are fewer.
    """
    remaining, segment = values.copy(), np.repeat(np.arange(len(lengths)), lengths)
    starts = lengths.cumsum() - lengths
    top = np.full((len(lengths), min(count, lengths.max(initial=0))), -1)
    for column in top.T:
        largest = np.maximum.reduceat(remaining, starts)  # (segments,)
        equal = np.flatnonzero(remaining == largest[segment])
        position = equal[changes(segment[equal])]  # the first in each segment
        column[:] = np.where(largest > -inf, position, -1)
        remaining[position] = -inf
    exists = top >= 0
    return top[exists], exists.nonzero()[0]


def _top_rows(
    values: Weights, column: Numbers, starts: Numbers, lengths: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """The rows of the `count` largest values of each segment, and the segment of each.

    A segment is `lengths[n]` rows of `values` from `starts[n]` on, in the column `column[n]`.
    """
    if lengths.max(initial=0) <= 1:  # such as the sentences of texts that are not split
        return starts, np.arange(len(starts))
    rows = ranges(starts, lengths)
    flat = values.ravel().take(rows * values.shape[1] + np.repeat(column, lengths))
    place, segment = largest_per_segment(flat, lengths, count)
    return rows[place], segment


def changes(*columns: Numbers) -> NDArray[np.bool_]:
    """A mask (rows,) of the rows of columns that differ from the row before; the first one does."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = False
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new
