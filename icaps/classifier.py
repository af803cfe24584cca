"""ICapsClassifier: a scikit-learn estimator, the `TrainedModel` that `fit` trains."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn.exceptions
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from icaps.config import ModelSettings, TrainSettings
from icaps.data.class_names import class_name_warnings
from icaps.data.texts import check_texts
from icaps.errors import DataError, ICapsError
from icaps.nn import distributed
from icaps.settings_estimator import SettingsEstimator
from icaps.text.vectors import LoadedVectors, Sources
from icaps.train.callbacks import Callback
from icaps.train.checkpoint import Checkpoint
from icaps.train.dataset import ExtraTexts, TrainingData, prepare_stream, prepare_texts
from icaps.train.fit import fit_checkpoint, logger, reported
from icaps.train.labels import (
    Labelled,
    encode_label_sets,
    encode_labels,
    has_label_sets,
    indicator_matrix,
)
from icaps.train.masking import MASKED_WORDS, with_masked_copies
from icaps.train.self_training import UnlabelledSample, fit_self_training, sample_texts
from icaps.trained_model import TrainedModel

if TYPE_CHECKING:
    from typing_extensions import Self


class NotFittedError(ICapsError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """The classifier is neither fitted nor loaded."""


class ICapsClassifier(TrainedModel, ClassifierMixin, SettingsEstimator):  # type: ignore[misc]
    """Text classifier that explains its predictions by K-grams (Wang, Hu and Ji 2020).

    `X` is always a sequence of strings. A text has one label, or several: then the model is one of
    scikit-learn's multilabel classifiers. Without settings, `fit` chooses those that suit the texts
    (`train.recipe`), as `icaps train` does. Single settings are parameters too, as `model__dropout`
    or `train__learning_rate`, for `set_params` and for grid search.

    Args:
        model: Sizes and options of the network: all of them as a `ModelConfig`; single ones that
            replace those of the recipe, such as `{"max_words": 50}`; or None for the recipe.
            `fixed_dim` is the size of vectors that are trained on the texts; in the fitted network
            it is the total size of all vectors.
        train: Settings of training: a `TrainConfig`, single ones such as `{"epochs": 3}`, or None.
        vectors: "english" for the table of the package, path or gensim-data name of other
            pre-trained word vectors (`vector_files.load_vectors`), "texts" for vectors trained on
            the texts themselves, or several of these, concatenated, "texts" last. None means
            "english", and "texts" if the table has few of the words. Words that are rare or absent
            in the texts are read by their pre-trained vectors, as many as fit into
            `vectors.MAX_VECTOR_WORDS_BYTES`; the fitted network holds these.
        device: "auto", or a torch device.
        callbacks: Called during `fit`, see `train.callbacks.Callback`.

    Attributes:
        classes_, network_, vocabulary_, metrics_ and others: Of a `TrainedModel`; `fit` sets them.
    """

    def __init__(
        self,
        model: ModelSettings = None,
        train: TrainSettings = None,
        vectors: Sources = None,
        device: str = "auto",
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.model = model
        self.train = train
        self.vectors = vectors
        self.device = device
        self.callbacks = callbacks

    def fit(
        self,
        X: Sequence[str],  # noqa: N803
        y: Sequence[Any],
        *,
        unlabelled: Iterable[str] = (),
        masked: Sequence[str] = (),
        state_folder: str | Path | None = None,
        resume: bool = False,
    ) -> ICapsClassifier:
        """Builds the vocabulary and vectors, trains, and calibrates on a validation part of X.

        Args:
            X: Texts.
            y: Labels: strings, numbers or booleans. With several labels per text, an indicator
                matrix (texts, J), as scikit-learn's `MultiLabelBinarizer` returns it, whose
                classes are 0 to J - 1; or a list, tuple or set of labels per text.
            unlabelled: Texts without labels, which are read once. They help where few texts have
                labels: see `train.self_training`.
            masked: Words or K-grams; each text that has some is read without them as well, so that
                the model does not depend on them: see `train.masking`.
            state_folder: Where the state of the training is saved after each epoch, every few
                minutes and at Ctrl-C; None: not saved.
            resume: Whether to continue from the state in `state_folder`.

        Raises:
            ConfigError: A setting is unknown, or has the wrong type or range.
            DataError: X or y is invalid, or there are too few texts for a validation part.
            VectorsError: The vectors cannot be loaded or trained.
            TrainingError: The loss is NaN or infinite.
            CheckpointError: The state cannot be written, or does not fit this training.
        """
        texts = check_texts(X)
        if has_label_sets(y):
            classes, labels, label_sets = encode_label_sets(texts, y)
        else:
            (classes, labels), label_sets = encode_labels(texts, y), None

        def prepare(model: ModelSettings, train: TrainSettings, extra: ExtraTexts) -> TrainingData:
            load = self._load_vectors
            return prepare_texts(texts, classes, labels, model, train, load, extra, label_sets)

        sample = sample_texts(unlabelled).without(texts)
        return self._fit(prepare, sample, masked, state_folder, resume)

    def fit_stream(
        self,
        records: Iterable[Labelled],
        workers: int = 1,
        *,
        unlabelled: Iterable[str] = (),
        masked: Sequence[str] = (),
        state_folder: str | Path | None = None,
        resume: bool = False,
    ) -> ICapsClassifier:
        """As `fit`, for texts that need not fit into memory.

        Args:
            records: Labelled texts, such as `data.source.open_source` returns. They are iterated
                several times and must be the same each time.
            workers: Number of processes that encode texts.
            unlabelled: As in `fit`; `data.unlabelled.open_unlabelled` reads them from files.
            masked, state_folder, resume: As in `fit`.

        Raises:
            DataError: Texts cannot be read, there are too few, or they are of one class.
            ConfigError, VectorsError, TrainingError, CheckpointError: As in `fit`.
        """

        def prepare(model: ModelSettings, train: TrainSettings, extra: ExtraTexts) -> TrainingData:
            return prepare_stream(records, model, train, workers, self._load_vectors, extra)

        sample = sample_texts(unlabelled)
        if sample.texts:
            sample = sample.without(record.text for record in records)
        return self._fit(prepare, sample, masked, state_folder, resume)

    def score(
        self,
        X: Sequence[str],  # noqa: N803
        y: Sequence[Any],
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """The accuracy of `predict` for texts with these labels (texts,).

        Where the classes are strings, as after `icaps train`, other labels mean their names: 1 is
        "1". With several labels per text it is the share of texts whose labels are all right and
        complete; `y` may have each form that `fit` takes.
        """
        if self.multilabel_:
            subset_accuracy: float = super().score(X, self.indicator(y), sample_weight)
            return subset_accuracy
        if all(isinstance(label, str) for label in self._labels()):
            y = [str(label) for label in y]
        accuracy: float = super().score(X, y, sample_weight)
        return accuracy

    def indicator(self, y: Any) -> NDArray[np.int64]:
        """Several labels per text as an indicator matrix (texts, J) of 0 and 1.

        Args:
            y: In one of the forms of `fit`, or strings as `data.label_sets` writes them.

        Raises:
            DataError: A label is none of the classes, or a matrix has other columns.
        """
        return indicator_matrix(y, self._labels()).astype(np.int64)

    def _html_repr(self) -> str:
        """The model once there is one; before, the parameters, as of other estimators."""
        if hasattr(self, "network_"):
            return super()._html_repr()
        parameters: str = SettingsEstimator._html_repr(self)
        return parameters

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    @classmethod
    def _without_model(cls, checkpoint: Checkpoint, device: str) -> Self:
        return cls(checkpoint.network.config, checkpoint.train_config, device=device)

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("This classifier has no model yet: call fit, or load a folder.")

    def _load_vectors(self) -> LoadedVectors:
        return LoadedVectors(self.vectors, logger(self.callbacks))

    def _fit(
        self,
        prepare: Callable[[ModelSettings, TrainSettings, ExtraTexts], TrainingData],
        unlabelled: UnlabelledSample,
        masked: Sequence[str],
        state_folder: str | Path | None,
        resume: bool,
    ) -> ICapsClassifier:
        def prepare_masked(*settings: Any) -> TrainingData:
            prepared = prepare(*settings)
            return with_masked_copies(prepared, masked) if masked else prepared

        data = prepare_masked(self.model, self.train, ExtraTexts())
        everything = data.training.select_all()
        counts = everything.class_counts(len(data.classes)).tolist()
        names = map(str, data.classes)
        for warning in class_name_warnings(dict(zip(names, counts, strict=True))):
            logger(self.callbacks)(warning)
        if unlabelled.total and data.multilabel:
            raise DataError(
                "Texts without labels cannot help a model with several labels per text: leave "
                "them out."
            )
        fit = (
            partial(fit_self_training, unlabelled, prepare_masked)
            if unlabelled.total
            else fit_checkpoint
        )
        with reported(self.callbacks, data):
            checkpoint = fit(
                data,
                data.recipe.model,
                data.recipe.train,
                self.vectors,
                self.device,
                self.callbacks,
                state_folder,
                resume,
                as_model=lambda checkpoint: copy.copy(self)._set_fitted(checkpoint, data.classes),
            )
        if masked:
            checkpoint.metrics[MASKED_WORDS] = list(masked)
        for callback in () if distributed.rank() else self.callbacks:
            callback.on_end(checkpoint.metrics)
        return self._set_fitted(checkpoint, data.classes)
