"""A training's request: what is written as arguments is read back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icaps.cli.request import TrainRequest, option, reading_arguments
from icaps.config import PRESETS, TrainConfig
from icaps.errors import ConfigError, RunError

PLAIN = TrainRequest("texts.csv", {}, "", {}, (), "")
WHOLE = TrainRequest(
    data="-odd name.csv",
    reading={
        "text": ["-a", "b c"],
        "label": "class",
        "encoding": "cp1252",
        "delimiter": "\t",
        "on_bad_rows": "skip",
    },
    preset="ag_news-long",
    settings={"epochs": "3", "learning_rate": "0.002", "seed": "7"},
    vectors=("texts", "-x.vec"),
    watch="--watch = this",
)


@pytest.mark.parametrize("request_", [PLAIN, WHOLE])
def test_a_round_trip(request_: TrainRequest) -> None:
    assert TrainRequest.from_arguments(request_.to_arguments()) == request_


ARGUMENTS = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6),
    st.sampled_from(["-x", "--seed", "--out=y", "-", " ", "a=b", "--set"]),
).filter(lambda text: text != "--")  # which argparse drops
READING = {
    "text": st.lists(ARGUMENTS, min_size=1, max_size=3),
    "label": ARGUMENTS | st.lists(ARGUMENTS, min_size=2, max_size=3),
    "label_separator": st.sampled_from([";", "\t", "-", " | "]),
    "multilabel": st.booleans(),
    "encoding": ARGUMENTS,
    "delimiter": st.sampled_from([",", "\t", ";", "-"]),
    "on_bad_rows": st.just("skip"),
}


@given(
    st.builds(
        TrainRequest,
        data=ARGUMENTS,
        reading=st.fixed_dictionaries({}, optional=READING),
        preset=st.just("") | st.sampled_from(list(PRESETS)),
        settings=st.dictionaries(
            st.sampled_from(["epochs", "dropout", "language"]), ARGUMENTS.map(str.strip)
        ),
        vectors=st.lists(ARGUMENTS, max_size=3).map(tuple),
        watch=st.just("") | ARGUMENTS,
    )
)
def test_any_request_is_read_as_it_was_written(request_: TrainRequest) -> None:
    arguments = request_.to_arguments()
    assert TrainRequest.from_arguments(arguments) == request_
    of_a_process = [*arguments, "--out", "x", "--queue", "2", "--resume"]
    assert TrainRequest.from_arguments(of_a_process) == request_


def test_the_arguments_are_those_of_a_command_line() -> None:
    assert PLAIN.to_arguments() == ["train", "--data", "texts.csv"]
    arguments = ["train", "--data", "d", "--preset", "ag_news-long", "--set", "epochs=3"]
    request = TrainRequest("d", {}, "ag_news-long", {"epochs": "3"}, (), "")
    assert request.to_arguments() == arguments
    assert option("text", "-a") == ["--text=-a"]
    reading = {"text": ("a", "b"), "delimiter": "\t"}
    assert reading_arguments(reading) == ["--text", "a", "--text", "b", "--delimiter", r"\t"]
    reading = {"label": ["a", "b"], "multilabel": False}
    assert reading_arguments(reading) == ["--label", "a", "--label", "b", "--no-multilabel"]
    reading = {"label_separator": ";", "multilabel": True}
    assert reading_arguments(reading) == ["--label-separator", ";", "--multilabel"]


def test_the_settings_change_those_of_the_preset() -> None:
    model, train = WHOLE.given()
    assert isinstance(train, TrainConfig)
    preset = PRESETS["ag_news-long"]
    assert model == preset.model
    assert (train.epochs, train.learning_rate, train.seed) == (3, 0.002, 7)
    assert train.batch_size == preset.train.batch_size
    assert PLAIN.given() == ({}, {})


def test_a_seed_comes_before_a_setting() -> None:
    arguments = ["train", "--data", "d", "--seed", "7", "--set", "seed=3"]
    assert TrainRequest.from_arguments(arguments).settings == {"seed": "7"}


def test_what_cannot_be_read() -> None:
    with pytest.raises(RunError, match="no option --new"):
        TrainRequest.from_arguments(["train", "--data", "d", "--new", "x"])
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        TrainRequest.from_arguments(["train", "--data", "d", "--set", "epochs"])
    with pytest.raises(ConfigError, match="no preset"):
        TrainRequest("d", {}, "nothing", {}, (), "").given()
