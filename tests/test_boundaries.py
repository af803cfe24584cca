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
    "pieces": {"words"},
    "text": {"pieces", "words"},
    "encoded": {"text"},
    "vocabulary": {"encoded", "errors", "pieces", "text"},
    "sentences": {"config", "encoded", "text", "vocabulary"},
    "corpus": {"data.records", "data.source", "encoded", "errors", "layers"},
    "corpus_files": {"config", "corpus", "encoded", "sentences", "vocabulary"},
    "preparing": {"config", "corpus", "corpus_files", "errors", "sentences", "text", "vocabulary"},
    "vectors": {"config", "data.network", "errors", "vocabulary"},
    "fixed_part": {"vectors", "vocabulary"},
    "layout": set(),
    "pooling": {"layout"},
    "votes": set(),
    "layers": {"config", "layout", "pooling", "votes"},
    "dropout": set(),
    "model": {"config", "dropout", "layers", "layout", "text"},
    "table_files": {"data.storage"},
    "tables": {"layers", "layout", "model", "table_files"},
    "calibration": set(),
    "precision": {"config", "distributed", "layers", "model"},
    "inference": {
        *("corpus", "corpus_files", "distributed", "encoded", "layers", "model", "sentences"),
        *("tables", "vocabulary"),
    },
    "inputs": {"errors"},
    "interpret.spotting": {"errors"},
    "interpret.reasons": {"inference", "interpret.spotting"},
    "interpret.local": {"inference", "interpret.reasons", "interpret.spotting", "results"},
    "interpret.winners": {"inference", "interpret.spotting"},
    "interpret.tally": {"interpret.winners"},
    "interpret.ablation": {"inference", "interpret.winners", "layers"},
    "interpret.corpus_level": {
        *("classifier", "distributed", "errors", "inference"),
        *("interpret.ablation", "interpret.tally", "interpret.winners"),
    },
    "interpret.trust": {"interpret.tally"},
    "interpret.removal": {"encoded", "errors", "inference", "model", "text"},
    "interpret.word_scores": {
        *("corpus", "inference", "interpret.removal", "layers", "layout", "model"),
    },
    "interpret.post_hoc": {
        *("interpret.removal", "interpret.word_scores", "layers", "layout"),
    },
    "interpret.rankings": {"errors", "interpret.post_hoc", "interpret.word_scores"},
    "interpret.bootstrap": set(),
    "interpret.faithfulness": {
        *("interpret.local", "interpret.rankings", "interpret.removal", "interpret.spotting"),
        "interpret.word_scores",
    },
    "interpret.trial": {
        *("classifier", "encoded", "errors", "inference", "interpret.faithfulness"),
        *("interpret.removal", "results", "sentences"),
    },
    "interpret.stability": {
        *("encoded", "inference", "interpret.bootstrap", "interpret.faithfulness"),
        *("interpret.spotting", "interpret.word_scores", "interpret.words", "model", "text"),
        "vocabulary",
    },
    "interpret.sanity": {
        *("interpret.bootstrap", "interpret.rankings", "interpret.stability"),
        *("interpret.word_scores", "model"),
    },
    "interpret.faithfulness_table": {
        *("interpret.bootstrap", "interpret.faithfulness", "interpret.sanity"),
        "interpret.stability",
    },
    "interpret.answered": {
        *("classifier", "corpus", "encoded", "errors", "inference", "interpret.local"),
        *("interpret.spotting", "model", "sentences", "vocabulary"),
    },
    "interpret.causes": {
        *("encoded", "interpret.answered", "interpret.bootstrap", "interpret.removal", "text"),
    },
    "interpret.suspicion": {"interpret.answered"},
    "interpret.shortcuts": {
        *("evaluation.resampling", "interpret.answered", "interpret.causes", "interpret.removal"),
        *("interpret.suspicion", "text"),
    },
    "interpret.shortcuts_table": {
        *("interpret.answered", "interpret.causes", "interpret.shortcuts"),
    },
    "interpret.shortcut_checks": {
        *("errors", "interpret.answered", "interpret.causes", "interpret.shortcuts"),
    },
    "interpret.words": set(),
    "interpret.ordering": {"errors"},
    "interpret.plane": {"errors"},
    "interpret.queries": {"interpret.plane", "layout", "model", "text", "vocabulary"},
    "interpret.global_view": {
        *("errors", "folders", "interpret.ablation", "interpret.tally"),
    },
    "interpret.making": {
        *("classifier", "data.catalog", "data.names", "data.source", "data.storage"),
        *("data.synthetic", "errors", "interpret.ablation", "interpret.corpus_level"),
        *("interpret.global_view", "preparing"),
    },
    "interpret.tables": {
        *("interpret.ablation", "interpret.queries", "interpret.tally", "interpret.trust"),
        *("interpret.words", "vocabulary"),
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
    "explore.vocabulary": {"text"},
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
        *("config", "corpus", "distributed", "errors", "interruption", "model", "precision"),
        *("resume", "specialisation", "updates"),
    },
    "run_folder": {"errors"},
    "jobs": {"errors", "run_folder"},
    "recorder": {"errors", "interruption", "jobs", "run_folder", "training"},
    "snapshots": {
        *("classifier", "corpus", "inference", "interpret.winners", "run_folder", "text"),
    },
    "specialisation": {"config"},
    "neutral_unk": {"config", "corpus", "distributed", "dropout", "model", "text", "vectors"},
    "folders": {"errors"},
    "checkpoint": {"config", "errors", "folders", "model", "run_folder", "vocabulary"},
    "scorer": set(),
    "baselines.kinds": set(),
    "baselines.base": set(),
    "baselines.linear": {
        *("baselines.base", "baselines.kinds", "calibration", "errors", "folders", "run_folder"),
    },
    "baselines.fasttext": {"baselines.base", "baselines.kinds", "errors", "folders", "text"},
    "baselines.networks": {"layers", "text"},
    "baselines.neural": {
        *("baselines.base", "baselines.kinds", "baselines.networks", "errors", "folders"),
        *("run_folder", "text", "vocabulary"),
    },
    "baselines.training": {"baselines.neural", "config", "corpus", "errors", "training"},
    "baselines.fitting": {
        *("baselines.base", "baselines.fasttext", "baselines.kinds", "baselines.linear"),
        *("baselines.neural", "baselines.training", "calibration", "config", "data.storage"),
        *("errors", "preparing", "training"),
    },
    "baselines.folder": {
        *("baselines.base", "baselines.fasttext", "baselines.kinds", "baselines.linear"),
        *("baselines.neural", "errors", "folders", "run_folder"),
    },
    "comparison.answers": {
        *("baselines.base", "baselines.folder", "classifier", "corpus", "errors", "run_folder"),
        "scorer",
    },
    "comparison.tables": {"comparison.answers", "evaluation.comparison", "evaluation.scores"},
    "comparison.reasons": {"classifier", "results"},
    "comparison.published": set(),
    "comparison.report": {
        *("classifier", "comparison.answers", "comparison.published", "comparison.reasons"),
        *("comparison.tables", "scorer"),
    },
    "progress": {"training"},
    "pace": {"config", "corpus", "model", "specialisation", "training", "updates"},
    "suggestion": {"config", "data.catalog"},
    "estimate": {
        *("config", "corpus", "data.sample", "data.source", "encoded", "errors", "fixed_part"),
        *("model", "pace", "precision", "preparing", "sentences", "suggestion", "training"),
        *("vectors", "vocabulary"),
    },
    "explore.judging": {
        *("classifier", "data.storage", "errors", "inference", "interpret.global_view"),
    },
    "explore.nearest": {
        *("classifier", "data.sample", "data.source", "data.storage", "errors"),
        *("explore.identity", "explore.text_map", "explore.texts"),
    },
    "explore.text_map": {"classifier", "inference", "interpret.plane"},
    "metrics": {"corpus", "distributed", "errors", "inference", "scorer"},
    "evaluation.resampling": set(),
    "evaluation.scores": {"evaluation.resampling", "metrics"},
    "evaluation.predictions": {
        *("classifier", "corpus", "distributed", "errors", "inference", "vocabulary"),
    },
    "evaluation.keeping": {
        *("classifier", "data.problems", "data.source", "data.storage", "distributed", "errors"),
        *("evaluation.predictions", "explore.identity", "explore.texts", "text"),
    },
    "evaluation.calibration": {"evaluation.resampling"},
    "evaluation.rejection": {"evaluation.resampling"},
    "evaluation.slices": {
        *("data.source", "evaluation.resampling", "explore.slices", "explore.texts"),
    },
    "evaluation.comparison": {"errors", "evaluation.resampling", "evaluation.scores"},
    "evaluation.learning": {"folders", "run_folder"},
    "evaluation.report": {
        *("errors", "evaluation.calibration", "evaluation.keeping", "evaluation.predictions"),
        *("evaluation.rejection", "evaluation.resampling", "evaluation.scores"),
        *("evaluation.slices", "explore.slices"),
    },
    "evidence.files": {"errors"},
    "evidence.document": {"render"},
    "evidence.naming": {"interpret.global_view"},
    "evidence.numbers": set(),
    "evidence.text_report": {
        *("evidence.document", "evidence.files", "evidence.naming", "render"),
        *("results", "text"),
    },
    "evidence.pictures": {
        *("charts", "evidence.document", "interpret.ordering", "interpret.report"),
    },
    "evidence.faithfulness": {
        *("classifier", "errors", "evaluation.keeping", "inference", "interpret.bootstrap"),
        *("interpret.faithfulness", "interpret.faithfulness_table", "interpret.rankings"),
        "interpret.word_scores",
    },
    "evidence.limits": {"evidence.numbers"},
    "evidence.card_sections": {
        *("config", "evidence.document", "evidence.limits", "evidence.numbers"),
        "interpret.trust",
    },
    "evidence.card_table": set(),
    "evidence.model_card": {
        *("classifier", "errors", "evaluation.report", "evidence.card_sections"),
        *("evidence.card_table", "evidence.document", "evidence.files", "evidence.naming"),
        *("evidence.pictures", "interpret.report", "run_folder"),
    },
}
# Only for the types of a signature, or inside a function.
LATE = {("corpus", "layers"), ("metrics", "scorer"), ("results", "render")}
LATE |= {(f"interpret.{name}", "classifier") for name in ("answered", "corpus_level", "making")}
LATE |= {("interpret.report", "classifier")}
LATE |= {(f"explore.{name}", "classifier") for name in ("judging", "nearest", "text_map")}
LATE |= {(f"evaluation.{name}", "classifier") for name in ("predictions", "keeping")}
LATE |= {
    ("recorder", "training"),
    ("interpret.report", "charts"),
    ("evidence.pictures", "charts"),
    ("evidence.faithfulness", "classifier"),
    ("evidence.model_card", "classifier"),
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
    assert "st.cache_data" in set(calls("dashboard.cached_data"))


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
    free |= {"icaps.interpret.faithfulness_command", "icaps.interpret.shortcuts_command"}
    free |= {"icaps.explore", "icaps.explore.commands"}
    free |= {"icaps.baselines", "icaps.baselines.commands"}
    free |= {"icaps.comparison", "icaps.comparison.commands"}
    free |= {"icaps.evaluation", "icaps.evaluation.commands"}
    free |= {"icaps.evidence", "icaps.evidence.commands"}
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
    commands = {
        f"icaps.{package}.commands"
        for package in (
            *("baselines", "comparison", "data", "evaluation", "evidence", "explore"),
            "interpret",
        )
    }
    commands |= {f"icaps.interpret.{name}_command" for name in ("faithfulness", "shortcuts")}
    if name not in {"icaps.cli", *commands}:
        assert not {"print", "sys.stdout.write", "sys.stderr.write"} & set(calls(name))


def test_only_these_modules_cache() -> None:
    kept = ("answers", "data", "evaluations", "explanations", "models", "shortcuts", "tasks")
    caching = {name for name, path in FILES.items() if "st.cache_" in path.read_text("utf-8")}
    assert caching == {f"dashboard.cached_{name}" for name in kept}


@pytest.mark.parametrize("module", ["icaps", "icaps.cli", "icaps.config", "icaps.text"])
def test_the_command_line_answers_at_once(module: str) -> None:
    heavy = {"torch", "sklearn", "gensim", "filelock"}
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
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
