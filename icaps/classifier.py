"""ICapsClassifier: a scikit-learn estimator with fit, predict, explain, save and load."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn.exceptions
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from icaps.config import (
    ExplainKeywords,
    ExplainOptions,
    ModelSettings,
    TrainSettings,
)
from icaps.data.class_names import class_name_warnings
from icaps.data.texts import check_texts
from icaps.errors import CheckpointError, ConfigError, DataError, ICapsError
from icaps.explanation_parts import capsule_label
from icaps.inference import CHUNK, Reading, class_norms, predicted_sets, read_texts
from icaps.interpret.account import BatchAccount, TextAccount
from icaps.interpret.capsule_labels import automatic_label, load_label_words
from icaps.interpret.edits import Edit, Edits
from icaps.interpret.local import Reasons, explain, find_reasons
from icaps.results import Explanation
from icaps.settings_estimator import SettingsEstimator
from icaps.shipped import model_folder
from icaps.text.sentences import encode
from icaps.text.vectors import LoadedVectors, Sources
from icaps.train.callbacks import Callback
from icaps.train.checkpoint import Checkpoint, label_type, load_checkpoint, save_checkpoint
from icaps.train.checkpoint_files import EDITS
from icaps.train.dataset import ExtraTexts, TrainingData, prepare_stream, prepare_texts
from icaps.train.fit import fit_checkpoint, logger
from icaps.train.labels import (
    Labelled,
    encode_label_sets,
    encode_labels,
    has_label_sets,
    indicator_matrix,
)
from icaps.train.loop import choose_device
from icaps.train.masking import MASKED_WORDS, with_masked_copies
from icaps.train.self_training import UnlabelledSample, fit_self_training, sample_texts

if TYPE_CHECKING:
    from typing_extensions import Unpack


class NotFittedError(ICapsError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """The classifier is neither fitted nor loaded."""


class ICapsClassifier(ClassifierMixin, SettingsEstimator):  # type: ignore[misc]
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
        classes_: (J,), sorted.
        multilabel_: Whether a text may have several labels.
        thresholds_: (J,), the probabilities from which a text has each class; None with one label
            per text.
        network_, vocabulary_: The trained network, with its settings in `config`, and its
            vocabulary.
        train_config_: The settings by which it was trained.
        history_: A record per epoch.
        metrics_: Sizes, seed, best epoch, coverage of vectors, and others.
        interrupted_: Whether Ctrl-C ended the training.
        inverse_temperature_: The factor of `predict_proba`, with one label per text.
        muted_: Numbers of primary capsules that are switched off; see `without`.
        capsule_names_: Names that users gave to primary capsules, by number.
        edits_: What is neutral; see `edited`.
        text_hashes_: Hashes of the texts of the training and of those held out
            (`train.text_hashes`); None for a model of an earlier version.
        capsule_labels_: What each primary capsule is called (I,).
    """

    _automatic_labels: tuple[str, ...] = ()  # of capsules (I,), or none

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

    def class_norms(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Norms of the class capsules (texts, J), at least 0 and below 1; 0 for a blank text."""
        self._check_fitted()
        texts, config = check_texts(X), self.network_.config
        norms: list[NDArray[Any]] = [np.zeros((0, len(self.classes_)))]
        for start in range(0, len(texts), CHUNK):
            tokens = encode(self.vocabulary_, texts[start : start + CHUNK], config, spans=False)
            norms.append(class_norms(self.network_, tokens, self.muted_))
        return np.concatenate(norms)

    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """The class norms (texts, J).

        For two classes, as in scikit-learn, it is the second norm minus the first (texts,), except
        with several labels per text.
        """
        norms = self.class_norms(X)
        difference = norms.shape[1] == 2 and not self.multilabel_
        return norms[:, 1] - norms[:, 0] if difference else norms

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Calibrated probabilities (texts, J): softmax of the norms times one fitted factor.

        Norms do not add up to 1. The factor is positive, so it does not change the order of the
        classes. It maximizes the likelihood of the validation texts (temperature scaling, Guo et
        al. 2017). A blank text has 1 / J for each class.

        With several labels per text, each class has a probability of its own, a logistic function
        of its norm that is fitted to the validation texts. They do not add up to 1.
        """
        return self.calibrated(self.class_norms(X))

    def calibrated(self, norms: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The probabilities of norms (texts, J); see `predict_proba`."""
        if self.network_.thresholds is not None:
            return self.network_.thresholds.probabilities(norms)
        scaled = torch.from_numpy(norms).double() * self.inverse_temperature_
        probabilities: NDArray[np.float64] = scaled.softmax(1).numpy()
        return probabilities

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

    def _labels(self) -> list[Any]:
        self._check_fitted()
        labels: list[Any] = self.classes_.tolist()
        return labels

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The class of the largest norm (texts,); the first class for a blank text.

        With several labels per text, an indicator matrix (texts, J) of 0 and 1: the classes whose
        probability is at least their threshold. A blank text has none.
        """
        norms = self.class_norms(X)
        if self.multilabel_:
            return predicted_sets(self.network_, norms).astype(np.int64)
        predicted: NDArray[Any] = self.classes_[norms.argmax(1)]
        return predicted

    def predict_labels(self, X: Sequence[str]) -> list[tuple[str, ...]]:  # noqa: N803
        """The names of the predicted classes of each text, in the order of `classes_`."""
        predicted = self.predict(X)
        if not self.multilabel_:
            return [(str(label),) for label in predicted]
        names = np.array(self._class_names, dtype=object)
        return [tuple(names[row > 0]) for row in predicted]

    def indicator(self, y: Any) -> NDArray[np.int64]:
        """Several labels per text as an indicator matrix (texts, J) of 0 and 1.

        Args:
            y: In one of the forms of `fit`, or strings as `data.label_sets` writes them.

        Raises:
            DataError: A label is none of the classes, or a matrix has other columns.
        """
        return indicator_matrix(y, self._labels()).astype(np.int64)

    @property
    def multilabel_(self) -> bool:
        """Whether a text may have several labels."""
        self._check_fitted()
        return self.network_.thresholds is not None

    @property
    def thresholds_(self) -> NDArray[np.float64] | None:
        """The probabilities from which a text has each class (J,); None with one label per text."""
        self._check_fitted()
        thresholds = self.network_.thresholds
        return None if thresholds is None else thresholds.thresholds

    def explain(
        self,
        X: Sequence[str],  # noqa: N803
        options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
        **changes: Unpack[ExplainKeywords],
    ) -> Iterator[Explanation]:
        """Explains texts, one by one (section 2.6).

        Args:
            X: Texts.
            options: The class to explain, and how many capsules, K-grams and sentences to show.
            changes: Single options as keyword arguments, such as `explain(X, top_kgrams=3)`, which
                replace those of `options`.

        Raises:
            ConfigError: `target` is not a class of the model, or an option is out of range.
        """
        options = self._options(options, changes)
        for batch in self._read(X):
            yield from explain(
                self.network_,
                batch,
                self._class_names,
                options,
                probabilities=self.calibrated(batch.activity.class_norms.numpy()),
                names=self._shown_names,
            )

    def reasons(
        self,
        X: Sequence[str],  # noqa: N803
        options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
        **changes: Unpack[ExplainKeywords],
    ) -> Iterator[Reasons]:
        """K-grams and shares of words as arrays per batch of texts, faster for many texts.

        Arguments and errors are those of `explain`.
        """
        options = self._options(options, changes)
        for batch in self._read(X):
            yield find_reasons(self.network_, batch, self._class_names, options)

    @property
    def capsule_labels_(self) -> list[str]:
        """What each primary capsule is called (I,).

        The name that a user gave it; else its number and the words that add most through it, such
        as "13 NASA scientists", if `icaps interpret` counted them; else "capsule 13".
        """
        self._check_fitted()
        names = self._shown_names
        numbers = range(self.network_.config.num_capsules)
        return [capsule_label(i, names.get(i, "")) for i in numbers]

    def account(self, X: Sequence[str]) -> Iterator[TextAccount]:  # noqa: N803
        """The whole account of each text: what each word adds, by capsule and by class.

        Its words are `Explanation.words`; see `interpret.account` for the equations.
        """
        for batch in self._read(X):
            yield from BatchAccount(self.network_, batch).texts()

    def without(self, capsules: Iterable[int]) -> ICapsClassifier:
        """A copy of the classifier, sharing its network, with these primary capsules switched off.

        They vote for no class and are not part of explanations. Capsules that are already off
        remain off. `save` does not store which capsules are off.

        Raises:
            ConfigError: There is no such capsule, or no capsule would remain.
        """
        self._check_fitted()
        number = self.network_.config.num_capsules
        muted = tuple(sorted({*self.muted_, *capsules}))
        if not set(muted) <= set(range(number)):
            raise ConfigError(
                f"Capsules {', '.join(map(str, muted))} cannot be switched off: they are 0 to "
                f"{number - 1}."
            )
        if len(muted) == number:
            raise ConfigError("All capsules would be switched off; leave at least one on.")
        other = copy.copy(self)
        other.muted_ = muted
        return other

    def edited(self, edits: Iterable[Edit]) -> ICapsClassifier:
        """A copy of the classifier, sharing its weights, with these edits and no others.

        Words, K-grams and capsules are neutral, exactly: see `interpret.edits`. `save` stores the
        edits.

        Raises:
            ConfigError: A word, capsule or class does not exist, two edits have one name, or the
                network has an activation.
        """
        self._check_fitted()
        edits = tuple(edits)
        other = copy.copy(self)
        other.network_ = copy.copy(self.network_)
        config, names = self.network_.config, self._class_names
        other.network_.edits = Edits(edits, config, self.vocabulary_, names) if edits else None
        return other

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """What is neutral, in the order in which it was made so."""
        self._check_fitted()
        edits: Edits | None = self.network_.edits
        return () if edits is None else edits.edits

    def save(self, folder: str | Path) -> None:
        """Writes a checkpoint folder (see `train.checkpoint_files`).

        The checkpoint has the whole network. If capsules are switched off, a warning says that they
        will be on after `load`.

        Raises:
            CheckpointError: The folder cannot be written, or holds something else.
        """
        self._check_fitted()
        if self.muted_:
            warnings.warn(
                f"Capsules {', '.join(map(str, self.muted_))} are switched off here, but on in the "
                f"saved model; after load, call without({list(self.muted_)}) again.",
                stacklevel=2,
            )
        save_checkpoint(
            Checkpoint(
                network=self.network_,
                vocabulary=self.vocabulary_,
                classes=self._class_names,
                train_config=self.train_config_,
                inverse_temperature=self.inverse_temperature_,
                metrics=self.metrics_,
                history=self.history_,
                capsule_names=self.capsule_names_,
                label_type=label_type(self.classes_),
                hashes=self.text_hashes_,
                edits=[edit.to_dict() for edit in self.edits_],
            ),
            folder,
        )

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> ICapsClassifier:
        """Loads a fitted classifier from a checkpoint folder.

        Args:
            folder: A folder that `save` or `icaps train` wrote, or the name of a model that comes
                with the package, such as "ag_news".
            device: "auto", or a torch device.

        Raises:
            CheckpointError: The folder is damaged, or is not a checkpoint.
        """
        folder = model_folder(folder)
        checkpoint = load_checkpoint(folder, choose_device(device))
        classifier = cls(checkpoint.network.config, checkpoint.train_config, device=device)
        classifier._set_fitted(checkpoint)
        classifier._automatic_labels = classifier._load_labels(folder)
        if not checkpoint.edits:
            return classifier
        try:
            return classifier.edited(map(Edit.from_dict, checkpoint.edits))
        except (ConfigError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{Path(folder) / EDITS} is damaged ({error}).") from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

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
        return self._set_fitted(checkpoint, data.classes)

    def _set_fitted(
        self, checkpoint: Checkpoint, classes: NDArray[Any] | None = None
    ) -> ICapsClassifier:
        """Sets the fitted attributes; `classes` are the labels as passed to `fit`."""
        self.classes_ = checkpoint.labels if classes is None else classes
        self.network_ = checkpoint.network
        self.vocabulary_ = checkpoint.vocabulary
        self.train_config_ = checkpoint.train_config
        self.inverse_temperature_ = checkpoint.inverse_temperature
        self.metrics_ = checkpoint.metrics
        self.history_ = checkpoint.history
        self.interrupted_ = checkpoint.metrics.get("interrupted") is True
        self.muted_: tuple[int, ...] = ()
        self.capsule_names_ = checkpoint.capsule_names
        self.text_hashes_ = checkpoint.hashes
        self._automatic_labels = ()
        return self

    @property
    def _shown_names(self) -> dict[int, str]:
        """The names that users gave to capsules, and the automatic labels of others, by number."""
        automatic = {i: label for i, label in enumerate(self._automatic_labels) if label}
        return automatic | {i: name for i, name in self.capsule_names_.items() if name}

    def _load_labels(self, folder: str | Path) -> tuple[str, ...]:
        """The automatic labels of the capsules (I,), by the counts in a folder; or none."""
        capsules = self.network_.config.num_capsules
        words: Sequence[Sequence[str]] | None = load_label_words(folder)
        if words is None:  # of an older version; reading all of them takes pandas and pyarrow
            from icaps.interpret.global_view import valid_view

            view = valid_view(folder, (len(self.classes_), capsules))
            words = [] if view is None else view.with_label_words(self.vocabulary_).label_words
        if len(words) != capsules:
            return ()
        return tuple(automatic_label(i, row) for i, row in enumerate(words))

    def _class_name(self, label: Any) -> str:
        """The name of the class with a label, or with a label of another type that equals it."""
        for name, known in zip(self._class_names, self._labels(), strict=True):
            if name == str(label) or (not isinstance(label, str) and known == label):
                return name
        return str(label)

    @property
    def _class_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.classes_))

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("This classifier has no model yet: call fit, or load a folder.")

    def _read(self, texts: Sequence[str]) -> Iterator[Reading]:
        self._check_fitted()
        return read_texts(self.network_, self.vocabulary_, check_texts(texts), self.muted_)

    def _options(self, options: ExplainOptions, changes: ExplainKeywords) -> ExplainOptions:
        """Applies changes to options; raises ConfigError if the target is not a class."""
        self._check_fitted()
        options = dataclasses.replace(options, **changes)
        target = None if options.target is None else self._class_name(options.target)
        if target is not None and target not in self._class_names:
            raise ConfigError(
                f"The model has no class {target!r}; choose {', '.join(self._class_names)}."
            )
        return dataclasses.replace(options, target=target)
