"""What the code never does, whatever it is given; SECURITY.md promises it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(
    path for place in ("icaps", "dashboard", "pages") for path in (ROOT / place).rglob("*.py")
)
# Modules that run what they read, or read it in a way that may.
MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"}
CALLS |= {"pd.read_pickle", "pandas.read_pickle", "torch.jit.load", "runpy.run_path"}


def troubles(source: str) -> list[str]:
    """What a module does that none may, a line each."""
    return [f"{line}: {what}" for line, what in _matches(ast.parse(source))]


def _matches(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").split(".")[0]}
        else:
            names = set()
        for name in names & MODULES:
            yield node.lineno, f"import {name}"
        if isinstance(node, ast.Call):
            yield from _call(node)


def _call(node: ast.Call) -> Iterator[tuple[int, str]]:
    name = ast.unparse(node.func)
    given = {word.arg: ast.unparse(word.value) for word in node.keywords}
    if name in CALLS:
        yield node.lineno, name
    if name == "torch.load" and given.get("weights_only") != "True":
        yield node.lineno, "torch.load without weights_only=True"
    for word in ("shell", "allow_pickle", "trust_remote_code"):
        if given.get(word, "False") != "False":
            yield node.lineno, f"{name} with {word}"
    if given.get("verify") == "False":
        yield node.lineno, f"{name} without verifying certificates"
    if name.endswith("KeyedVectors.load"):
        yield node.lineno, f"{name}, which unpickles"
    # gensim runs the code that comes with what it has downloaded, unless it gives the path alone
    if name == "gensim.downloader.load" and given.get("return_path") != "True":
        yield node.lineno, f"{name} without return_path=True"
    if given.get("unsafe_allow_html", "False") != "False":
        yield node.lineno, f"{name} with HTML in Markdown"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_runs_what_it_reads(path: Path) -> None:
    assert troubles(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "exec(text)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "yaml.load(text)",
        "subprocess.run(command, shell=True)",
        "requests.get(url, verify=False)",
        "KeyedVectors.load(path)",
        "gensim.downloader.load(name)",
        "st.markdown(text, unsafe_allow_html=True)",
    ],
)
def test_the_check_sees(line: str) -> None:
    assert len(troubles(line)) == 1


def test_the_check_lets_pass() -> None:
    assert troubles("re.compile(x); np.load(p); torch.load(p, weights_only=True)") == []
