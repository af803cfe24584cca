"""The tools for assistants, called by the protocol's own client."""

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import pytest

from benchmarks import hostile_input
from icaps.classifier import ICapsClassifier
from icaps.cli.main import main as icaps
from icaps.errors import DataError
from icaps.service.mcp_server import MAX_CHARACTERS, MAX_TEXTS, create_server
from icaps.service.readable import resolve_readable
from tests.conftest import make_texts
from tests.coroutines import finish

mcp = pytest.importorskip("mcp")
TEXTS = make_texts(5, seed=4)[0]


def call(folder: Path, tool: str, **arguments: Any) -> Any:
    """The answer of a tool as plain data, or its error as a string."""

    async def ask() -> Any:
        data = [Path(os.environ["ICAPS_DATA"])]
        async with mcp.Client(create_server({"small": folder}, data)) as client:
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
        ("predict", {"texts": ["a"], "model": "x" * 5_000}, "There is no model 'xxx"),
        ("predict", {"texts": ["a"] * (MAX_TEXTS + 1)}, "more than 256"),
        ("explain", {"texts": ["a" * MAX_CHARACTERS, "b"]}, "200,001 characters"),
        ("evaluate", {"data": "/nowhere.csv"}, "'/nowhere.csv' may not be read"),
        ("evaluate", {"data": "news_sample", "part": "dev"}, "'test', 'train' or 'held_out'"),
        ("evaluate", {"data": "news_sample", "part": "held_out"}, "None of these texts was held"),
        ("predict", {"texts": 3}, "texts"),
        ("predict", {}, "texts"),
        ("nothing", {}, "Unknown tool"),
    ],
)
def test_errors_are_sentences(
    tool: str, arguments: dict[str, Any], reason: str, model_folder: Path
) -> None:
    answer = call(model_folder, tool, **arguments)
    assert isinstance(answer, str)
    assert reason in answer


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder that may be read, `own`, beside one that may not, and links between them."""
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "texts.csv").write_text("text,label\nsoup,Cooking\nboat,Sailing\n" * 9)
    (tmp_path / "own" / "link.csv").symlink_to(tmp_path / "other" / "texts.csv")
    (tmp_path / "own" / "away").symlink_to(tmp_path / "other")
    (tmp_path / "own" / "round").symlink_to(tmp_path / "own" / "round")
    return tmp_path


@pytest.mark.parametrize(
    "data",
    [
        *("other/texts.csv", "other", "own/../other/texts.csv", "own/link.csv", "own/away"),
        *("own", "own/."),  # as a link in it leads away
        *(
            "own/away/texts.csv",
            "own/*.csv",
            "own/**/*.csv",
            "own/round",
            "*",
            "own/../*/texts.csv",
        ),
        *("/etc/passwd", "/dev/zero", "/proc/self/environ", "~", "~/x", "~nobody-here/x", "/", "."),
        *("", "a\0b", "\ud800", "x" * 5_000, "file:///etc/passwd", "["),
    ],
)
def test_only_data_inside_of_the_folders_is_read(
    data: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places)
    with pytest.raises(DataError, match="may not be read"):
        resolve_readable(data, [places / "own"])


def test_what_may_be_read(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    own = places / "own"
    assert resolve_readable("own/texts.csv", [own]) == Path("own/texts.csv")
    assert resolve_readable(f"{own}/t*.csv", [own]) == own / "t*.csv"
    assert resolve_readable("other", [own, places / "other"]) == Path("other")
    assert resolve_readable("news_sample", []).name == "news_sample.csv"
    with pytest.raises(DataError, match="may not be read"):
        resolve_readable("~/x", [places])
    with pytest.raises(DataError, match="with --data FOLDER"):
        resolve_readable("own", [])
    with pytest.raises(DataError, match="There is no file or folder"):
        resolve_readable("own/nothing.csv", [own])


def test_the_folder_of_data_must_exist(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "nothing")
    assert icaps(["mcp", "--model", str(model_folder), "--data", data]) == 2
    assert f"--data is {data}, which is no folder" in capsys.readouterr().err


def send(stream: IO[bytes], lines: list[bytes]) -> None:
    """Writes lines while another thread reads what is answered, so that no pipe is full."""
    stream.write(b"\n".join(lines))
    stream.flush()


def test_any_message_is_survived(model_folder: Path, classifier: ICapsClassifier) -> None:
    rng = random.Random(0)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}
    begin = [
        {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    hostile = [hostile_input.message(rng) for _ in range(300)]
    ask = {"name": "predict", "arguments": {"texts": TEXTS}}
    end = {"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": ask}
    lines = [*(json.dumps(one).encode() for one in begin), *hostile, json.dumps(end).encode(), b""]
    command = [sys.executable, "-m", "icaps", "mcp", "--model", str(model_folder)]
    pipe = subprocess.PIPE
    answers: dict[Any, Any] = {}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        writer = threading.Thread(target=send, args=(process.stdin, lines))
        writer.start()
        while "last" not in answers:
            line = process.stdout.readline()
            assert line, "it ended before the last answer"
            assert b"Traceback" not in line
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        writer.join()
        process.stdin.close()
        assert process.wait(20) == 0
        limit.cancel()
        assert process.stderr.read() == b""
    results = answers["last"]["result"]["structuredContent"]["results"]
    assert [one["predicted"] for one in results] == list(classifier.predict(TEXTS))
    errors = sum(bool(answer.get("result", {}).get("isError")) for answer in answers.values())
    assert errors > 20
    assert len(answers) - errors > 20


def test_the_command_speaks_the_protocol(model_folder: Path) -> None:
    async def ask() -> list[str]:
        parameters = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "icaps", "mcp", "--model", str(model_folder)]
        )
        async with mcp.Client(mcp.stdio_client(parameters)) as client:
            return sorted(tool.name for tool in (await client.list_tools()).tools)

    assert finish(ask()) == ["check_data", "evaluate", "explain", "list_models", "predict"]
