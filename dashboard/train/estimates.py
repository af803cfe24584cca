"""What a training will cost, in words."""

from pathlib import Path
from typing import NamedTuple

from dashboard import file_access
from dashboard.cache import data
from dashboard.train.draft import Draft
from icaps.cli.formatting import duration
from icaps.cli.request import TrainRequest
from icaps.data.unlabelled import unlabelled_reading
from icaps.text.coverage import VectorCoverage
from icaps.train.estimate import Estimate
from icaps.train.self_training import second_training_seconds

_FEW_SECONDS = 10.0  # what the start of a process takes is not measured


class Cost(NamedTuple):
    """The estimate of a training.

    Attributes:
        estimate: For the labelled texts.
        seconds: Maximum duration of all, with word vectors and texts without labels.
    """

    estimate: Estimate
    seconds: float

    @property
    def short(self) -> str:
        """The number of texts and classes, and the time, in one line."""
        found = self.estimate
        return f"{self._texts}, {len(found.classes)} classes: {self._time}"

    @property
    def sentences(self) -> str:
        """The texts, the time, and the size of the model."""
        found = self.estimate
        epoch = duration(found.seconds_per_epoch)
        time = (
            "A few seconds in total"
            if self.seconds < _FEW_SECONDS
            else f"{epoch} per epoch, up to {duration(self.seconds)} in total"
        )
        return (
            f"{self._texts} of {len(found.classes)} classes, {found.words.median:.0f} words per "
            f"text; a vocabulary of {found.vocabulary:,} words. {time}; a model of "
            f"{found.checkpoint_bytes / 1e6:.1f} MB, {found.peak_bytes / 1e9:.1f} GB of memory."
        )

    @property
    def _texts(self) -> str:
        about = "" if self.estimate.exact else "about "
        return f"{about}{self.estimate.texts:,} texts"

    @property
    def _time(self) -> str:
        if self.seconds < _FEW_SECONDS:
            return "a few seconds"
        return f"up to {duration(self.seconds)}"


def cost(draft: Draft, request: TrainRequest) -> Cost | None:
    """The time and memory of the training, measured on a sample; None without the data.

    Raises:
        DataError: The texts can't be read, or have only one class.
        VectorsError: The vectors can't be loaded.
        ConfigError: A setting is out of its range.
    """
    model, train = request.given()
    if draft.choice.preview is None:
        return None
    assert draft.recipe is not None
    recipe = draft.recipe.with_settings(model, train)
    key = draft.choice.key
    found = data.training_estimate(key, recipe.model, recipe.train, request.vectors)
    seconds = found.seconds + found.vector_seconds
    if request.unlabelled and file_access.exists(Path(request.unlabelled)):
        reading = unlabelled_reading(request.reading)
        texts = data.unlabelled_count(data.key_of(request.unlabelled, reading))
        per_epoch, epochs = found.seconds_per_epoch, recipe.train.epochs
        seconds += second_training_seconds(per_epoch, epochs, found.texts, texts)
    return Cost(found, seconds)


def coverage_sentences(coverage: VectorCoverage) -> str:
    """How many words have a vector, and what to do if few have."""
    if not coverage.low:
        return coverage.summary
    return (
        f"{coverage.summary} For other languages, enter a file of vectors of that language in the "
        "field Word vectors, such as one of fastText."
    )
