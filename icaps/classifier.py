"""ICapsClassifier: fit, predict, explain, save and load, as a scikit-learn estimator."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn.exceptions
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from icaps.config import ExplainKeywords, ExplainOptions, ModelConfig, TrainConfig
from icaps.data.cache import data_folder, make_ready
from icaps.errors import ConfigError, DataError, ICapsError
from icaps.inference import CHUNK, Reading, class_norms, read_texts
from icaps.interpret.local import explain
from icaps.interpret.reasons import Reasons, find_reasons
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.nn.lookup import keep_table
from icaps.results import Explanation
from icaps.text.fixed_part import Sources, fixed_part, names
from icaps.text.sentences import encode
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from icaps.train.corpus import Corpus
from icaps.train.dataset import Labelled, Prepared, Words, prepare_stream, prepare_texts
from icaps.train.inputs import check_texts, encode_labels
from icaps.train.loop import Callback, Training, accuracy, choose_device, predict_norms, train
from icaps.train.resume import Last, fingerprint
from icaps.train.unk import fit_unk

if TYPE_CHECKING:
    from typing_extensions import Unpack


class NotFittedError(ICapsError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """A classifier is asked for a prediction before it was fitted or loaded."""


class ICapsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Text classifier that shows its reasons (Wang, Hu and Ji 2020).

    `X` is a sequence of strings everywhere. Single settings can be reached as
    `model__dropout` or `train__learning_rate`, in `set_params` and in a grid search.

    Args:
        model: Sizes and options of the network. `fixed_dim` is the size of vectors that are
            trained on the texts; the fitted network has that of all its vectors.
        train: Settings of the training.
        vectors: Path or gensim-data name of pre-trained word vectors (`vectors.load_vectors`),
            "texts" for vectors trained on the texts themselves, or several of these, to stand
            side by side. None is "texts".
        device: "auto", or a torch device.
        callbacks: Notified after each step and epoch of `fit`.
        report: Called with a line on what `fit` does, for a log.
        last: Folder where `fit` keeps its state after each epoch and at Ctrl-C (`resume.Last`).
        resume: Whether `fit` goes on from the state in `last`.
        each_epoch: Called after each epoch of `fit` with a classifier of that epoch's weights,
            which is to be used at once as they go on to change, and with the validation texts.

    Attributes:
        classes_: (J,), sorted.
        network_, vocabulary_: The trained network and its vocabulary.
        history_: A record an epoch.
        metrics_: What is known of the training: sizes, seed, best epoch, coverage of vectors.
        inverse_temperature_: See `predict_proba`.
        muted_: Numbers of primary capsules that are switched off; see `without`.
        capsule_names_: What users called primary capsules, by number.
    """

    def __init__(
        self,
        model: ModelConfig = ModelConfig(),  # noqa: B008 (frozen)
        train: TrainConfig = TrainConfig(),  # noqa: B008 (frozen)
        vectors: Sources = None,
        device: str = "auto",
        callbacks: Sequence[Callback] = (),
        report: Callable[[str], None] | None = None,
        last: Path | None = None,
        resume: bool = False,
        each_epoch: Callable[[ICapsClassifier, Corpus], None] | None = None,
    ) -> None:
        self.model = model
        self.train = train
        self.vectors = vectors
        self.device = device
        self.callbacks = callbacks
        self.report = report
        self.last = last
        self.resume = resume
        self.each_epoch = each_epoch

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments, and with `deep` every single setting as `model__NAME`, `train__NAME`."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for part in ("model", "train"):
                for field in dataclasses.fields(params[part]):
                    params[f"{part}__{field.name}"] = getattr(params[part], field.name)
        return params

    def set_params(self, **params: Any) -> ICapsClassifier:
        """Sets arguments or single settings; ConfigError where a value is out of range."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"There is no parameter {name!r}; see get_params() for the names.")
        whole = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**whole)
        for part in ("model", "train"):
            prefix = f"{part}__"
            settings = {
                name.removeprefix(prefix): value
                for name, value in params.items()
                if name.startswith(prefix)
            }
            setattr(self, part, dataclasses.replace(getattr(self, part), **settings))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> ICapsClassifier:  # noqa: N803
        """Builds the vocabulary and vectors, trains, and calibrates on a validation part of X.

        Raises:
            DataError: X or y is not what it should be, or too small to hold out a validation part.
            VectorsError: The vectors can't be loaded or trained.
            CheckpointError: `last` can't be written, or has nothing to go on from.
        """
        texts = check_texts(X)
        self.classes_, labels = encode_labels(texts, y)
        return self._train(prepare_texts(texts, self.classes_, labels, self.model, self.train))

    def fit_stream(self, records: Iterable[Labelled], workers: int = 1) -> ICapsClassifier:
        """`fit` on texts of any number, which need not fit into memory.

        Args:
            records: Labelled texts, the same each time they are read: `data.source.open_source`.
            workers: Processes that encode texts.

        Raises:
            CheckpointError: The state in `last` can't be written, or resumed here.
            DataError: Texts can't be read, there are too few, or they are of one class.
            VectorsError: The vectors can't be loaded or trained.
        """

        def make_folder(key: str, fill: Callable[[Path], None]) -> Path:
            return make_ready(data_folder() / "encoded" / key, fill)

        return self._train(prepare_stream(records, self.model, self.train, make_folder, workers))

    def _train(self, prepared: Prepared) -> ICapsClassifier:
        training = prepared.corpus.select(prepared.training)
        validation = prepared.corpus.select(prepared.held_out)
        self._say(f"{len(training)} training and {len(validation)} validation texts")
        self.classes_, self.vocabulary_ = prepared.classes, prepared.vocabulary
        last = self._open_last(prepared.content)  # before the vectors, which take their time
        network, coverage = self._build_network(training)
        counts = np.bincount(training.labels, minlength=len(self.classes_))
        self.metrics_: dict[str, Any] = {
            "vectors": names(self.vectors),
            "vector_coverage": coverage,
            "seed": self.train.seed,
            "training_texts": len(training),
            "validation_texts": len(validation),
            "training_classes": dict(zip(map(str, self.classes_), counts.tolist(), strict=True)),
            "vocabulary_size": len(self.vocabulary_),
        }

        def tell(network: ICapsNet, norms: Tensor, course: Training) -> None:
            if self.each_epoch is not None:
                now = copy.copy(self)._take(network, norms, validation, course)
                self.each_epoch(now, validation)

        course = train(
            network,
            training,
            validation,
            self.train,
            callbacks=self.callbacks,
            last=last,
            each_epoch=tell,
            say=self._say,
        )
        if self.train.unk_steps and not course.interrupted:
            self._say("fitting <unk> to say nothing")
            fit_unk(network, training, self.train)
        return self._take(network, predict_norms(network, validation), validation, course)

    def _take(
        self, network: ICapsNet, norms: Tensor, validation: Corpus, course: Training
    ) -> ICapsClassifier:
        """Makes the network that of this classifier; `norms` are its of the validation texts."""
        self.network_ = network
        self.inverse_temperature_ = fit_inverse_temperature(norms, validation.labels)
        self.muted_: tuple[int, ...] = ()
        self.capsule_names_: dict[int, str] = {}
        self.history_ = [dataclasses.asdict(record) for record in course.history]
        self.interrupted_ = course.interrupted
        self.metrics_ = {
            **self.metrics_,
            "best_epoch": course.best_epoch,
            "validation_accuracy": accuracy(norms, validation),
            "product_precision": course.precision,
            "interrupted": course.interrupted,
        }
        return self

    def class_norms(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Norms of the class capsules (texts, J), from 0 to below 1; 0 for a blank text."""
        self._fitted()
        texts, config = check_texts(X), self.network_.config
        norms: list[NDArray[Any]] = [np.zeros((0, len(self.classes_)))]
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            tokens = encode(self.vocabulary_, chunk, config, spans=False)
            norms.append(class_norms(self.network_, tokens, self.muted_))
        return np.concatenate(norms)

    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """The class norms (texts, J).

        For two classes, as scikit-learn wants it: the second's norm less the first's (texts,).
        """
        norms = self.class_norms(X)
        return norms[:, 1] - norms[:, 0] if norms.shape[1] == 2 else norms

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Calibrated probabilities (texts, J): softmax of the norms times one fitted factor.

        Norms are no distribution. One positive factor, which can't change the order of the
        classes, is fitted to the validation texts by likelihood (temperature scaling, Guo et al.
        2017). A blank text gets 1 / J for each class.
        """
        return self.calibrated(self.class_norms(X))

    def calibrated(self, norms: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The probabilities of norms (texts, J); see `predict_proba`."""
        scaled = torch.from_numpy(norms).double() * self.inverse_temperature_
        probabilities: NDArray[np.float64] = scaled.softmax(1).numpy()
        return probabilities

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The class of the largest norm (texts,); the first class for a blank text."""
        predicted: NDArray[Any] = self._fitted()[self.class_norms(X).argmax(1)]
        return predicted

    def explain(
        self,
        X: Sequence[str],  # noqa: N803
        options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
        **changes: Unpack[ExplainKeywords],
    ) -> Iterator[Explanation]:
        """Explains texts one by one, as they are computed (section 2.6).

        Args:
            X: Texts.
            options: The class to explain, and how many capsules, K-grams and sentences to show.
            changes: Single options as keywords, which replace those of `options`:
                `explain(X, top_kgrams=3)`.

        Raises:
            ConfigError: `target` is no class of the model, or an option is out of range.
        """
        classes, config = tuple(map(str, self._fitted())), self.network_.config
        options = _checked(dataclasses.replace(options, **changes), classes)
        for batch in self._read(X):
            yield from explain(
                batch,
                classes,
                config.kernel_size,
                options,
                probabilities=self.calibrated(batch.activity.class_norms.numpy()),
                hierarchical=config.hierarchical,
                names=self.capsule_names_,
            )

    def reasons(
        self,
        X: Sequence[str],  # noqa: N803
        options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
        **changes: Unpack[ExplainKeywords],
    ) -> Iterator[Reasons]:
        """The K-grams of `explain` as columns, one batch of texts at a time, which is faster.

        Arguments and errors are those of `explain`.
        """
        classes, config = tuple(map(str, self._fitted())), self.network_.config
        options = _checked(dataclasses.replace(options, **changes), classes)
        for batch in self._read(X):
            yield find_reasons(batch, classes, config.kernel_size, options)

    def without(self, capsules: Iterable[int]) -> ICapsClassifier:
        """The same model with these primary capsules switched off, too; `save` knows nothing of it.

        What is off votes for no class, and takes no part in explanations.

        Raises:
            ConfigError: There is no such capsule, or none would be left.
        """
        self._fitted()
        known = range(self.network_.config.num_capsules)
        muted = tuple(sorted({*self.muted_, *capsules}))
        if not set(muted) <= set(known):
            raise ConfigError(
                f"Capsules {', '.join(map(str, muted))} can't be switched off: they are 0 to "
                f"{len(known) - 1}."
            )
        if len(muted) == len(known):
            raise ConfigError("With all capsules switched off there is no model; keep one.")
        other = copy.copy(self)
        other.muted_ = muted
        return other

    def save(self, folder: str | Path) -> None:
        """Writes a checkpoint folder; CheckpointError where it can't be written."""
        self._fitted()
        save_checkpoint(
            Checkpoint(
                self.network_,
                self.vocabulary_,
                tuple(str(name) for name in self.classes_),
                self.train,
                self.inverse_temperature_,
                self.metrics_,
                self.history_,
                self.capsule_names_,
            ),
            folder,
        )

    @classmethod
    def load(
        cls, folder: str | Path, device: str = "auto", *, keeps_table: bool = True
    ) -> ICapsClassifier:
        """A fitted classifier from a checkpoint folder; labels come back as text, as stored.

        Args:
            folder: What `save` wrote.
            device: Where the network is.
            keeps_table: Whether what it computes of each word, once it has read much, is left for
                the next process that loads the same weights (`icaps.nn.lookup`), in ICAPS_DATA.

        Raises:
            CheckpointError: The folder is damaged, or is none.
        """
        checkpoint = load_checkpoint(folder, choose_device(device))
        classifier = cls(checkpoint.network.config, checkpoint.train_config, device=device)
        classifier.network_ = checkpoint.network
        if keeps_table:
            keep_table(checkpoint.network)
        classifier.vocabulary_ = checkpoint.vocabulary
        classifier.classes_ = np.array(checkpoint.classes, dtype=object)
        classifier.inverse_temperature_ = checkpoint.inverse_temperature
        classifier.metrics_ = checkpoint.metrics
        classifier.history_ = checkpoint.history
        classifier.muted_, classifier.capsule_names_ = (), checkpoint.capsule_names
        return classifier

    def _open_last(self, content: str) -> Last | None:
        """Where the state of this training is kept; DataError where processes differ."""
        identity = {
            "settings": dataclasses.asdict(self.model) | dataclasses.asdict(self.train),
            "data": content,
            "vocabulary": fingerprint(self.vocabulary_.words),
            "vectors": names(self.vectors),
        }
        last = None if self.last is None else Last.open(self.last, identity, self.resume)
        facts = None if last is None or last.state is None else last.state.facts
        if not distributed.same_everywhere(json.dumps([identity, facts])):
            raise DataError(
                "The processes have different data, settings or states to resume; give each the "
                "same command, and each machine the same files."
            )
        return last

    def _build_network(self, training: Corpus) -> tuple[ICapsNet, float]:
        """The network before training, and the share of the words that have vectors."""
        part = fixed_part(
            self.vectors,
            Words(training, self.vocabulary_),
            self.vocabulary_,
            texts_dim=self.model.fixed_dim,
            texts_epochs=self.train.vector_epochs,
            oov=self.model.oov,
            seed=self.train.seed,
            say=self._say,
        )
        config = dataclasses.replace(self.model, fixed_dim=part.matrix.shape[1])
        torch.manual_seed(self.train.seed)
        matrix = torch.from_numpy(part.matrix)
        network = ICapsNet(config, len(self.vocabulary_), len(self.classes_), matrix)
        return network.to(choose_device(self.device)), part.coverage

    def _fitted(self) -> NDArray[Any]:
        if not hasattr(self, "network_"):
            raise NotFittedError("This classifier has no model yet: call fit, or load a folder.")
        classes: NDArray[Any] = self.classes_
        return classes

    def _read(self, texts: Sequence[str]) -> Iterator[Reading]:
        self._fitted()
        return read_texts(self.network_, self.vocabulary_, check_texts(texts), self.muted_)

    def _say(self, line: str) -> None:
        if self.report is not None and distributed.rank() == 0:
            self.report(line)


def _checked(options: ExplainOptions, classes: tuple[str, ...]) -> ExplainOptions:
    """The options; ConfigError where their target is none of the classes."""
    if options.target is not None and options.target not in classes:
        raise ConfigError(
            f"The model has no class {options.target!r}; choose {', '.join(classes)}."
        )
    return options
