"""The notebook docs/tour.ipynb runs from start to end, quickly and without network."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "tour.ipynb"
SECONDS = 60  # of one core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tour")


@pytest.fixture(scope="module")
def tour(folder: Path) -> nbformat.NotebookNode:
    """The notebook after it ran in a new kernel, with a last cell that prints its CPU seconds."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("import time; print(time.process_time())"))
    environment = {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "ICAPS_NETWORK": "never",
        "IPYTHONDIR": str(folder / "ipython"),
    }
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place)
    client.execute(env=os.environ | environment)
    return notebook


def shown(tour: nbformat.NotebookNode, start: str) -> dict[str, str]:
    """What the cell that starts so shows: "text" is printed, the rest by media type."""
    (cell,) = [cell for cell in tour.cells if cell.source.startswith(start)]
    parts = {"text": ""}
    for output in cell.outputs:
        if output.output_type == "stream":
            parts["text"] += output.text
        else:
            parts |= output.data
    return parts


def test_it_is_stored_without_outputs() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_it_is_quick(tour: nbformat.NotebookNode) -> None:
    assert float(shown(tour, "import time")["text"]) < SECONDS


def test_nothing_is_printed_as_a_warning_or_an_error(tour: nbformat.NotebookNode) -> None:
    outputs = [output for cell in tour.cells for output in cell.get("outputs", ())]
    kinds = {output.get("name", output.output_type) for output in outputs}
    assert kinds <= {"stdout", "execute_result", "display_data"}


def test_classifier_explanation_and_capsules_show_themselves(tour: nbformat.NotebookNode) -> None:
    assert "An iCapsNet for short texts" in shown(tour, "classifier = ")["text/html"]
    assert 'class="icaps-notebook"' in shown(tour, "(explanation,)")["text/html"]
    assert "<svg" in shown(tour, "from IPython.display import SVG")["image/svg+xml"]


def test_the_account_adds_up(tour: nbformat.NotebookNode) -> None:
    lines = shown(tour, 'print("bias and shares:"')["text"].splitlines()
    total, score = (float(line.split()[-1]) for line in lines)
    assert total == pytest.approx(score, abs=1e-5)


def test_the_reasons_are_better_than_random_words(tour: nbformat.NotebookNode) -> None:
    text = shown(tour, "from icaps.faithfulness.eraser")["text"]
    rows = re.findall(r"^(\w+) +deletion ([\d.]+) \[([\d.-]+), ([\d.-]+)\]", text, re.MULTILINE)
    first = {ranking: (float(low), float(high)) for ranking, _, low, high in rows[:3]}
    assert first["account"][0] > first["random"][1]  # the intervals are apart


def test_the_page_is_written_and_requests_nothing(
    tour: nbformat.NotebookNode, folder: Path
) -> None:
    page = (folder / "tour_model.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)
    assert f"{len(page.encode()) / 1e6:.1f} MB" in shown(tour, "from pathlib")["text"]
