"""The help of each setting, and the settings that a training's command gives."""

import dataclasses
import json
from typing import Any, get_type_hints

import pytest

from icaps.cli.request import TrainRequest, read_arguments
from icaps.config import (
    ACTIVATIONS,
    MAX_SEED,
    REMOVED,
    ModelConfig,
    TrainConfig,
    list_settings,
    override,
)
from icaps.errors import ConfigError, RunError

KINDS = [ModelConfig, TrainConfig]


@pytest.mark.parametrize("kind", KINDS)
def test_each_setting_has_a_help_text(kind: Any) -> None:
    found = list_settings(kind)
    fields = dataclasses.fields(kind)
    assert [setting.name for setting in found] == [field.name for field in fields]
    standard, hints = kind(), get_type_hints(kind)
    for setting in found:
        assert setting.default == getattr(standard, setting.name)
        assert type(setting.default) is type(getattr(standard, setting.name))
        assert setting.type == hints[setting.name]
        assert setting.help


def test_names_and_help_texts_are_unique() -> None:
    names = [setting.name for kind in KINDS for setting in list_settings(kind)]
    helps = [setting.help for kind in KINDS for setting in list_settings(kind)]
    assert len(set(names)) == len(names)
    assert len(set(helps)) == len(helps)


def test_symbols_are_those_of_the_paper() -> None:
    symbols = {s.name: s.symbol for kind in KINDS for s in list_settings(kind) if s.symbol}
    assert symbols == {
        "fixed_dim": "d_e",
        "trained_dim": "d_e",
        "kernel_size": "K",
        "region_dim": "d_w",
        "query_dim": "d_q = d_p",
        "class_dim": "d_c",
        "max_words": "N",
        "max_sentences": "M",
        "routing_iterations": "r",
        "min_frequency": "F",
        "margin_present": "m+",
        "margin_absent": "m-",
        "absent_weight": "λ",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_default_can_be_set(kind: Any) -> None:
    """As the launcher writes it, and as JSON has it."""
    for setting in list_settings(kind):
        texts = {json.dumps(setting.default), str(setting.default)}
        if isinstance(setting.default, str):
            texts = {setting.default}
        for text in texts:
            changed = override(ModelConfig(), TrainConfig(), {setting.name: text})
            assert changed == (ModelConfig(), TrainConfig()), text


def test_all_choices_are_accepted() -> None:
    for choice in ACTIVATIONS:
        model, _ = override(ModelConfig(), TrainConfig(), {"activation": choice})
        assert model.activation == choice


def test_settings_of_earlier_versions_are_read_if_they_change_nothing() -> None:
    assert not {setting.name for kind in KINDS for setting in list_settings(kind)} & set(REMOVED)
    for name, values in REMOVED.items():
        for value in values:
            text = value if isinstance(value, str) else json.dumps(value)
            changed = override(ModelConfig(), TrainConfig(), {name: text, "epochs": "3"})
            assert changed == (ModelConfig(), TrainConfig(epochs=3))
        with pytest.raises(ConfigError, match=f"{name} is .*, which only earlier versions"):
            override(ModelConfig(), TrainConfig(), {name: "false"})


@pytest.mark.parametrize("text", ["9" * 5_000, "[" * 100_000, "-1", "1e3", "NaN", "Infinity", ""])
@pytest.mark.parametrize("name", ["epochs", "seed", "max_words"])
def test_values_that_are_not_numbers(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        override(ModelConfig(), TrainConfig(), {name: text})


def test_the_largest_seed() -> None:
    """What numpy, scikit-learn and gensim take; a larger one would fail in the middle."""
    assert TrainConfig(seed=MAX_SEED).seed == 2**32 - 1
    for seed in (MAX_SEED + 1, -1):
        with pytest.raises(ConfigError, match=f"seed is {seed}; it must be from 0 to 4294967295"):
            TrainConfig(seed=seed)


@pytest.mark.parametrize(
    "given", [[], ["--out", "runs/x"], ["--out", "x", "--queue", "1", "--resume"]]
)
def test_a_command_is_read_as_a_run_folder_stores_it(given: list[str]) -> None:
    """As it was requested, without --out; and as its process has written it."""
    arguments = ["train", "--data", "d.csv", "--preset", "ag_news-long", "--set", "epochs=2"]
    request = TrainRequest.from_arguments([*arguments, *given])
    assert (request.data, request.preset) == ("d.csv", "ag_news-long")
    assert request.settings == {"epochs": "2"}
    model, train = request.given()
    assert (model.hierarchical, model.max_words, train.epochs) == (True, 86, 2)


def test_the_seed_of_a_command_comes_last() -> None:
    arguments = ["train", "--data", "d", "--seed", "7", "--set", "seed=3"]
    assert TrainRequest.from_arguments(arguments).given()[1] == {"seed": 7}


def test_class_weights_have_an_option_of_their_own() -> None:
    request = TrainRequest.from_arguments(["train", "--data", "d", "--class-weight", "balanced"])
    assert request.settings == {"class_weight": "balanced"}
    assert TrainRequest.from_arguments(request.to_arguments()) == request
    with pytest.raises(RunError, match="--class-weight"):
        read_arguments(["train", "--data", "d", "--class-weight", "some"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "cannot be read"),
        (["train"], "--data"),
        (["explore", "x"], "cannot be read"),
        (["train", "--data"], "--data"),
        (["train", "--data", "x", "--seed", "one"], "--seed"),
        (["train", "--data", "x", "--on-bad-rows", "maybe"], "maybe"),
        (["train", "--help"], "asks for help"),
        (["train", "--data", "x", "--newer", "1"], "has no option --newer"),
        (["train", "--data", "x", "more"], "has no option more"),
    ],
)
def test_an_unknown_command_is_refused_and_prints_nothing(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RunError, match=words):
        read_arguments(arguments)
    assert capsys.readouterr().err == ""
