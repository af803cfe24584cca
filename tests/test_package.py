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
