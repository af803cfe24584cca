"""The global view of a model: the matrix C and other counts, stored in its checkpoint folder.

global_view/view.json           origin of the counts, typical texts, the smallest set of capsules,
                                words by which each capsule is called
global_view/counts.safetensors  matrices
global_view/words.parquet       class, capsule, word and count
global_view/kgrams.parquet      class, capsule, K-gram and count
global_view/*_shares.parquet    class, capsule, word or K-gram and share; -1 is all of them together
global_view/texts.json          excerpts of a few texts per capsule, if they may be stored

Views of older versions have no shares, or no histograms of routing weights. A stored view is valid
for one set of weights, and is used again for the same texts.
"""

from __future__ import annotations

import dataclasses
import json
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from icaps.data.atomic import replaced_folder
from icaps.data.cache import data_folder
from icaps.data.catalog import DATASETS
from icaps.data.news_sample import NAME as SAMPLE
from icaps.data.plain_json import parse_json
from icaps.data.resolve import locate, resolve
from icaps.data.synthetic import NAME
from icaps.data.text_hash import text_hash
from icaps.errors import CheckpointError, DataError
from icaps.interpret.ablation import FewCapsules, KnockOut, smallest_set
from icaps.interpret.capsule_labels import FOLDER, LABEL_WORDS, VIEW
from icaps.interpret.corpus import Cell, FittedModel, Tally, Typical, count_corpus
from icaps.interpret.routing_spread import (
    BINS,
    CapsuleRouting,
    Excerpt,
    RoutedText,
    main_classes,
    read_excerpts,
)
from icaps.interpret.set_knock_out import SetKnockOut
from icaps.interpret.share_totals import ALL, ShareLists, ShareTotals
from icaps.interpret.tables import label_words
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint_files import weights_fingerprint
from icaps.train.labels import Labelled, content_hash
from icaps.train.parts import open_part
from icaps.train.text_hashes import as_array

_VERSION = 1
_COUNTS, _WORDS, _KGRAMS = "counts.safetensors", "words.parquet", "kgrams.parquet"
_WORD_SHARES, _KGRAM_SHARES = "word_shares.parquet", "kgram_shares.parquet"
_SHARES = {"shares": "capsules", "word_shares": "words", "effective": "effective"}  # of ShareTotals
_TEXTS, _HISTOGRAM = "texts.json", "routing_histogram"
_MATRICES = ("frequency", "right", "routing", "contribution")
_AGAIN = "Run `icaps interpret` on the model again."


@dataclass(frozen=True)
class Origin:
    """The texts and the weights from which a view was computed.

    Attributes:
        source: The data as the user named it, never an absolute path (see `portable_name`).
        part: "test" or "train".
        reading: Options of `open_source`.
        content: Fingerprint of the texts and labels.
        weights: Fingerprint of the model's weights.
        trained_on: How many of the texts the model was trained on; None if that is not known.
    """

    source: str
    part: str
    reading: dict[str, Any]
    content: str
    weights: str
    trained_on: int | None = None


@dataclass(frozen=True)
class GlobalView:
    """Counts and shares over a corpus, the smallest set of capsules, and where they come from.

    `shares` and `routing` are None if the view is of an older version. `label_words` has the words
    that each capsule is called by (`tables.label_words`); it is empty in views of older versions.
    """

    origin: Origin
    tally: Tally
    knock_out: KnockOut | SetKnockOut
    few: FewCapsules
    shares: ShareTotals | None = None
    label_words: Sequence[Sequence[str]] = ()
    routing: CapsuleRouting | None = None

    @property
    def complete(self) -> bool:
        """Whether it has all that this version counts."""
        return self.shares is not None and self.routing is not None and bool(self.label_words)

    @property
    def has_texts(self) -> bool:
        """Whether excerpts of texts are stored."""
        return self.routing is not None and bool(self.routing.excerpts)

    def with_label_words(self, vocabulary: Vocabulary) -> GlobalView:
        """The view with `label_words`, which are computed if they are missing."""
        if self.label_words:
            return self
        capsules = range(self.tally.frequency.shape[1])
        words = [label_words(self.tally, self.shares, vocabulary, i) for i in capsules]
        return dataclasses.replace(self, label_words=words)


class DataReference(NamedTuple):
    """Data as a user named it, its part ("train", "test"), and options of `open_source`."""

    name: str
    part: str
    reading: dict[str, Any]


class LabelledText(NamedTuple):
    """A text of the data that a view was computed from, and the name of its class."""

    text: str
    label: str


def make_view(
    classifier: FittedModel,
    checkpoint: str | Path,
    source: DataReference,
    records: Iterable[Labelled],
    on_texts: Callable[[int], None] = lambda _: None,
    *,
    on_total: Callable[[int], None] = lambda _: None,
    texts: bool = True,
) -> GlobalView:
    """The view of these texts: the stored one if its texts are the same, else a new one.

    A stored one of an older version is computed again.

    Args:
        classifier: Loaded from `checkpoint`.
        checkpoint: The folder of the model.
        source: The name under which the data is stored in the view.
        records: Its labelled texts, which are the same each time they are read.
        on_texts: See `corpus.count_corpus`.
        on_total: Called with the number of texts before they are counted.
        texts: Whether the view has excerpts of a few texts per capsule. It never has those of a
            data set with a name, which can be read or downloaded wherever the view is shown.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    hashes = array("Q")

    def pairs() -> Iterator[tuple[str, str]]:
        for text, label in _pairs(records):
            hashes.append(text_hash(text))
            yield text, label

    content, known = content_hash(pairs()), classifier.text_hashes_
    trained_on = None if known is None else int(known.in_training(as_array(hashes)).sum())
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    stored = valid_view(checkpoint, shape)
    keep = texts and source.name not in (*DATASETS, NAME, SAMPLE)
    if stored is not None and stored.complete and stored.origin.content == content:
        if stored.has_texts == keep:
            return stored
        return _with_texts(stored, classifier, records, keep)
    weights = weights_fingerprint(checkpoint)
    origin = Origin(*source._replace(name=portable_name(source.name)), content, weights, trained_on)
    on_total(len(hashes))
    counts = count_corpus(classifier, _pairs(records), on_texts)
    network = classifier.network_
    few = smallest_set(network.capsules, counts.sample, network.edits, network.thresholds)
    tally = counts.tally
    routing = counts.routing.of_classes(main_classes(tally.frequency, tally.routing))
    shares = counts.shares.totals()
    view = GlobalView(origin, tally, counts.knock_out, few, shares, routing=routing)
    view = view.with_label_words(classifier.vocabulary_)
    return _with_texts(view, classifier, records, keep)


def portable_name(name: str) -> str:
    """The name of data without an absolute path, which says nothing on another machine.

    An absolute path becomes relative to the working directory if it is inside, else its last part.
    """
    if not Path(name).is_absolute():
        return name
    path = Path(os.path.normpath(name))
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def save_view(view: GlobalView, checkpoint: str | Path) -> None:
    """Writes the view to a checkpoint folder atomically; an older one is replaced.

    Nothing is written if the folder has this view already.

    Raises:
        CheckpointError: The folder cannot be written.
    """
    stored = valid_view(checkpoint, view.tally.frequency.shape)
    if stored is not None and stored.complete and stored.origin == view.origin:
        same_texts = stored.has_texts == view.has_texts
        if same_texts or not view.complete:
            return
    try:
        with replaced_folder(Path(checkpoint) / FOLDER) as folder:
            _write(view, folder)
    except OSError as error:
        raise CheckpointError(f"The view cannot be written to {checkpoint}: {error}") from error


def load_view(checkpoint: str | Path, classes: int, capsules: int) -> GlobalView | None:
    """The view in a checkpoint folder; None if there is none, or if it is of other weights.

    Raises:
        CheckpointError: It is damaged, or of another version.
    """
    folder = Path(checkpoint) / FOLDER
    if not folder.is_dir():
        return None
    try:
        facts = parse_json((folder / VIEW).read_text(encoding="utf-8"))
        if facts["version"] != _VERSION:
            raise CheckpointError(f"{folder} is of version {facts['version']}. {_AGAIN}")
        origin = Origin(**facts["origin"])
        if origin.weights != weights_fingerprint(checkpoint):
            return None
        return _read(folder, facts, origin, (classes, capsules))
    except (OSError, KeyError, TypeError, ValueError, SafetensorError, pa.ArrowException) as error:
        raise CheckpointError(f"{folder} is damaged ({error}). {_AGAIN}") from error


def valid_view(checkpoint: str | Path, shape: tuple[int, ...]) -> GlobalView | None:
    """The stored view; None if there is none for these weights and sizes, or it is damaged."""
    try:
        return load_view(checkpoint, *shape)
    except CheckpointError:
        return None


def read_counted_texts(
    origin: Origin,
    numbers: Iterable[int],
    place: str | Path | None = None,
    model: str | Path | None = None,
) -> dict[int, LabelledText]:
    """Reads texts by their numbers from the data that a view was computed from.

    Args:
        origin: Of the view.
        numbers: Positions of texts in the data.
        place: Where the data is. None: it is searched under its name in the working directory, in
            the folder of data sets, and in `data`.
        model: The folder of the model, for texts that were held out of its training.

    Raises:
        DataError: The data is not on this machine, or has changed; the message says what to do.
    """
    place = locate_counted(origin.source) if place is None else resolve(place)
    wanted, texts = set(numbers), dict[int, LabelledText]()

    def pairs() -> Iterator[tuple[str, str]]:
        for number, record in enumerate(open_part(place, origin.part, origin.reading, model)):
            if number in wanted:
                texts[number] = LabelledText(record.text, record.label)
            yield record.text, record.label

    if content_hash(pairs()) != origin.content:
        raise DataError(
            f"The texts in {place} are not those that were counted. Run `icaps interpret` again."
        )
    return texts


def _with_texts(
    view: GlobalView, classifier: FittedModel, records: Iterable[Labelled], keep: bool
) -> GlobalView:
    """The view with excerpts of its texts, or without them."""
    assert view.routing is not None
    excerpts = {}
    if keep:
        excerpts = read_excerpts(
            classifier.network_, classifier.vocabulary_, _pairs(records), view.routing.numbers
        )
    return dataclasses.replace(view, routing=dataclasses.replace(view.routing, excerpts=excerpts))


def locate_counted(source: str) -> Path:
    """The path of data that was named on this or another machine; see `read_counted_texts`."""
    if source in (NAME, SAMPLE):
        return resolve(source)
    if source in DATASETS and locate(source) is not None:
        return resolve(source)
    places = [Path(source), data_folder() / source, Path("data") / source]
    for place in places:
        if place.exists():
            return resolve(place)
    if source in DATASETS:
        raise DataError(
            f"The texts of {source} are not on this machine; `icaps data fetch {source}` downloads "
            "them."
        )
    raise DataError(
        f"The texts of {source} are not on this machine. Put that file or folder at {places[1]}, "
        "or start where it is."
    )


def _pairs(records: Iterable[Labelled]) -> Iterator[tuple[str, str]]:
    return ((record.text, record.label) for record in records)


def _write(view: GlobalView, folder: Path) -> None:
    tally, knock_out = view.tally, view.knock_out
    facts: dict[str, Any] = {
        "version": _VERSION,
        "origin": dataclasses.asdict(view.origin),
        "blank": tally.blank,
        "dropped": tally.dropped,
        "few": view.few._asdict(),
        LABEL_WORDS: [list(words) for words in view.label_words],
        "typical": [[*cell, [*map(list, texts)]] for cell, texts in sorted(tally.typical.items())],
    }
    matrices = {name: np.ascontiguousarray(getattr(tally, name)) for name in _MATRICES}
    matrices |= knock_out.matrices()
    if isinstance(knock_out, SetKnockOut):
        facts |= {"undecided": tally.undecided, "further": tally.further}
    if view.shares is not None:
        matrices |= {name: getattr(view.shares, field) for name, field in _SHARES.items()}
        facts["dropped_shares"] = [view.shares.words_dropped, view.shares.kgrams_dropped]
        _write_shares(view.shares.top_words, folder / _WORD_SHARES, pa.int32())
        _write_shares(view.shares.top_kgrams, folder / _KGRAM_SHARES, pa.list_(pa.int32()))
    if view.routing is not None:
        matrices[_HISTOGRAM] = view.routing.counts.astype(np.int32)
        facts["levels"] = view.routing.levels
    if view.routing is not None and view.has_texts:
        texts = [[*place, *excerpt] for place, excerpt in sorted(view.routing.excerpts.items())]
        (folder / _TEXTS).write_text(json.dumps(texts), encoding="utf-8")
    (folder / VIEW).write_text(json.dumps(facts), encoding="utf-8")
    save_file(matrices, folder / _COUNTS)
    (folder / _COUNTS).chmod(0o644)
    _write_counts(tally.words, folder / _WORDS, pa.int32())
    _write_counts(tally.kgrams, folder / _KGRAMS, pa.list_(pa.int32()))


def _read(
    folder: Path, facts: dict[str, Any], origin: Origin, shape: tuple[int, int]
) -> GlobalView:
    matrices = load_file(folder / _COUNTS)
    if any(matrices[name].shape != shape for name in _MATRICES):
        raise ValueError(f"its matrices are not {shape[0]} classes x {shape[1]} capsules")
    tally = Tally(
        matrices["frequency"],
        matrices["right"],
        matrices["routing"],
        matrices["contribution"],
        blank=int(facts["blank"]),
        dropped=int(facts["dropped"]),
        undecided=int(facts.get("undecided", 0)),
        further=int(facts.get("further", 0)),
    )
    for j, i, texts in facts["typical"]:
        tally.typical[j, i] = [Typical(*text) for text in texts]
    tally.words.update(_read_cells(folder / _WORDS))
    tally.kgrams.update(_read_cells(folder / _KGRAMS))
    few = FewCapsules(**facts["few"])
    knock_out: KnockOut | SetKnockOut
    if "further" in facts:  # of a model of several labels per text
        knock_out = SetKnockOut.from_matrices(matrices, shape)
    else:
        knock_out = KnockOut(matrices["confusion"], matrices["own_right"])
    few = few._replace(capsules=tuple(few.capsules))
    shares = _read_shares(folder, facts, matrices, shape)
    routing = _read_routing(folder, facts, matrices, shape)
    words = facts.get(LABEL_WORDS, [])
    if words and len(words) != shape[1]:
        raise ValueError(f"it has words of {len(words)} capsules, not of {shape[1]}")
    return GlobalView(origin, tally, knock_out, few, shares, words, routing)


def _read_routing(
    folder: Path, facts: dict[str, Any], matrices: dict[str, Any], shape: tuple[int, int]
) -> CapsuleRouting | None:
    """The routing weights of a view; None if it is of an older version, without them."""
    if "levels" not in facts:
        return None
    counts = matrices[_HISTOGRAM].astype(np.int64)
    if counts.shape != (*shape, BINS) or len(facts["levels"]) != shape[1]:
        raise ValueError(f"its histograms are not of {shape[0]} classes x {shape[1]} capsules")
    levels = [
        {level: [RoutedText(*text) for text in texts] for level, texts in capsule.items()}
        for capsule in facts["levels"]
    ]
    excerpts = {}
    if (folder / _TEXTS).is_file():
        for capsule, number, text, label in parse_json((folder / _TEXTS).read_text("utf-8")):
            excerpts[capsule, number] = Excerpt(text, label)
    return CapsuleRouting(counts, levels, excerpts)


def _read_shares(
    folder: Path, facts: dict[str, Any], matrices: dict[str, Any], shape: tuple[int, int]
) -> ShareTotals | None:
    """The shares of a view; None if it is of an older version, without them."""
    if "dropped_shares" not in facts:
        return None
    values = {field: matrices[name] for name, field in _SHARES.items()}
    if [values[field].shape for field in _SHARES.values()] != [shape, shape, shape[:1]]:
        raise ValueError(f"its shares are not of {shape[0]} classes x {shape[1]} capsules")
    lists = []
    for name in (_WORD_SHARES, _KGRAM_SHARES):
        places = {place: dict(items) for place, items in _read_cells(folder / name).items()}
        lists.append(ShareLists(places, places.pop((ALL, ALL), {})))
    top_words, top_kgrams = lists
    words_dropped, kgrams_dropped = map(float, facts["dropped_shares"])
    return ShareTotals(
        **values,
        top_words=top_words,
        top_kgrams=top_kgrams,
        words_dropped=words_dropped,
        kgrams_dropped=kgrams_dropped,
    )


def _write_counts(cells: dict[Cell, Counter[Any]], path: Path, kind: pa.DataType) -> None:
    ordered = {cell: dict(counts.most_common()) for cell, counts in sorted(cells.items())}
    _write_cells(ordered, path, kind, "count", pa.int64())


def _write_shares(lists: ShareLists, path: Path, kind: pa.DataType) -> None:
    cells = {**lists.places, (ALL, ALL): lists.magnitudes}
    _write_cells(dict(sorted(cells.items())), path, kind, "share", pa.float32())


def _write_cells(
    cells: Mapping[Cell, Mapping[Any, float]],
    path: Path,
    kind: pa.DataType,
    name: str,
    number: pa.DataType,
) -> None:
    rows = [(j, i, item, value) for (j, i), items in cells.items() for item, value in items.items()]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = (pa.int32(), pa.int32(), kind, number)
    names = ("class", "capsule", "item", name)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, names), path, compression="zstd")


def _read_cells(path: Path) -> dict[Cell, Counter[Any]]:
    columns = pq.read_table(path).to_pydict().values()
    cells: dict[Cell, Counter[Any]] = {}
    for j, i, item, value in zip(*columns, strict=True):
        key = tuple(item) if isinstance(item, list) else item
        cells.setdefault((j, i), Counter())[key] = value
    return cells
