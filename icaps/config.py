"""Settings of the network and of its training, and the paper's presets.

Each setting has a default, a help text and the paper's symbol (`about`). What the paper leaves open
is a setting here.
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
VECTOR_STEP = 1 / 64  # frozen vectors are multiples of it, so that a byte stores a number
LARGEST = 10_000  # sizes and numbers of iterations above it are taken for mistakes
# Settings of earlier versions, with the values that mean what is now always done.
REMOVED: dict[str, tuple[Any, ...]] = {
    "share_class_weight": (True,),
    "route_gradient": (True,),
    "oov": ("zeros",),
    "product_precision": ("auto", "float32", "bfloat16"),
}
LARGEST_SEED = 2**32 - 1  # that numpy, scikit-learn, gensim and torch all accept

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
    """Settings of the network: sizes from the paper's Table 2, and what the paper leaves open.

    Raises:
        ConfigError: A value is out of its range, or `region_dim` is not a multiple of `query_dim`.
    """

    fixed_dim: int = _setting(
        300, "size of the pre-trained, frozen part of a word embedding", "d_e"
    )
    trained_dim: int = _setting(
        32, "size of the part of a word embedding that is trained from random values", "d_e"
    )
    kernel_size: int = _setting(3, "words per region", "K")
    region_dim: int = _setting(256, "size of region embeddings", "d_w")
    query_dim: int = _setting(8, "size of queries and of primary capsules", "d_q = d_p")
    class_dim: int = _setting(16, "size of class capsules", "d_c")
    hierarchical: bool = _setting(
        False, "attention over words, then over sentences: iCapsNets-Long, for long documents"
    )
    max_words: int | None = _setting(
        195, "maximum words per text, or per sentence when hierarchical; none: no limit", "N"
    )
    max_sentences: int | None = _setting(
        None, "maximum sentences per text, when hierarchical; none: no limit", "M"
    )
    language: str = _setting(
        "en", "language of the sentence splitter, when hierarchical: an ISO 639 code"
    )
    routing_iterations: int = _setting(3, "iterations of dynamic routing", "r")
    activation: str = _setting(
        "none", "activation function after the convolution; the paper names none"
    )
    squash_primary: bool = _setting(
        False, "squash primary capsules before routing; the paper's equations do not"
    )
    embedding_dropout: float = _setting(0.3, "dropout on word embeddings, in training only")
    dropout: float = _setting(0.3, "dropout on region embeddings, in training only")
    word_dropout: float = _setting(0.2, "share of words replaced by <unk>, in training only")

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
        """d_e, the size of both parts."""
        return self.fixed_dim + self.trained_dim

    @property
    def num_capsules(self) -> int:
        """I = d_w / d_p, the number of primary capsules (the paper's section 4)."""
        return self.region_dim // self.query_dim


@dataclass(frozen=True)
class TrainConfig:
    """Settings of the training: margin loss (section 4), Adam, and the choice of the best epoch.

    Raises:
        ConfigError: A value is out of its range.
    """

    min_frequency: int = _setting(
        5, "a word is in the vocabulary if it occurs MORE often than this", "F"
    )
    vector_epochs: int = _setting(5, "epochs of word vectors that are trained on the texts")
    learning_rate: float = _setting(2e-3, "maximum learning rate of Adam")
    # Adam's first steps change all weights by the same amount, which can drive all norms to 1,
    # where the gradient vanishes.
    warmup_share: float = _setting(
        0.1, "share of all steps in which the learning rate rises from 0"
    )
    decay: bool = _setting(
        True, "linear decay of the learning rate after that, to 0 after the last epoch"
    )
    batch_size: int = _setting(64, "texts per step, over all processes")
    accumulate: int = _setting(
        1, "parts into which a process splits its texts of a step, to save memory"
    )
    epochs: int = _setting(12, "maximum passes over the training texts")
    patience: int = _setting(
        3, "epochs without a better validation accuracy after which training ends"
    )
    validation_share: float = _setting(
        0.1, "share of the texts that is held out for validation, stratified by class"
    )
    average_decay: float = _setting(
        0.999, "decay of the moving average of the weights; 0: no averaging"
    )
    clip_norm: float = _setting(5.0, "maximum gradient norm; 0: no clipping")
    margin_present: float = _setting(0.9, "norm that the true class should reach", "m+")
    margin_absent: float = _setting(0.1, "norm that other classes should stay below", "m-")
    absent_weight: float = _setting(0.5, "weight of the loss of other classes", "λ")
    # Of `train/objectives.py`:
    purity_weight: float = _setting(
        0.0, "weight of a loss that ties capsules to classes; 0 as in the paper"
    )
    spread_weight: float = _setting(
        0.0, "weight of a loss that makes all capsules be used; 0 as in the paper"
    )
    winner_sharpness: float = _setting(
        20.0, "sharpness of the softmax over capsules in both losses"
    )
    # Of `train/unk.py`:
    unk_steps: int = _setting(
        0, "batches on which <unk> is made neutral after all epochs; 0 as in the paper"
    )
    seed: int = _setting(0, "seed of all random numbers")

    def __post_init__(self) -> None:
        for name in ("vector_epochs", "batch_size", "accumulate", "epochs", "patience"):
            _check(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in (
            "min_frequency",
            "clip_norm",
            "absent_weight",
            "purity_weight",
            "spread_weight",
            "winner_sharpness",
            "unk_steps",
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
        """The row as plain data, as `icaps presets` prints it."""
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
    """A setting: name, help text, the paper's symbol or "", type and default."""

    name: str
    help: str
    symbol: str
    type: Any
    default: Any


def about(kind: type[Settings]) -> list[About]:
    """The settings of a configuration, in their order."""
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
        ConfigError: `values` is not a mapping, a name is unknown, or a value has the wrong type or
            range.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"The settings are {values!r}, not an object with their names.")
    hints, values = get_type_hints(kind), without_removed(values)
    for name, value in values.items():
        if name not in hints:
            raise ConfigError(f"There is no setting {name!r}. Choose {_one_of(tuple(hints))}.")
        if not _fits(value, hints[name]):
            raise ConfigError(
                f"The setting {name} is {value!r}; it must be {_type_name(hints[name])}."
            )
    return kind(**values)


def removed_setting(values: Mapping[str, Any]) -> str:
    """Why settings of an earlier version (`REMOVED`) are not supported; empty if they are."""
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
    """Both configurations with single settings replaced, whose values are text.

    Raises:
        ConfigError: A name is unknown, or a value has the wrong type or is out of range.
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
        raise ConfigError(f"The setting {key} is {text!r}; it must be {_type_name(hint)}.")
    return value


def _parse(text: str) -> Any:
    """The value of text: that of JSON (1e-3, true, null) or of "none", otherwise the text."""
    try:
        return json.loads({"none": "null"}.get(text.lower(), text.lower()))
    except (ValueError, RecursionError):  # not JSON, or a number of thousands of digits
        return text


def _fits(value: Any, hint: Any) -> bool:
    kinds = get_args(hint) if get_origin(hint) is not None else (hint,)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int) and float in kinds:
        return True
    return isinstance(value, kinds)


def _type_name(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    kinds = get_args(hint) if get_origin(hint) is not None else (hint,)
    return " or ".join(names.get(kind, "none") for kind in kinds)
