"""The tools for assistants, called by the protocol's own client."""

import sys
from pathlib import Path
from typing import Any

import pytest

from icaps.classifier import ICapsClassifier
from icaps.service.mcp_server import MAX_TEXTS, create_server
from tests.conftest import make_texts
from tests.coroutines import finish

mcp = pytest.importorskip("mcp")
TEXTS = make_texts(5, seed=4)[0]


def call(folder: Path, tool: str, **arguments: Any) -> Any:
    """The answer of a tool as plain data, or its error as a string."""

    async def ask() -> Any:
        async with mcp.Client(create_server({"small": folder})) as client:
            answer = await client.call_tool(tool, arguments)
            return answer.content[0].text if answer.is_error else answer.structured_content

    return finish(ask())


def test_predict_and_explain(model_folder: Path, classifier: ICapsClassifier) -> None:
    results = call(model_folder, "predict", texts=TEXTS)["results"]
    assert [one["predicted"] for one in results] == list(classifier.predict(TEXTS))
    results = call(model_folder, "explain", texts=TEXTS, target="Sailing")["results"]
    for one, expected in zip(
        results, classifier.explain(TEXTS, target="Sailing", ranking="account"), strict=True
    ):
        assert one["target"] == "Sailing"
        shares = sum(word["share"] for word in one["words"])
        assert one["bias"] + shares == pytest.approx(expected.score, abs=1e-5)
        largest = max(expected.words, key=lambda word: abs(word.share))
        assert one["words"][0]["word"] == expected.text[largest.start : largest.end]
        assert [kgram["text"] for kgram in one["kgrams"]] == [k.text for k in expected.kgrams]


def test_data_and_scores(model_folder: Path, data_file: Path) -> None:
    scores = call(model_folder, "evaluate", data=str(data_file))
    assert scores["accuracy"] > 0.5
    assert call(model_folder, "check_data", data=str(data_file))["usable"]
    assert call(model_folder, "list_models")["small"]["classes"] == [
        "Cooking",
        "Gardens",
        "Sailing",
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("predict", {"texts": ["a"], "model": "none"}, "There is no model 'none'; choose small"),
        ("explain", {"texts": ["a"], "target": "Nowhere"}, "no class 'Nowhere'"),
        ("predict", {"texts": ["a"] * (MAX_TEXTS + 1)}, "more than 256"),
        ("evaluate", {"data": "/nowhere.csv"}, "nowhere.csv"),
        ("check_data", {"data": "/nowhere.csv"}, "nowhere.csv"),
        ("predict", {"texts": 3}, "texts"),
    ],
)
def test_errors_are_sentences(
    tool: str, arguments: dict[str, Any], reason: str, model_folder: Path
) -> None:
    answer = call(model_folder, tool, **arguments)
    assert isinstance(answer, str)
    assert reason in answer


def test_the_command_speaks_the_protocol(model_folder: Path) -> None:
    async def ask() -> list[str]:
        parameters = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "icaps", "mcp", "--model", str(model_folder)]
        )
        async with mcp.Client(mcp.stdio_client(parameters)) as client:
            return sorted(tool.name for tool in (await client.list_tools()).tools)

    assert finish(ask()) == ["check_data", "evaluate", "explain", "list_models", "predict"]
