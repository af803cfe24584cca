"""The report: tables, JSON, files, and one page; and the command that writes it."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.source import open_source
from icaps.errors import CheckpointError
from icaps.evaluate.scores import evaluate
from icaps.interpret import tables
from icaps.interpret.corpus import count_corpus
from icaps.interpret.global_view import load_view
from icaps.interpret.share_totals import ALL
from icaps.reports.global_report import GlobalReport
from icaps.text.vocabulary import Vocabulary
from tests.interpret.test_corpus import texts, untrained
from tests.reports.standalone import Page


@pytest.fixture(scope="module")
def report(classifier: ICapsClassifier, interpreted: Path) -> GlobalReport:
    view = load_view(interpreted, 3, 6)
    assert view is not None
    return GlobalReport(classifier, view)


def test_cells_add_up(report: GlobalReport) -> None:
    cells = report.cells
    assert len(cells) == 18
    assert cells["count"].sum() == 120
    assert (cells["right"] + cells["wrong"] == cells["count"]).all()
    row = cells[cells["class"] == "Gardens"]
    assert row["share"].sum() == pytest.approx(1)
    assert (row["low"] <= row["share"]).all()
    assert (row["share"] <= row["high"]).all()
    tally = report.view.tally
    best = row.loc[row["count"].idxmax()]
    i = int(best["capsule"])
    assert best["accuracy"] == tally.right[1, i] / tally.frequency[1, i]
    assert best["routing"] == pytest.approx(tally.routing[1, i] / tally.frequency[1].sum())


def test_capsules_and_what_they_cost(report: GlobalReport) -> None:
    table, tally, found = report.capsules, report.view.tally, report.view.knock_out
    for row in table.itertuples():
        i = row.capsule
        assert row.wins == tally.frequency[:, i].sum()
        assert row.cost == pytest.approx(found.accuracy[0] - found.accuracy[1 + i])
        if not row.wins:
            assert (row.state, row.main_class) == ("dead", "")
            assert np.isnan([row.purity, row.own_cost]).all()
            continue
        assert row.main_class == report.classes[tally.frequency[:, i].argmax()]
        lost = (tally.right[:, i].sum() - found.own_right[i]) / row.wins
        assert row.own_cost == pytest.approx(lost)
        if row.wins < 120:  # the parts make up the whole
            parts = row.own_cost * row.wins + row.other_cost * (120 - row.wins)
            assert parts == pytest.approx(row.cost * 120)


def test_words_of_a_cell(report: GlobalReport) -> None:
    tally, vocabulary = report.view.tally, report.classifier.vocabulary_
    j, i = np.unravel_index(tally.frequency.argmax(), tally.frequency.shape)
    cell = (int(j), int(i))
    table = tables.words(tally, vocabulary, [cell], top=1_000)
    assert dict(zip(table["word"], table["count"], strict=True)) == {
        vocabulary.words[word]: n for word, n in tally.words[cell].items()
    }
    assert table["count"].is_monotonic_decreasing  # lambda is 1
    few = tables.words(tally, vocabulary, [cell], top=1_000, all_words=False)
    assert set(few["word"]) <= set(table["word"]) - {".", "the", "and", "with"}
    grams = tables.kgrams(tally, vocabulary, [cell], top=1_000)
    assert grams["count"].sum() == tally.frequency[cell]
    assert all(len(gram.split()) <= 3 for gram in grams["kgram"])


def test_shares_add_up(report: GlobalReport) -> None:
    shares, vocabulary = report.view.shares, report.classifier.vocabulary_
    assert shares is not None
    cells, rows, capsules = report.cells, report.rows, report.capsules
    assert cells["total_share"].tolist() == shares.capsules.ravel().tolist()
    by_class = cells.groupby("class")["score_share"].sum()
    assert by_class.tolist() == pytest.approx([1, 1, 1])
    assert capsules["score_share"].sum() == pytest.approx(1)
    assert (rows["effective_capsules"] * rows["texts"]).tolist() == pytest.approx(shares.effective)
    assert rows["effective_capsules"].between(1, 6).all()
    i = int(capsules["score_share"].idxmax())
    for place in ((1, i), (1, ALL), (ALL, i)):
        table = report.words_by_share(place, top=1_000)
        stored = shares.top_words.places[place]
        assert dict(zip(table["word"], table["share"], strict=True)) == {
            vocabulary.words[word]: share for word, share in stored.items()
        }
        assert table["share"].abs().is_monotonic_decreasing  # lambda is 1
        few = report.words_by_share(place, all_words=False)
        assert set(few["word"]) <= set(table["word"]) - {".", "the", "and", "with"}
        assert len(report.kgrams_by_share(place))
    assert report.facts["shares"] == shares.capsules.tolist()
    assert report.facts["class_words"]["Gardens"][0]["share"] > 0
    assert report.class_reasons["words"].str.len().all()
    assert report.place(None, "Gardens") == (1, ALL)
    assert report.place(2, None) == (ALL, 2)
    label = report.labelled_capsules["words"][i]
    assert label.split(", ")[0] in set(report.words_by_share((ALL, i))["word"])


def test_a_view_of_an_older_version_has_counts_alone(report: GlobalReport, tmp_path: Path) -> None:
    old = GlobalReport(report.classifier, replace(report.view, shares=None))
    assert old.cells["score_share"].isna().all()
    assert old.words(0).equals(report.words(0))
    assert not len(old.words_by_share((0, 0)))
    assert not len(old.class_reasons)
    facts = json.loads(json.dumps(old.facts, allow_nan=False))
    assert facts["shares"] is None
    assert facts["effective_capsules"] == [None] * 3
    assert "What adds to the score" in report.to_html()
    assert "What adds to the score" not in old.to_html()
    old.write(tmp_path)
    assert not len(pd.read_csv(tmp_path / "words_by_share.csv"))
    report.write(tmp_path)
    table = pd.read_csv(tmp_path / "words_by_share.csv", keep_default_na=False)
    cooking = table[(table["class"] == "Cooking") & (table["capsule"] == "")]
    assert cooking["share"].tolist() == report.words_by_share((0, ALL), top=200)["share"].tolist()


def test_json_says_what_the_counts_say(report: GlobalReport) -> None:
    facts = json.loads(json.dumps(report.facts))
    assert facts["classes"] == ["Cooking", "Gardens", "Sailing"]
    assert np.sum(facts["frequency"]) == facts["texts"] == 120
    assert facts["knockout"] == report.view.knock_out.accuracy[1:].tolist()
    assert len(facts["words"]) == len(facts["knockout"]) == 6
    assert len(facts["top_share"]) == len(facts["top_share_shuffled"]) == 3
    assert 1 / 3 <= facts["purity"] <= 1
    assert facts["alive"] + facts["dead"] <= 6


def test_the_page_loads_nothing_and_is_the_same_each_time(report: GlobalReport) -> None:
    content = report.to_html().encode()
    page = Page(content)
    assert content.count(b"<svg") == 6  # three charts, each for light and dark pages
    assert page.used == set(page.ids)
    assert len(page.ids) == len(set(page.ids)) > 1
    again = GlobalReport(report.classifier, report.view)
    again.charts()  # Altair numbers gradients through all charts of a process
    assert again.to_html().encode() == content


def test_files_of_words_that_are_html(tmp_path: Path) -> None:
    """Words, classes and names that are markup, or formulas of a spreadsheet."""
    classifier = untrained()
    odd = [
        "<script>alert(1)</script>",
        "&amp;",
        '"',
        "=1+1",
        "\u202e",
        "日本",
        "'",
        "</svg>",
        "#",
        "\\",
    ]
    words = (*classifier.vocabulary_.words[:2], *odd)
    words += classifier.vocabulary_.words[len(words) :]
    labelled = texts(40)
    classes = ("<b>x</b>", "a & b", "</style>")
    counts = count_corpus(classifier, labelled)
    classifier.vocabulary_ = Vocabulary(words, classifier.vocabulary_.counts)
    classifier.classes_ = np.array(classes, dtype=object)
    classifier.capsule_names_ = {1: "<img src=x onerror=alert(1)>"}
    view = _view(counts)
    GlobalReport(classifier, view).write(tmp_path / "out")
    content = (tmp_path / "out" / "report.html").read_bytes()
    page = Page(content)  # fails where it would load or run anything
    assert "<b>x</b>" in page.text
    assert b"<b>" not in content
    assert "<img src=x onerror=alert(1)>" in page.text
    table = pd.read_csv(tmp_path / "out" / "words.csv", keep_default_na=False)
    assert set(odd) & set(table["word"])
    assert (tmp_path / "out" / "C.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "queries.svg").read_text().startswith("<svg")


def _view(counts: object) -> object:
    from icaps.interpret.ablation import FewCapsules
    from icaps.interpret.global_view import GlobalView, Origin

    origin = Origin("x", "test", {}, "c", "w")
    few, shares = FewCapsules((1,), 0.5, 0.5), counts.shares.totals()
    return GlobalView(origin, counts.tally, counts.knock_out, few, shares)


def test_many_classes_and_empty_rows(tmp_path: Path) -> None:
    """150 classes and 64 capsules, most cells empty; nothing is NaN in JSON."""
    import torch

    from icaps.config import ModelConfig
    from icaps.interpret.corpus import CorpusCounts
    from icaps.model import ICapsNet

    config = ModelConfig(
        fixed_dim=2, trained_dim=2, region_dim=128, query_dim=2, class_dim=3, max_words=None
    )
    base = untrained()
    torch.manual_seed(0)
    network = ICapsNet(config, len(base.vocabulary_), 150).eval()
    classes = tuple(f"class {n}" for n in range(150))
    base.network_, base.classes_ = network, np.array(classes, dtype=object)
    labelled = [(text, classes[n % 150]) for n, (text, _) in enumerate(texts(60))]
    counts = count_corpus(base, labelled)
    report = GlobalReport(base, _view(counts))
    assert json.loads(json.dumps(report.facts, allow_nan=False))["texts"] == counts.tally.texts
    assert report.facts["top_share"].count(None) == (counts.tally.frequency.sum(1) == 0).sum() > 0
    lines = report.to_text()
    assert "nan" not in lines
    empty = np.flatnonzero(counts.tally.frequency.sum(1) == 0).tolist()
    assert lines.count(": no text gets this class") == len(empty)
    assert f"class {empty[0]}: no text gets this class" in lines
    report.write(tmp_path)
    assert len(pd.read_csv(tmp_path / "C.csv")) == 150 * 64
    assert isinstance(counts, CorpusCounts)


def test_the_command(
    interpreted: Path, data_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(interpreted, model)
    shutil.rmtree(model / "global_view")
    arguments = ["interpret", "--model", str(model), "--data", str(data_file)]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--json"]) == 0
    shown = capsys.readouterr()
    facts = json.loads(shown.out)
    assert facts == json.loads((tmp_path / "out" / "interpretation.json").read_text())
    assert load_view(model, 3, 6) is not None
    names = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = {
        f"{name}.{kind}" for name in ("C", "knockout", "queries") for kind in ("png", "svg")
    }
    assert names == pictures | {"report.html", "interpretation.json", "C.csv", "words.csv"} | {
        f"{name}.csv"
        for name in (
            "capsules",
            "rows",
            "kgrams",
            "words_by_share",
            "kgrams_by_share",
            "knockout",
            "queries",
            "pointed_words",
        )
    }
    classifier = ICapsClassifier.load(model)
    pairs = [(record.text, record.label) for record in open_source(data_file)]
    assert facts["accuracy"] == evaluate(classifier, pairs)["accuracy"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("120 texts, accuracy ")
    assert len(re.findall("the top 3 capsules have", "\n".join(lines))) == 3
    assert (
        main(["evaluate", "--model", str(model), "--data", str(data_file), "--mute", "2", "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["accuracy"] == facts["knockout"][2]
    assert main(["explain", "--model", str(model), "--mute", "9", "bread"]) == 2
    assert "they are 0 to 5" in capsys.readouterr().err


def test_bad_rows_and_wrong_places(
    interpreted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(interpreted, model)
    bad = tmp_path / "bad.csv"
    bad.write_text("text,label\nbread,Cooking\nsoup,\nsail,Sailing\n")
    arguments = ["interpret", "--model", str(model), "--data", str(bad)]
    assert main(arguments) == 2
    assert "missing label" in capsys.readouterr().err
    assert main([*arguments, "--on-bad-rows", "skip", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["texts"] == 2
    assert "left out: " in shown.err
    (tmp_path / "file").write_text("")
    assert main([*arguments, "--on-bad-rows", "skip", "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_report_that_can_not_be_written(report: GlobalReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        report.write(tmp_path / "file")


def test_texts_without_a_known_word(tmp_path: Path) -> None:
    classifier = untrained()
    report = GlobalReport(
        classifier, _view(count_corpus(classifier, [("quillmarsh", "garden")] * 3))
    )
    assert (report.facts["texts"], report.facts["blank"], report.facts["purity"]) == (0, 3, None)
    assert "purity unknown" in report.to_text()
    report.write(tmp_path)
    assert "3 more have no known word" in (tmp_path / "report.html").read_text(encoding="utf-8")
