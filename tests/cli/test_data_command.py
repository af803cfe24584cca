import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from icaps.cli.main import main
from icaps.cli.progress import Progress
from tests.data.hub_server import HubServer, serve
from tests.data.small import csv_bytes, small, write

TRAIN = "fancyzhx/ag_news/train-00000-of-00001.parquet"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with serve() as server:
        monkeypatch.setenv("ICAPS_HUB_URL", server.url)
        server.files = {TRAIN: b"." * 4_000_000, TRAIN.replace("train", "test"): b""}
        yield server


def test_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"{part}.csv": csv_bytes(small("ag_news"), part) for part in ("train", "test")}
    write(Path("data/ag_news"), files)
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == (
        "ag_news 4 classes 120,000 train, 7,600 test texts data/ag_news"
    )
    assert lines[1].endswith("not here")
    assert " ".join(lines[-1].split()) == (
        "synthetic 5 classes 3,000 train, 600 test synthetic texts made when asked for"
    )
    assert main(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {
        "name": "ag_news",
        "classes": ["World", "Sports", "Business", "Sci/Tech"],
        "train_rows": 120_000,
        "test_rows": 7_600,
        "place": "data/ag_news",
        "synthetic": False,
    }
    assert rows[-1]["synthetic"] is True
    assert rows[-1]["place"] is None


def test_fetch(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "synthetic"]) == 0
    out = capsys.readouterr()
    assert out.out == f"{cache / 'synthetic-1' / 'ready'}\n"
    assert "made by a program" in out.err


def test_a_failed_fetch_is_one_line(hub: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "ag_news"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "downloading train-00000-of-00001.parquet, 4.0 MB"
    assert lines[-1].startswith("icaps: ")
    assert "To do without the download" in lines[-1]
    assert main(["data", "fetch", "agnews"]) == 2
    assert "Did you mean ag_news?" in capsys.readouterr().err


def test_train_and_evaluate_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from icaps.data import synthetic

    monkeypatch.setattr(synthetic, "ROWS", {"train": 600, "test": 60})
    out = str(tmp_path / "model")
    settings = ["fixed_dim=8", "trained_dim=8", "region_dim=16", "epochs=1", "batch_size=64"]
    sets = [word for setting in settings for word in ("--set", setting)]
    assert main(["train", "--data", "synthetic", "--out", out, *sets]) == 0
    log = capsys.readouterr().err
    assert "synthetic: its texts were made by a program" in log
    assert "test accuracy" in log
    assert main(["evaluate", "--model", out, "--data", "synthetic", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["n"] == 60
    measured = json.loads((tmp_path / "model" / "metrics.json").read_text())["test"]
    assert {name: scores[name] for name in measured} == measured
    assert set(scores["per_class"]) == {"Food", "Travel", "Sports", "Music", "Science"}


def test_ctrl_c_keeps_what_was_downloaded(hub: HubServer, cache: Path) -> None:
    hub.faults[TRAIN] = ["wait:1000000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "icaps", "data", "fetch", "ag_news"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    part = cache / "ag_news" / "download" / "train-00000-of-00001.parquet.part"
    while not (part.exists() and part.stat().st_size == 1_000_000):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert rest.splitlines()[-1] == "icaps: stopped"
    assert part.stat().st_size == 1_000_000


def test_help_brings_no_library() -> None:
    code = (
        "import sys; from icaps.cli.main import main\n"
        "try: main(['data', 'list', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'pandas', 'pyarrow', 'requests', 'datasets', 'tqdm'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "import icaps.cli.progress, icaps.data.resolve, icaps.data.catalog\n"
        "heavy.remove('tqdm')\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_of_a_download() -> None:
    terminal = Terminal()
    progress = Progress(terminal)
    progress.on_bytes("a.parquet", 1_000_000, 4_000_000)
    progress.on_bytes("a.parquet", 2_000_000, 4_000_000)
    progress.on_bytes("a.parquet", 1_500_000, 4_000_000)  # a try that starts again
    progress.on_bytes("a.parquet", 4_000_000, 4_000_000)
    progress.on_bytes("b.parquet", 5, None)
    text = terminal.getvalue()
    assert "a.parquet:  25%" in text
    assert "a.parquet: 100%" in text
    assert "4.00M/4.00M" in text
    assert "b.parquet: 5.00B" in text
    plain = StringIO()
    Progress(plain).on_bytes("a.parquet", 1, 2)
    assert plain.getvalue() == ""
