"""fastText with bigrams, by its own library (Joulin et al., "Bag of Tricks", 2017)."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.baselines.base import FASTTEXT, Baseline
from icaps.baselines.several_labels import fit_label_thresholds
from icaps.data.atomic import COPY_AGAIN
from icaps.errors import CheckpointError, ConfigError
from icaps.text.tokenizer import words_of
from icaps.train.checkpoint_files import CLASSES

MODEL = "model.bin"
RATES = (0.1, 0.25, 0.5)  # learning rates, as in the paper's section 3.1
_DIM, _EPOCHS = 10, 5  # from the same section
BUCKETS = 1_000_000  # hash buckets of bigrams
_LABEL = "__label__"


class FastTextBaseline(Baseline):
    """A model of the fastText library; its labels are class numbers."""

    def __init__(self, classes: NDArray[Any], model: Any) -> None:
        super().__init__(FASTTEXT, classes)
        self._model = model

    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """The library's probabilities (texts, J); without a known word, of the end of the text."""
        count = len(self.classes_)
        scores = np.zeros((len(X), count))
        if not len(X):
            return scores
        names, values = self._model.predict([_line(text) for text in X], k=count)
        for row, labels, shares in zip(scores, names, values, strict=True):
            row[[int(label.removeprefix(_LABEL)) for label in labels]] = shares
        return scores

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same, adding up to 1 exactly."""
        shares: NDArray[np.float64] = scores / scores.sum(1, keepdims=True)
        return shares

    @property
    def num_weights(self) -> int:
        """The number of parameters in its two matrices."""
        matrices = self._model.get_input_matrix(), self._model.get_output_matrix()
        return sum(int(matrix.size) for matrix in matrices)

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the library's own file; the settings contain its checksum."""
        self._model.save_model(str(folder / MODEL))
        return {"checksum": _checksum(folder / MODEL)}

    @classmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> FastTextBaseline:
        """See `Baseline.read`. The library would crash on a file whose checksum is wrong."""
        path = folder / MODEL
        if not path.is_file():
            raise CheckpointError(f"{path} is missing. {COPY_AGAIN}")
        if _checksum(path) != settings["checksum"]:
            raise CheckpointError(f"{path} is damaged. {COPY_AGAIN}")
        model = import_fasttext().load_model(str(path))
        if len(model.get_labels()) != len(classes):
            raise CheckpointError(f"{path} has other classes than {CLASSES}. {COPY_AGAIN}")
        return cls(classes, model)


def fit_fasttext(
    classes: NDArray[Any],
    training: tuple[Iterable[str], NDArray[np.integer[Any]]],
    held_out: tuple[Sequence[str], NDArray[np.integer[Any]]],
    seed: int,
    say: Callable[[str], None],
) -> FastTextBaseline:
    """Fits a model for each of RATES; returns the one with the best validation accuracy.

    With several labels per text, the library fits a logistic function per class ("one versus all"),
    and macro F1 decides; it reads no text without a label.

    The arguments are those of `linear.fit_linear`. One thread is used, so that the seed determines
    the model.

    Raises:
        ConfigError: The library is not installed.
    """
    fasttext, best, best_score = import_fasttext(), None, -1.0
    several = training[1].ndim == 2
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        for text, label in zip(*training, strict=True):
            numbers = np.flatnonzero(label).tolist() if several else [label]
            marks = " ".join(f"{_LABEL}{number}" for number in numbers)
            file.write(f"{marks} {_line(text)}\n")
        file.flush()
        for rate in RATES:
            model = fasttext.train_supervised(
                file.name,
                lr=rate,
                dim=_DIM,
                epoch=_EPOCHS,
                wordNgrams=2,
                bucket=BUCKETS,
                thread=1,
                seed=seed,
                loss="ova" if several else "softmax",
                verbose=0,
            )
            fitted = FastTextBaseline(classes, model)
            if several:
                rule = fit_label_thresholds(fitted.decision_function(held_out[0]), held_out[1])
                fitted.label_thresholds = rule.thresholds
                metrics, score, name = rule.metrics(), rule.macro_f1, "macro F1"
            else:
                score = float((fitted.predict(held_out[0]) == classes[held_out[1]]).mean())
                metrics, name = {"validation_accuracy": score}, "accuracy"
            say(f"learning rate {rate:g}: validation {name} {score:.2%}")
            if score > best_score:
                best, best_score = fitted, score
                best.metrics_ = {"learning_rate": rate, **metrics}
    assert best is not None
    return best


def import_fasttext() -> Any:
    """The package `fasttext`; ConfigError where it is not installed."""
    try:
        return import_module("fasttext")
    except ImportError as error:
        raise ConfigError(
            "The baseline fasttext needs a package: pip install fasttext-community."
        ) from error


def _line(text: str) -> str:
    """A text as the library reads it: words separated by a space, on one line."""
    return " ".join("".join(word.split()) for word in words_of(text)).replace("\0", "")


def _checksum(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
