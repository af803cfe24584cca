"""What the pages say of an edited model, and where no data suits a model."""

from pathlib import Path

from icaps.classifier import ICapsClassifier
from icaps.interpret.edits import neutral_words
from tests.dashboard.run_folders import open_page
from tests.dashboard.visitor import open_app, page_html


def test_the_facts_of_an_edited_model_say_what_is_neutral(models: Path) -> None:
    at = open_app(model="small")
    assert "is neutral" not in page_html(at)
    files = {"The model as a page", "The model as ONNX"}
    assert files <= {button.label for button in at.get("download_button")}
    classifier = ICapsClassifier.load(models / "small")
    classifier.edited([neutral_words("bread", "Cooking")]).save(models / "edited")
    at = open_app(model="edited")
    assert "“bread” is neutral for Cooking" in page_html(at)
    assert files <= {button.label for button in at.get("download_button")}


def test_compare_says_which_classes_data_needs() -> None:
    at = open_page("compare")
    assert [info.value for info in at.info if "No data on this machine" in info.value]
