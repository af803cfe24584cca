"""A model's judgement of a data set, kept in the cache: made once for these files and weights.

evaluated/KEY/ready/facts.json   classes, rows that were left out
                    texts.arrow  the texts
                    labels.npy, norms.npy, words.npy, unknown.npy
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from icaps.data.cache import data_folder, make_ready, ready_folder
from icaps.data.fingerprint import home_of
from icaps.data.problems import Problem, Problems
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.evaluate.predictions import Predictions, predict_stream
from icaps.explore.texts import Texts, TextsWriter
from icaps.nn import distributed
from icaps.text.clean import replace_surrogates

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

_VERSION = 1
_FACTS, _TEXTS = "facts.json", "texts.arrow"
_COLUMNS = ("labels", "norms", "words", "unknown")


@dataclass(frozen=True)
class Evaluated:
    """A judgement with its texts, which are read where they lie, and the rows left out.

    Lone surrogates in texts are U+FFFD, as which a model reads them and a slice keeps them.

    `folder` is where it is kept; another judgement has another.
    """

    folder: Path
    predictions: Predictions
    texts: Texts
    problems: Problems


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated on what.

    Attributes:
        weights: The model's, by their fingerprint: `interpret.global_view.weights_fingerprint`.
        classes: Names of the model's classes, by number.
        place: A file or a folder, as `icaps.data.names.resolve` gives it.
        part: Of a folder: "test" or "train".
        reading: Options of `open_source`.
        muted: Numbers of primary capsules that are switched off.
    """

    weights: str
    classes: Sequence[str]
    place: Path
    part: str
    reading: Mapping[str, Any]
    muted: Sequence[int] = ()

    def home(self) -> Path:
        """Where the judgement is kept; other texts or weights have another place.

        Raises:
            DataError: There is no data at `place`.
        """
        told = [
            _VERSION,
            home_of(self.place, self.reading).name,
            self.part if self.place.is_dir() else "",
            self.reading.get("on_bad_rows") == "skip",
            self.weights,
            list(self.classes),
            sorted(self.muted),
        ]
        key = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]
        return data_folder() / "evaluated" / key


def evaluate_kept(
    classifier: ICapsClassifier,
    evaluation: Evaluation,
    on_texts: Callable[[int], None] = lambda _: None,
) -> Evaluated:
    """The judgement of a data set: as it is kept, or made and kept.

    Of several processes without `torchrun` one makes it, and the others wait. Under `torchrun` all
    make it together, whatever is kept, since their machines may have different caches.

    Args:
        classifier: That of the evaluation, with its capsules switched off.
        evaluation: What is evaluated on what.
        on_texts: See `predict_stream`.

    Raises:
        DataError: A file can't be read or is changed meanwhile, a label is none of the model's
            classes, or the cache can't be written.
    """
    home = evaluation.home()

    def fill(folder: Path) -> None:
        _fill(classifier, evaluation, folder, on_texts)
        if evaluation.home() != home:
            raise DataError(f"{evaluation.place} was changed while it was read; do this again.")

    if distributed.world() > 1:
        with tempfile.TemporaryDirectory() as scratch:
            fill(Path(scratch))
            make_ready(home, lambda folder: _copy(Path(scratch), folder))
    else:
        make_ready(home, fill)
    kept = load_evaluated(home, classifier.inverse_temperature_)
    assert kept is not None
    return kept


def load_evaluated(home: Path, inverse_temperature: float) -> Evaluated | None:
    """What `evaluate_kept` has kept in `home`, mapped from its files; None where there is nothing.

    Args:
        home: See `Evaluation.home`.
        inverse_temperature: The model's factor that makes norms probabilities.

    Raises:
        DataError: It is damaged.
    """
    ready = ready_folder(home)
    if ready is None:
        return None
    try:
        facts = json.loads((ready / _FACTS).read_text(encoding="utf-8"))
        columns = {n: np.load(ready / f"{n}.npy", mmap_mode="r") for n in _COLUMNS}
        texts = Texts(ready / _TEXTS)
        if {len(texts)} != {len(values) for values in columns.values()}:
            raise ValueError("its columns are not of one length")
        predictions = Predictions(
            tuple(facts["classes"]), **columns, inverse_temperature=inverse_temperature
        )
        problems = _problems(facts)
    except (OSError, EOFError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{ready} can't be read ({error}). Delete the folder {home}, so that it is made anew."
        ) from error
    return Evaluated(ready, predictions, texts, problems)


def _fill(
    classifier: ICapsClassifier,
    evaluation: Evaluation,
    folder: Path,
    on_texts: Callable[[int], None],
) -> None:
    source = open_source(evaluation.place, evaluation.part, **evaluation.reading)
    with TextsWriter(folder / _TEXTS) as texts:
        pairs = ((replace_surrogates(text), label) for text, label in source.pairs())
        made = predict_stream(classifier, pairs, texts.add, on_texts)
    for name in _COLUMNS:
        np.save(folder / f"{name}.npy", getattr(made, name))
    facts = {
        "classes": made.classes,
        "counts": source.problems.counts,
        "first": [
            dataclasses.asdict(problem)
            for problems in source.problems.first.values()
            for problem in problems
        ],
    }
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _problems(facts: Mapping[str, Any]) -> Problems:
    first: dict[str, list[Problem]] = {}
    for told in facts["first"]:
        first.setdefault(told["kind"], []).append(Problem(**told))
    return Problems(Counter(facts["counts"]), first)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True)
