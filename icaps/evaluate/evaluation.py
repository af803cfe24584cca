"""The evaluation of a capsule network on a data set, computed once and cached.

evaluated/KEY/ready/facts.json   the rows that were left out
                    texts.arrow  the texts
                    labels.bin, scores.bin, words.bin, unknown.bin
                    label_sets.bin, probabilities.bin, blank.bin   with several labels per text,
                                 in place of labels and scores
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.cache import Artifact, artifact_home
from icaps.data.fingerprint import fingerprint, fingerprint_files, recent_fingerprint
from icaps.data.problems import Problem, Problems
from icaps.data.sample import count_texts
from icaps.data.source import Source
from icaps.data.surrogates import replace_surrogates
from icaps.data.text_file import TextFile, TextFileWriter
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.evaluate.multilabel import MultilabelPredictions, predict_sets, read_sets, write_sets
from icaps.evaluate.predictions import (
    Predictions,
    predict_chunks,
    read_predictions,
    read_word_counts,
    write_predictions,
)
from icaps.nn import distributed
from icaps.train.checkpoint_files import TEXTS
from icaps.train.parts import HELD_OUT, open_part

if TYPE_CHECKING:
    from typing_extensions import Self

_VERSION = 2  # of the files
_FACTS, _TEXTS = "facts.json", "texts.arrow"


@dataclass(frozen=True)
class EvaluatedTexts:
    """The predictions for a data set, its texts, and the rows that were left out.

    Attributes:
        folder: The folder of its files, which no other evaluation has.
        predictions: The predictions for the texts, with their labels.
        words: (texts,), number of words of each whole text.
        unknown: (texts,), share of them that the vocabulary lacks; 0 without words.
        texts: Read from their file. Lone surrogates in them are U+FFFD, as the model reads them and
            as a saved slice stores them.
        problems: The rows that were left out.
        corrected: Number of texts whose label was replaced by a correction.
        labels: A name for the labels, if they are not those of the files in `folder`.
    """

    folder: Path
    predictions: Predictions | MultilabelPredictions
    words: NDArray[np.integer[Any]]
    unknown: NDArray[np.floating[Any]]
    texts: TextFile
    problems: Problems
    corrected: int = 0
    labels: str = ""

    @property
    def key(self) -> str:
        """A name that no evaluation with other texts, predictions or labels has."""
        return f"{self.folder} {self.labels}"

    def with_corrections(self, corrections: Mapping[int, str], name: str) -> Self:
        """The same predictions with corrected labels.

        Args:
            corrections: The labels of texts by their hashes, from `label_file.load_corrections`.
            name: A name for them, which other corrections do not have.

        Raises:
            DataError: A corrected label is none of the model's classes.
        """
        places, names = [], []
        for place, text in enumerate(self.texts):
            if (label := corrections.get(text_hash(text))) is not None:
                places.append(place)
                names.append(label)
        predictions = self.predictions.with_labels(places, names)
        changed = predictions.labels != self.predictions.labels
        return dataclasses.replace(
            self,
            predictions=predictions,
            corrected=self.corrected + int(changed.reshape(len(changed), -1).any(1).sum()),
            labels=name,
        )


@dataclass(frozen=True)
class Evaluation(EvaluatedTexts):
    """An evaluation with one label per text."""

    predictions: Predictions


@dataclass(frozen=True)
class MultilabelEvaluation(EvaluatedTexts):
    """An evaluation with several labels per text."""

    predictions: MultilabelPredictions


AnyEvaluation = Evaluation | MultilabelEvaluation


@dataclass(frozen=True)
class EvaluationData:
    """The texts of an evaluation.

    Attributes:
        place: A file or a folder, as `icaps.data.resolve.resolve` returns it.
        part: The part of a folder, such as "test" or "train".
        reading: Options of `open_source`.
        model: The folder of the model whose held-out texts are read, for the part HELD_OUT.
    """

    place: Path
    part: str
    reading: Mapping[str, Any]
    model: Path | None = None

    def fingerprint(self) -> str:
        """The fingerprint of the files; see `icaps.data.fingerprint`."""
        return self._with_hashes(fingerprint(self.place, (self._part,), self.reading))

    def recent_fingerprint(self) -> str:
        """The same for frequent calls; see `icaps.data.fingerprint`."""
        return self._with_hashes(recent_fingerprint(self.place, (self._part,), self.reading))

    def open(self) -> Source:
        """The texts; see `icaps.train.parts.open_part`."""
        return open_part(self.place, self.part, self.reading, self.model)

    @property
    def _part(self) -> str:
        """The part whose files are read."""
        return "train" if self.part == HELD_OUT else self.part

    def _with_hashes(self, files: str) -> str:
        """A fingerprint of the files, and of the hashes that select texts from them."""
        if self.part != HELD_OUT or self.model is None:
            return files
        return f"{files} {fingerprint_files([self.model / TEXTS])}"


def evaluation_artifact(
    classifier: ICapsClassifier, weights: str, data: EvaluationData
) -> Artifact[AnyEvaluation]:
    """The cache entry of an evaluation; its key has the texts, the weights and muted capsules.

    Args:
        classifier: The classifier, perhaps with capsules switched off.
        weights: Its fingerprint by `icaps.train.checkpoint_files.weights_fingerprint`.
        data: The texts.

    Raises:
        DataError: The data does not exist.
    """
    return _artifact(classifier, weights, data, data.recent_fingerprint())


def _artifact(
    classifier: ICapsClassifier, weights: str, data: EvaluationData, files: str
) -> Artifact[AnyEvaluation]:
    classes = [str(name) for name in classifier.classes_]

    def load(folder: Path) -> AnyEvaluation:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        texts = TextFile(folder / _TEXTS)
        words, unknown = read_word_counts(folder, len(texts))
        problems, corrected = _problems(facts), facts.get("corrected", 0)  # absent in older ones
        thresholds = classifier.thresholds_
        evaluation: AnyEvaluation
        if thresholds is not None:
            sets = read_sets(folder, classes, thresholds)
            evaluation = MultilabelEvaluation(
                folder, sets, words, unknown, texts, problems, corrected
            )
        else:
            factor = float(classifier.inverse_temperature_)
            predictions = read_predictions(folder, classes, factor)
            evaluation = Evaluation(folder, predictions, words, unknown, texts, problems, corrected)
        if len(texts) != len(evaluation.predictions.labels):
            raise ValueError("its columns are not of one length")
        return evaluation

    skips = data.reading.get("on_bad_rows") == "skip"
    muted = sorted(classifier.muted_)
    key: tuple[Any, ...] = (_VERSION, files, skips, weights, classes, muted)
    if (rule := classifier.network_.thresholds) is not None:  # the probabilities are stored
        key = (*key, rule.to_dict())
    return Artifact(artifact_home("evaluated", *key), load)


def evaluate_data(
    classifier: ICapsClassifier,
    weights: str,
    data: EvaluationData,
    on_texts: Callable[[int], None] = lambda _: None,
    on_total: Callable[[int], None] | None = None,
    home: Path | None = None,
) -> AnyEvaluation:
    """Evaluates a classifier on a data set, unless the evaluation is cached.

    Of several processes without `torchrun` one computes it, and the others wait. Under `torchrun`
    all compute it together, cached or not, as their machines may have different caches.

    Args:
        classifier, weights, data: See `evaluation_artifact`.
        on_texts: Called with the number of texts that all processes predicted since the last call.
        on_total: Called before with the number of texts, perhaps estimated; None saves the count.
        home: A folder that is used instead of the entry in the cache, which may be read-only.

    Raises:
        DataError: A file can't be read or is changed meanwhile, a label is none of the model's
            classes, or the cache can't be written.
    """
    before = data.fingerprint()
    artifact = _artifact(classifier, weights, data, before)
    artifact = artifact if home is None else dataclasses.replace(artifact, home=home)

    def fill(folder: Path) -> None:
        _predict(classifier, data, folder, on_texts, on_total)
        if data.fingerprint() != before:
            raise DataError(f"{data.place} was changed while it was read; try again.")

    if distributed.world_size() == 1:
        return artifact.make(fill)
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch))
        return artifact.make(lambda folder: _copy(Path(scratch), folder))


def _predict(
    classifier: ICapsClassifier,
    data: EvaluationData,
    folder: Path,
    on_texts: Callable[[int], None],
    on_total: Callable[[int], None] | None,
) -> None:
    source = data.open()
    if on_total is not None:
        on_total(count_texts(source))
    pairs = ((replace_surrogates(text), label) for text, label in source.pairs())
    with TextFileWriter(folder / _TEXTS) as writer:

        def write(texts: list[str]) -> None:
            for text in texts:
                writer.add(text)
            on_texts(len(texts))

        if classifier.multilabel_:
            sets = predict_sets(classifier, pairs, count_words=True)
            count = write_sets(sets, folder, write)
        else:
            chunks = predict_chunks(classifier, pairs, count_words=True)
            count = write_predictions(chunks, folder, write)
        if not count:
            raise DataError("There are no texts to score.")
    facts = {
        "corrected": source.corrected,
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
    for values in facts["first"]:
        first.setdefault(values["kind"], []).append(Problem(**values))
    return Problems(Counter(facts["counts"]), first)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True)
