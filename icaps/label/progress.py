"""How far a labelling task is: counts of its texts and labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a task is.

    Attributes:
        texts: Number of all texts.
        labelled: Those with a label, of the held-out part as well.
        skipped: Those that were skipped.
        held_out, held_out_labelled: Texts of the held-out part, and those with a label.
        by_class: Labelled texts of each class, in the order of the classes.
        given: Labelled texts whose label is that of the data.
    """

    texts: int
    labelled: int
    skipped: int
    held_out: int
    held_out_labelled: int
    by_class: Mapping[str, int]
    given: int

    @property
    def left(self) -> int:
        """Texts that are neither labelled nor skipped."""
        return self.texts - self.labelled - self.skipped

    @property
    def training(self) -> int:
        """Labelled texts outside the held-out part."""
        return self.labelled - self.held_out_labelled

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = dataclasses.asdict(self)
        return {**plain, "left": self.left, "training": self.training}
