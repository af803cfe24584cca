"""The recipe: the settings that suit labelled texts, by their number, lengths and classes.

The command line, the dashboard and `ICapsClassifier` all train by it where no preset is given. The
facts come from a sample that depends on the texts and their order alone, so the same texts and
labels have the same settings everywhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from icaps.config import (
    BY_CLASS,
    LAST,
    MACRO_F1,
    PRESETS,
    Config,
    ModelConfig,
    ModelSettings,
    Preset,
    TrainConfig,
    TrainSettings,
    check_settings,
    config_from_dict,
    format_value,
    without_removed,
)
from icaps.data.catalog import DATASETS
from icaps.errors import ConfigError
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary

Rule: TypeAlias = tuple[dict[str, Any], str]  # settings, and the reason for them as a sentence

WHOLE = 0.95  # share of the texts that are not truncated
# From these medians on texts are long. How all numbers were found: benchmarks/README.md.
LONG_WORDS, LONG_SENTENCES = 75, 4
# Up to so many classes, each of the 32 capsules is tied to one; up to the first number, firmly.
FEW_CLASSES, SOME_CLASSES = 16, 32
FEW_DOCUMENTS = 5_000  # long texts, below which regions have one word and sentences no weights
FEW_TEXTS, MANY_TEXTS = 20_000, 100_000
FEW_VALIDATED = 5_000  # a tenth of them has a standard error of two points or more
FEW_LABELS, FEW_LABELS_STEPS = 1_000, 1_000  # texts below which batches are small, and their steps
FEW_STEPS, MANY_STEPS = 2_000, 6_000  # of a training, with few and with many classes
# F by maximum number of texts, without and with hierarchy, for more than `MANY_TEXTS` as in Tables
# 2 and 3. A word that occurs once cannot be learnt.
_FREQUENCIES = {
    False: {MANY_TEXTS: 1, 300_000: 5, 1_000_000: 50, 2_000_000: 100, math.inf: 200},
    True: {MANY_TEXTS: 1, 1_000_000: 5, math.inf: 10},
}


@dataclass(frozen=True)
class Facts:
    """What the recipe depends on.

    Attributes:
        texts: Number of texts.
        classes: Number of classes.
        largest_class: Share of the texts that are of the most frequent class.
        words: Median of words per text.
        sentences: Median of sentences per text.
        most_words: 95% quantile of words per text.
        most_sentence_words: 95% quantile of words per sentence.
        most_sentences: 95% quantile of sentences per text, where a sentence is split into parts of
            at most `most_sentence_words` words.
        longest: Maximum of words per text.
        multilabel: Whether a text may have several labels.
    """

    texts: int
    classes: int
    largest_class: float
    words: int
    sentences: int
    most_words: int
    most_sentence_words: int
    most_sentences: int
    longest: int
    multilabel: bool = False

    @property
    def long(self) -> bool:
        """Whether the texts are documents of several sentences (section 2.5)."""
        return self.words >= LONG_WORDS and self.sentences >= LONG_SENTENCES

    @property
    def hierarchical(self) -> bool:
        """Whether there are enough long texts for the network that also weighs sentences."""
        return self.long and self.texts >= FEW_DOCUMENTS


@dataclass(frozen=True)
class Recipe:
    """The settings of a training, and where they come from.

    Attributes:
        model, train: All settings.
        given: Those that the user has given, by name; all, if there is no recipe.
        facts: What the others depend on; None if all were given.
        reasons: Why, as sentences.
        preset: Name of the row of the paper's tables for the most similar data set; empty if all
            settings were given.
    """

    model: ModelConfig
    train: TrainConfig
    given: Mapping[str, Any]
    facts: Facts | None = None
    reasons: tuple[str, ...] = ()
    preset: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The most important settings in plain words, for the log; none if all were given."""
        if self.facts is None:
            return ()
        facts, model, train = self.facts, self.model, self.train
        kind = "network for long documents" if model.hierarchical else "network for short texts"
        sizes = f"N = {format_value(model.max_words)}"
        if model.hierarchical:
            sizes += f", M = {format_value(model.max_sentences)}"
        lines = [
            f"recipe for {_counted(facts.texts, 'text')} of {facts.classes} classes: {kind}, "
            f"{sizes}, F = {train.min_frequency}, {_counted(model.num_capsules, 'capsule')} of "
            f"{_counted(model.query_dim, 'number')}, regions of "
            f"{_counted(model.kernel_size, 'word')}",
            f"batches of {train.batch_size}, learning rate {train.learning_rate:g}, at most "
            f"{_counted(train.epochs, 'epoch')}, patience {train.patience}",
        ]
        if self.given:
            lines.append(f"given, not by the recipe: {', '.join(_changes(self.given))}")
        return tuple(lines)

    def with_settings(self, model: ModelSettings = None, train: TrainSettings = None) -> Recipe:
        """The recipe for the same texts with these settings in place of its own.

        Raises:
            ConfigError: A setting is unknown, or has the wrong type or range.
        """
        assert self.facts is not None
        return choose(self.facts, model, train)


def rules(facts: Facts, hierarchical: bool) -> Iterator[Rule]:
    """The recipe, rule by rule: settings that differ from the defaults, and why.

    Args:
        facts: What it depends on.
        hierarchical: Whether the network is the one for long documents.
    """
    typical = (
        f"A typical text has {_counted(facts.words, 'word')} in "
        f"{_counted(facts.sentences, 'sentence')}"
    )
    if hierarchical:
        yield (
            {
                "hierarchical": True,
                "max_words": facts.most_sentence_words,
                "max_sentences": facts.most_sentences,
            },
            f"{typical}: the network for long texts weighs sentences as well as words.",
        )
    else:
        yield (
            {"max_words": facts.most_words},
            f"{typical}: the network for short texts reads it as one.",
        )
    frequencies = _FREQUENCIES[hierarchical]
    least = next(least for most, least in frequencies.items() if facts.texts <= most)
    yield (
        {"min_frequency": least},
        f"{_counted(facts.texts, 'text')}: a word is trained if it occurs more than "
        f"{'once' if least == 1 else f'{least} times'}.",
    )
    yield (
        {
            "loss": "cross_entropy",
            "scale_votes": True,
            "squash_primary": True,
            "trained_dim": 100,
            "embedding_dropout": 0.4,
            "dropout": 0.4,
            "word_dropout": 0.1,
        },
        "Any texts: the cross-entropy learns more from few texts than the margin loss, and words "
        "have a larger trained part and more dropout.",
    )
    if facts.multilabel:
        yield (
            {"routing": BY_CLASS, "score": MACRO_F1},
            "Several labels per text: capsules divide their votes among the classes, which is more "
            "accurate than independent routing, and an epoch is chosen by macro F1.",
        )
    if facts.long and not facts.hierarchical:
        yield (
            {"kernel_size": 1},
            f"Fewer than {FEW_DOCUMENTS:,} long texts: regions of one word, as few K-grams recur"
            + ("." if hierarchical else ", and no weights of sentences."),
        )
    if facts.classes <= SOME_CLASSES:
        weight = 0.2 if facts.classes <= FEW_CLASSES else 0.1
        if facts.classes > FEW_CLASSES:
            yield (
                {"region_dim": 512, "query_dim": 16},
                f"{facts.classes} classes: capsules of 16 numbers, as W_j is shared, so that these "
                "numbers tell all classes apart.",
            )
        yield (
            {
                "purity_weight": weight,
                "spread_weight": weight / 2,
                "ramp_share": 0.5,
                "winner_sharpness": 200.0,
            },
            f"{facts.classes} classes: each capsule is tied to one, after the classes are learnt.",
        )
    else:
        yield (
            {"query_dim": 32},
            f"{facts.classes} classes: capsules cannot be tied to one each, and are wide instead.",
        )
    steps = FEW_STEPS if facts.classes <= SOME_CLASSES else MANY_STEPS
    batch_size = 32 if facts.texts < FEW_TEXTS else 128
    rate = 0.001 if facts.texts < FEW_TEXTS else 0.002
    fewest, most = 4, 25  # epochs
    if facts.texts < FEW_LABELS:
        steps, batch_size, fewest, most = FEW_LABELS_STEPS, 16, 25, 60
    epochs = min(max(round(steps * batch_size / facts.texts), fewest), most)
    yield (
        {
            "batch_size": batch_size,
            "learning_rate": rate,
            "epochs": epochs,
            "patience": epochs,
        },
        f"{_counted(facts.texts, 'text')}: {epochs} epochs in batches of {batch_size}, which is "
        f"nearest to {steps:,} steps between {fewest} and {most} epochs.",
    )
    if facts.texts >= FEW_TEXTS:
        yield (
            {"validation_share": 0.05, "trained_dim": 32, "unk_steps": 300},
            f"{_counted(facts.texts, 'text')}: 5% suffice to choose an epoch by, words have a "
            "smaller trained part, and in 300 more steps <unk> loses its effect.",
        )
    if facts.texts < FEW_VALIDATED:
        yield (
            {"score": LAST},
            f"Fewer than {FEW_VALIDATED:,} texts: their validation part is too small to choose an "
            "epoch by.",
        )


def choose(facts: Facts, model: ModelSettings = None, train: TrainSettings = None) -> Recipe:
    """The settings for texts with these facts.

    Args:
        facts: From `measure`.
        model: Settings of the network that replace those of the recipe, or all of them.
        train: Likewise of training.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or range.
    """
    given = _given(ModelConfig, model) | _given(TrainConfig, train)
    hierarchical = bool(given.get("hierarchical", facts.hierarchical))
    chosen: dict[str, Any] = {}
    reasons = []
    for settings, reason in rules(facts, hierarchical):
        chosen |= settings
        if not settings.keys() <= given.keys():
            reasons.append(reason)
    every = chosen | given
    return Recipe(
        config_from_dict(ModelConfig, _settings_of(ModelConfig, every)),
        config_from_dict(TrainConfig, _settings_of(TrainConfig, every)),
        given,
        facts,
        tuple(reasons),
        _nearest(facts, hierarchical).name,
    )


def recipe_for(
    sample: Sequence[str],
    labels: NDArray[np.integer[Any]],
    model: ModelSettings = None,
    train: TrainSettings = None,
    label_sets: NDArray[np.bool_] | None = None,
) -> Recipe:
    """The settings for labelled texts; they are measured only if not all settings are given.

    Args:
        sample: A sample of the texts, from `data.sample.SpacedSample`.
        labels: (texts,), class numbers of all texts; with several labels per text, rows of
            `label_sets`.
        model, train: As in `choose`.
        label_sets: (sets, J), whether a set of labels has a class; None: one label per text.

    Raises:
        ConfigError: As in `choose`.
    """
    given = _given(ModelConfig, model) | _given(TrainConfig, train)
    if isinstance(model, ModelConfig) and isinstance(train, TrainConfig):
        return Recipe(model, train, given)
    counts = np.bincount(labels, minlength=0 if label_sets is None else len(label_sets))
    if label_sets is not None:
        counts = counts @ label_sets  # (J,)
    facts = measure(
        sample,
        texts=len(labels),
        classes=int(np.count_nonzero(counts)),
        largest_class=float(counts.max() / len(labels)),
        language=given.get("language", ModelConfig.language),
        multilabel=label_sets is not None,
    )
    return choose(facts, model, train)


def measure(
    sample: Sequence[str],
    texts: int,
    classes: int,
    largest_class: float,
    language: str = "en",
    multilabel: bool = False,
) -> Facts:
    """Measures the lengths of a sample of texts.

    Args:
        sample: A sample, from `data.sample.SpacedSample`.
        texts: Number of all texts.
        classes: Number of classes.
        largest_class: Share of the texts that are of the most frequent class.
        language: ISO 639 code, for sentences.
        multilabel: Whether a text may have several labels.
    """
    whole = ModelConfig(hierarchical=True, max_words=None, language=language)
    empty = Vocabulary.build((), 0)  # lengths do not depend on which words are known
    tokens = encode(empty, sample, whole)
    words, sentences = tokens.words_per_text, tokens.sentences_per_text
    sentence_words = tokens.words_per_sentence
    longest_sentence = _long_enough(sentence_words)
    text_of = np.repeat(np.arange(len(sentences)), sentences)
    parts = np.bincount(text_of, -(-sentence_words // longest_sentence), len(sentences))
    return Facts(
        texts=texts,
        classes=classes,
        largest_class=largest_class,
        words=int(np.median(words)),
        sentences=int(np.median(sentences)),
        most_words=_long_enough(words),
        most_sentence_words=longest_sentence,
        most_sentences=_long_enough(parts),
        longest=int(words.max(initial=1)),
        multilabel=multilabel,
    )


def _given(kind: type[Config], settings: ModelSettings | TrainSettings) -> dict[str, Any]:
    """The settings that a user has given, by name.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or range.
    """
    if settings is None:
        return {}
    if isinstance(settings, kind):
        return dataclasses.asdict(settings)
    if not isinstance(settings, Mapping):
        raise ConfigError(
            f"The settings are {settings!r}; give a {kind.__name__}, single settings by their "
            "names, or None for those of the recipe."
        )
    check_settings(kind, settings)
    return without_removed(settings)


def _settings_of(kind: type[Config], settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def _long_enough(lengths: NDArray[np.int64]) -> int:
    """The quantile `WHOLE` of lengths, at least 1."""
    if not len(lengths):
        return 1
    return max(1, int(np.quantile(lengths, WHOLE, method="inverted_cdf")))


def _nearest(facts: Facts, hierarchical: bool) -> Preset:
    """The preset whose data set is most similar in number and length of texts, both as ratios."""
    length = facts.most_sentences if hierarchical else facts.longest

    def distance(preset: Preset) -> float:
        limit = preset.model.max_sentences if hierarchical else preset.model.max_words
        rows = DATASETS[preset.name.rpartition("-")[0]].train_rows
        return abs(math.log(facts.texts / rows)) + abs(math.log(length / (limit or 1)))

    presets = [preset for preset in PRESETS.values() if preset.model.hierarchical == hierarchical]
    return min(presets, key=distance)


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def _changes(given: Mapping[str, Any]) -> Iterator[str]:
    """The given settings in words; those of a whole configuration together."""
    whole = {"network": ModelConfig, "training": TrainConfig}
    left = dict(given)
    for part, kind in whole.items():
        names = [field.name for field in dataclasses.fields(kind)]
        if given.keys() >= set(names):
            yield f"all settings of the {part}"
            left = {name: value for name, value in left.items() if name not in names}
    yield from (f"{name} = {format_value(value)}" for name, value in left.items())
