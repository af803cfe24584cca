"""Warnings about a result, on the pages that show its model."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from icaps.runs.folder import FAILED, TRAINING, RunFolder, Status
from icaps.train.checkpoint_files import METRICS
from icaps.train.result_warnings import CHANCE, FEW, MAJORITY, METRIC, ResultWarning
from tests.dashboard.run_folders import at_work, done, open_page, write_run

SERIOUS = ResultWarning(CHANCE, "It is at *chance* & <b>bad</b>.", "Lower learning_rate.")
NOTE = ResultWarning(FEW, "Few capsules.", "Raise spread_weight.", serious=False)


def plain(text: str) -> str:
    return text.replace("\\", "").replace("\u2060", "")


def shown(at: Any, kind: str) -> list[str]:
    return [plain(box.value) for box in at.get(kind)]


def write_warnings(folder: Path, *warnings: ResultWarning) -> None:
    metrics = json.loads((folder / METRICS).read_text())
    metrics[METRIC] = [warning.to_dict() for warning in warnings]
    (folder / METRICS).write_text(json.dumps(metrics))


def as_run(models: Path, status: Status) -> Path:
    folder = write_run(models, "course", status).path
    shutil.copytree(models / "small", folder, dirs_exist_ok=True)
    write_warnings(folder, SERIOUS, NOTE)
    return folder


def test_the_page_train_shows_them_after_the_end(models: Path) -> None:
    as_run(models, done(restarts=2))
    at = open_page("train", run="course")
    assert shown(at, "warning") == [str(SERIOUS)]
    restarted, note = shown(at, "info")
    assert "restarted 2 times" in restarted
    assert note == str(NOTE)


@pytest.mark.parametrize("state", [TRAINING, FAILED])
def test_not_before_and_not_after_a_failure(models: Path, state: str) -> None:
    folder = as_run(models, Status(state, 1, epoch=1, epochs=2, restarts=1))
    with at_work(RunFolder(folder)) if state == TRAINING else nullcontext():
        at = open_page("train", run="course")
    assert not shown(at, "warning")
    (restarted,) = shown(at, "info")
    assert "restarted once" in restarted


def test_the_page_explain_shows_the_serious_ones_and_that_of_capsules(models: Path) -> None:
    note = ResultWarning(MAJORITY, "A note.", "On accuracy.", serious=False)
    write_warnings(models / "small", SERIOUS, NOTE, note)
    at = open_page("explain")
    assert shown(at, "warning") == [str(SERIOUS)]
    assert str(NOTE) not in shown(at, "info")
    assert str(NOTE) in shown(at, "caption")
    assert str(note) not in [*shown(at, "info"), *shown(at, "caption")]


def test_few_capsules_of_a_model_that_was_trained_before_there_was_a_warning(models: Path) -> None:
    """Its last snapshot, or else its counts, show them."""
    frequency = [[9, 1, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0], [0, 0, 0, 5, 0, 0]]
    counts = {"epoch": 1, "classes": ["a", "b", "c"], "frequency": frequency, "explanation": None}
    folder = write_run(models, "course", done(), snapshots=[counts]).path
    shutil.copytree(models / "small", folder, dirs_exist_ok=True)
    write_warnings(folder)
    expected = "Only 4 of 6 capsules win 1% of the texts or more: "
    (note,) = shown(open_page("train", run="course"), "info")
    assert note.startswith(expected)
    (note,) = shown(open_page("capsules", model="course"), "info")
    assert note.startswith(expected)
    captions = shown(open_page("explain", model="course"), "caption")
    assert [caption for caption in captions if caption.startswith(expected)]


def test_the_page_capsules_shows_those_of_a_model_without_counts(models: Path) -> None:
    write_warnings(models / "small", SERIOUS, NOTE)
    at = open_page("capsules")
    assert shown(at, "warning") == [str(SERIOUS)]
    assert shown(at, "info") == [str(NOTE)]


def set_winners(folder: Path, winners: list[int]) -> None:
    """Makes the stored counts those of a model in which one capsule wins each class's texts."""
    path = folder / "global_view" / "counts.safetensors"
    matrices = load_file(path)
    frequency = np.zeros_like(matrices["frequency"])
    frequency[range(len(winners)), winners] = matrices["frequency"].sum(1)
    save_file(matrices | {"frequency": frequency}, path)


def test_counts_show_a_collapse_also_of_an_earlier_model(models: Path, interpreted: Path) -> None:
    shutil.rmtree(models / "small")
    shutil.copytree(interpreted, models / "seen")
    set_winners(models / "seen", [2, 2, 2])
    metrics = json.loads((models / "seen" / METRICS).read_text())
    del metrics[METRIC]
    (models / "seen" / METRICS).write_text(json.dumps(metrics))
    for page in ("capsules", "explain"):
        (warning,) = shown(open_page(page), "warning")
        assert warning.startswith("Capsule 2 wins 120 of 120 test texts, of 3 of 3")


def test_a_good_model_has_no_warning(models: Path, interpreted: Path) -> None:
    shutil.rmtree(models / "small")
    shutil.copytree(interpreted, models / "seen")
    set_winners(models / "seen", [2, 0, 1])
    write_warnings(models / "seen")
    for page in ("capsules", "explain"):
        assert shown(open_page(page), "warning") == []
