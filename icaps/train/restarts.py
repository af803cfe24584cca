"""Restarts a training that learns nothing, with a gentler recipe.

A learning rate that is too high for the data drives all norms to 1 in the first epochs, where the
gradient vanishes: then every text gets the same class until the end. Specialisation terms that are
too strong have a similar effect.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.train.callbacks import Callback, Validation
from icaps.train.dataset import Corpus
from icaps.train.loop import TrainingProgress, train
from icaps.train.resume import StateFolder

MAX_RESTARTS = 2
GENTLER = 4  # a restart divides the learning rate by it


def gentler(config: TrainConfig, restarts: int) -> TrainConfig:
    """The settings after some restarts; those of the user if there was none.

    Each restart divides the learning rate by GENTLER. The first divides the weights of the
    specialisation terms as well, and the second sets them to 0. The seed differs, so that initial
    weights, order and dropout do too.
    """
    if not restarts:
        return config
    share = 1 / GENTLER if restarts < MAX_RESTARTS else 0.0
    seed = np.random.SeedSequence([config.seed, restarts]).generate_state(1)[0]
    return dataclasses.replace(
        config,
        learning_rate=config.learning_rate / GENTLER**restarts,
        purity_weight=config.purity_weight * share,
        spread_weight=config.spread_weight * share,
        seed=int(seed),
    )


def describe_changes(config: TrainConfig, restarts: int) -> str:
    """The settings that differ after some restarts, except for the seed: "learning_rate=0.005"."""
    before, after = (dataclasses.asdict(gentler(config, number)) for number in (0, restarts))
    return ", ".join(
        f"{name}={value:g}"
        for name, value in after.items()
        if value != before[name] and name != "seed"
    )


def train_with_restarts(
    new_network: Callable[[int], ICapsNet],
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
    state_folder: StateFolder | None = None,
    as_model: Callable[[ICapsNet, Validation, TrainingProgress], Any] | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> tuple[ICapsNet, TrainingProgress]:
    """Trains a network; if it learns nothing at first, trains a new one with a gentler recipe.

    After MAX_RESTARTS the training runs to its end, whatever it learns. A resumed training
    continues with the number of restarts that its state has.

    Args:
        new_network: Returns an initialised network for a seed.
        training, validation, config, callbacks, state_folder, as_model: See `loop.train`.
        log: Called with each log message.

    Raises:
        CheckpointError: The state cannot be written.
        TrainingError: The loss is NaN or infinite.
    """
    state = None if state_folder is None else state_folder.state
    restarts = 0 if state is None else int(state.facts.get("restarts", 0))
    while True:
        settings = gentler(config, restarts)
        network = new_network(settings.seed)
        progress = train(
            network,
            training,
            validation,
            settings,
            callbacks,
            state_folder,
            as_model,
            restarts,
            gives_up=restarts < MAX_RESTARTS,
        )
        if progress.interrupted or not progress.gave_up:
            return network, progress
        restarts += 1
        if state_folder is not None:
            state_folder = dataclasses.replace(state_folder, state=None)
        log(_describe(progress, config, restarts))
        for callback in callbacks if distributed.rank() == 0 else ():
            callback.on_restart(restarts)


def _describe(progress: TrainingProgress, config: TrainConfig, restarts: int) -> str:
    """A log message about a restart."""
    done = len(progress.history)
    return (
        f"nothing learned after {done} epoch{'' if done == 1 else 's'} (validation accuracy "
        f"{progress.history[-1].validation_accuracy:.2%}, no better than chance): restart "
        f"{restarts} of {MAX_RESTARTS} from new weights with a gentler recipe, "
        f"{describe_changes(config, restarts)}"
    )
