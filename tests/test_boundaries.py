"""What may import what; ARCHITECTURE.md says why."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for place in ("icaps", "dashboard", "pages")
    for path in (ROOT / place).rglob("*.py")
}
FILES = {name.removesuffix(".__init__"): path for name, path in sorted(FILES.items())}
# Inside icaps: all that a module may import of the package.
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "results": {"render"},
    "render": {"results"},
    "config": {"errors"},
    "words": set(),
    "text": {"errors", "words"},
    "sentences": {"config", "text"},
    "corpus": {"data.records", "data.source", "errors", "text", "layers"},
    "corpus_files": {"config", "corpus", "sentences", "text"},
    "preparing": {"config", "corpus", "corpus_files", "errors", "sentences", "text"},
    "vectors": {"config", "errors", "text"},
    "fixed_part": {"text", "vectors"},
    "layers": set(),
    "dropout": set(),
    "model": {"config", "dropout", "layers", "text"},
    "tables": {"layers", "model"},
    "calibration": set(),
    "inference": {
        *("corpus", "corpus_files", "distributed", "layers", "model", "sentences", "tables"),
        "text",
    },
    "interpret.local": {"errors", "inference", "results"},
    "interpret.winners": {"inference"},
    "interpret.tally": {"interpret.winners"},
    "interpret.ablation": {"inference", "interpret.winners", "layers"},
    "interpret.corpus_level": {
        *("classifier", "distributed", "errors", "inference"),
        *("interpret.ablation", "interpret.tally", "interpret.winners"),
    },
    "interpret.trust": {"interpret.tally"},
    "interpret.words": set(),
    "interpret.ordering": {"errors"},
    "interpret.plane": {"errors"},
    "interpret.queries": {"interpret.plane", "model", "text"},
    "interpret.global_view": {
        *("checkpoint", "errors", "interpret.ablation", "interpret.tally"),
    },
    "interpret.making": {
        *("classifier", "data.catalog", "data.names", "data.source", "data.storage"),
        *("data.synthetic", "errors", "interpret.ablation", "interpret.corpus_level"),
        *("interpret.global_view", "preparing"),
    },
    "interpret.tables": {
        *("interpret.ablation", "interpret.queries", "interpret.tally", "interpret.trust"),
        *("interpret.words", "text"),
    },
    "interpret.report": {
        *("charts", "classifier", "errors", "interpret.global_view", "interpret.ordering"),
        *("interpret.queries", "interpret.report_page", "interpret.tables", "interpret.tally"),
        *("interpret.trust", "results"),
    },
    "interpret.report_page": {"interpret.report", "interpret.trust", "render"},
    "charts": {"interpret.tables", "render"},
    "explore.reporting": {"data.reporting"},
    "explore.texts": {"errors"},
    "explore.tokens": {"explore.texts"},
    "explore.vocabulary": {"text", "words"},
    "explore.facts": set(),
    "explore.query": set(),
    "explore.identity": {"data.places", "data.storage"},
    "explore.telling": set(),
    "explore.statistics": {
        *("explore.facts", "explore.index", "explore.telling", "sentences", "text"),
    },
    "explore.making": {
        *("data.records", "data.source", "errors", "explore.facts", "explore.identity"),
        *("explore.reporting", "explore.statistics", "explore.texts", "explore.tokens"),
        "explore.vocabulary",
    },
    "explore.index": {
        *("data.storage", "errors", "explore.facts", "explore.identity", "explore.making"),
        *("explore.query", "explore.reporting", "explore.telling", "explore.texts"),
        *("explore.tokens", "explore.vocabulary"),
    },
    "explore.shingles": {"explore.tokens"},
    "explore.near": {
        *("explore.index", "explore.reporting", "explore.shingles", "explore.texts"),
        "explore.tokens",
    },
    "explore.repeats": {
        *("data.storage", "errors", "explore.index", "explore.near", "explore.reporting"),
    },
    "explore.slices": {"data.storage", "errors", "explore.index", "text"},
    "distributed": set(),
    "interruption": set(),
    "updates": {"config", "distributed", "model"},
    "resume": {"distributed", "errors", "run_folder"},
    "training": {
        *("config", "corpus", "distributed", "errors", "interruption", "model", "resume"),
        *("specialisation", "updates"),
    },
    "run_folder": {"errors"},
    "jobs": {"errors", "run_folder"},
    "recorder": {"errors", "jobs", "run_folder", "training"},
    "snapshots": {
        *("classifier", "corpus", "inference", "interpret.winners", "run_folder", "text"),
    },
    "specialisation": {"config"},
    "checkpoint": {"config", "errors", "model", "run_folder", "text"},
    "progress": {"training"},
    "pace": {"config", "corpus", "model", "specialisation", "training", "updates"},
    "suggestion": {"config", "data.catalog"},
    "estimate": {
        *("config", "corpus", "data.sample", "data.source", "errors", "fixed_part", "model"),
        *("pace", "preparing", "sentences", "suggestion", "text", "training", "vectors"),
    },
    "explore.judging": {
        *("classifier", "data.storage", "errors", "inference", "interpret.global_view"),
    },
    "explore.text_map": {"classifier", "inference", "interpret.plane"},
    "metrics": {"classifier", "corpus", "distributed", "errors", "inference"},
}
# Only for the types of a signature, or inside a function.
LATE = {("corpus", "layers"), ("metrics", "classifier"), ("results", "render")}
LATE |= {(f"interpret.{name}", "classifier") for name in ("corpus_level", "making", "report")}
LATE |= {(f"explore.{name}", "classifier") for name in ("judging", "text_map")}
LATE |= {
    ("recorder", "training"),
    ("interpret.report", "charts"),
    ("interpret.report_page", "interpret.report"),
}


def imports(name: str, *, at_import: bool = False) -> set[str]:
    """Modules that a file imports; with `at_import`, only those of its top level."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    nodes = tree.body if at_import else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            assert node.module
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {module for module in inner if module in FILES} or {node.module}
    return found


def packages(name: str) -> set[str]:
    return {module.split(".")[0] for module in imports(name)}


def within(place: str) -> list[str]:
    return [name for name in FILES if name.split(".")[0] == place]


def calls(name: str) -> Iterator[str]:
    """The functions that a file calls or decorates with, as they are written."""
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
        elif isinstance(node, ast.FunctionDef):
            yield from (ast.unparse(decorator) for decorator in node.decorator_list)


def test_there_is_something_to_check() -> None:
    assert {"icaps", "icaps.interpret.local", "dashboard.Home", "pages.explain"} <= set(FILES)
    assert "icaps.errors" in imports("icaps.cli")
    assert "dashboard.views" in imports("pages.explain")
    assert "st.cache_data" in set(calls("dashboard.cached"))


@pytest.mark.parametrize("name", within("icaps"))
def test_the_library_knows_no_window(name: str) -> None:
    drawing = set() if name == "icaps.charts" else {"altair"}
    window = {"dashboard", "pages", "streamlit", "plotly", "tests"} | drawing
    assert not packages(name) & window


@pytest.mark.parametrize("name", within("dashboard"))
def test_the_dashboard_knows_no_page(name: str) -> None:
    assert not packages(name) & {"pages", "tests"}


@pytest.mark.parametrize("name", within("pages"))
def test_a_page_knows_no_other_page(name: str) -> None:
    assert not packages(name) & {"pages", "tests"}


@pytest.mark.parametrize("name", ARROWS)
def test_arrows_inside_the_library(name: str) -> None:
    inner = {m.removeprefix("icaps.") for m in imports(f"icaps.{name}") if m.startswith("icaps")}
    assert inner <= ARROWS[name]
    top = imports(f"icaps.{name}", at_import=True)
    assert not [other for module, other in LATE if module == name and f"icaps.{other}" in top]


def test_every_module_of_the_library_has_its_arrows() -> None:
    free = {"icaps", "icaps.__main__", "icaps.cli", "icaps.classifier", "icaps.interpret"}
    free |= {"icaps.train_command", "icaps.interpret.commands"}
    free |= {"icaps.explore", "icaps.explore.commands"}
    data = {name for name in within("icaps") if name.startswith("icaps.data")}
    assert {f"icaps.{name}" for name in ARROWS} | free | data == set(within("icaps"))
    assert [name for name in within("icaps") if "icaps.cli" in imports(name)] == ["icaps.__main__"]


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("icaps.data")])
def test_reading_data_knows_no_model(name: str) -> None:
    """`icaps data` itself may show progress, and count words."""
    inner = {module for module in imports(name) if module.startswith("icaps")}
    others = {module for module in inner if not module.startswith("icaps.data")}
    assert others <= {"icaps.errors", "icaps.text"} | (
        {"icaps.progress"} if name == "icaps.data.commands" else set()
    )


@pytest.mark.parametrize("name", FILES)
def test_only_the_command_line_prints(name: str) -> None:
    commands = {f"icaps.{package}.commands" for package in ("data", "explore", "interpret")}
    if name not in {"icaps.cli", *commands}:
        assert not {"print", "sys.stdout.write", "sys.stderr.write"} & set(calls(name))


@pytest.mark.parametrize("name", FILES)
def test_only_one_module_caches(name: str) -> None:
    source = FILES[name].read_text(encoding="utf-8")
    assert ("st.cache_" in source) == (name == "dashboard.cached")


@pytest.mark.parametrize("module", ["icaps", "icaps.cli", "icaps.config", "icaps.text"])
def test_the_command_line_answers_at_once(module: str) -> None:
    code = (
        f"import sys, {module}; print(sorted({{'torch', 'sklearn', 'gensim'}} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_pages_are_thin() -> None:
    def lines(name: str) -> int:
        return len(FILES[name].read_text(encoding="utf-8").splitlines())

    assert lines("dashboard.Home") < 40
    assert all(lines(name) < 80 for name in within("pages"))


def test_no_module_of_the_dashboard_hides_another() -> None:
    """`streamlit run` puts dashboard/ on the path, so its modules come before all others."""
    names = {name.removeprefix("dashboard.") for name in within("dashboard")} - {"dashboard"}
    assert not names & sys.stdlib_module_names
    used = set().union(*(packages(name) for name in FILES))
    assert not names & used
