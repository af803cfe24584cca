"""Configuration: settings of the network and of training, the paper's presets, explain options.

Each setting has a default, a help text and the paper's symbol (`list_settings`). Choices that the
paper leaves open are settings too.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import (
    Any,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from icaps.errors import ConfigError

ACTIVATIONS = ("none", "relu", "tanh", "gelu")
KGRAM_RANKINGS = ROUTING, CONTRIBUTION, ACCOUNT = "routing", "contribution", "account"
CLASS_WEIGHTS = ("none", "balanced")
LOSSES = ("margin", "cross_entropy")
ROUTINGS = BY_CLASS, INDEPENDENT = "classes", "independent"
ACCURACY, MACRO_F1 = "accuracy", "macro_f1"
SCORE_NAMES = {ACCURACY: "accuracy", MACRO_F1: "macro F1"}
LAST = "last"
SCORES = ("auto", *SCORE_NAMES, LAST)
VECTOR_STEP = 1 / 64  # frozen vectors are multiples of it, so that a byte stores each number
MAX_SIZE = 10_000  # larger sizes and numbers of iterations are treated as mistakes
# Settings of earlier versions, with the values that agree with the current behaviour.
REMOVED: dict[str, tuple[Any, ...]] = {
    "share_class_weight": (True,),
    "route_gradient": (True,),
    "oov": ("zeros",),
    "product_precision": ("auto", "float32", "bfloat16"),
}
# Settings that earlier versions lack, with the values that agree with their behaviour.
ADDED: dict[str, Any] = {
    "class_weight": "none",
    "score": "auto",
    "loss": "margin",
    "ramp_share": 0.0,
    "trained_dropout": 0.0,
    "scale_votes": False,
    "routing": BY_CLASS,
}
MAX_SEED = 2**32 - 1  # the maximum that numpy, scikit-learn, gensim and torch all accept

Config = TypeVar("Config", "ModelConfig", "TrainConfig")


def _field(default: Any, help: str, symbol: str = "") -> Any:
    """A field of a configuration, with its default, help text and the paper's symbol."""
    return dataclasses.field(default=default, metadata={"help": help, "symbol": symbol})


def _check(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise ConfigError(f"The setting {name} is {value!r}; it must be {wanted}.")


def _one_of(names: tuple[str, ...]) -> str:
    return "one of " + ", ".join(names)


@dataclass(frozen=True)
class ModelConfig:
    """Settings of the network: sizes from the paper's Table 2, and choices the paper leaves open.

    Raises:
        ConfigError: A value is out of range, or `region_dim` is not a multiple of `query_dim`.
    """

    fixed_dim: int = _field(300, "size of the pre-trained, frozen part of a word embedding", "d_e")
    trained_dim: int = _field(
        32, "size of the part of a word embedding that is trained from random values", "d_e"
    )
    kernel_size: int = _field(3, "words per region", "K")
    region_dim: int = _field(256, "size of region embeddings", "d_w")
    query_dim: int = _field(8, "size of queries and of primary capsules", "d_q = d_p")
    class_dim: int = _field(16, "size of class capsules", "d_c")
    hierarchical: bool = _field(
        False, "attention over words, then over sentences: iCapsNets-Long, for long documents"
    )
    max_words: int | None = _field(
        195, "maximum words per text, or per sentence when hierarchical; none: no limit", "N"
    )
    max_sentences: int | None = _field(
        None, "maximum sentences per text, when hierarchical; none: no limit", "M"
    )
    language: str = _field(
        "en", "language of the sentence splitter, when hierarchical: an ISO 639 code"
    )
    routing_iterations: int = _field(3, "iterations of dynamic routing", "r")
    routing: str = _field(
        BY_CLASS,
        "classes: a capsule divides its votes among the classes, as in the paper; independent: its "
        "routing weight for one class does not depend on those for others, for several labels per "
        "text",
    )
    activation: str = _field(
        "none", "activation function after the convolution; the paper names none"
    )
    squash_primary: bool = _field(
        False, "squash primary capsules before routing; the paper's equations do not"
    )
    scale_votes: bool = _field(
        False,
        "multiply sums of votes by sqrt(J / 4), since routing weights start at 1 / J; the paper's "
        "equations do not",
    )
    embedding_dropout: float = _field(0.3, "dropout on word embeddings, in training only")
    dropout: float = _field(0.3, "dropout on region embeddings, in training only")
    word_dropout: float = _field(0.2, "share of words replaced by <unk>, in training only")
    trained_dropout: float = _field(
        0.0, "share of words whose trained part is set to zero, in training only"
    )

    def __post_init__(self) -> None:
        for name in ("kernel_size", "region_dim", "query_dim", "class_dim", "routing_iterations"):
            value = getattr(self, name)
            _check(1 <= value <= MAX_SIZE, name, value, f"at least 1 and at most {MAX_SIZE}")
        for name in ("fixed_dim", "trained_dim"):
            value = getattr(self, name)
            _check(0 <= value <= MAX_SIZE, name, value, f"at least 0 and at most {MAX_SIZE}")
        for name in ("embedding_dropout", "dropout", "word_dropout", "trained_dropout"):
            _check(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 to below 1")
        _check(self.embedding_dim >= 1, "trained_dim", 0, "at least 1 when fixed_dim is 0")
        for name in ("max_words", "max_sentences"):
            value = getattr(self, name)
            _check(value is None or value >= 1, name, value, "at least 1, or none to read all")
        _check(self.activation in ACTIVATIONS, "activation", self.activation, _one_of(ACTIVATIONS))
        _check(self.routing in ROUTINGS, "routing", self.routing, _one_of(ROUTINGS))
        _check(
            self.region_dim % self.query_dim == 0,
            "region_dim",
            self.region_dim,
            f"a multiple of query_dim ({self.query_dim}), since I = region_dim / query_dim",
        )

    @property
    def embedding_dim(self) -> int:
        """d_e, the size of a word embedding: fixed and trained part."""
        return self.fixed_dim + self.trained_dim

    @property
    def num_capsules(self) -> int:
        """I = d_w / d_p, the number of primary capsules (the paper's section 4)."""
        return self.region_dim // self.query_dim


@dataclass(frozen=True)
class TrainConfig:
    """Settings of training: vocabulary, margin loss (section 4), Adam, and early stopping.

    Raises:
        ConfigError: A value is out of range.
    """

    min_frequency: int = _field(
        5, "a word is in the vocabulary if it occurs MORE often than this", "F"
    )
    min_coverage: float = _field(
        0.05,
        "share of running words that given word vectors must cover, else training does not start",
    )
    vector_epochs: int = _field(5, "epochs of word vectors that are trained on the texts")
    learning_rate: float = _field(2e-3, "maximum learning rate of Adam")
    # Without warm-up, Adam's first steps change all weights by the same amount, which can drive all
    # norms to 1, where the gradient vanishes.
    warmup_share: float = _field(0.1, "share of all steps in which the learning rate rises from 0")
    decay: bool = _field(
        True, "linear decay of the learning rate after that, to 0 after the last epoch"
    )
    batch_size: int = _field(64, "texts per step, over all processes")
    accumulate: int = _field(
        1, "parts into which a process splits its texts of a step, to save memory"
    )
    epochs: int = _field(12, "maximum passes over the training texts")
    patience: int = _field(3, "epochs that are no better than the best, after which training ends")
    score: str = _field(
        "auto",
        "validation score by which an epoch is better than another: accuracy, macro_f1, or auto: "
        "macro_f1 if class_weight is balanced, else accuracy. If it is equal, the epoch with the "
        "lower validation loss is better. last: every epoch is better than those before. With "
        "several labels per text, accuracy is the share of texts whose labels are all right",
    )
    validation_share: float = _field(
        0.1, "share of the texts that is held out for validation, stratified by class"
    )
    average_decay: float = _field(
        0.999, "decay of the moving average of the weights; 0: no averaging"
    )
    clip_norm: float = _field(5.0, "maximum gradient norm; 0: no clipping")
    loss: str = _field(
        "margin",
        "margin: the paper's margin loss; cross_entropy: of the softmax of the norms times 20, or "
        "with several labels per text of a sigmoid per class, which learns from fewer texts and "
        "epochs",
    )
    margin_present: float = _field(0.9, "norm that the true class should reach", "m+")
    margin_absent: float = _field(0.1, "norm that other classes should stay below", "m-")
    absent_weight: float = _field(0.5, "weight of the loss of other classes", "λ")
    class_weight: str = _field(
        "none",
        "weight of a text in the loss, by its class. none: 1; balanced: training texts / (classes "
        "times texts of the class), so that all classes count the same, however rare. With several "
        "labels per text it is the weight of a label",
    )
    # For `icaps.train.objectives`:
    purity_weight: float = _field(
        0.0, "weight of a loss that ties capsules to classes; 0 as in the paper"
    )
    spread_weight: float = _field(
        0.0, "weight of a loss that makes all capsules be used; 0 as in the paper"
    )
    ramp_share: float = _field(
        0.0, "share of all steps in which the weights of both losses rise from 0"
    )
    winner_sharpness: float = _field(20.0, "sharpness of the softmax over capsules in both losses")
    # For `icaps.train.unk`:
    unk_steps: int = _field(
        0, "batches on which <unk> is made neutral after all epochs; 0 as in the paper"
    )
    seed: int = _field(0, "seed of all random numbers")

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
        for name, names in (("score", SCORES), ("class_weight", CLASS_WEIGHTS), ("loss", LOSSES)):
            _check(getattr(self, name) in names, name, getattr(self, name), _one_of(names))
        _check(0 <= self.seed <= MAX_SEED, "seed", self.seed, f"from 0 to {MAX_SEED}")
        for name in ("warmup_share", "average_decay", "margin_present", "margin_absent"):
            _check(0 <= getattr(self, name) < 1, name, getattr(self, name), "from 0 to below 1")
        _check(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        _check(0 <= self.min_coverage <= 1, "min_coverage", self.min_coverage, "from 0 to 1")
        _check(0 <= self.ramp_share <= 1, "ramp_share", self.ramp_share, "from 0 to 1")
        _check(
            0 < self.validation_share < 1,
            "validation_share",
            self.validation_share,
            "between 0 and 1",
        )

    @property
    def epoch_score(self) -> str:
        """ACCURACY, MACRO_F1 or LAST, by which the epoch is chosen."""
        if self.score != "auto":
            return self.score
        return MACRO_F1 if self.class_weight == "balanced" else ACCURACY


# What a user may give: all settings, single ones by name that replace those of the recipe, or none.
ModelSettings: TypeAlias = ModelConfig | Mapping[str, Any] | None
TrainSettings: TypeAlias = TrainConfig | Mapping[str, Any] | None


@dataclass(frozen=True)
class Preset:
    """A row of the paper's tables of settings."""

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
    """A row of Table 2, or of Table 3 if `max_sentences` is given; learning rates are in section 4.

    The sizes in both tables depend on the data set: K = 3 for AG's News and 5 for the others; d_w,
    d_q and d_c are half as large for AG's News and DBPedia.
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
    """Options of an explanation: its class, and how many K-grams it shows (section 2.6).

    A number larger than a text has means all.

    Attributes:
        target: Name of the class to explain; None: each text's predicted class.
        top_capsules: k1, number of primary capsules.
        top_kgrams: k2, number of K-grams per capsule and sentence.
        top_sentences: Number of sentences per capsule, those with the largest rho, for models that
            split texts into sentences; 1 in the paper.
        ranking: How K-grams are selected. "routing": the paper's rule, capsules by beta_ij and
            positions by attention. "contribution": the same with capsules by their contribution to
            the class (`inference.contributions`). "account": the K-grams that add most to the norm
            of the class (`interpret.account`), as many as the numbers above multiply to, without
            words at their ends that add nothing, and over no more than half of the text.

    Raises:
        ConfigError: A number is below 1, or the ranking is unknown.
    """

    target: str | None = None
    top_capsules: int = 2
    top_kgrams: int = 2
    top_sentences: int = 1
    ranking: str = KGRAM_RANKINGS[0]

    def __post_init__(self) -> None:
        for name in ("top_capsules", "top_kgrams", "top_sentences"):
            value = getattr(self, name)
            _check(value >= 1, name, value, "at least 1")
        _check(self.ranking in KGRAM_RANKINGS, "ranking", self.ranking, _one_of(KGRAM_RANKINGS))


class ExplainKeywords(TypedDict, total=False):
    """The fields of `ExplainOptions` as keyword arguments."""

    target: str | None
    top_capsules: int
    top_kgrams: int
    top_sentences: int
    ranking: str


class Setting(NamedTuple):
    """A setting: name, help text, the paper's symbol or "", type and default value."""

    name: str
    help: str
    symbol: str
    type: Any
    default: Any


def list_settings(kind: type[Config]) -> list[Setting]:
    """The settings of a configuration, in their order."""
    hints = get_type_hints(kind)
    return [
        Setting(field.name, **field.metadata, type=hints[field.name], default=field.default)
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


def read_settings(preset: str, settings: Mapping[str, str]) -> tuple[ModelSettings, TrainSettings]:
    """The settings that a user has given: all of a preset, or single ones that change the recipe.

    Args:
        preset: Name of the preset; empty for the recipe (`icaps.train.recipe`).
        settings: Values of single settings as text, by the names of the settings.

    Returns:
        The configurations of the preset with these values, or without a preset the values alone,
        as `ICapsClassifier` takes them.

    Raises:
        ConfigError: There is no such preset or setting, or a value has the wrong type or is out of
            range.
    """
    if preset:
        row = get_preset(preset)
        return override(row.model, row.train, settings)
    model, train = parse_settings(settings)
    check_settings(ModelConfig, model)
    check_settings(TrainConfig, train)
    return model, train


def config_from_dict(kind: type[Config], values: Mapping[str, Any]) -> Config:
    """The inverse of `dataclasses.asdict` for a configuration.

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
        if not _has_type(value, hints[name]):
            raise ConfigError(
                f"The setting {name} is {value!r}; it must be {_type_name(hints[name])}."
            )
    return kind(**values)


def removed_setting(values: Mapping[str, Any]) -> str:
    """An error message if a removed setting has an unsupported value (`REMOVED`); else empty."""
    for name, allowed in REMOVED.items():
        if name in values and values[name] not in allowed:
            return (
                f"The setting {name} is {values[name]!r}, which only earlier versions of iCaps "
                f"support; it is always {allowed[0]!r} now."
            )
    return ""


def without_removed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as plain data, without those of earlier versions (`REMOVED`).

    Raises:
        ConfigError: Such a setting has a value that is no longer supported.
    """
    if message := removed_setting(values):
        raise ConfigError(message)
    return {name: value for name, value in values.items() if name not in REMOVED}


def override(
    model: ModelConfig, train: TrainConfig, settings: Mapping[str, str]
) -> tuple[ModelConfig, TrainConfig]:
    """Both configurations with single settings replaced.

    Args:
        model, train: The configurations to change.
        settings: New values as text, by the names of the settings.

    Raises:
        ConfigError: A name is unknown, or a value has the wrong type or is out of range.
    """
    for_model, for_train = parse_settings(settings)
    return dataclasses.replace(model, **for_model), dataclasses.replace(train, **for_train)


def parse_settings(settings: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses single settings: those of the network, and those of training.

    Args:
        settings: Values as text, by the names of the settings.

    Raises:
        ConfigError: A name is unknown, or a value has the wrong type.
    """
    parsed: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    hints = get_type_hints(ModelConfig), get_type_hints(TrainConfig)
    for key, text in settings.items():
        if key in REMOVED:  # as in a request of an earlier version
            without_removed({key: _parse_value(text)})
            continue
        for values, types in zip(parsed, hints, strict=True):
            if key in types:
                values[key] = _parse_setting(key, text, types[key])
                break
        else:
            names = tuple(name for types in hints for name in types)
            raise ConfigError(f"There is no setting {key!r}. Choose {_one_of(names)}.")
    return parsed


def check_settings(kind: type[Config], values: Mapping[str, Any]) -> None:
    """Checks single settings before those are known that they will be combined with.

    Raises:
        ConfigError: A name is unknown, or a value has the wrong type or is out of range.
    """
    values = dict(values)
    if kind is ModelConfig:  # `region_dim` must fit `query_dim` only if both are given
        values.setdefault("region_dim", values.setdefault("query_dim", 1))
    config_from_dict(kind, values)


def format_value(value: Any) -> str:
    """The value of a setting as `--set` takes it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_setting(key: str, text: str, hint: Any) -> Any:
    """Parses the value of a setting.

    Raises:
        ConfigError: The value has the wrong type.
    """
    value = text if hint is str else _parse_value(text)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not _has_type(value, hint):
        raise ConfigError(f"The setting {key} is {text!r}; it must be {_type_name(hint)}.")
    return value


def _parse_value(text: str) -> Any:
    """Parses JSON (1e-3, true, null) or "none"; other text is returned as it is."""
    try:
        return json.loads({"none": "null"}.get(text.lower(), text.lower()))
    except (ValueError, RecursionError):  # not JSON, or a number of thousands of digits
        return text


def _has_type(value: Any, hint: Any) -> bool:
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
