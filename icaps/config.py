"""Settings of the network and of its training, and the paper's presets.

Names of settings are those of the table in ARCHITECTURE.md; a comment beside each gives the
paper's symbol. What the paper leaves open is an option here, and its default is stated.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from icaps.errors import ConfigError

ACTIVATIONS = ("none", "relu", "tanh", "gelu")
OOV_CHOICES = ("zeros", "mean", "normal")
VECTOR_STEP = 1 / 64  # numbers of frozen vectors are whole steps, so that a byte stores one
LARGEST = 10_000  # size of a vector and number of iterations: beyond it a setting is a mistake

Settings = TypeVar("Settings", "ModelConfig", "TrainConfig")


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

    fixed_dim: int = 300  # first part of d_e: pre-trained, frozen
    trained_dim: int = 32  # second part of d_e: trained from random
    kernel_size: int = 3  # K
    region_dim: int = 256  # d_w
    query_dim: int = 8  # d_q = d_p
    class_dim: int = 16  # d_c
    hierarchical: bool = False  # iCapsNets-Long: attention to words, then to sentences
    max_words: int | None = 195  # N, of the text, or of a sentence when hierarchical; None: all
    max_sentences: int | None = None  # M, when hierarchical; None reads every sentence
    language: str = "en"  # whose rules split sentences, when hierarchical: an ISO 639 code
    routing_iterations: int = 3  # r
    share_class_weight: bool = True  # one W_j for all primary capsules (the paper); else W_ij
    activation: str = "none"  # after the convolution; the paper names none
    squash_primary: bool = False  # squash pc_i before the votes; the paper's equations do not
    route_gradient: bool = True  # let the loss reach the routing logits of earlier iterations
    embedding_dropout: float = 0.3  # on the numbers of word embeddings, in training only
    dropout: float = 0.3  # on region embeddings, in training only
    word_dropout: float = 0.2  # share of words read as <unk>, in training only
    oov: str = "zeros"  # fixed part of a word that the pre-trained vectors lack

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
        _check(self.oov in OOV_CHOICES, "oov", self.oov, _one_of(OOV_CHOICES))
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

    min_frequency: int = 5  # F: a word is kept when seen MORE than F times
    learning_rate: float = 2e-3
    warmup_share: float = 0.1  # of all steps, over which the learning rate rises from 0: Adam's
    # first steps move every weight alike, which can drive all norms to 1, where no gradient is left
    decay: bool = True  # then let the learning rate fall in a line, to 0 after the last epoch
    batch_size: int = 64  # texts a step, of all processes together
    accumulate: int = 1  # parts that a process takes its texts of a step in, to save memory
    epochs: int = 12
    patience: int = 3  # epochs without a better validation accuracy before training ends
    validation_share: float = 0.1  # of the training texts, stratified by class
    average_decay: float = 0.999  # of the exponential moving average of the weights; 0 is off
    clip_norm: float = 5.0  # largest gradient norm; 0 is off
    margin_present: float = 0.9  # m+
    margin_absent: float = 0.1  # m-
    absent_weight: float = 0.5  # lambda
    purity_weight: float = 0.0  # of the winner's class (specialisation.py); 0 is off: the paper
    spread_weight: float = 0.0  # of the use of all capsules (specialisation.py); 0 is off
    winner_sharpness: float = 20.0  # of the soft winner in both
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "accumulate", "epochs", "patience"):
            _check(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in (
            *("min_frequency", "clip_norm", "absent_weight", "seed"),
            *("purity_weight", "spread_weight", "winner_sharpness"),
        ):
            _check(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
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
        ConfigError: A name is unknown, or a value has the wrong type or range.
    """
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints:
            raise ConfigError(f"There is no setting {name!r}. Choose {_one_of(tuple(hints))}.")
        if not _fits(value, hints[name]):
            raise ConfigError(f"The setting {name} is {value!r}, which is no {_say(hints[name])}.")
    return kind(**values)


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
        if key not in known:
            raise ConfigError(f"There is no setting {key!r}. Choose {_one_of(tuple(known))}.")
        kind = type(known[key])
        values.setdefault(kind.__name__, {})[key] = _read(key, text, get_type_hints(kind)[key])
    return (
        dataclasses.replace(model, **values.get("ModelConfig", {})),
        dataclasses.replace(train, **values.get("TrainConfig", {})),
    )


def _read(key: str, text: str, hint: Any) -> Any:
    """The value that `text` stands for: JSON where it is JSON (1e-3, true, null), else the text."""
    try:
        value = json.loads({"none": "null"}.get(text.lower(), text.lower()))
    except json.JSONDecodeError:
        value = text
    if hint is str:
        value = text
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not _fits(value, hint):
        raise ConfigError(f"The setting {key} is {text!r}, which is no {_say(hint)}.")
    return value


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
