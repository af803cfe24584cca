"""Leakage: how many of the texts that a model is scored on were in its training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from icaps.train.text_hashes import TextHashes, hash_texts, load_hashes

SERIOUS = 0.01  # share of the texts from which scores on them are not to be believed


@dataclass(frozen=True)
class Leak:
    """How many of some texts a model knows. Texts are compared without case and white space.

    Attributes:
        texts: Number of texts.
        training: How many of them its weights were fitted to.
        held_out: How many of them were held out of its training, by which its epoch was chosen.
    """

    texts: int
    training: int
    held_out: int

    @property
    def share(self) -> float:
        """The share of the texts that the weights were fitted to."""
        return self.training / self.texts if self.texts else 0.0

    @property
    def serious(self) -> bool:
        """Whether they are so many that a score on the texts says little."""
        return self.share >= SERIOUS

    def __str__(self) -> str:
        """The statement, with what to use instead."""
        advice = f" Use the held-out {self.held_out:,}." if self.serious and self.held_out else ""
        return self.statement + advice

    @property
    def statement(self) -> str:
        """What was counted, as a sentence; empty if no text was in the training."""
        if not self.training:
            return ""
        were = "was" if self.training == 1 else "were"
        told = (
            f"{self.training:,} of {self.texts:,} texts ({percent(self.share)}) {were} in this "
            "model's training"
        )
        return f"{told}; scores on them say little." if self.serious else f"{told}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the share and the sentence."""
        return {**asdict(self), "share": self.share, "warning": str(self)}


def measure_leak(hashes: TextHashes, texts: Iterable[str]) -> Leak:
    """Counts the texts that are in a training; each as often as it occurs."""
    hashed = hash_texts(texts)
    training, held_out = hashes.in_training(hashed), hashes.in_held_out(hashed)
    return Leak(len(hashed), int(training.sum()), int(held_out.sum()))


def seen_share(folder: str | Path, texts: Iterable[str]) -> Leak | None:
    """How many of the texts were in the training of the model or baseline in a folder.

    None if it was trained by an earlier iCaps, which stored no hashes.

    Raises:
        CheckpointError: The stored hashes are damaged.
    """
    hashes = load_hashes(folder)
    return None if hashes is None else measure_leak(hashes, texts)


def percent(share: float) -> str:
    """A share in percent, which is neither 0% nor 100% unless it is none or all."""
    if 0 < share < 0.001:
        return "under 0.1%"
    rounded = f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
    return "over 99%" if rounded == "100%" and share < 1 else rounded


def unfair_models(leaks: Mapping[str, Leak | None]) -> frozenset[str]:
    """The names of the classifiers that were trained on so many of the texts that it counts."""
    return frozenset(name for name, leak in leaks.items() if leak is not None and leak.serious)
