"""Everything that is kept between reruns and shared by sessions; no other module caches."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import limits
from dashboard.catalogue import ModelFolder
from dashboard.tasks import Task
from icaps.baselines.folder import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.comparison.answers import Answers, Texts, ask, num_weights, read_texts
from icaps.comparison.reasons import Shared, shared_predictions
from icaps.config import ModelConfig, TrainConfig
from icaps.data.names import resolve
from icaps.data.preview import Preview
from icaps.data.preview import preview as look_at
from icaps.data.sample import draw_sample
from icaps.data.source import open_source
from icaps.data.storage import ready_folder
from icaps.errors import DataError
from icaps.estimate import Estimate, suggest_settings
from icaps.estimate import estimate as measure
from icaps.evaluation.comparison import Comparison, compare
from icaps.evaluation.keeping import Evaluation, load_evaluated
from icaps.evaluation.report import EvaluationReport
from icaps.evaluation.slices import SliceScore
from icaps.evidence import faithfulness
from icaps.evidence.model_card import ModelCard, make_card, source_of
from icaps.evidence.naming import ModelName, model_name
from icaps.explore.index import Index, index_of, open_index
from icaps.explore.judging import Judged, judged_folder, load_judged
from icaps.explore.nearest import TrainingSample, load_sample, sample_home
from icaps.explore.query import Query
from icaps.explore.repeats import Repeats, repeats_of
from icaps.explore.slices import Slice
from icaps.explore.statistics import Coverage, vector_coverage
from icaps.explore.text_map import TextMap, map_texts, text_vectors
from icaps.interpret.answered import Answered, answer
from icaps.interpret.global_view import load_view, weights_fingerprint
from icaps.interpret.making import Text, texts_of
from icaps.interpret.queries import QueryMap, map_queries, query_vectors
from icaps.interpret.queries import pointed_words as words_at
from icaps.interpret.report import Report
from icaps.interpret.shortcuts import Finding
from icaps.interpret.shortcuts import find_shortcuts as look_for_shortcuts
from icaps.interpret.trial import flipping_set, try_reasons
from icaps.interpret.trial import scores_after as words_tried
from icaps.results import Explanation, Flip, Trial
from icaps.run_folder import BASELINE
from icaps.scorer import Scorer
from icaps.suggestion import Suggestion
from icaps.vectors import load_vectors

Rows = NDArray[np.int64]
_TASKS = 50  # commands whose end is remembered
_SHORTCUTS = 4  # models and data whose shortcuts are kept
_HOUR = 3600  # seconds that a visitor's text is kept
Stamp = tuple[tuple[str, int, int], ...]


class Settings(NamedTuple):
    """How to explain: the class, None for the predicted one, and how many of what."""

    target: str | None
    top_capsules: int
    top_kgrams: int
    top_sentences: int
    ranking: str = "routing"


def load(model: ModelFolder) -> ICapsClassifier:
    """The classifier of a folder, read once until the folder changes.

    Raises:
        CheckpointError: The folder is damaged.
    """
    return _load(str(model.path), model.stamp)


def explain(
    model: ModelFolder, text: str, settings: Settings, muted: tuple[int, ...] = ()
) -> Explanation:
    """Explains one text, with capsules switched off; the same question is answered from memory."""
    return _explain(str(model.path), model.stamp, text, settings, muted)


def trial(model: ModelFolder, explanation: Explanation) -> Trial | None:
    """The reason of a text tried against chance; None for a blank text."""
    return _trial(str(model.path), model.stamp, explanation)


def scores_after(
    model: ModelFolder, explanation: Explanation, words: Sequence[int], action: str
) -> tuple[float, ...]:
    """Class norms of a text when something is done to some of its words: see `interpret.trial`.

    Raises:
        NotAllowedError: The visitor asks too often.
    """
    limits.request()
    return words_tried(load(model), explanation, words, action)


def flip(model: ModelFolder, explanation: Explanation) -> Flip | None:
    """The smallest set of an explanation's K-grams without which another class wins."""
    return _flip(str(model.path), model.stamp, explanation)


def training_sample(
    model: ModelFolder, value: str, reading: Mapping[str, Any]
) -> TrainingSample | None:
    """The training texts as a model sees them; None where they were not looked through yet.

    Raises:
        DataError: The data isn't there, or the sample is damaged.
    """
    home = sample_home(_weights(str(model.path), model.stamp), resolve(value), reading)
    return load_sample(home)


def explain_many(
    model: ModelFolder, texts: Sequence[str], settings: Settings
) -> Iterator[Explanation]:
    """Explains texts one by one, without keeping the answers.

    Raises:
        NotAllowedError: The visitor asks too often.
    """
    limits.request()
    return load(model).explain(texts, **settings._asdict())


def report(model: ModelFolder) -> Report | None:
    """What a model has learnt; None where it was not interpreted yet.

    Raises:
        CheckpointError: What is there is damaged.
    """
    return _report(str(model.path), model.stamp)


def query_map(
    model: ModelFolder, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    """The queries of a model in the plane."""
    return _query_map(str(model.path), model.stamp, space, method, perplexity, seed)


def pointed_words(model: ModelFolder) -> list[list[tuple[str, float]]]:
    """Of each capsule the words that its query points to."""
    return _pointed_words(str(model.path), model.stamp)


def typical_texts(model: ModelFolder) -> dict[int, Text]:
    """The typical texts of all cells, by number.

    Raises:
        DataError: The data is not on this machine, or has changed.
    """
    return _typical_texts(str(model.path), model.stamp)


def preview(value: str, reading: Mapping[str, Any]) -> Preview:
    """A look at data that is on this machine, by path or name.

    Raises:
        DataError: It is no file of texts.
    """
    return _preview(value, _stamp(value), dict(reading))


def suggestion(value: str, reading: Mapping[str, Any]) -> Suggestion:
    """Settings that suit the texts.

    Raises:
        DataError: They can't be read.
    """
    return _suggestion(value, _stamp(value), dict(reading))


def estimate(
    value: str,
    reading: Mapping[str, Any],
    model: ModelConfig,
    train: TrainConfig,
    vectors: tuple[str, ...],
) -> Estimate:
    """What a training will take.

    Raises:
        DataError: The texts can't be read, or are of one class.
        VectorsError: The vectors can't be loaded.
    """
    return _estimate(value, _stamp(value), dict(reading), model, train, vectors)


def index(value: str, reading: Mapping[str, Any]) -> Index | None:
    """The index of data; None where it was not made yet.

    Raises:
        DataError: The data isn't there, or the index is damaged.
    """
    folder = index_of(resolve(value), reading)
    return None if folder is None else _index(str(folder))


@st.cache_resource
def tasks() -> dict[tuple[str, ...], Task]:
    """The commands that this server has started for its visitors, by their arguments."""
    return {}


def start_task(arguments: tuple[str, ...]) -> None:
    """Starts a command; of those that have ended the oldest are forgotten.

    Raises:
        NotAllowedError: Too many are at work.
        RunError: It can't be started.
    """
    known = tasks()
    limits.new_task(task.running for task in known.values())
    known[arguments] = Task(arguments)
    ended = [key for key, task in known.items() if not task.running and key != arguments]
    for key in ended[: max(len(known) - _TASKS, 0)]:
        del known[key]


def rows(data: Index, query: Query, among: str, mask: NDArray[np.bool_] | None) -> Rows:
    """Numbers of the rows that are found; `among` names the mask, and tells one from another."""
    return _rows(str(data.folder), query, among, mask)


def judged(data: Index, model: ModelFolder) -> Judged | None:
    """What a model says of each row; None where it was not asked yet.

    Raises:
        DataError: It is damaged.
    """
    folder = Path(_judged_folder(str(data.folder), str(model.path), model.stamp))
    found = load_judged(folder)
    if found is not None and len(found.predicted) != len(data):
        raise DataError(
            f"{folder} can't be read (it is of other rows). Delete the folder, so that it is made "
            "anew."
        )
    return found


def evaluated(
    model: ModelFolder, value: str, part: str, reading: Mapping[str, Any]
) -> EvaluationReport | None:
    """What a model says of labelled texts; None where it was not asked yet.

    Raises:
        CheckpointError: The model can't be read.
        DataError: The data isn't there, or the answer is damaged.
    """
    weights = _weights(str(model.path), model.stamp)
    classes = [str(name) for name in load(model).classes_]
    home = Evaluation(weights, classes, resolve(value), part, reading).home()
    return _evaluated(str(home), str(model.path), model.stamp) if ready_folder(home) else None


def named(model: ModelFolder) -> ModelName:
    """Which model it is, as files that are shared tell it."""
    return _named(str(model.path), model.stamp)


def card(
    model: ModelFolder, value: str, part: str, report: EvaluationReport, limit: int
) -> ModelCard:
    """The card of a model, evaluated on a part of data; reasons are measured on `limit` texts.

    Raises:
        CheckpointError: The model, or what it has learnt, can't be read.
        DataError: The model knows no word of the texts that reasons are measured on.
    """
    home = str(report.evaluated.folder)
    return _card(str(model.path), model.stamp, home, value, part, limit, report)


def saved_slices(report: EvaluationReport, kept: Sequence[Slice]) -> list[SliceScore]:
    """How a model does on the texts of saved slices."""
    stamp = _stamps(part.path for part in kept)
    return _saved_slices(str(report.evaluated.folder), stamp, report, kept)


def comparison(first: EvaluationReport, second: EvaluationReport) -> Comparison:
    """Two models on the same texts."""
    folders = str(first.evaluated.folder), str(second.evaluated.folder)
    return _comparison(folders, first, second)


def repeats(data: Index) -> Repeats | None:
    """What recurs in the data; None where nobody has looked."""
    return repeats_of(data)


def text_map(
    data: Index, model: ModelFolder, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    """Some rows in the plane, by the capsules that a model gives them."""
    return _text_map(str(data.folder), str(model.path), model.stamp, chosen, space, method)


class Sampled(NamedTuple):
    """Which texts of labelled data are asked: of a part of it, at most so many."""

    value: str
    reading: dict[str, Any]
    part: str
    limit: int


class Shortcuts(NamedTuple):
    """Texts with names of classes, what a model says of those it knows, and its shortcuts."""

    labelled: list[tuple[str, str]]
    texts: Answered
    found: list[Finding]


def shortcuts(data: Sampled, model: ModelFolder) -> Shortcuts | None:
    """The shortcuts of a model, on a random sample; None where they were not looked for."""
    return _shortcuts().get(_shortcut_key(data, model))


def find_shortcuts(
    data: Sampled, model: ModelFolder, on_measured: Callable[[int, int], None]
) -> Shortcuts:
    """Looks for the shortcuts of a model, and keeps them; see `shortcuts.find_shortcuts`.

    Raises:
        DataError: The texts can't be read, are of other classes, or have no word that it knows.
        NotAllowedError: The visitor asks too often.
    """
    limits.request()
    source = open_source(resolve(data.value), data.part, **data.reading)
    labelled = draw_sample(source, data.limit, math.inf).pairs()
    texts = answer(load(model), labelled)
    made = Shortcuts(labelled, texts, look_for_shortcuts(texts, on_measured=on_measured))
    kept = _shortcuts()
    kept[_shortcut_key(data, model)] = made
    for key in list(kept)[:-_SHORTCUTS]:
        del kept[key]
    return made


def sampled(data: Sampled, model: ModelFolder) -> Texts:
    """The texts, labelled by the classes of a model.

    Raises:
        DataError: They can't be read, or are of other classes.
    """
    return _sampled(data, _stamp(data.value), classes(model))


def classes(model: ModelFolder) -> tuple[str, ...]:
    """The classes of a model or a baseline."""
    return tuple(map(str, _scorer(str(model.path), model.stamp).classes_))


def answers(data: Sampled, model: ModelFolder, name: str, asked_by: ModelFolder) -> Answers:
    """What a model or a baseline, shown as `name`, says of `sampled(data, asked_by)`.

    Raises:
        DataError: It has other classes.
    """
    first = classes(asked_by)
    return _answers(data, _stamp(data.value), str(model.path), model.stamp, name, first)


def weights(model: ModelFolder) -> int:
    """How many numbers a model or a baseline holds."""
    return num_weights(_scorer(str(model.path), model.stamp))


def shared(data: Sampled, one: ModelFolder, other: ModelFolder, limit: int) -> list[Shared]:
    """Of the first `limit` of `sampled(data, one)` those that both predict alike."""
    folders = str(one.path), one.stamp, str(other.path), other.stamp
    return _shared(data, _stamp(data.value), classes(one), *folders, limit)


def coverage(data: Index, vectors: str) -> dict[str, Coverage]:
    """Of each split's words the shares that vectors have, by a path or a name of gensim-data.

    Raises:
        VectorsError: They can't be loaded.
    """
    return _coverage(str(data.folder), vectors)


@st.cache_resource
def _shortcuts() -> dict[str, Shortcuts]:
    """By hand, since a cached function can't move a bar on the page while it works."""
    return {}


def _shortcut_key(data: Sampled, model: ModelFolder) -> str:
    return repr((*data, _stamp(data.value), str(model.path), model.stamp))


def _stamp(value: str) -> Stamp:
    """Changes when the file does, or the folder or a file right in it; empty for a name."""
    path = Path(value)
    if not path.exists():
        return ()
    return _stamps((path, *(path.iterdir() if path.is_dir() else ())))


def _stamps(paths: Iterable[Path]) -> Stamp:
    states = [(path, path.stat()) for path in paths]
    return tuple(sorted((str(path), state.st_size, state.st_mtime_ns) for path, state in states))


@st.cache_resource(max_entries=4, show_spinner=False)
def _index(folder: str) -> Index:
    return open_index(Path(folder))


@st.cache_data(max_entries=12, show_spinner="Searching …")
def _rows(folder: str, query: Query, among: str, _mask: NDArray[np.bool_] | None) -> Rows:
    limits.request()
    return _index(folder).find(query, _mask)


@st.cache_data(max_entries=20, show_spinner=False)
def _judged_folder(folder: str, path: str, stamp: int) -> str:
    return str(judged_folder(Path(folder), Path(path)))


@st.cache_data(max_entries=20, show_spinner=False)
def _weights(path: str, stamp: int) -> str:
    return weights_fingerprint(path)


@st.cache_resource(max_entries=6, show_spinner=False)
def _evaluated(home: str, path: str, stamp: int) -> EvaluationReport:
    found = load_evaluated(Path(home), _load(path, stamp).inverse_temperature_)
    assert found is not None
    return EvaluationReport(found)


@st.cache_data(max_entries=20, show_spinner=False)
def _named(path: str, stamp: int) -> ModelName:
    return model_name(path)


@st.cache_resource(max_entries=6, show_spinner=False)
def _card(
    path: str,
    stamp: int,
    home: str,
    value: str,
    part: str,
    limit: int,
    _report_: EvaluationReport,
) -> ModelCard:
    classifier = _load(path, stamp)
    told = faithfulness.measured(classifier, _report_.evaluated, limit) if limit else None
    tested = source_of(value, resolve(value), part, _report_)
    return make_card(classifier, path, tested, _report(path, stamp), told)


@st.cache_data(max_entries=20, show_spinner="Looking for the texts of slices …")
def _saved_slices(
    folder: str, stamp: Stamp, _report: EvaluationReport, _kept: Sequence[Slice]
) -> list[SliceScore]:
    limits.request()
    return _report.saved_slices(_kept)


@st.cache_data(max_entries=20, show_spinner="Comparing …")
def _comparison(
    folders: tuple[str, str], _first: EvaluationReport, _second: EvaluationReport
) -> Comparison:
    limits.request()
    return compare(_first.predictions, _second.predictions)


@st.cache_data(max_entries=8, show_spinner="Drawing the texts …")
def _text_map(
    folder: str, path: str, stamp: int, chosen: tuple[int, ...], space: str, method: str
) -> TextMap:
    limits.request()
    texts = _index(folder).text(chosen)
    return map_texts(text_vectors(_load(path, stamp), texts, space), method)


@st.cache_data(max_entries=8, show_spinner="Loading the vectors …")
def _coverage(folder: str, vectors: str) -> dict[str, Coverage]:
    limits.request()
    return vector_coverage(_index(folder), set(load_vectors(vectors).key_to_index))


@st.cache_data(max_entries=20, show_spinner="Reading …")
def _preview(value: str, stamp: Stamp, reading: dict[str, Any]) -> Preview:
    limits.request()
    return look_at(resolve(value), reading)


@st.cache_data(max_entries=20, show_spinner="Measuring the texts …")
def _suggestion(value: str, stamp: Stamp, reading: dict[str, Any]) -> Suggestion:
    limits.request()
    return suggest_settings(open_source(resolve(value), "train", **reading), seconds=0.5)


@st.cache_data(max_entries=50, show_spinner="Estimating …")
def _estimate(
    value: str,
    stamp: Stamp,
    reading: dict[str, Any],
    model: ModelConfig,
    train: TrainConfig,
    vectors: tuple[str, ...],
) -> Estimate:
    limits.request()
    source = open_source(resolve(value), "train", **reading)
    return measure(source, model, train, vectors, seconds=1.0)


def _scorer(path: str, stamp: int) -> Scorer:
    is_baseline = (Path(path) / BASELINE).is_file()
    return _baseline(path, stamp) if is_baseline else _load(path, stamp)


@st.cache_resource(max_entries=5, show_spinner="Loading the baseline …")
def _baseline(path: str, stamp: int) -> Scorer:
    return load_baseline(path)


@st.cache_data(max_entries=3, show_spinner="Reading the texts …")
def _sampled(data: Sampled, stamp: Stamp, classes: tuple[str, ...]) -> Texts:
    limits.request()
    source = open_source(resolve(data.value), data.part, **data.reading)
    return read_texts(source.pairs(), classes, data.limit)


@st.cache_data(max_entries=20, show_spinner="Asking the models …")
def _answers(
    data: Sampled,
    data_stamp: Stamp,
    path: str,
    stamp: int,
    name: str,
    classes: tuple[str, ...],
) -> Answers:
    limits.request()
    return ask(name, _scorer(path, stamp), _sampled(data, data_stamp, classes))


@st.cache_data(max_entries=6, show_spinner="Explaining …")
def _shared(
    data: Sampled,
    data_stamp: Stamp,
    classes: tuple[str, ...],
    path: str,
    stamp: int,
    other_path: str,
    other_stamp: int,
    limit: int,
) -> list[Shared]:
    limits.request()
    texts = _sampled(data, data_stamp, classes).texts[:limit]
    return shared_predictions(_load(path, stamp), _load(other_path, other_stamp), texts)


@st.cache_resource(max_entries=3, show_spinner="Loading the model …")
def _load(path: str, stamp: int) -> ICapsClassifier:
    return ICapsClassifier.load(path, device="cpu")


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def _explain(
    path: str, stamp: int, text: str, settings: Settings, muted: tuple[int, ...]
) -> Explanation:
    limits.request()
    classifier = _load(path, stamp).without(muted)
    (explanation,) = classifier.explain([text], **settings._asdict())
    return explanation


@st.cache_data(max_entries=200, ttl=_HOUR, show_spinner=False)
def _trial(path: str, stamp: int, explanation: Explanation) -> Trial | None:
    (found,) = try_reasons(_load(path, stamp), [explanation])
    return found


@st.cache_data(max_entries=50, ttl=_HOUR, show_spinner="Removing K-grams …")
def _flip(path: str, stamp: int, explanation: Explanation) -> Flip | None:
    limits.request()
    return flipping_set(_load(path, stamp), explanation)


@st.cache_resource(max_entries=6, show_spinner=False)
def _report(path: str, stamp: int) -> Report | None:
    classifier = _load(path, stamp)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(path, *shape)
    return None if view is None else Report(classifier, view)


@st.cache_data(max_entries=20, show_spinner="Drawing the queries …")
def _query_map(
    path: str, stamp: int, space: str, method: str, perplexity: float, seed: int
) -> QueryMap:
    limits.request()
    vectors = query_vectors(_load(path, stamp).network_, space)
    return map_queries(vectors, space, method, seed, perplexity)


@st.cache_data(max_entries=6, show_spinner=False)
def _pointed_words(path: str, stamp: int) -> list[list[tuple[str, float]]]:
    classifier = _load(path, stamp)
    return words_at(classifier.network_, classifier.vocabulary_, top=15)


@st.cache_data(max_entries=6, show_spinner="Looking for the texts …")
def _typical_texts(path: str, stamp: int) -> dict[int, Text]:
    view = _report(path, stamp).view
    numbers = {text.number for texts in view.tally.typical.values() for text in texts}
    return texts_of(view.origin, numbers)
