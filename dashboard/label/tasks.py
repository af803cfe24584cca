"""The tasks of labelling on this server: a folder each, with what the page remembers about it.

labelling/NAME/    the task (`icaps.label.task`)
               page.json      which model gives guesses, and when the next one is trained
               words.jsonl    the words that people marked
"""

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from dashboard import quotas
from dashboard.model_registry import ModelFolder, find_models, runs_folder
from icaps.data.cache import data_folder
from icaps.data.marked_words import MarkedWordsFile
from icaps.errors import ConfigError, DataError
from icaps.label.task import LabelTask
from icaps.runs.folder import Run, find_runs

EVERY = (0, 10, 20, 50, 100, 200)  # labels after which a model is trained; 0: by a click only
_NAME = re.compile(r"\w[\w .-]{0,39}")
_SETTINGS, _WORDS, _TRAINING = "page.json", "words.jsonl", "training"
_TASK = "task.json"  # of `icaps.label.task`


@dataclass(frozen=True)
class PageSettings:
    """What the page remembers about a task.

    Attributes:
        model: The name of the model whose guesses are shown until the task has its own; may be "".
        every: The number of new labels after which a model is trained; 0: by a click only.
        unlabelled: Whether trainings use the texts without labels, too.
    """

    model: str = ""
    every: int = 0
    unlabelled: bool = False


@dataclass(frozen=True)
class TrainedModel:
    """A training of a task.

    Attributes:
        run: The training.
        labels: The number of labels that it learns from.
    """

    run: Run
    labels: int


def root() -> Path:
    """The folder of all tasks."""
    return data_folder() / "labelling"


def names() -> list[str]:
    """The names of all tasks, the one that was worked on last first."""
    stamps = {}
    for settings in root().glob(f"[!.]*/{_TASK}"):
        changed = [path for path in (settings, settings.with_name("labels.jsonl")) if path.exists()]
        stamps[settings.parent.name] = max(path.stat().st_mtime_ns for path in changed)
    return sorted(stamps, key=lambda name: -stamps[name])


def free_name(wanted: str) -> str:
    """A name for a task, as close to the wanted one as is allowed and not taken."""
    clean = "".join(c if _NAME.fullmatch(f"a{c}") else "-" for c in wanted)[:34].strip("-. ")
    base = clean or "task"
    name, number = base, 2
    while (root() / name).exists():
        name, number = f"{base} {number}", number + 1
    return name


def new_folder(name: str) -> Path:
    """The folder of a task that is to be created.

    Raises:
        ConfigError: The name cannot be used, or is taken.
        NotAllowedError: No further task is allowed here.
    """
    quotas.new_label_task(len(names()))
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"The name {name!r} cannot be used. Give at most 40 letters, digits, spaces and _ . -, "
            "and begin with a letter or a digit."
        )
    if (root() / name).exists():
        raise ConfigError(f"There is a task named {name} already; choose another name.")
    return root() / name


def open_task(name: str) -> LabelTask:
    """Opens a task.

    Raises:
        DataError: There is none of this name, or it is damaged.
    """
    if name not in names():
        raise DataError(f"There is no task {name!r}; it may have been deleted.")
    return LabelTask.open(root() / name)


def delete(name: str) -> None:
    """Deletes a task with its labels; its trained models remain.

    Raises:
        DataError: There is none of this name, or it cannot be deleted.
        NotAllowedError: The app is read-only.
    """
    quotas.change("no task can be deleted.")
    if name not in names():
        raise DataError(f"There is no task {name!r}; it may have been deleted.")
    hidden = root() / f".deleted-{time.monotonic_ns()}"
    try:
        (root() / name).rename(hidden)
        shutil.rmtree(hidden)
    except OSError as error:
        raise DataError(f"The task {name} cannot be deleted ({error}).") from error


def words_file(task: LabelTask) -> MarkedWordsFile:
    """The words that people marked in the texts of a task."""
    return MarkedWordsFile(task.folder / _WORDS)


def page_settings(task: LabelTask) -> PageSettings:
    """What the page remembers about a task; the defaults if that is damaged."""
    try:
        values = json.loads((task.folder / _SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return PageSettings()
    match values:
        case {"model": str(model), "every": int(every), "unlabelled": bool(unlabelled)}:
            return PageSettings(model, every if every in EVERY else 0, unlabelled)
    return PageSettings()


def store_page_settings(task: LabelTask, settings: PageSettings) -> None:
    """Makes the page remember this about a task.

    Raises:
        DataError: The folder cannot be written.
        NotAllowedError: The app is read-only.
    """
    quotas.change("nothing can be changed.")
    path = task.folder / _SETTINGS
    scratch = path.with_name(f".{_SETTINGS}.{time.monotonic_ns()}")
    try:
        scratch.write_text(json.dumps(asdict(settings)), encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error}).") from error


def trainings(task: LabelTask) -> list[TrainedModel]:
    """The trainings on labels of a task, the newest first."""
    place = task.folder.resolve() / _TRAINING
    found = []
    for run in find_runs(runs_folder()):
        data = None if run.request is None else _option(run.request.arguments, "--data")
        if data is not None and Path(data).parent == place:
            found.append(TrainedModel(run, _lines(Path(data) / "train.jsonl")))
    return found


def models_of(task: LabelTask) -> list[ModelFolder]:
    """The models whose classes may be those of the task: all, its own first."""
    own = {training.run.path.resolve() for training in trainings(task)}
    return sorted(find_models(), key=lambda model: model.path not in own)


def _option(arguments: tuple[str, ...], name: str) -> str | None:
    for option, value in pairwise(arguments):
        if option == name:
            return value
    return None


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0
