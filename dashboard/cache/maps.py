"""Maps of texts: each is computed once, in a thread, so that the page can show its progress."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard import quotas
from dashboard.bounded_dict import BoundedDict
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from icaps.classifier import ICapsClassifier
from icaps.cli.formatting import duration
from icaps.explore.cluster_labels import ClusterLabel, label_clusters
from icaps.explore.index import Index
from icaps.explore.text_projection import project_texts, text_vectors
from icaps.interpret.projection import PlaneMap

_MAPS = 12
_THREADS = 2
_READING = 0.3  # of the time, at first sight
_SECONDS_PER_TEXT = {"tsne": 0.006, "pca": 0.001}  # until one was measured


class TextMap(NamedTuple):
    """Texts on a plane, and the names of their clusters."""

    plane: PlaneMap
    clusters: list[ClusterLabel]


class MapTask:
    """A map that is being computed.

    Args:
        index: The index of the data set.
        model: The model whose capsules are projected.
        numbers: The rows.
        space: One of `text_projection.SPACES`.
        method: One of `projection.METHODS`.
    """

    def __init__(
        self, index: Index, model: ModelFolder, numbers: NDArray[np.int64], space: str, method: str
    ) -> None:
        self._total, self._read, self._started = len(numbers), 0, 0.0
        self._method, self._rates = method, _rates()
        self._result: Future[TextMap] = _threads().submit(
            self._compute, index, models.load(model), numbers, space
        )

    def wait(self, seconds: float) -> TextMap | None:
        """The map; None if it is not ready after this time."""
        try:
            return self._result.result(seconds)
        except TimeoutError:
            return None

    @property
    def failed(self) -> bool:
        """Whether it ended by an error."""
        return self._result.done() and self._result.exception() is not None

    @property
    def progress(self) -> tuple[str, float]:
        """What is done, in words and as a share of the time."""
        if not self._started:
            share = _READING * self._read / max(self._total, 1)
            return f"{self._read:,} of {self._total:,} texts read", share
        expected = self._rates[self._method] * self._total
        passed = time.monotonic() - self._started
        left = f"about {duration(max(expected - passed, 1))} left"
        return left, _READING + (1 - _READING) * min(passed / max(expected, 0.1), 0.97)

    def _compute(
        self, index: Index, classifier: ICapsClassifier, numbers: NDArray[np.int64], space: str
    ) -> TextMap:
        vectors = text_vectors(classifier, index.text(numbers), space, self._count)
        self._started = time.monotonic()
        plane = project_texts(vectors, self._method)
        clusters = label_clusters(index, numbers, plane.points)
        if self._total >= 500:  # of fewer, most of the time does not depend on their number
            self._rates[self._method] = (time.monotonic() - self._started) / self._total
        return TextMap(plane, clusters)

    def _count(self, texts: int) -> None:
        self._read += texts


def text_map(
    index: Index, model: ModelFolder, numbers: NDArray[np.int64], space: str, method: str
) -> MapTask:
    """The map of some rows by the capsules that a model computes for them, begun if it is new.

    Raises:
        NotAllowedError: It is new, and the visitor exceeds the rate limit.
    """
    key = (str(index.folder), model, numbers.tobytes(), space, method)
    task = _maps().get(key)
    if task is None or task.failed:
        quotas.request()
        task = MapTask(index, model, numbers, space, method)
        _maps().put(key, task)
    return task


@st.cache_resource
def _maps() -> BoundedDict[tuple[str, ModelFolder, bytes, str, str], MapTask]:
    return BoundedDict(_MAPS)


@st.cache_resource
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "map")


@st.cache_resource
def _rates() -> dict[str, float]:
    """Seconds per text of each method on this machine."""
    return dict(_SECONDS_PER_TEXT)
