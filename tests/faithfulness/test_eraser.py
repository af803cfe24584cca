"""Faithfulness by ERASER's definitions, written out here as plain loops."""

import dataclasses
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.config import ExplainOptions
from icaps.faithfulness.attributions.account import account
from icaps.faithfulness.attributions.registry import RANKINGS
from icaps.faithfulness.choices import bins, covered_words, first, random_places
from icaps.faithfulness.eraser import (
    AS_MANY,
    BINS,
    KGRAMS,
    RankingResult,
    RemovalEffects,
    make_rows,
    measure,
    measure_rankings,
    ranking_lines,
    verdicts,
)
from icaps.faithfulness.perturbation import REMOVALS
from icaps.faithfulness.texts import ExplainedTexts
from icaps.stats import to_plain_dict
from tests.conftest import make_texts
from tests.faithfulness.test_attributions import read, some
from tests.faithfulness.test_perturbation import left, plain_norms
from tests.interpret.test_corpus import hand_set, texts, untrained
from tests.interpret.test_local import kgrams_of


def test_the_first_words_of_each_share() -> None:
    scores = np.array([[3.0, 1, 2, 5, 4] * 9])
    assert bins(scores).sum(1).tolist() == [1, 3, 5, 9, 23]  # of 45 words, rounded up
    assert bins(np.zeros((1, 1))).tolist() == [[True]] * 5
    assert bins(np.zeros((3, 20))).shape == (15, 20)
    assert np.flatnonzero(first(scores[:, :5], 2)).tolist() == [3, 4]
    # Words that score alike come in their order.
    assert np.flatnonzero(first(np.array([[0.0, 1, 0, 1, 1]]), 2)).tolist() == [1, 3]


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_eraser_s_definitions(options: dict[str, object], removal: str) -> None:
    classifier, given = some(5, **options)
    random = np.random.default_rng(1)
    choices = [bins(random.random((1, len(text.tokens.ids)))) for text in given.readings]
    effect = measure(given, choices, removal)
    for n, ((reading, target), chosen) in enumerate(zip(given, choices, strict=True)):
        everything = np.ones(len(reading.tokens.ids), dtype=bool)
        whole = plain_norms(classifier, left(reading.tokens, everything, removal))[target]
        comprehensiveness, sufficiency, flips, covered = [], [], [], []
        for words in chosen:
            without = plain_norms(classifier, left(reading.tokens, ~words, removal))
            alone = plain_norms(classifier, left(reading.tokens, words, removal))
            comprehensiveness.append(whole - without[target])
            sufficiency.append(whole - alone[target])
            flips.append(max(without) > without[target] or max(without) == 0)
            covered.append(sum(words) / len(words))
        assert effect.comprehensiveness[n] == pytest.approx(np.mean(comprehensiveness), abs=1e-6)
        assert effect.sufficiency[n] == pytest.approx(np.mean(sufficiency), abs=1e-6)
        assert effect.flips[n] == np.mean(flips)
        assert effect.covered[n] == pytest.approx(np.mean(covered))


def test_a_text_of_one_word_is_all_reason() -> None:
    classifier = untrained()
    given = read(classifier, ["bread", "", "quillmarsh"])
    assert [text.texts[0] for text in given.readings] == ["bread"]  # the others are blank
    for found in measure_rankings(given, ["routing", "contribution", "leave-one-out", "random"]):
        norm = float(given.readings[0].activity.class_norms.max())
        assert found.effects.comprehensiveness == pytest.approx([norm])
        assert found.effects.sufficiency == pytest.approx([0], abs=1e-6)
        assert (found.effects.flips, found.effects.covered) == ([1], [1])
        assert found.agreement is None or np.isnan(found.agreement).all()


def test_words_of_several_kgrams_are_chosen_once() -> None:
    _, given = some(6)
    options, shared = ExplainOptions(top_capsules=3, top_kgrams=2), 0
    for (reading, target), (chosen,) in zip(given, covered_words(given, options), strict=True):
        spotted = kgrams_of(reading, target, 3, options)
        words = {word for kgram in spotted for word in range(kgram.first, kgram.last)}
        assert set(np.flatnonzero(chosen).tolist()) == words
        shared += sum(kgram.last - kgram.first for kgram in spotted) - len(words)
    assert shared > 0


def test_random_places_keep_the_runs() -> None:
    chosen = np.array([[0, 1, 1, 1, 0, 0, 1, 0]], dtype=bool)
    (placed,) = random_places([chosen], seed=0, draws=2000)
    assert (placed.sum(1) == 4).all()
    found = {tuple(row) for row in placed.astype(int).tolist()}
    # A run of 3 and one of 1, in any order, among four words that are not chosen.
    expected = set()
    for order in ((3, 1), (1, 3)):
        for gaps in itertools.product(range(5), repeat=3):
            if sum(gaps) == 4:
                row = [0] * gaps[0] + [1] * order[0] + [0] * gaps[1]
                expected.add(tuple(row + [1] * order[1] + [0] * gaps[2]))
    assert found == expected
    assert random_places([np.ones((1, 3), dtype=bool)], 0, 4)[0].all()
    assert not random_places([np.zeros((1, 3), dtype=bool)], 0, 4)[0].any()


def test_the_account_has_its_k_grams_and_as_many_words_as_the_paper_s() -> None:
    _, given = some(6)
    options = ExplainOptions(top_capsules=2, top_kgrams=2)
    found = {
        (one.ranking, one.words): one.effects
        for one in measure_rankings(given, ["routing", "account", "random"], ["unk"], options)
    }
    assert {key for key in found if key[1] == AS_MANY} == {("account", AS_MANY)}
    papers = covered_words(given, options)
    own = covered_words(given, dataclasses.replace(options, ranking="account"))
    most = [
        first(scores[None], int(chosen.sum()))
        for scores, chosen in zip(account(given), papers, strict=True)
    ]
    for words, choices in ((KGRAMS, own), (AS_MANY, most)):
        expected = measure(given, choices, "unk")
        assert found["account", words].covered.tolist() == expected.covered.tolist()
        np.testing.assert_array_equal(
            found["account", words].comprehensiveness, expected.comprehensiveness
        )
    covered = found["account", AS_MANY].covered
    assert covered.tolist() == found["routing", KGRAMS].covered.tolist()
    rows = make_rows(list(measure_rankings(given, ["routing", "account", "random"], ["unk"])))
    control = next(row for row in rows if (row.ranking, row.words) == ("random", KGRAMS))
    as_many = next(row for row in rows if row.words == AS_MANY)
    assert as_many.control == control.comprehensiveness
    assert as_many.gain is not None


def test_where_one_word_decides_it_is_found() -> None:
    """Only "bread" and "rose" have an embedding, and "rose" speaks for the garden."""
    given = read(hand_set(), ["the the the rose the the the the the the", "the bread the the the"])
    found = {
        (one.ranking, one.words, one.removal): one
        for one in measure_rankings(given, ["contribution", "leave-one-out", "random"])
    }
    for name in ("contribution", "leave-one-out"):
        for removal in REMOVALS:
            effect = found[name, BINS, removal].effects
            # Without the word attention is even over words of nothing, and no class has a case.
            norms = [float(text.activity.class_norms.max()) for text in given.readings]
            assert effect.comprehensiveness == pytest.approx(norms, abs=1e-5)
            assert effect.sufficiency == pytest.approx([0, 0], abs=2e-2)
            control = found["random", BINS, removal].effects
            assert (effect.comprehensiveness > control.comprehensiveness).all()
    assert found["leave-one-out", BINS, "unk"].agreement == pytest.approx([1, 1])


def made_up(name: str, words: str, comprehensiveness: list[float]) -> RankingResult:
    values = np.array(comprehensiveness)
    effect = RemovalEffects(values, values / 2, values * 0, values * 0 + 0.2)
    return RankingResult(name, words, "unk", effect, values if words == BINS else None)


def test_the_table_stands_beside_control_and_paper() -> None:
    paper, control, other = [0.2, 0.4, 0.3] * 10, [0.02, 0.04, 0.03] * 10, [0.5, 0.6, 0.7] * 10
    rows = make_rows(
        [
            made_up(name, words, values)
            for name, values in (("routing", paper), ("contribution", other), ("random", control))
            for words in (BINS, KGRAMS)
        ]
    )
    assert [row.gain.value for row in rows[::2]] == pytest.approx([0, 0.3, -0.27])
    assert all(row.control.value == pytest.approx(0.03) for row in rows)
    kgrams, better, as_many, switch = verdicts(rows)
    assert "comprehensiveness 0.300, 10.0 times that of random places (0.030)" in kgrams
    assert "sufficiency 0.150 beside 0.015" in kgrams
    assert better.startswith("By unk the first words by contribution are more comprehensive")
    assert as_many.startswith("By unk the K-grams, or as many words, by contribution are more")
    assert "--ranking contribution" in switch
    assert len(list(ranking_lines(rows))) == 2 * 5
    alone = make_rows([made_up("contribution", BINS, other)])
    assert (alone[0].gain, alone[0].control, verdicts(alone)) == (None, None, [])
    assert to_plain_dict(alone[0])["comprehensiveness"]["mean"] == pytest.approx(0.6)


def test_the_account_beside_the_best_other_ranking_and_the_paper_s_k_grams() -> None:
    paper, own, best = [0.1, 0.2, 0.3] * 10, [0.5, 0.6, 0.7] * 10, [0.6, 0.7, 0.8] * 10
    results = [
        made_up(name, words, values)
        for name, values in (
            ("routing", paper),
            ("account", own),
            ("account-passes", [2 * value for value in own]),
            ("lime", best),
        )
        for words in (BINS, KGRAMS)
    ]
    lines = verdicts(make_rows([*results, made_up("account", AS_MANY, best)]))
    beside, kgrams, shows = lines[-3:]
    assert beside == (
        "By unk the first words by account have 0.86 times the comprehensiveness of those by lime, "
        "the highest other ranking."
    )
    assert "K-grams by account have 3.0 times the comprehensiveness of the paper's" in kgrams
    assert "with 20% of the words in place of 20%" in kgrams
    assert "--ranking account" in shows
    assert not any("highest other" in line for line in verdicts(make_rows(results[2:4])))


def test_the_help_names_every_ranking(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["faithfulness", "--help"])
    told = "".join(capsys.readouterr().out.split())  # lines break at hyphens
    assert all(re.search(rf"{name}[,;(]", told) for name in RANKINGS)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["faithfulness", *map(str, arguments)])
    return (code, *capsys.readouterr())


def test_the_command(
    model_folder: Path, data_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--model", model_folder, "--data", data_file, "--limit", 8]
    given += ["--rankings", "routing,leave-one-out,random"]
    code, told, _ = run(capsys, *given, "--json")
    facts = json.loads(told)
    assert (code, facts["texts"], facts["blank"], facts["left_out"]) == (0, 8, 0, [])
    assert [(row["ranking"], row["words"], row["removal"]) for row in facts["rows"]] == [
        (ranking, words, removal)
        for removal in REMOVALS
        for ranking in ("routing", "leave-one-out", "random")
        for words in (BINS, KGRAMS)
    ]
    for row in facts["rows"]:
        for name in ("comprehensiveness", "sufficiency", "flips", "covered"):
            assert row[name]["low"] - 1e-9 <= row[name]["mean"] <= row[name]["high"] + 1e-9
    best = facts["rows"][2]
    assert best["agreement"]["mean"] == pytest.approx(1)
    assert best["comprehensiveness"]["mean"] > best["control"]["mean"]
    fewer = [*given, "--removal", "unk", "--json"]
    again = json.loads(run(capsys, *fewer)[1])["rows"]
    assert again == facts["rows"][6:]  # the seed decides
    assert json.loads(run(capsys, *fewer, "--seed", 1)[1])["rows"] != again


def test_more_tables_of_the_command(
    model_folder: Path, data_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--model", model_folder, "--data", data_file, "--limit", 8, "--removal", "unk"]
    given += ["--rankings", "routing,account,random", "--stability", "--sanity", "--normalised"]
    code, told, _ = run(capsys, *given, "--other-model", model_folder)
    assert code == 0
    assert "deletion" not in told
    for line in ("8 texts (seed 0); 0 without", "By unk the K-grams have", "random layers"):
        assert line in told
    (same,) = [line for line in told.splitlines() if line.startswith("model    routing")]
    assert "1.000 [1.000, 1.000]" in same  # a model agrees with itself
    agreement = told[told.index("Words by the other model") :].splitlines()[2:4]
    assert [line.split()[0] for line in agreement] == ["routing", "account"]
    assert all(line.count("1.000 [1.000, 1.000]") == 2 for line in agreement)
    facts = json.loads(run(capsys, *given, "--other-model", model_folder, "--json")[1])
    assert [row["ranking"] for row in facts["normalised"]] == ["routing", "account", "random"]
    assert [row["ranking"] for row in facts["word_agreement"]] == ["routing", "account"]
    assert {row["words"] for row in facts["rows"] if row["ranking"] == "account"} == {
        BINS,
        KGRAMS,
        AS_MANY,
    }


def test_mistakes_are_refused(
    model_folder: Path, data_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--model", model_folder, "--data", data_file]
    assert "no ranking 'x'" in run(capsys, *given, "--rankings", "x")[2]
    code, _, told = run(capsys, *given, "--limit", 0)
    assert (code, "--limit is 0" in told) == (2, True)
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("text,label\nquillmarsh,Sailing\nfrobbled,Gardens\n", encoding="utf-8")
    assert "knows no word" in run(capsys, "--model", model_folder, "--data", foreign)[2]


def test_explanations_may_go_by_contribution(
    classifier: ICapsClassifier, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = make_texts(1, seed=2)[0][0]
    (papers,) = classifier.explain([sentence], top_capsules=6)
    (other,) = classifier.explain([sentence], top_capsules=6, ranking="contribution")
    assert (papers.ranking, other.ranking) == ("routing", "contribution")
    routed = [kgram.routing for kgram in papers.kgrams]
    added = [kgram.contribution for kgram in other.kgrams]
    assert routed == sorted(routed, reverse=True)
    assert added == sorted(added, reverse=True)
    assert f"contribution {added[0]:.3f}  routing" in other.to_text()
    assert '<th class="n">Contribution' in other.to_html()
    assert "contribution" not in (papers.to_text() + papers.to_html()).lower()
    # What all capsules add is the length of the class capsule before the squash.
    norm = max(other.scores)
    each = {kgram.capsule: kgram.contribution for kgram in other.kgrams}
    assert sum(each.values()) == pytest.approx((norm / (1 - norm)) ** 0.5, rel=1e-3)
    arguments = ["explain", "--model", str(model_folder), "--json", sentence]
    assert main([*arguments, "--ranking", "contribution", "--top-capsules", "6"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [kgram["capsule"] for kgram in told["kgrams"]] == [k.capsule for k in other.kgrams]


def test_a_capsule_that_is_off_is_in_no_ranking(classifier: ICapsClassifier) -> None:
    sentence = make_texts(1, seed=2)[0][0]
    (found,) = classifier.without([0, 3]).explain(
        [sentence], top_capsules=9, ranking="contribution"
    )
    assert sorted({kgram.capsule for kgram in found.kgrams}) == [1, 2, 4, 5]


def test_texts_of_a_hierarchical_model_by_kgrams() -> None:
    classifier = untrained(hierarchical=True)
    given = read(classifier, [text for text, _ in texts(6, seed=8)])
    assert isinstance(given, ExplainedTexts)
    options = ExplainOptions(top_capsules=2, top_kgrams=2, top_sentences=2)
    for found in measure_rankings(given, ["routing", "random"], ["unk"], options):
        assert np.isfinite(found.effects.comprehensiveness).all()
        assert ((found.effects.covered > 0) & (found.effects.covered <= 1)).all()
