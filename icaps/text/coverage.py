"""How many of the words of some texts have a word vector, and what to do if few have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

# English texts of all kinds that were tried have over 0.93 of their words in the packaged table,
# texts in other European languages at most 0.65.
LOW_COVERAGE = 0.75
_EXAMPLES = 5  # words without a vector that a message shows


@dataclass(frozen=True)
class VectorCoverage:
    """The share of running words that have a vector. Numbers and punctuation are not counted.

    Attributes:
        sources: Names of the sources of the vectors.
        share: From 0 to 1; 0 if there is no word.
        missing: The most frequent words without a vector, at most five.
    """

    sources: str
    share: float
    missing: tuple[str, ...]

    @property
    def low(self) -> bool:
        """Whether it is so low that the vectors are probably of another language."""
        return self.share < LOW_COVERAGE and bool(self.missing)

    @property
    def summary(self) -> str:
        """What the coverage is, and a question if it is low, as sentences."""
        summary = f"{self.sources}: vectors for {self.share:.0%} of the running words."
        if not self.low:
            return summary
        return f"{summary} Words without one: {', '.join(self.missing)}. Is it English?"

    @property
    def advice(self) -> str:
        """The summary, and what to do on the command line if the coverage is low."""
        if not self.low:
            return self.summary
        return (
            f"{self.summary} For other languages give vectors of that language: --vectors FILE, "
            "such as one of fastText."
        )


def vector_coverage(
    counts: Mapping[str, int], tables: Iterable[Collection[str]], sources: str, unknown: int = 0
) -> VectorCoverage:
    """The coverage of texts by the words of some tables of vectors.

    A word has a vector as it is, in lower case or capitalised.

    Args:
        counts: Number of occurrences of each word.
        tables: For each source the words that have a vector; sets or mappings.
        sources: Their names, for messages.
        unknown: Number of occurrences of other words, none of which has a vector.
    """
    tables = list(tables)

    def known(word: str) -> bool:
        forms = (word, word.lower(), word.capitalize())
        return any(form in table for table in tables for form in forms)

    words = {word: count for word, count in counts.items() if word[:1].isalpha()}
    missing = {word: count for word, count in words.items() if not known(word)}
    total = sum(words.values()) + unknown
    share = 1 - (sum(missing.values()) + unknown) / total if total else 0.0
    frequent = sorted(missing, key=lambda word: (-missing[word], word))[:_EXAMPLES]
    return VectorCoverage(sources, share, tuple(frequent))
