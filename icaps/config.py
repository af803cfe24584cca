"""Settings of the network and of its training, and the paper's presets.

Names of settings are those of the table in ARCHITECTURE.md; beside each stand its default, what it
is for and the paper's symbol (`about`). What the paper leaves open is an option here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import (
    Any,
    NamedTuple,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from icaps.errors import ConfigError

ACTIVATIONS = ("none", "relu", "tanh", "gelu")
CAPSULE_RANKINGS = ("routing", "contribution")
VECTOR_STEP = 1 / 64  # numbers of frozen vectors are whole steps, so that a byte stores one
LARGEST = 10_000  # size of a vector and number of iterations: beyond it a setting is a mistake
# Settings of earlier versions, with the values that mean what is now always done.
REMOVED: dict[str, tuple[Any, ...]] = {
    "share_class_weight": (True,),
    "route_gradient": (True,),
    "oov": ("zeros",),
    "product_precision": ("auto", "float32", "bfloat16"),
}
LARGEST_SEED = 2**32 - 1  # that all of numpy, scikit-learn, gensim and torch take

Settings = TypeVar("Settings", "ModelConfig", "TrainConfig")


def _setting(default: Any, help: str, symbol: str = "") -> Any:
    """A field of a configuration."""
    return dataclasses.field(default=default, metadata={"help": help, "symbol": symbol})


def _check(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise ConfigError(f"The setting {name} is {value!r}; it must be {wanted}.")


def _one_of(names: tuple[str, ...]) -> str:
    return "one of " + ", ".join(names)


@dataclass(frozen=True)
class ModelConfig:
    """The network: sizes from the paper's Table 2, and the choices that it leaves open.

    Raises:
        ConfigError: A value is out of its range, or `region_dim` is no multiple of `query_dim`.
    """

    fixed_dim: int = _setting(300, "first part of word embeddings, pre-trained and frozen", "d_e")
    trained_dim: int = _setting(32, "second part of word embeddings, trained from random", "d_e")
    kernel_size: int = _setting(3, "words that a region spans", "K")
    region_dim: int = _setting(256, "size of region embeddings", "d_w")
    query_dim: int = _setting(8, "size of queries and of primary capsules", "d_q = d_p")
    class_dim: int = _setting(16, "size of class capsules", "d_c")
    hierarchical: bool = _setting(
        False, "attention to words, then to sentences: iCapsNets-Long, for long documents"
    )
    max_words: int | None = _setting(
        195, "words that are read of a text, or of a sentence when hierarchical; none: all", "N"
    )
    max_sentences: int | None = _setting(
        None, "sentences that are read of a text, when hierarchical; none: all", "M"
    )
    language: str = _setting(
        "en", "whose rules split sentences, when hierarchical: an ISO 639 code"
    )
    routing_iterations: int = _setting(3, "iterations of dynamic routing", "r")
    activation: str = _setting("none", "after the convolution; the paper names none")
    squash_primary: bool = _setting(
        False, "squash primary capsules before the votes; the paper's equations do not"
    )
    embedding_dropout: float = _setting(0.3, "on the numbers of word embeddings, in training only")
    dropout: float = _setting(0.3, "on region embeddings, in training only")
    word_dropout: float = _setting(0.2, "share of words read as <unk>, in training only")

    def __post_init__(self) -> None:
        for name in ("kernel_size", "region_dim", "query_dim", "class_dim", "routing_iterations"):
            value = getattr(self, name)
            _check(1 <= value <= LARGEST, name, value, f"at least 1 and at most {LARGEST}")
        for name in ("fixed_dim", "trained_dim"):
            value = getattr(self, name)
            _check(0 <= value <= LARGEST, name, value, f"at least 0 and at most {LARGEST}")
        for name in ("embedding_dropout", "dropout", "word_dropout"):
            _check(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 to below 1")
        _check(self.embedding_dim >= 1, "trained_dim", 0, "at least 1 when fixed_dim is 0")
        for name in ("max_words", "max_sentences"):
            value = getattr(self, name)
            _check(value is None or value >= 1, name, value, "at least 1, or none to read all")
        _check(self.activation in ACTIVATIONS, "activation", self.activation, _one_of(ACTIVATIONS))
        _check(
            self.region_dim % self.query_dim == 0,
            "region_dim",
            self.region_dim,
            f"a multiple of query_dim ({self.query_dim}), since I = region_dim / query_dim",
        )

    @property
    def embedding_dim(self) -> int:
        """d_e, both parts together."""
        return self.fixed_dim + self.trained_dim

    @property
    def num_capsules(self) -> int:
        """I = d_w / d_p, the number of primary capsules (the paper's section 4)."""
        return self.region_dim // self.query_dim


@dataclass(frozen=True)
class TrainConfig:
    """Training: the margin loss of the paper's section 4, Adam, and how the best epoch is chosen.

    Raises:
        ConfigError: A value is out of its range.
    """

    min_frequency: int = _setting(5, "a word is kept when it is seen MORE than so many times", "F")
    vector_epochs: int = _setting(5, "times that word vectors of the texts' own read all texts")
    learning_rate: float = _setting(2e-3, "the largest that Adam gets")
    # Adam's first steps move every weight alike, which can drive all norms to 1, where no gradient
    # is left.
    warmup_share: float = _setting(0.1, "of all steps, over which the learning rate rises from 0")
    decay: bool = _setting(True, "then let it fall in a line, to 0 after the last epoch")
    batch_size: int = _setting(64, "texts a step, of all processes together")
    accumulate: int = _setting(
        1, "parts that a process takes its texts of a step in, to save memory"
    )
    epochs: int = _setting(12, "times that all texts are read, at most")
    patience: int = _setting(3, "epochs without a better validation accuracy before training ends")
    validation_share: float = _setting(0.1, "of the training texts, stratified by class")
    average_decay: float = _setting(0.999, "of the moving average of the weights; 0 is off")
    clip_norm: float = _setting(5.0, "largest gradient norm; 0 is off")
    margin_present: float = _setting(0.9, "norm that the right class should reach", "m+")
    margin_absent: float = _setting(0.1, "norm that other classes should stay below", "m-")
    absent_weight: float = _setting(0.5, "of the loss of other classes", "λ")
    # The next three are of `specialisation.py`.
    purity_weight: float = _setting(0.0, "gives capsules a class of their own; 0 is the paper")
    spread_weight: float = _setting(0.0, "makes all capsules be used; 0 is the paper")
    winner_sharpness: float = _setting(20.0, "of the soft winner in both")
    # Of `neutral_unk.py`.
    unk_steps: int = _setting(
        0, "batches on which, after all epochs, <unk> learns to say nothing; 0 is the paper"
    )
    seed: int = _setting(0, "of all random numbers")

    def __post_init__(self) -> None:
        for name in ("vector_epochs", "batch_size", "accumulate", "epochs", "patience"):
            _check(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in (
            *("min_frequency", "clip_norm", "absent_weight"),
            *("purity_weight", "spread_weight", "winner_sharpness", "unk_steps"),
        ):
            _check(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        _check(0 <= self.seed <= LARGEST_SEED, "seed", self.seed, f"from 0 to {LARGEST_SEED}")
        for name in ("warmup_share", "average_decay", "margin_present", "margin_absent"):
            _check(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 to below 1")
        _check(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        _check(
            0 < self.validation_share < 1,
            "validation_share",
            self.validation_share,
            "between 0 and 1",
        )


@dataclass(frozen=True)
class Preset:
    """One row of the paper's tables of settings, by name."""

    name: str
    model: ModelConfig
    train: TrainConfig

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, under the names that the command line prints."""
        model, train = self.model, self.train
        return {
            "name": self.name,
            "min_frequency": train.min_frequency,
            "fixed_dim": model.fixed_dim,
            "trained_dim": model.trained_dim,
            "kernel_size": model.kernel_size,
            "region_dim": model.region_dim,
            "query_dim": model.query_dim,
            "class_dim": model.class_dim,
            "max_words": model.max_words,
            "max_sentences": model.max_sentences,
            "learning_rate": train.learning_rate,
        }


def _preset(
    name: str,
    min_frequency: int,
    trained_dim: int,
    max_words: int,
    learning_rate: float,
    max_sentences: int | None = None,
) -> Preset:
    """A row of Table 2, or of Table 3 when sentences are counted; section 4 gives the rates.

    The sizes of both tables go by data set: K = 3 for AG's News and else 5; d_w, d_q and d_c half
    as large for AG's News and DBPedia.
    """
    small = name.startswith(("ag_news", "dbpedia"))
    model = ModelConfig(
        trained_dim=trained_dim,
        kernel_size=3 if name.startswith("ag_news") else 5,
        region_dim=256 if small else 512,
        query_dim=8 if small else 16,
        class_dim=16 if small else 32,
        hierarchical=max_sentences is not None,
        max_words=max_words,
        max_sentences=max_sentences,
    )
    return Preset(
        name, model, TrainConfig(min_frequency=min_frequency, learning_rate=learning_rate)
    )


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        _preset("yelp_polarity-short", 50, 64, 1296, 1e-3),
        _preset("yelp_full-short", 50, 64, 1438, 1e-3),
        _preset("yahoo_answers-short", 100, 64, 1000, 1e-3),
        _preset("amazon_polarity-short", 200, 64, 592, 1e-3),
        _preset("amazon_full-short", 500, 64, 592, 1e-3),
        _preset("ag_news-short", 5, 32, 195, 1e-4),
        _preset("dbpedia-short", 50, 64, 1588, 1e-4),
        _preset("yelp_polarity-long", 5, 64, 100, 5e-4, 20),
        _preset("yelp_full-long", 5, 64, 100, 5e-4, 20),
        _preset("yahoo_answers-long", 10, 32, 100, 5e-4, 15),
        _preset("amazon_polarity-long", 10, 64, 100, 5e-4, 15),
        _preset("amazon_full-long", 10, 64, 100, 5e-4, 15),
        _preset("ag_news-long", 5, 32, 86, 5e-4, 10),
        _preset("dbpedia-long", 50, 64, 100, 5e-4, 10),
    )
}


@dataclass(frozen=True)
class ExplainOptions:
    """Which class an explanation is for, and how much of it is shown (section 2.6).

    Numbers that are larger than what a text has mean all of it.

    Attributes:
        target: Name of the class to explain; None for each text's predicted class.
        top_capsules: k1, how many primary capsules.
        top_kgrams: k2, how many K-grams per capsule and sentence.
        top_sentences: How many sentences per capsule, those with the largest rho, for models that
            split texts into sentences; the paper takes one.
        ranking: Which capsules come first: "routing", those with the largest beta_ij, as in the
            paper; "contribution", those that add most to the class (`inference.contributions`).

    Raises:
        ConfigError: A number is below 1, or the ranking is unknown.
    """

    target: str | None = None
    top_capsules: int = 2
    top_kgrams: int = 2
    top_sentences: int = 1
    ranking: str = CAPSULE_RANKINGS[0]

    def __post_init__(self) -> None:
        for name in ("top_capsules", "top_kgrams", "top_sentences"):
            value = getattr(self, name)
            _check(value >= 1, name, value, "at least 1")
        _check(self.ranking in CAPSULE_RANKINGS, "ranking", self.ranking, _one_of(CAPSULE_RANKINGS))


class ExplainKeywords(TypedDict, total=False):
    """The fields of `ExplainOptions` as keyword arguments."""

    target: str | None
    top_capsules: int
    top_kgrams: int
    top_sentences: int
    ranking: str


class About(NamedTuple):
    """A setting: its name, what it is for, the paper's symbol or "", its type and default."""

    name: str
    help: str
    symbol: str
    type: Any
    default: Any


def about(kind: type[Settings]) -> list[About]:
    """All settings of a configuration, in their order."""
    hints = get_type_hints(kind)
    return [
        About(field.name, **field.metadata, type=hints[field.name], default=field.default)
        for field in dataclasses.fields(kind)
    ]


def get_preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        ConfigError: There is no such preset; the message lists the names.
    """
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}. Choose {_one_of(tuple(PRESETS))}.")
    return PRESETS[name]


def config_from_dict(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of `kind` from plain data, as `dataclasses.asdict` wrote them.

    Raises:
        ConfigError: They are no names with values, a name is unknown, or a value has the wrong
            type or range.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"The settings are {values!r}, which is no object with their names.")
    hints, values = get_type_hints(kind), without_removed(values)
    for name, value in values.items():
        if name not in hints:
            raise ConfigError(f"There is no setting {name!r}. Choose {_one_of(tuple(hints))}.")
        if not _fits(value, hints[name]):
            raise ConfigError(f"The setting {name} is {value!r}, which is no {_say(hints[name])}.")
    return kind(**values)


def removed_setting(values: Mapping[str, Any]) -> str:
    """What is wrong with a setting of an earlier version (`REMOVED`); empty if none is."""
    for name, allowed in REMOVED.items():
        if name in values and values[name] not in allowed:
            return (
                f"The setting {name} is {values[name]!r}, which only earlier versions of iCaps "
                f"support; it is always {allowed[0]!r} now."
            )
    return ""


def without_removed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data without settings of earlier versions (`REMOVED`).

    Raises:
        ConfigError: Such a setting has a value that is not supported any more.
    """
    if message := removed_setting(values):
        raise ConfigError(message)
    return {name: value for name, value in values.items() if name not in REMOVED}


def override(
    model: ModelConfig, train: TrainConfig, settings: Mapping[str, str]
) -> tuple[ModelConfig, TrainConfig]:
    """Both configurations with `key=value` settings, as typed on a command line, put in.

    Raises:
        ConfigError: A key is unknown, or a value can't be read or is out of range.
    """
    values: dict[str, dict[str, Any]] = {}
    configs: tuple[ModelConfig, TrainConfig] = (model, train)
    known = {field.name: config for config in configs for field in dataclasses.fields(config)}
    for key, text in settings.items():
        if key in REMOVED:  # as in a request of an earlier version
            without_removed({key: _parse(text)})
            continue
        if key not in known:
            raise ConfigError(f"There is no setting {key!r}. Choose {_one_of(tuple(known))}.")
        kind = type(known[key])
        values.setdefault(kind.__name__, {})[key] = _read(key, text, get_type_hints(kind)[key])
    return (
        dataclasses.replace(model, **values.get("ModelConfig", {})),
        dataclasses.replace(train, **values.get("TrainConfig", {})),
    )


def _read(key: str, text: str, hint: Any) -> Any:
    """The value of a setting from text.

    Raises:
        ConfigError: It has another type.
    """
    value = text if hint is str else _parse(text)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not _fits(value, hint):
        raise ConfigError(f"The setting {key} is {text!r}, which is no {_say(hint)}.")
    return value


def _parse(text: str) -> Any:
    """The value that `text` stands for: JSON where it is JSON (1e-3, true, null), else the text."""
    try:
        return json.loads({"none": "null"}.get(text.lower(), text.lower()))
    except (ValueError, RecursionError):  # no JSON, or a number of thousands of digits
        return text


def _fits(value: Any, hint: Any) -> bool:
    kinds = get_args(hint) if get_origin(hint) is not None else (hint,)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int) and float in kinds:
        return True
    return isinstance(value, kinds)


def _say(hint: Any) -> str:
    words = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    kinds = get_args(hint) if get_origin(hint) is not None else (hint,)
    return " or ".join(words.get(kind, "none") for kind in kinds)
