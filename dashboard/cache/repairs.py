"""What edits of a model change, and where edited models are saved."""

import math
import shutil
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from dashboard import quotas
from dashboard.cache import models
from dashboard.cache.evaluations import Sample
from dashboard.model_registry import ModelFolder, find_models, runs_folder
from icaps.classifier import ICapsClassifier
from icaps.cli.request import TrainRequest
from icaps.data.sample import draw_sample
from icaps.errors import ConfigError, RunError
from icaps.evaluate.edit_effect import EditEffect, measure_edits
from icaps.interpret.edits import Edit
from icaps.runs import jobs
from icaps.runs.folder import DONE, RunFolder, find_runs
from icaps.train.checkpoint import save_edits
from icaps.train.checkpoint_files import EXAMPLES

FLIPS = 20  # texts whose predictions change, of which both are returned


class Changed(NamedTuple):
    """A text with what is predicted before and after: names of classes, and a probability."""

    text: str
    before: str
    after: str

    @property
    def flips(self) -> bool:
        """Whether another class is predicted."""
        return self.before.rsplit(" ", 1)[0] != self.after.rsplit(" ", 1)[0]


@st.cache_data(max_entries=20, show_spinner="Measuring …")
def effect(
    model: ModelFolder,
    edits: tuple[Edit, ...],
    sample: Sample,
    others: tuple[ModelFolder, ...] = (),
) -> tuple[EditEffect, list[Changed]]:
    """What more edits of a model change on labelled texts, and some texts that flip.

    Args:
        model: The model.
        edits: What is neutral besides its own edits.
        sample: The texts.
        others: Models that are measured beside it.

    Raises:
        ConfigError: An edit does not suit the model.
        DataError: The texts can't be read, or have other classes.
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    labelled = draw_sample(sample.open(), sample.limit, math.inf).pairs()
    before = models.load(model)
    after = before.edited([*before.edits_, *edits])
    beside = {f"{other.name} (masked texts)": models.load(other) for other in others}
    measured = measure_edits(before, after, labelled, beside=beside)
    texts = [labelled[n][0] for n in measured.flipped[:FLIPS]]
    return measured, _changes(before, after, texts)


def changes(model: ModelFolder, edits: tuple[Edit, ...], texts: Sequence[str]) -> list[Changed]:
    """What more edits of a model change for some texts.

    Raises:
        ConfigError: An edit does not suit the model.
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    before = models.load(model)
    return _changes(before, before.edited([*before.edits_, *edits]), texts)


def retrained_without(model: ModelFolder, words: str) -> list[ModelFolder]:
    """The models of the same classes that were trained on texts masked without some words."""
    classes, found = models.classes(model), []
    for run in find_runs(runs_folder()) if words else ():
        if run.status.state != DONE or run.request is None or run.request.is_baseline:
            continue
        try:
            masked = TrainRequest.from_arguments(run.request.arguments).masked
        except (RunError, ConfigError):  # of another version
            continue
        folder = next((m for m in find_models() if m.path == run.path.resolve()), None)
        if words in masked and folder is not None and models.classes(folder) == classes:
            found.append(folder)
    return found


def save_copy(model: ModelFolder, edits: Sequence[Edit], name: str) -> str:
    """Saves a copy of a model with these edits; returns its name.

    Raises:
        ConfigError: An edit does not suit the model.
        RunError: The name is invalid or taken.
        CheckpointError: The copy can't be written.
        NotAllowedError: The app is read-only, or there are too many models.
    """
    quotas.change("no model can be saved.")
    quotas.new_run(runs_folder())
    if not jobs.NAME.fullmatch(name):
        raise RunError(
            f"The name {name!r} cannot be used. Give at most 60 letters, digits, spaces and _ . -, "
            "and begin with a letter or a digit."
        )
    folder = runs_folder() / name
    if folder.exists():
        raise RunError(f"There is a model {name!r} already; give another name.")
    models.load(model).edited(edits).save(folder)
    if (model.path / EXAMPLES).is_file():
        shutil.copy(model.path / EXAMPLES, folder / EXAMPLES)
    return name


def save_here(model: ModelFolder, edits: Sequence[Edit]) -> None:
    """Replaces the edits of a model of the user's own.

    Raises:
        ConfigError: An edit does not suit the model, which is shipped, or still being trained.
        CheckpointError: They can't be written.
        NotAllowedError: The app is read-only.
    """
    quotas.change("no model can be edited.")
    if reason := why_not_here(model):
        raise ConfigError(reason)
    models.load(model).edited(edits)
    save_edits(model.path, [edit.to_dict() for edit in edits])


def why_not_here(model: ModelFolder) -> str:
    """Why edits of a model can only be saved with a copy; "" if they can be saved with it."""
    if model.shipped:
        return f"{model.name} comes with the app and is not changed; save a copy."
    if RunFolder(model.path).status().live:
        return f"{model.name} is being trained; save a copy, or wait."
    return ""


def _changes(
    before: ICapsClassifier, after: ICapsClassifier, texts: Sequence[str]
) -> list[Changed]:
    sides = (_predictions(model, texts) for model in (before, after))
    return [Changed(*row) for row in zip(texts, *sides, strict=True)]


def _predictions(model: ICapsClassifier, texts: Sequence[str]) -> list[str]:
    """The predicted classes of each text with the probability of the most probable one."""
    if not texts:
        return []
    labels, highest = model.predict_labels(texts), model.predict_proba(texts).max(1)
    return [
        f"{', '.join(names) or 'none'} {probability:.0%}"
        for names, probability in zip(labels, highest, strict=True)
    ]
