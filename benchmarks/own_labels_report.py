"""What `benchmarks.own_labels` prints: the means over seeds, and which targets are met.

Accuracies are shares in the measurements, and percent in the table and the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

from icaps.stats import wilson

ICAPS, UNLABELLED = "icaps", "icaps + unlabelled"
LINEAR, LOGISTIC, FASTTEXT = "linear", "logistic", "fasttext"
TITLES = {
    ICAPS: "icaps train",
    UNLABELLED: "icaps train --unlabelled",
    LINEAR: "linear SVM",
    LOGISTIC: "logistic regression",
    FASTTEXT: "fastText",
}
AG_NEWS, NEWSGROUPS = "ag_news", "newsgroups_5k"
TEN_THOUSAND = ("ag_news:10000", "movie_reviews", "clinc150")  # about 10,000 short texts each
FEW_CLASSES = 16


@dataclass(frozen=True)
class Measurement:
    """The test scores of a system that was trained on one data set with one seed.

    Attributes:
        data: The name of a data set, perhaps with a number of labels: "ag_news:200".
        system: A key of TITLES.
        seed: The random seed.
        texts: Number of training texts with a label, of which each system holds out a part.
        classes: J, the number of classes.
        test_texts: Number of test texts.
        most_frequent: The share of the most frequent class of the test texts.
        accuracy, macro_f1: Of the test texts.
        seconds: Wall time of training and test.
        alive, capsules: Number of capsules that win at least 1% of the test texts, and of all.
        capsule_classes: Number of classes for which an alive capsule wins most of its texts.
        purity: The share of test texts whose winning capsule has their predicted class as its main
            class.
        comprehensiveness, random_comprehensiveness: The mean drop of the norm of the predicted
            class without the words of the K-grams, and without as many words at random places.
        code: The commit of the code.
    """

    data: str
    system: str
    seed: int
    texts: int
    classes: int
    test_texts: int
    most_frequent: float
    accuracy: float
    macro_f1: float
    seconds: float
    alive: int | None = None
    capsules: int | None = None
    capsule_classes: int | None = None
    purity: float | None = None
    comprehensiveness: float | None = None
    random_comprehensiveness: float | None = None
    code: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What was measured."""
        return self.data, self.system, self.seed

    @property
    def at_chance(self) -> bool:
        """Whether the accuracy is not clearly above the share of the most frequent class."""
        lower = wilson(round(self.accuracy * self.test_texts), self.test_texts).low
        return lower <= self.most_frequent

    @property
    def times_random(self) -> float | None:
        """The comprehensiveness over that of random words; None where that is not positive."""
        random = self.random_comprehensiveness
        if self.comprehensiveness is None or random is None or random <= 0:
            return None
        return self.comprehensiveness / random


@dataclass(frozen=True)
class Target:
    """A target, whether it is met (None: not measured), and by which figures."""

    text: str
    met: bool | None
    figures: str

    def __str__(self) -> str:
        state = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        return f"{self.text}: {state}" + (f" ({self.figures})" if self.figures else "")


class Report:
    """The means and targets of all measurements."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self._groups: dict[tuple[str, str], list[Measurement]] = {}
        for measurement in measurements:
            self._groups.setdefault((measurement.data, measurement.system), []).append(measurement)
        self.data = list(dict.fromkeys(data for data, _ in self._groups))

    def of(self, data: str, system: str = ICAPS) -> list[Measurement]:
        """The measurements of all seeds; empty if there are none."""
        return self._groups.get((data, system), [])

    def accuracy(self, data: str, system: str = ICAPS) -> float | None:
        """The mean test accuracy in percent; None if it was not measured."""
        runs = self.of(data, system)
        return 100 * mean(run.accuracy for run in runs) if runs else None

    def differences(self) -> dict[str, float]:
        """The mean accuracy of plain icaps minus that of the SVM in points, by data set.

        Only seeds that both were measured with count.
        """
        points = {}
        for data in self.data:
            ours, other = ({run.seed: run for run in self.of(data, s)} for s in (ICAPS, LINEAR))
            both = ours.keys() & other.keys()
            if both:
                points[data] = 100 * mean(ours[n].accuracy - other[n].accuracy for n in both)
        return points

    def lines(self) -> Iterator[str]:
        """The table, the differences and the targets."""
        yield (
            "| data | system | seeds | accuracy, % | macro F1, % | seconds | alive | classes of "
            "capsules | purity | comprehensiveness over random |"
        )
        yield "|---" * 10 + "|"
        for data in self.data:
            for system in TITLES:
                if runs := self.of(data, system):
                    yield f"| {data} | {TITLES[system]} | {' | '.join(_cells(runs))} |"
        yield ""
        yield f"icaps minus SVM: {self._differences_line()}"
        yield ""
        yield from map(str, self.targets())

    def _differences_line(self) -> str:
        points = self.differences()
        if not points:
            return "not measured"
        parts = [f"{data} {value:+.2f}" for data, value in points.items()]
        return f"{', '.join(parts)}; on average {mean(points.values()):+.2f}"

    def targets(self) -> list[Target]:
        """What the recipe for users' own labels must show."""
        return [
            self._at_least_svm(),
            self._above_svm(),
            self._accuracy_target("ag_news:200", 79),
            self._accuracy_target("ag_news:1000", 87),
            self._accuracy_target(AG_NEWS, 92.3),
            self._accuracy_target(NEWSGROUPS, 67.6),
            self._each_seed("no seed at chance", lambda run: not run.at_chance, _accuracy_text),
            self._each_seed(
                f"at least half of the capsules alive up to {FEW_CLASSES} classes",
                lambda run: run.alive is not None and 2 * run.alive >= (run.capsules or 0),
                lambda run: f"{run.alive} of {run.capsules}",
                self._few_classes(),
            ),
            self._each_seed(
                f"purity at least 0.90 up to {FEW_CLASSES} classes",
                lambda run: run.purity is not None and run.purity >= 0.9,
                lambda run: f"{run.purity:.2f}",
                self._few_classes(),
            ),
            self._each_seed(
                "ag_news: at least 20 capsules alive",
                lambda run: (run.alive or 0) >= 20,
                lambda run: str(run.alive),
                self.of(AG_NEWS),
            ),
            self._each_seed(
                "10,000 short texts in at most 180 seconds",
                lambda run: run.seconds <= 180,
                lambda run: f"{run.seconds:.0f} s",
                [run for data in TEN_THOUSAND for run in self.of(data)],
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: all measurements, the differences and the targets."""
        runs = [run for group in self._groups.values() for run in group]
        return {
            "measurements": [asdict(run) for run in runs],
            "points_above_svm": self.differences(),
            "targets": [asdict(target) for target in self.targets()],
        }

    def _plain(self) -> list[Measurement]:
        return [run for data in self.data for run in self.of(data)]

    def _few_classes(self) -> list[Measurement]:
        return [run for run in self._plain() if run.classes <= FEW_CLASSES]

    def _at_least_svm(self) -> Target:
        points = self.differences()
        below = [f"{data} {value:+.2f}" for data, value in points.items() if value < 0]
        met = not below if points else None
        figures = ", ".join(below) or (f"{len(points)} data sets" if points else "")
        return Target("at least the SVM's accuracy on each data set", met, figures)

    def _above_svm(self) -> Target:
        points = self.differences()
        text = "at least 1.0 point above the SVM on average"
        if not points:
            return Target(text, None, "")
        average = mean(points.values())
        return Target(text, average >= 1, f"{average:+.2f}, {len(points)} data sets")

    def _accuracy_target(self, data: str, wanted: float) -> Target:
        text, accuracy = f"{data} at least {wanted:g}%", self.accuracy(data)
        if accuracy is None:
            return Target(text, None, "")
        figures = f"{accuracy:.2f}"
        if (unlabelled := self.accuracy(data, UNLABELLED)) is not None:
            figures += f"; with unlabelled texts {unlabelled:.2f}"
        return Target(text, accuracy >= wanted, figures)

    def _each_seed(
        self,
        text: str,
        holds: Callable[[Measurement], bool],
        figure: Callable[[Measurement], str],
        runs: Sequence[Measurement] | None = None,
    ) -> Target:
        """A target that each run of plain icaps must reach; the figures show those that miss."""
        runs = self._plain() if runs is None else runs
        missed = [f"{run.data} seed {run.seed}: {figure(run)}" for run in runs if not holds(run)]
        figures = "; ".join(missed) or (f"trainings: {len(runs)}" if runs else "")
        return Target(text, not missed if runs else None, figures)


def quick_figures(measurements: Iterable[Measurement]) -> dict[str, dict[str, Any]]:
    """By data set: accuracies as shares, and capsules alive, purity and seconds of icaps."""
    figures: dict[str, dict[str, Any]] = {}
    for run in measurements:
        row = figures.setdefault(run.data, {})
        row[run.system] = run.accuracy
        if run.system == ICAPS:
            row |= {"alive": run.alive, "purity": run.purity, "seconds": round(run.seconds, 1)}
    return figures


def _cells(runs: Sequence[Measurement]) -> Iterator[str]:
    """The cells of a row: means over the seeds with standard deviations."""
    yield str(len(runs))
    yield _spread([100 * run.accuracy for run in runs], 2)
    yield _spread([100 * run.macro_f1 for run in runs], 2)
    yield _spread([run.seconds for run in runs], 0)
    alive = [run.alive for run in runs if run.alive is not None]
    yield f"{_spread(alive, 1)} of {runs[0].capsules}" if alive else ""
    classes = [run.capsule_classes for run in runs if run.capsule_classes is not None]
    yield f"{_spread(classes, 1)} of {runs[0].classes}" if classes else ""
    yield _spread([run.purity for run in runs if run.purity is not None], 2)
    yield _spread([run.times_random for run in runs if run.times_random is not None], 1)


def _spread(values: Sequence[float], digits: int) -> str:
    """The mean and the standard deviation; the latter only for several values."""
    if not values:
        return ""
    text = f"{mean(values):,.{digits}f}"
    return f"{text} ± {stdev(values):,.{digits}f}" if len(values) > 1 else text


def _accuracy_text(run: Measurement) -> str:
    return f"{run.accuracy:.1%}, most frequent class {run.most_frequent:.1%}"
