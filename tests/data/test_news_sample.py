"""The labelled news texts of the package: balanced, distinct, and read as any data set."""

from collections import Counter
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from icaps.data import news_sample
from icaps.data.resolve import available, resolve
from icaps.data.source import open_source

SHIPPED = Path(__file__).parents[2] / "checkpoints"


def pairs() -> list[tuple[str, str]]:
    return list(open_source(resolve(news_sample.NAME), "test").pairs())


def test_each_class_has_as_many_different_texts() -> None:
    texts = [text for text, _ in pairs()]
    assert len(set(texts)) == news_sample.ROWS
    assert all(text == text.strip() and 8 <= len(text.split()) <= 40 for text in texts)
    counts = Counter(label for _, label in pairs())
    assert counts == dict.fromkeys(news_sample.CLASSES, news_sample.ROWS // 4)


def test_the_order_does_not_follow_the_classes() -> None:
    labels = [label for _, label in pairs()]
    assert set(labels[:20]) == set(news_sample.CLASSES)


def test_it_is_here_without_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (row,) = (row for row in available() if row.name == news_sample.NAME)
    assert row.place == resolve(news_sample.NAME) == news_sample.FILE
    assert (row.train_rows, row.test_rows, row.synthetic) == (0, news_sample.ROWS, False)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["ag_news", "ag_news_paper"])
def test_shipped_models_have_its_classes_and_are_right_on_most(name: str) -> None:
    model = ICapsClassifier.load(SHIPPED / name)
    texts, labels = zip(*pairs(), strict=True)
    assert set(map(str, model.classes_)) == set(news_sample.CLASSES)
    right = sum(model.predict(list(texts)) == list(labels))
    assert 0.9 * len(texts) < right < len(texts)  # some are hard on purpose
