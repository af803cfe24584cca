"""The parts of an explanation: K-grams, words, sentences and capsules with their shares.

Offsets are code points of the text as it was given: `text[start:end]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icaps import html


@dataclass(frozen=True)
class KGram:
    """The K words around one position that a capsule attends to (section 2.6).

    Attributes:
        text, start, end: The K-gram, and its offsets in the text.
        capsule: Number of the primary capsule, from 0.
        routing: beta_ij of the capsule for the target class.
        attention: alpha^i_n of the position in the middle.
        sentence: Number of the sentence, from 0; 0 for a model that does not split texts.
        sentence_attention: rho^i_m of the sentence; 1 for a model that does not split texts.
        capsule_name: The name that a user gave the capsule, else its automatic label, such as
            "13 NASA scientists", or "".
        contribution: What the capsule adds to the target class, beta_ij (u_j|i . cc_j) / |cc_j|.
        share: What its words add to the norm of the target class, the sum of `WordShare.share`.
    """

    text: str
    start: int
    end: int
    capsule: int
    routing: float
    attention: float
    sentence: int = 0
    sentence_attention: float = 1.0
    capsule_name: str = ""
    contribution: float = 0.0
    share: float = 0.0

    @property
    def capsule_label(self) -> str:
        """What the capsule is called."""
        return capsule_label(self.capsule, self.capsule_name)

    @property
    def summary(self) -> str:
        """The K-gram with its share, its capsule and its weights in one line."""
        share = f" · {html.decimals(self.share, 3, sign=True)}" if self.share else ""
        weights = f"β {self.routing:.2f} · α {self.attention:.2f}"
        return f"“{self.text}”{share} · {self.capsule_label} · {weights}"


def capsule_label(capsule: int, name: str = "") -> str:
    """What a capsule is called: by its name, or without one by its number."""
    return name or f"capsule {capsule}"


class WordShare(NamedTuple):  # a tuple, because a text has many
    """A word of a text.

    Attributes:
        start, end: Its offsets.
        count: Number of the explanation's K-grams that cover it.
        share: What it adds to the norm of the target class (`interpret.account`); negative if it
            lowers the norm.
        known: Whether the model has a vector of its own for it.
        neutral: Whether an edit of the model leaves it out of the norm of the target class.
    """

    start: int
    end: int
    count: int  # type: ignore[assignment]  # hides tuple.count
    share: float = 0.0
    known: bool = True
    neutral: bool = False


@dataclass(frozen=True, eq=False)
class Account:
    """The exact split of scores over the W words of a text: of n classes, or over n capsules.

    Attributes:
        shares: (W, n), signed.
        bias: (n,), what is added whatever the words are. With the column's shares it adds up to the
            norm of the class, or to what the capsule adds to it.
    """

    shares: NDArray[np.floating[Any]]
    bias: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, shares: ArrayLike, bias: ArrayLike) -> Account:
        """An account from anything that numpy reads; (W, n) also if W is 0."""
        columns = np.asarray(bias, np.float32)
        return cls(np.asarray(shares, np.float32).reshape(-1, max(len(columns), 1)), columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Account) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("shares", "bias")
        )

    def __hash__(self) -> int:
        return hash((self.shares.tobytes(), self.bias.tobytes()))

    @property
    def totals(self) -> NDArray[np.float64]:
        """Shares and bias together (n,)."""
        totals: NDArray[np.float64] = self.shares.sum(0, dtype=float) + self.bias
        return totals


@dataclass(frozen=True)
class Contrast:
    """Why one class rather than another: the difference of their accounts.

    Attributes:
        target, other: The two classes.
        words: The words of the text; `share` is what a word adds to the norm of `target` beyond
            what it adds to that of `other`.
        bias: The difference of the biases.
        total: The difference of the norms: `bias` and all shares together.
    """

    target: str
    other: str
    words: tuple[WordShare, ...]
    bias: float
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return vars(self) | {"words": [word._asdict() for word in self.words]}


@dataclass(frozen=True)
class SentenceWeight:
    """A sentence's offsets, and its share of the attention of the explanation's capsules.

    `weight` is the mean of rho^i_m over these capsules, weighted by beta_ij; the weights of a text
    sum to 1. `share` is what its words add to the norm of the target class.
    """

    start: int
    end: int
    weight: float
    share: float = 0.0


@dataclass(frozen=True)
class CapsuleReason:
    """One of the primary capsules that are ranked first.

    Attributes:
        capsule: Its number, from 0.
        routing: beta_i1 to beta_iJ.
        attention: alpha^i_1 to alpha^i_N.
        sentence_attention: rho^i_1 to rho^i_M.
        name: The name that a user gave it, else its automatic label, such as "13 NASA scientists",
            or "".
        share: What it adds to the norm of the target class, its bias included.
    """

    capsule: int
    routing: tuple[float, ...]
    attention: tuple[float, ...]
    sentence_attention: tuple[float, ...] = (1.0,)
    name: str = ""
    share: float = 0.0

    @property
    def label(self) -> str:
        """What it is called."""
        return capsule_label(self.capsule, self.name)
