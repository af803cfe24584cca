"""What benchmarks/own_labels.py decides; it itself trains for hours."""

import argparse
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from benchmarks import own_labels
from benchmarks.own_labels import Bench, CommandError
from benchmarks.own_labels_report import (
    ICAPS,
    LINEAR,
    UNLABELLED,
    Measurement,
    Report,
    quick_figures,
)
from icaps.classifier import ICapsClassifier
from icaps.data.source import LabelledTexts, read_part
from icaps.faithfulness.eraser import measure_rankings
from icaps.faithfulness.texts import read_explained
from tests.conftest import make_texts


def measured(data: str = "trec", system: str = ICAPS, seed: int = 0, **facts: float) -> Measurement:
    run = Measurement(
        data=data,
        system=system,
        seed=seed,
        texts=5_452,
        classes=6,
        test_texts=500,
        most_frequent=0.276,
        accuracy=0.9,
        macro_f1=0.88,
        seconds=50.0,
    )
    if system == ICAPS:
        run = dataclasses.replace(run, alive=20, capsules=32, capsule_classes=6, purity=0.95)
    return dataclasses.replace(run, **facts)


def met(*runs: Measurement) -> dict[str, bool | None]:
    return {target.text: target.met for target in Report(runs).targets()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data sets with one of them, of three classes."""
    place = tmp_path / "data" / "topics"
    place.mkdir(parents=True)
    for part, count in (("train", 90), ("test", 30)):
        texts, labels = make_texts(count, seed=3)
        own_labels.write_csv(place / f"{part}.csv", LabelledTexts(texts, labels, ()))
    return place.parent


def test_names_of_data() -> None:
    assert own_labels.split_name("trec") == ("trec", None)
    assert own_labels.split_name("ag_news:200") == ("ag_news", 200)
    for wrong in ("trec:", "trec:0", "trec:many"):
        with pytest.raises(ValueError, match=r"labels|invalid literal"):
            own_labels.split_name(wrong)


def test_the_folder_of_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shared" / "data").mkdir(parents=True)
    monkeypatch.setattr(own_labels, "ROOT", tmp_path / "work" / "clone")
    monkeypatch.delenv(own_labels.SETTING, raising=False)
    assert own_labels.shared_folder() == tmp_path / "shared" / "data"
    monkeypatch.setenv(own_labels.SETTING, str(tmp_path / "other"))
    assert own_labels.shared_folder() == tmp_path / "other"


def test_labels_are_drawn_in_equal_shares_and_the_rest_is_the_rest() -> None:
    texts, labels = make_texts(300, seed=4)
    texts = [f"{n} {text}" for n, text in enumerate(texts)]
    data = LabelledTexts(texts, labels, tuple(sorted(set(labels))))
    chosen, rest = own_labels.draw_labels(data, 30, seed=1)
    assert [chosen.labels.count(name) for name in data.classes] == [10, 10, 10]
    assert sorted([*chosen.texts, *rest.texts]) == sorted(texts)
    pairs = dict(zip(texts, labels, strict=True))
    assert all(pairs[t] == label for t, label in zip(chosen.texts, chosen.labels, strict=True))
    again, other = (own_labels.draw_labels(data, 30, seed)[0].texts for seed in (1, 2))
    assert chosen.texts == again != other


def test_the_file_of_texts_is_read_as_it_was_written(tmp_path: Path) -> None:
    texts = ['He said "no", twice', "two\nlines", "café; plain", " spaces "]
    data = LabelledTexts(texts, ["World", "Sci/Tech", "World", "Sci/Tech"], ())
    own_labels.write_csv(tmp_path / "train.csv", data)
    read = read_part(tmp_path, "train")
    assert (read.texts, read.labels) == (data.texts, data.labels)
    own_labels.write_csv(tmp_path / "rest.csv", data, labels=False)
    assert (tmp_path / "rest.csv").read_text().startswith('text\n"He said ""no"", twice"\n')


def test_the_cells_of_a_run() -> None:
    cells = own_labels.cells(("trec", "ag_news:200"), (ICAPS, LINEAR), (0, 1), unlabelled=True)
    first = [
        ("trec", ICAPS, 0),
        ("trec", LINEAR, 0),
        ("ag_news:200", ICAPS, 0),
        ("ag_news:200", LINEAR, 0),
        ("ag_news:200", UNLABELLED, 0),
    ]
    assert list(cells) == [*first, *((name, system, 1) for name, system, _ in first)]


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [measured(), measured(system=LINEAR, seed=2, accuracy=0.886)]
    path = tmp_path / "new" / "results.json"
    assert own_labels.read_results(path) == own_labels.read_results(None) == []
    own_labels.write_results(path, runs)
    assert own_labels.read_results(path) == runs
    assert [file.name for file in path.parent.iterdir()] == ["results.json"]


def test_commands_and_logistic_regression_see_the_same_texts(folder: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    bench = Bench(folder, scratch)
    runs = [bench.measure("topics:60", system, seed=1) for system in ("linear", "logistic")]
    for run in runs:
        assert (run.data, run.seed, run.texts, run.classes, run.test_texts) == (
            "topics:60",
            1,
            60,
            3,
            30,
        )
        assert run.most_frequent == pytest.approx(1 / 3)
        assert run.accuracy > 0.9
        assert run.alive is run.purity is None
    assert bench.measure("topics", "logistic", seed=0).texts == 90


def test_a_command_that_fails_says_why(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--set takes KEY=VALUE"):
        own_labels.run_command(["train", "--set", "x"], folder / "topics", tmp_path / "model", 0)


def test_capsules_and_kgrams_are_measured(folder: Path, model_folder: Path) -> None:
    facts = own_labels.interpret(model_folder, folder / "topics", reasons=True)
    assert 0 < facts["alive"] <= facts["capsules"]
    assert 1 <= facts["capsule_classes"] <= 3
    assert 1 / 3 <= facts["purity"] <= 1
    texts = read_explained(
        ICapsClassifier.load(model_folder), read_part(folder / "topics", "test").texts
    )
    for name, ranking in (("comprehensiveness", "routing"), ("random_comprehensiveness", "random")):
        _, by_kgrams = measure_rankings(texts, [ranking], ["deletion"])
        # The texts of `interpret` are in another order, in which other random words are drawn.
        tolerance = 1e-6 if ranking == "routing" else 0.05
        expected = by_kgrams.effects.comprehensiveness.mean()
        assert facts[name] == pytest.approx(expected, abs=tolerance)
    plain = own_labels.interpret(model_folder, folder / "topics", reasons=False)
    assert plain == {name: facts[name] for name in plain}
    assert "comprehensiveness" not in plain


def test_means_and_deviations_over_the_seeds() -> None:
    runs = [measured(seed=n, accuracy=a) for n, a in enumerate((0.88, 0.90, 0.92))]
    runs += [measured(system=LINEAR, seed=0, accuracy=0.886)]
    lines = list(Report(runs).lines())
    assert lines[2] == (
        "| trec | icaps train | 3 | 90.00 ± 2.00 | 88.00 ± 0.00 | 50 ± 0 | 20.0 ± 0.0 of 32 "
        "| 6.0 ± 0.0 of 6 | 0.95 ± 0.00 |  |"
    )
    assert lines[3] == "| trec | linear SVM | 1 | 88.60 | 88.00 | 50 |  |  |  |  |"
    # Only seed 0 has both.
    assert "icaps minus SVM: trec -0.60; on average -0.60" in lines


def test_times_random() -> None:
    run = measured(comprehensiveness=0.3, random_comprehensiveness=0.1)
    assert run.times_random == pytest.approx(3)
    assert "3.0 |" in list(Report([run]).lines())[2]
    assert dataclasses.replace(run, random_comprehensiveness=-0.1).times_random is None
    assert measured().times_random is None


def test_chance_is_the_most_frequent_class() -> None:
    assert measured(accuracy=0.494, most_frequent=0.5, test_texts=1_066).at_chance
    assert measured(accuracy=0.51, most_frequent=0.5, test_texts=1_066).at_chance
    assert not measured(accuracy=0.76, most_frequent=0.5, test_texts=1_066).at_chance


def test_targets_beside_the_svm() -> None:
    each, average = (
        "at least the SVM's accuracy on each data set",
        ("at least 1.0 point above the SVM on average"),
    )
    ours, theirs = measured(accuracy=0.9), measured(system=LINEAR, accuracy=0.886)
    assert (met(ours, theirs)[each], met(ours, theirs)[average]) == (True, True)
    sst2 = [measured("sst2", accuracy=0.8), measured("sst2", LINEAR, accuracy=0.801)]
    assert (met(ours, theirs, *sst2)[each], met(ours, theirs, *sst2)[average]) == (False, False)
    assert met(ours)[each] is met(ours)[average] is None


def test_targets_on_capsules_are_for_few_classes_and_each_seed() -> None:
    half, pure = (
        f"{what} up to 16 classes"
        for what in ("at least half of the capsules alive", "purity at least 0.90")
    )
    assert (met(measured())[half], met(measured())[pure]) == (True, True)
    bad = measured(seed=1, alive=15, purity=0.38)
    assert (met(measured(), bad)[half], met(measured(), bad)[pure]) == (False, False)
    many = dataclasses.replace(bad, classes=150)
    assert (met(measured(), many)[half], met(measured(), many)[pure]) == (True, True)
    assert (met(many)[half], met(many)[pure]) == (None, None)
    (line,) = (str(target) for target in Report([bad]).targets() if target.text == half)
    assert line == f"{half}: MISSED (trec seed 1: 15 of 32)"
    (line,) = (str(target) for target in Report([measured()]).targets() if target.text == half)
    assert line == f"{half}: met (trainings: 1)"


def test_targets_of_accuracy_and_time() -> None:
    few = [measured("ag_news:200", seed=n, accuracy=a) for n, a in enumerate((0.78, 0.81))]
    better = measured("ag_news:200", UNLABELLED, accuracy=0.84)
    (line,) = (str(t) for t in Report([*few, better]).targets() if "ag_news:200" in t.text)
    assert line == "ag_news:200 at least 79%: met (79.50; with unlabelled texts 84.00)"
    assert met(*few)["ag_news at least 92.3%"] is None
    assert met(measured("newsgroups_5k", accuracy=0.675))["newsgroups_5k at least 67.6%"] is False
    time = "10,000 short texts in at most 180 seconds"
    assert met(measured("ag_news:10000", seconds=181))[time] is False
    assert met(measured("clinc150"), measured("yelp_5_10k", seconds=999))[time] is True


def test_figures_of_a_quick_run() -> None:
    runs = [measured(seconds=50.04), measured(system=LINEAR, accuracy=0.88)]
    assert quick_figures(runs) == {
        "trec": {"icaps": 0.9, "linear": 0.88, "alive": 20, "purity": 0.95, "seconds": 50.0}
    }


def test_a_finished_measurement_is_not_repeated(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    results = tmp_path / "results.json"
    command = ["own_labels", "--folder", str(folder), "--data", "topics", "--seeds", "0"]
    command += ["--systems", "logistic", "--results", str(results)]

    def run(*options: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", [*command, *options])
        assert own_labels.main() == 0
        return capsys.readouterr()

    printed, log = run()
    assert log.startswith("topics, logistic regression, seed 0: ")
    (stored,) = own_labels.read_results(results)
    assert run() == (printed, "")
    assert own_labels.read_results(results) == [stored]
    assert run("--again", "logistic") == (printed, "")  # it is of this commit
    others = [dataclasses.replace(stored, code="old"), measured(system="logistic")]
    own_labels.write_results(results, others)
    assert run("--again", "linear")[1] == ""
    assert run("--again", "logistic")[1].startswith("topics, logistic regression, seed 0: ")
    again, other = own_labels.read_results(results)
    assert (again.code, again.accuracy) == (stored.code, stored.accuracy)
    assert other == others[1]  # not one of the data sets of this call
    quick, log = run("--quick", "--json")
    assert json.loads(quick) == {"topics": {"logistic": stored.accuracy}}


def test_a_failure_is_reported_and_the_rest_is_measured(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Bench):
        def measure(self, name: str, system: str, seed: int) -> Measurement:
            if seed == 0:
                raise CommandError("out of memory")
            return measured(name, system, seed)

    options = argparse.Namespace(
        data=["trec"], systems=[ICAPS], seeds=[0, 1], unlabelled=False, results=None, again=[]
    )
    found, whole = own_labels.measure_all(Broken(folder, tmp_path), options)
    assert (found, whole) == ([measured(seed=1)], False)
    log = capsys.readouterr().err
    assert "trec, icaps train, seed 0 failed: out of memory" in log
