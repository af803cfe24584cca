"""Shows models with several labels per text compared by their predictions."""

from collections.abc import Mapping, Sequence

from dashboard.compare import tables
from dashboard.url_state import COMPARE_TABS
from icaps.evaluate import multilabel_compare
from icaps.evaluate.comparison_texts import ComparisonTexts
from icaps.evaluate.leakage import Leak, unfair_models
from icaps.evaluate.multilabel_compare import TimedSets

SCORES, DISAGREEMENTS, REASONS, MATCHED, SIZES, _ = COMPARE_TABS  # published ones are of one label
TABS = (SCORES, DISAGREEMENTS, REASONS, MATCHED, SIZES)


def show_scores(predictions: Sequence[TimedSets], leaks: Mapping[str, Leak | None]) -> None:
    """Macro F1 with intervals and the other scores, and whether each differs from the first."""
    table = multilabel_compare.set_score_table(predictions, unfair=unfair_models(leaks))
    others = {
        "by chance": "chance",
        "micro F1": "micro_f1",
        "average precision": "average_precision",
        "all labels right": "subset_accuracy",
        "Hamming loss": "hamming_loss",
    }
    tables.show_scores(
        table,
        leaks,
        "macro_f1",
        "macro F1",
        {title: tables.percents(table[name]) for title, name in others.items()},
        f"On the same {len(predictions[0]):,} texts. By chance: macro F1 with shuffled "
        "predictions. McNemar's exact test: p is the probability that two equally good models "
        "differ by this much in the number of texts whose labels only one of them gets all right; "
        "below 0.05 is rare.",
    )


def show_disagreements(texts: ComparisonTexts, predictions: Sequence[TimedSets]) -> None:
    """How often models predict the same classes, and the texts on which they don't."""
    numbers = multilabel_compare.set_disagreements(predictions)
    tables.show_disagreements(
        multilabel_compare.set_agreement_table(predictions),
        {
            "same": "same classes",
            "same_classes": "same, class by class",
            "chance": "by chance",
            "both_wrong": "same and not all right",
        },
        multilabel_compare.set_disagreement_table(texts, predictions, numbers),
        len(texts.texts),
        "classes",
        "that differ most",
    )
