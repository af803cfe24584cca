"""The effect of edits, by hand, and the command `icaps repair`."""

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.label_sets import format_label_set, label_set
from icaps.errors import DataError
from icaps.evaluate.edit_effect import measure_edits, without_words
from icaps.interpret.edits import neutral_capsule, neutral_words
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.test_shortcuts_page import TOKEN, planted
from tests.evaluate.test_label_set_predictions import labelled as labelled_sets
from tests.several_labels import NORMS, with_thresholds


@pytest.fixture(scope="module")
def misled() -> ICapsClassifier:
    """A model that depends on a token that is planted in nine of ten texts of Gardens."""
    return ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))


def with_token(count: int) -> list[tuple[str, str]]:
    """Texts of all classes, every other one with the token."""
    texts, labels = make_texts(count, 8)
    return [
        (f"{TOKEN} {text}" if n % 2 else text, label)
        for n, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]


def test_the_effect_by_hand(misled: ICapsClassifier) -> None:
    labelled = with_token(60)
    edited = misled.edited([neutral_words(TOKEN)])
    effect = measure_edits(misled, edited, labelled)
    texts = [text for text, _ in labelled]
    labels = np.array([label for _, label in labelled])
    before, after = misled.predict(texts), edited.predict(texts)
    has_token = np.array([TOKEN in text for text in texts])
    assert (effect.texts, effect.concerned) == (60, has_token.sum())
    assert effect.flips == (before != after).sum() > 5
    assert effect.before.value == (before == labels).mean()
    assert effect.after.value == (after == labels).mean()
    assert effect.concerned_before.value == (before == labels)[has_token].mean()
    assert effect.concerned_after.value == (after == labels)[has_token].mean()
    assert effect.concerned_after.value > effect.concerned_before.value + 0.15  # it is repaired
    assert effect.rest_before == effect.rest_after
    assert effect.control < effect.flips / 2
    assert len(list(effect.lines())) == 3


def test_a_second_edit_is_compared_with_the_first(misled: ICapsClassifier) -> None:
    first = misled.edited([neutral_words(TOKEN)])
    second = first.edited([*first.edits_, neutral_capsule(0)])
    effect = measure_edits(first, second, with_token(30))
    assert effect.concerned == 30
    none = measure_edits(first, first, with_token(30))
    assert none.flips == none.concerned == 0
    assert list(none.lines())[1:] == ["none of them is concerned, so nothing changes"]
    assert not any("nan" in line for line in none.table())


def test_the_command(
    misled: ICapsClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    misled.save(tmp_path / "model")
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *with_token(60)])
    model, out, data = (str(tmp_path / name) for name in ("model", "out", "texts.csv"))
    given = ["repair", "--model", model, "--word", TOKEN, "--class", "Gardens", "--out", out]
    assert main([*given, "--data", data, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    wanted = {"name": TOKEN, "words": [TOKEN], "capsule": None, "target": "Gardens"}
    assert facts["edits"] == [wanted]
    loaded = ICapsClassifier.load(out, device="cpu")
    assert facts["effect"] == measure_edits(misled, loaded, with_token(60)).to_dict()
    # Another edit, with a name, then the first is undone.
    given = ["repair", "--model", out, "--word", "bread soup", "--name", "soups", "--out", out]
    assert main([*given, "--undo", TOKEN]) == 0
    assert "soups: “bread soup” is neutral for all classes" in capsys.readouterr().out
    (edit,) = ICapsClassifier.load(out, device="cpu").edits_
    assert edit.words == ("bread", "soup")
    assert main(["repair", "--model", out, "--undo", "soups", "--out", out]) == 0
    assert "no edits" in capsys.readouterr().out
    undone, texts = ICapsClassifier.load(out, device="cpu"), make_texts(20, 2)[0]
    np.testing.assert_allclose(undone.class_norms(texts), misled.class_norms(texts), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--word", "qqqq"], "does not know the word 'qqqq'"),
        (["--word", "bread", "--class", "Knitting"], "no class 'Knitting'"),
        (["--undo", "x"], "no edit 'x'; it has none"),
        (["--word", "bread", "--word", "soup", "--name", "x"], "--name names one edit"),
        (["--capsule", "77"], "no capsule 77"),
    ],
)
def test_mistakes_are_told(
    given: list[str],
    message: str,
    misled: ICapsClassifier,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    misled.save(tmp_path / "model")
    assert main(["repair", "--model", str(tmp_path / "model"), *given]) == 2
    assert message in capsys.readouterr().err


def test_the_card_names_the_edits(
    misled: ICapsClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    misled.edited([neutral_words(TOKEN, "Gardens")]).save(tmp_path / "model")
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *with_token(60)])
    given = ["card", "--model", str(tmp_path / "model"), "--data", str(tmp_path / "texts.csv")]
    assert main([*given, "--out", str(tmp_path / "card")]) == 0
    (page,) = (tmp_path / "card").glob("*.md")
    assert f"“{TOKEN}” is neutral for Gardens" in page.read_text(encoding="utf-8")


def test_rows_beside_each_other_by_hand(misled: ICapsClassifier) -> None:
    labelled = with_token(60)
    edited = misled.edited([neutral_words(TOKEN)])
    other = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*make_texts(120, 3))
    effect = measure_edits(misled, edited, labelled, beside={"other": other})
    assert [row.name for row in effect.rows] == ["before", "neutral", "other", "random"]
    has_token = np.array([TOKEN in text for text, _ in labelled])
    labels = np.array([label for _, label in labelled])
    texts = [text for text, _ in labelled]
    clean = [text.replace(TOKEN, "") for text in texts]
    before = misled.predict(texts)
    for row, model in zip(effect.rows, (misled, edited, other), strict=False):
        predicted = model.predict(texts)
        assert row.accuracy.value == (predicted == labels).mean()
        assert row.concerned.value == (predicted == labels)[has_token].mean()
        assert row.rest.value == (predicted == labels)[~has_token].mean()
        assert row.flips == (predicted != before).sum()
        changes = (predicted != model.predict(clean))[has_token]
        assert row.depend.value == changes.mean()
    assert effect.rows[0].depend.value > effect.rows[1].depend.value + 0.15
    assert effect.flipped == tuple(np.flatnonzero(before != edited.predict(texts)))
    lines = list(effect.table())
    assert len(lines) == 5
    assert lines[1].split()[0] == "before"
    of_capsule = measure_edits(misled, misled.edited([neutral_capsule(0)]), labelled)
    assert [row.depend for row in of_capsule.rows] == [None, None, None]
    strangers = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(
        make_texts(60, 3)[0], ["a", "b", "c"] * 20
    )
    with pytest.raises(DataError, match="strangers has other classes: a, b, c"):
        measure_edits(misled, edited, labelled, beside={"strangers": strangers})


def test_words_are_left_out_as_the_model_reads_them(misled: ICapsClassifier) -> None:
    edits = [neutral_words(TOKEN), neutral_words("bread soup")]
    texts = [f"A {TOKEN}, bread soup and bread.", "Bread soup", "none"]
    assert without_words(misled, edits, texts) == ["A ,   and bread.", "Bread soup", "none"]


def test_the_command_retrains_on_masked_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    for part, rows in (("train", planted(240, 1)), ("test", with_token(60))):
        with (tmp_path / "data" / f"{part}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
    model, other, out = (str(tmp_path / name) for name in ("model", "other", "out"))
    data = str(tmp_path / "data")
    given = ["--set", "epochs=2", "--seed", "3"]
    assert main(["train", "--data", data, "--out", model, *given]) == 0
    capsys.readouterr()
    words = ["--word", TOKEN, "--retrain", other]
    assert main(["repair", "--model", model, *words, "--out", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in facts["effect"]["rows"]]
    assert names == ["before", "neutral", "retrained", "retrained, neutral", "random"]
    assert (facts["retrained"], facts["data"]) == (other, data)
    retrained = ICapsClassifier.load(other, device="cpu")
    assert retrained.metrics_["masked_words"] == [TOKEN]
    assert retrained.train_config_.epochs == 2
    assert retrained.edits_ == ()
    # Without a record of its training, the data is named.
    (tmp_path / "model" / "request.json").unlink()
    assert main(["repair", "--model", model, "--word", TOKEN, "--retrain", f"{other}2"]) == 2
    assert "name them by --data" in capsys.readouterr().err
    assert main(["repair", "--model", model, "--capsule", "0", "--retrain", f"{other}2"]) == 2
    assert "give at least one --word" in capsys.readouterr().err


def test_several_labels_per_text_by_hand() -> None:
    pairs = planted(240, 1)
    texts = [f"{one} {other}" for (one, _), (other, _) in itertools.pairwise(pairs)]
    sets = [sorted({one, other}) for (_, one), (_, other) in itertools.pairwise(pairs)]
    model = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(texts, sets)
    edited = model.edited([neutral_words(TOKEN), neutral_capsule(0, "Sailing")])
    labelled = [(text, format_label_set(names)) for text, names in zip(texts, sets, strict=True)]
    effect = measure_edits(model, edited, labelled[:60])
    before, after = (one.predict_labels(texts[:60]) for one in (model, edited))
    right = [set(names) == set(wanted) for names, wanted in zip(after, sets, strict=False)]
    assert effect.after.value == np.mean(right)
    assert effect.flips == sum(a != b for a, b in zip(before, after, strict=True))


def test_the_command_with_several_labels_per_text(
    classifier: ICapsClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = with_thresholds(classifier, NORMS)
    several.save(tmp_path / "model")
    pairs = labelled_sets()
    rows = [{"text": text, "label": list(label_set(label) or ())} for text, label in pairs]
    (tmp_path / "sets.jsonl").write_text("\n".join(map(json.dumps, rows)))
    given = ["repair", "--model", str(tmp_path / "model"), "--data", str(tmp_path / "sets.jsonl")]
    assert main([*given, "--word", "anchor", "--class", "Sailing", "--json"]) == 0
    effect = json.loads(capsys.readouterr().out)["effect"]
    edited = several.edited([neutral_words("anchor", "Sailing")])
    assert effect == measure_edits(several, edited, pairs).to_dict()
    texts = [text for text, _ in pairs]
    assert effect["concerned"] == sum("anchor" in text.casefold() for text in texts) > 0
    right = [
        format_label_set(names) == label
        for names, (_, label) in zip(edited.predict_labels(texts), pairs, strict=True)
    ]
    assert effect["after"]["value"] == pytest.approx(np.mean(right))
    assert main([*given, "--word", "anchor"]) == 0
    assert "texts with them: accuracy" in capsys.readouterr().out
