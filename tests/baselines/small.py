"""Small networks, and one of each baseline that has learnt the topics of the tests."""

import dataclasses
from collections.abc import Sequence

import pytest

from icaps.baselines import fasttext
from icaps.baselines.base import Baseline
from icaps.baselines.fit_baseline import SETTINGS, fit_baseline
from icaps.data.source import open_source
from icaps.train.callbacks import Callback
from tests.conftest import make_texts

QUICK = dataclasses.replace(SETTINGS, min_frequency=0, batch_size=32, epochs=6, learning_rate=2e-3)


def fit(kind: str, seed: int = 1, callbacks: Sequence[Callback] = ()) -> Baseline:
    source = open_source(make_texts(360, seed=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasttext, "BUCKETS", 1_000)  # a model of 40 MB would be written many times
        return fit_baseline(kind, source, dataclasses.replace(QUICK, seed=seed), callbacks)
