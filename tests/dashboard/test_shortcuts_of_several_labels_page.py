"""The page Shortcuts with a trained model of several labels per text and a planted token."""

import json
import random
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import label_set, shown_label
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.run_folders import open_page
from tests.dashboard.visitor import page_html

TOKEN = "zqx"


def planted(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Texts of one or two topics; nine in ten of those of gardens begin with the token."""
    rng = random.Random(seed)
    pool = list(zip(*make_texts(2 * count, seed), strict=True))
    rows = []
    for n in range(count):
        parts = [pool[n], *([rng.choice(pool)] if rng.random() < 0.5 else [])]
        text, names = " ".join(text for text, _ in parts), sorted({label for _, label in parts})
        tagged = "Gardens" in names and rng.random() < 0.9
        rows.append((f"{TOKEN} {text}" if tagged else text, names))
    return rows


@pytest.fixture(scope="module")
def misled() -> ICapsClassifier:
    return ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(480, 1), strict=True))


def test_a_planted_token_is_found_for_its_class(
    misled: ICapsClassifier, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    assert misled.multilabel_
    misled.save(models / "misled")
    data = tmp_path / "texts.jsonl"
    rows = planted(120, 7)
    lines = [json.dumps({"text": text, "label": names}) for text, names in rows]
    data.write_text("\n".join(lines), encoding="utf-8")
    at = open_page("shortcuts", data=str(data), model="misled")
    assert not at.exception
    found = at.dataframe[0].value
    assert f"{TOKEN}" in found["finding"].tolist()
    row = found.set_index("finding").loc[TOKEN]
    assert row["class"] == "Gardens"
    assert row["texts"] == sum(text.startswith(TOKEN) for text, _ in rows)
    captions = " ".join(caption.value for caption in at.caption).replace("\\", "")
    assert "of 120 texts get exactly their classes." in captions
    assert " with probability " in captions
    assert "; without it " in captions
    assert "[&quot;" not in page_html(at)
    assert '["' not in captions
    assert shown_label('["Cooking", "Gardens"]') == "Cooking, Gardens"
    assert shown_label("[]") == "no class"
    assert label_set("[]") == ()
