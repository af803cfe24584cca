"""TrainedModel: a trained network with its vocabulary and classes, which predicts and explains.

It has what prediction needs and no more: scikit-learn, which takes longer to import than torch, is
needed only by the estimator (`classifier.ICapsClassifier`).
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.config import ExplainKeywords, ExplainOptions
from icaps.data.texts import check_texts
from icaps.errors import CheckpointError, ConfigError
from icaps.explanation_parts import capsule_label
from icaps.inference import CHUNK, Reading, class_norms, predicted_sets, read_texts
from icaps.interpret.account import BatchAccount, TextAccount
from icaps.interpret.capsule_labels import automatic_label, load_label_words
from icaps.interpret.edits import Edit, Edits
from icaps.interpret.local import Reasons, explain, find_reasons
from icaps.nn.device import choose_device
from icaps.results import Explanation
from icaps.sharing.hub_mixin import HubMixin
from icaps.shipped import model_folder
from icaps.text.sentences import encode
from icaps.train.checkpoint import Checkpoint, label_type, load_checkpoint, save_checkpoint
from icaps.train.checkpoint_files import EDITS

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class TrainedModel(HubMixin):
    """A trained network with its vocabulary and classes, which predicts and explains.

    `load` reads one from a folder. `X` is always a sequence of strings.

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

    def without(self, capsules: Iterable[int]) -> Self:
        """A copy of the model, sharing its network, with these primary capsules switched off.

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

    def edited(self, edits: Iterable[Edit]) -> Self:
        """A copy of the model, sharing its weights, with these edits and no others.

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
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Loads a model from a checkpoint folder.

        Args:
            folder: A folder that `save` or `icaps train` wrote, or the name of a model that comes
                with the package, such as "ag_news".
            device: "auto", or a torch device.

        Raises:
            CheckpointError: The folder is damaged, or is not a checkpoint.
        """
        folder = model_folder(folder)
        checkpoint = load_checkpoint(folder, choose_device(device))
        model = cls._without_model(checkpoint, device)._set_fitted(checkpoint)
        model._automatic_labels = model._load_labels(folder)
        if not checkpoint.edits:
            return model
        try:
            return model.edited(map(Edit.from_dict, checkpoint.edits))
        except (ConfigError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{Path(folder) / EDITS} is damaged ({error}).") from error

    def _repr_html_(self) -> str:
        """What notebooks show: classes, scores, capsules and settings."""
        return self._html_repr()

    def _html_repr(self) -> str:  # the name by which scikit-learn shows estimators
        from icaps.model_html import model_html

        return model_html(
            self._class_names,
            self.vocabulary_.trained_words,
            self.capsule_labels_,
            (self.network_.config, self.train_config_),
            self.metrics_,
            several=self.multilabel_,
            muted=self.muted_,
            edits=[str(edit) for edit in self.edits_],
        )

    @classmethod
    def _without_model(cls, checkpoint: Checkpoint, device: str) -> Self:
        """A new object for what is in a checkpoint."""
        return cls()

    def _set_fitted(self, checkpoint: Checkpoint, classes: NDArray[Any] | None = None) -> Self:
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
        """Raises an error if there is no network yet, as there is none before `fit`."""

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
