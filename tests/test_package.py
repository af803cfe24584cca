"""`import icaps`: its public names, and what importing it costs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import icaps
from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions, ModelConfig, TrainConfig
from icaps.errors import CheckpointError
from icaps.results import Explanation
from icaps.shipped import CHECKPOINTS, model_folder

ROOT = Path(__file__).resolve().parents[1]


def modules_after(code: str) -> set[str]:
    """The modules that a new process has imported after running `code`."""
    code += "; import json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_it_imports_no_library() -> None:
    imported = modules_after("import icaps")
    assert {name for name in imported if name.startswith("icaps")} == {"icaps"}
    assert not imported & {"torch", "numpy", "pandas", "sklearn", "jinja2"}


def test_settings_need_no_torch() -> None:
    imported = modules_after("import icaps; icaps.ModelConfig(); icaps.TrainConfig()")
    assert "icaps.config" in imported
    assert "torch" not in imported


def test_the_help_of_the_command_line_imports_no_library() -> None:
    imported = modules_after("from icaps.cli.main import make_parser; make_parser().format_help()")
    assert not imported & {"torch", "numpy", "pandas", "sklearn", "pyarrow", "jinja2", "altair"}


HEAVY = {
    "streamlit",
    "pandas",
    "sklearn",
    "scipy",
    "pyarrow",
    "gensim",
    "plotly",
    "altair",
    "datasets",
}


@pytest.mark.parametrize(
    "code",
    [
        "from icaps.cli.main import main; main(['explain', '--model', {!r}, 'bread and soup'])",
        "import icaps; model = icaps.TrainedModel.load({!r}, 'cpu'); list(model.explain(['soup']))",
        "import icaps.service.app",
    ],
)
def test_explaining_imports_torch_and_no_other_heavy_library(code: str, model_folder: Path) -> None:
    imported = modules_after(code.format(str(model_folder)))
    assert "torch" in imported
    assert not imported & HEAVY


def test_the_estimator_imports_scikit_learn_and_what_that_imports(model_folder: Path) -> None:
    code = f"import icaps; list(icaps.load({str(model_folder)!r}, 'cpu').explain(['soup']))"
    imported = modules_after(code)
    assert "sklearn" in imported
    assert not imported & {"streamlit", "gensim", "plotly", "altair", "datasets"}


def test_its_names() -> None:
    assert icaps.ICapsClassifier is ICapsClassifier
    assert icaps.ModelConfig is ModelConfig
    assert icaps.TrainConfig is TrainConfig
    assert icaps.ExplainOptions is ExplainOptions
    assert icaps.Explanation is Explanation
    assert set(icaps.__all__) <= set(dir(icaps))
    for name in icaps.__all__:
        assert getattr(icaps, name) is not None
    with pytest.raises(AttributeError, match="module 'icaps' has no attribute 'nothing'"):
        _ = icaps.nothing


def test_a_star_import_gives_them() -> None:
    names: dict[str, object] = {}
    exec("from icaps import *", names)
    assert set(icaps.__all__) <= set(names)


def test_load(classifier: ICapsClassifier, model_folder: Path, tmp_path: Path) -> None:
    loaded = icaps.load(model_folder, device="cpu")
    texts = ["bread and soup", "anchor"]
    assert isinstance(loaded, ICapsClassifier)
    # After many texts a classifier reads its lookup table, which agrees up to rounding.
    assert loaded.predict_proba(texts) == pytest.approx(classifier.predict_proba(texts), abs=1e-6)
    (explanation, _) = loaded.explain(texts)
    assert isinstance(explanation, icaps.Explanation)
    with pytest.raises(CheckpointError):
        icaps.load(tmp_path)


def test_a_wheel_has_everything(tmp_path: Path) -> None:
    """The table of vectors, the dashboard with its style, and the shipped models."""
    code = (
        "from setuptools import setup; "
        f"setup(script_args=['build_py', '--build-lib', {str(tmp_path)!r}])"
    )
    build = [sys.executable, "-c", code]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    library, app = tmp_path / "icaps", tmp_path / "icaps" / "app"
    names = ["text/english/vectors.npz", "text/english/CARD.md", "templates/live/page.js"]
    assert all((library / name).is_file() for name in names)
    tracked = ["git", "ls-files", "icaps", "dashboard", "pages", "checkpoints"]
    listed = subprocess.run(tracked, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        place = tmp_path if name.startswith("icaps/") else app
        assert (place / name).is_file(), name
    assert not list(ROOT.glob("build"))
    found = [sys.executable, "-c", "from icaps import shipped; print(shipped.HOME)"]
    done = subprocess.run(found, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(app / "dashboard" / "Home.py")


def test_a_shipped_model_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_folder("ag_news") == CHECKPOINTS / "ag_news"
    assert model_folder("nothing") == Path("nothing")
    assert model_folder("../ag_news") == Path("../ag_news")
    (tmp_path / "ag_news").mkdir()
    assert model_folder("ag_news") == Path("ag_news")
