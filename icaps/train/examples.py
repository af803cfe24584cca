"""A few short texts of a model's data, which the page Explain offers to start from.

examples.json of a checkpoint: a list of objects with "title" and "text". The texts were not trained
on: they are of the test part, or were held out. Nothing here imports torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from icaps.data.label_sets import names_in
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import EXAMPLES

MOST = 6
LENGTH = 300  # characters of a text
_READ = 20_000  # texts, among which those of all classes are looked for


class Example(NamedTuple):
    """A text, and the title by which it is chosen: the name of its class."""

    title: str
    text: str


class LabelledText(Protocol):
    """A record with a text and the name of its class."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def label(self) -> str:
        """The name of its class."""


def choose_examples(records: Iterable[LabelledText], classes: Sequence[str]) -> list[Example]:
    """The first text of each class, of at most `MOST` classes, cut to `LENGTH` characters.

    Args:
        records: Labelled texts that the model was not trained on.
        classes: The classes of the model; the first of those that occur have an example.
    """
    found: dict[str, str] = {}
    for record in islice(records, _READ):
        new = [name for name in names_in(record.label) if name not in found]
        if not new or not record.text.strip():
            continue
        found[new[0]] = _cut(" ".join(record.text.split()))
        if len(found) == len(classes):
            break
    return [Example(name, found[name]) for name in classes if name in found][:MOST]


def save_examples(examples: Iterable[Example], folder: str | Path) -> None:
    """Writes the examples to the folder of a checkpoint.

    Raises:
        CheckpointError: They cannot be written.
    """
    content = [example._asdict() for example in examples]
    try:
        text = json.dumps(content, ensure_ascii=True, indent=1)
        (Path(folder) / EXAMPLES).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CheckpointError(f"The examples cannot be written to {folder}: {error}") from error


def load_examples(folder: str | Path) -> list[Example]:
    """The examples in the folder of a checkpoint; none if it has none, or no list of them.

    A title occurs once. The file may be edited by hand.
    """
    try:
        content = json.loads((Path(folder) / EXAMPLES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    examples: dict[str, Example] = {}
    for entry in content if isinstance(content, list) else []:
        match entry:
            case {"title": str(title), "text": str(text)} if title.strip() and text.strip():
                examples.setdefault(title, Example(title, text))
    return list(examples.values())


def _cut(text: str) -> str:
    """At most `LENGTH` characters, up to the end of a word."""
    if len(text) <= LENGTH:
        return text
    return text[: LENGTH + 1].rpartition(" ")[0] or text[:LENGTH]
