"""A model card as a document: what a person reads of its facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from icaps.config import About, ModelConfig, TrainConfig, about
from icaps.interpret.controls import SHUFFLES
from icaps.reports.document import Block, Picture, Points, Prose, Section, Table, Verbatim, table
from icaps.reports.limits import limits
from icaps.reports.numbers import count, decimals, percent, signed, within

Facts = Mapping[str, Any]
_MEASURES = ("precision", "recall", "f1")
_LABELS = {"precision": "Precision", "recall": "Recall", "f1": "F1"}


def title(facts: Facts) -> str:
    """The title of the card."""
    return f"Model card: {facts['name']}"


def sections(facts: Facts, pictures: Mapping[str, Picture]) -> list[Section]:
    """The card from its facts, as JSON has them, and its charts."""
    return [
        Section("What it is", (_what_it_is(facts),)),
        Section("How good it is", _scores(facts)),
        Section("Is it right as often as it says?", _calibration(facts["evaluation"])),
        Section("Which texts are hard", (_slices(facts["slices"]),)),
        Section("What its capsules do", _capsules(facts["capsules"], pictures)),
        Section("Do the words shown as reasons decide?", _faithfulness(facts["faithfulness"])),
        Section("What it can't do", (Points(tuple(limits(facts))),)),
        Section("What it was trained on", _training(facts)),
        Section("What it is tested on here", _data(facts["data"])),
        Section("Settings", _settings(facts)),
        Section("How this is made again", (_commands(facts),)),
    ]


def _what_it_is(facts: Facts) -> Prose:
    config, scores = facts["model_settings"], facts["evaluation"]
    kind = "long documents" if config["hierarchical"] else "short texts"
    return Prose(
        f"An iCapsNet for {kind} (Wang, Hu and Ji 2020), which gives a text one of "
        f"{len(facts['classes'])} classes and shows the words that decided: "
        f"{', '.join(facts['classes'])}. It has {facts['numbers']:,} numbers, "
        f"{facts['capsule_count']} primary capsules and a vocabulary of {facts['vocabulary']:,} "
        f"words. On {scores['n']:,} labelled texts its accuracy is "
        f"{within(scores['accuracy'], scores['intervals']['accuracy'])}. The SHA-256 of its "
        f"weights is {facts['weights']}."
    )


def _scores(facts: Facts) -> tuple[Block, ...]:
    told = facts["evaluation"]
    ends, chance = told["intervals"], told["chance"]
    support = facts["data"]["classes"]
    most = max(support.values()) / told["n"]
    macro = {name: f"macro_{name}" for name in _MEASURES}
    whole = [("Accuracy", within(told["accuracy"], ends["accuracy"]), percent(chance["accuracy"]))]
    whole += [
        (
            f"Macro {_LABELS[name]}",
            within(told[key], ends[key]),
            percent(chance["macro_f1"]) if name == "f1" else "",
        )
        for name, key in macro.items()
    ]
    rows = [
        (
            name,
            count(support[name]),
            *(within(own[m], ends["per_class"][name][m]) for m in _MEASURES),
        )
        for name, own in told["per_class"].items()
    ]
    classes = facts["classes"]
    confusion = [
        (name, *map(count, row)) for name, row in zip(classes, told["confusion"], strict=True)
    ]
    return (
        Prose(
            f"With {ends['level']:.0%} intervals: Wilson's for shares, {ends['resamples']:,} draws "
            f"of the texts (seed {ends['seed']}) for the others. By chance is what the same "
            f"answers score when they are dealt out at random; the most frequent class is "
            f"{percent(most)} of the texts."
        ),
        table("Over all classes", ("Score", "Value", "By chance"), whole),
        table("Each class", ("Class", "Texts", *_LABELS.values()), rows),
        table("Texts by class (rows) and prediction (columns)", ("Class", *classes), confusion),
    )


def _calibration(told: Facts) -> tuple[Block, ...]:
    found = told["calibration"]
    rows = [
        (
            f"{percent(part['from'])} to {percent(part['to'])}",
            count(part["texts"]),
            percent(part["confidence"]),
            within(part["accuracy"], part["interval"]),
        )
        for part in found["bins"]
    ]
    return (
        Prose(
            f"The expected calibration error (Guo et al. 2017) is "
            f"{within(found['error'], found['interval'])}; that of a model whose confidences are "
            f"exactly right would be {percent(found['perfect'])} in the mean on as many texts, and "
            f"below {percent(found['perfect_high'])} in 95% of cases (seed {found['seed']})."
        ),
        table("Texts by confidence", ("Confidence", "Texts", "Mean", "Accuracy"), rows),
    )


def _slices(slices: Sequence[Facts]) -> Table:
    rows = [
        (
            f"{part['kind']}: {part['name']}",
            count(part["texts"]),
            within(part["accuracy"], part["interval"]),
            " to ".join(map(percent, part["random"])),
            part["verdict"],
        )
        for part in slices
    ]
    names = ("Texts of", "Number", "Accuracy", "Random subsets", "Verdict")
    caption = "Beside each slice the range of 95% of the random subsets of as many texts"
    return table(caption, names, rows)


def _capsules(told: Facts | None, pictures: Mapping[str, Picture]) -> tuple[Block, ...]:
    if told is None:
        return (Prose("This was not counted; `icaps interpret` does it."),)
    few = told["smallest_set"]
    rows = [
        (
            row["class"],
            count(row["texts"]),
            *(
                f"{percent(row[f'top_{n}'])} ({percent(row[f'shuffled_top_{n}'])})"
                for n in (1, 3, 5)
            ),
            f"{decimals(row['entropy'], 2)} ({decimals(row['shuffled_entropy'], 2)})",
        )
        for row in told["rows"]
    ]
    each = [
        (
            f"{row['capsule']} {row['name']}".strip(),
            row["main_class"],
            ", ".join(row["words"]),
            count(row["wins"]),
            percent(row["purity"]),
            signed(row["own_cost"]),
            signed(row["other_cost"]),
        )
        for row in told["each"]
        if row["wins"]
    ]
    names = ("Capsule", "Class", "Words", "Wins", "Purity", "Own cost", "Other cost")
    return (
        Prose(
            f"Counted over {told['texts']:,} texts of {told['data']} ({told['part']}). A capsule "
            f"wins a text when it has the largest routing weight for the class predicted. "
            f"{told['alive']} of {len(told['each'])} capsules win 1% of the texts or more, "
            f"{told['dead']} none, and {len(told['duplicates'])} pairs are alike. Of all wins "
            f"{percent(told['purity'])} go to the winner's main class. Capsules of one class "
            f"differ in their words by {decimals(told['divergence'], 2)} bits, and by "
            f"{decimals(told['divergence_random'], 2)} when the words are dealt out at random. "
            f"{len(few['capsules'])} capsules alone keep {percent(few['accuracy'])} of the "
            f"{percent(few['of_all'])} accuracy of all, on a sample of the texts."
        ),
        *([pictures["C"]] if "C" in pictures else []),
        table(
            "Share of a class's texts that its largest capsules win, and entropy in nats; in "
            f"brackets the mean of {SHUFFLES} shuffles of which text was won by which capsule",
            ("Class", "Texts", "Top 1", "Top 3", "Top 5", "Entropy"),
            rows,
        ),
        *([pictures["knockout"]] if "knockout" in pictures else []),
        Table(
            "Capsules that win, with their words by relevance; cost is the accuracy lost without "
            "one, on the texts that it won and on the others",
            names,
            tuple(each),
            frozenset(names[:3]),
        ),
    )


def _faithfulness(told: Facts | None) -> tuple[Block, ...]:
    if told is None:
        return (Prose("This was not measured; `icaps faithfulness` does it."),)
    names = ("Words by", "Which", "Removed by", "Comprehensiveness", "Sufficiency", "Flips")
    rows = [
        (
            row["ranking"],
            row["words"],
            row["removal"],
            *(_estimate(row[name]) for name in ("comprehensiveness", "sufficiency")),
            percent(row["flips"]["mean"]),
        )
        for row in told["rows"]
    ]
    return (
        Prose(
            f"Measured on {told['texts']:,} texts (seed {told['seed']}), after ERASER (DeYoung et "
            "al. 2020). Comprehensiveness is by how much the class norm falls without the words, "
            "sufficiency by how much with them alone: of a good reason the first is high and the "
            "second low. The ranking “random” is the control."
        ),
        Points(tuple(map(str, told["verdicts"]))),
        Table(
            "The first words of each text (bins), or its K-grams, removed",
            names,
            tuple(rows),
            frozenset(names[:3]),
        ),
    )


def _estimate(found: Facts) -> str:
    ends = f"{decimals(found['low'], 3)} to {decimals(found['high'], 3)}"
    return f"{decimals(found['mean'], 3)} ({ends})"


def _training(facts: Facts) -> tuple[Block, ...]:
    known = dict(facts["training"])
    classes = known.pop("training_classes", None)
    rows = [(name.replace("_", " "), _said(value)) for name, value in known.items()]
    blocks: list[Block] = [
        table("What the training has told", ("", "Value"), rows),
    ]
    if isinstance(classes, Mapping):
        counts = [(name, count(texts)) for name, texts in classes.items()]
        blocks.append(table("Its training texts", ("Class", "Texts"), counts))
    if facts["training_command"] is not None:
        blocks += [Prose("It was asked for by:"), Verbatim(facts["training_command"])]
    return tuple(blocks)


def _data(data: Facts) -> tuple[Block, ...]:
    words, part = data["words"], f" ({data['part']})" if data["part"] else ""
    lengths = ", ".join(f"{name} {decimals(value, 0)}" for name, value in words.items())
    rows = [
        (name, count(texts), percent(texts / data["texts"]))
        for name, texts in data["classes"].items()
    ]
    return (
        Prose(
            f"{data['texts']:,} texts of {data['name']}{part}. Words a text: {lengths}. "
            f"In the mean the model's vocabulary lacks {percent(data['unknown_words'])} of them."
        ),
        table("Their classes", ("Class", "Texts", "Share"), rows),
    )


def _settings(facts: Facts) -> tuple[Block, ...]:
    return (
        _setting_table("The network", facts["model_settings"], about(ModelConfig)),
        _setting_table("Its training", facts["train_settings"], about(TrainConfig)),
    )


def _setting_table(caption: str, values: Facts, settings: Sequence[About]) -> Table:
    names = ("Setting", "Value", "What it is")
    rows = tuple((one.name, _said(values[one.name]), one.help) for one in settings)
    return Table(caption, names, rows, frozenset(names))


def _commands(facts: Facts) -> Verbatim:
    return Verbatim("\n".join(facts["commands"]))


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else "–" if value is None else str(value)
