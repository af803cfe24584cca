import dataclasses
import json
from typing import Any

import pytest

from icaps.config import (
    PRESETS,
    ExplainKeywords,
    ExplainOptions,
    ModelConfig,
    TrainConfig,
    config_from_dict,
    get_preset,
    override,
)
from icaps.errors import ConfigError

# Tables 2 and 3 of the paper: F, fixed and trained part of d_e, K, d_w, d_q = d_p (= d_s), d_c, N,
# M; then its section 4: the learning rate.
TABLES = {
    "yelp_polarity-short": (50, 300, 64, 5, 512, 16, 32, 1296, None, 0.001),
    "yelp_full-short": (50, 300, 64, 5, 512, 16, 32, 1438, None, 0.001),
    "yahoo_answers-short": (100, 300, 64, 5, 512, 16, 32, 1000, None, 0.001),
    "amazon_polarity-short": (200, 300, 64, 5, 512, 16, 32, 592, None, 0.001),
    "amazon_full-short": (500, 300, 64, 5, 512, 16, 32, 592, None, 0.001),
    "ag_news-short": (5, 300, 32, 3, 256, 8, 16, 195, None, 0.0001),
    "dbpedia-short": (50, 300, 64, 5, 256, 8, 16, 1588, None, 0.0001),
    "yelp_polarity-long": (5, 300, 64, 5, 512, 16, 32, 100, 20, 0.0005),
    "yelp_full-long": (5, 300, 64, 5, 512, 16, 32, 100, 20, 0.0005),
    "yahoo_answers-long": (10, 300, 32, 5, 512, 16, 32, 100, 15, 0.0005),
    "amazon_polarity-long": (10, 300, 64, 5, 512, 16, 32, 100, 15, 0.0005),
    "amazon_full-long": (10, 300, 64, 5, 512, 16, 32, 100, 15, 0.0005),
    "ag_news-long": (5, 300, 32, 3, 256, 8, 16, 86, 10, 0.0005),
    "dbpedia-long": (50, 300, 64, 5, 256, 8, 16, 100, 10, 0.0005),
}


def test_presets_are_the_rows_of_the_paper() -> None:
    assert set(PRESETS) == set(TABLES)
    names = (
        "min_frequency",
        "fixed_dim",
        "trained_dim",
        "kernel_size",
        "region_dim",
        "query_dim",
        "class_dim",
        "max_words",
        "max_sentences",
        "learning_rate",
    )
    for name, row in TABLES.items():
        preset = get_preset(name)
        values = preset.to_dict()
        assert values["name"] == name
        assert tuple(values[key] for key in names) == row
        assert preset.model.hierarchical == name.endswith("-long")
        assert preset.model.num_capsules == 32  # I = d_w / d_p, in each row
        assert preset.model.embedding_dim == row[1] + row[2]


def test_unknown_preset_lists_the_names() -> None:
    with pytest.raises(ConfigError, match=r"no preset 'agnews'.*ag_news-short"):
        get_preset("agnews")


@pytest.mark.parametrize("kind", [ModelConfig, TrainConfig])
def test_round_trip_through_json(kind: type) -> None:
    config = kind()
    text = json.dumps(dataclasses.asdict(config))
    assert config_from_dict(kind, json.loads(text)) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel_size": "0"}, "kernel_size is 0; it must be at least 1"),
        ({"kernel_size": "three"}, "kernel_size is 'three'; it must be a whole number"),
        ({"kernel_size": "true"}, "kernel_size is 'true'; it must be a whole number"),
        ({"region_dim": "250"}, r"multiple of query_dim \(8\)"),
        ({"activation": "cubic"}, "one of none, relu, tanh, gelu"),
        ({"dropout": "1"}, "dropout is 1.0; it must be from 0 to below 1"),
        ({"learning_rate": "0"}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": "nan"}, "learning_rate"),
        ({"accumulate": "0"}, "accumulate is 0; it must be at least 1"),
        ({"class_weight": "rare"}, "class_weight is 'rare'; it must be one of none, balanced"),
        ({"score": "f1"}, "score is 'f1'; it must be one of auto, accuracy, macro_f1"),
        ({"colour": "red"}, "no setting 'colour'. Choose one of fixed_dim"),
        ({"fixed_dim": "0", "trained_dim": "0"}, "trained_dim"),
        ({"validation_share": "1"}, "between 0 and 1"),
    ],
)
def test_invalid_settings_raise(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override(ModelConfig(), TrainConfig(), settings)


def test_override_reads_each_type() -> None:
    model, train = override(
        ModelConfig(),
        TrainConfig(),
        {
            "max_words": "none",
            "squash_primary": "true",
            "activation": "relu",
            "learning_rate": "5e-4",
            "clip_norm": "2",
        },
    )
    assert model.max_words is None
    assert model.squash_primary is True
    assert model.activation == "relu"
    assert (train.learning_rate, train.clip_norm) == (0.0005, 2.0)
    assert isinstance(train.clip_norm, float)


def test_settings_that_are_not_a_mapping_raise() -> None:
    for values in (7, None, [], "dropout"):
        with pytest.raises(ConfigError, match="not an object with their names"):
            config_from_dict(ModelConfig, values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [{"dropout": "0.1"}, {"seed": 1.5}, {"squash_primary": 1}, {"other": 1}]
)
def test_unknown_settings_raise(values: dict[str, object]) -> None:
    kind = TrainConfig if "seed" in values else ModelConfig
    with pytest.raises(ConfigError, match=next(iter(values))):
        config_from_dict(kind, values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top_capsules": 0}, "top_capsules is 0; it must be at least 1"),
        ({"top_kgrams": -1}, "top_kgrams is -1; it must be at least 1"),
        ({"top_sentences": 0}, "top_sentences is 0; it must be at least 1"),
        ({"ranking": "loud"}, "ranking is 'loud'; it must be one of routing, contribution"),
    ],
)
def test_options_of_an_explanation_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ExplainOptions(**changes)


def test_keywords_of_an_explanation_are_its_options() -> None:
    assert ExplainKeywords.__annotations__.keys() == ExplainOptions.__annotations__.keys()
