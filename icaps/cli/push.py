"""The `icaps push` command: uploads a trained model, with its card, to the Hugging Face Hub."""

from __future__ import annotations

import argparse
import sys

from icaps.cli.card import add_faithfulness_options, evaluated_card
from icaps.cli.data_options import add_data_options
from icaps.cli.options import Commands, add_model


def add_parser(commands: Commands) -> None:
    """Adds `icaps push`."""
    parser = commands.add_parser(
        "push", help="upload a model to the Hugging Face Hub, with its card as README"
    )
    add_model(parser)
    parser.add_argument("--to", required=True, metavar="OWNER/NAME", help="the repository")
    add_data_options(parser)
    add_faithfulness_options(parser)
    parser.add_argument("--private", action="store_true", help="if the repository is new")
    parser.add_argument("--license", metavar="NAME", help="as the Hub names it, such as mit")
    parser.add_argument("--language", metavar="CODE", help="of the texts, such as en")
    parser.add_argument("--branch", metavar="NAME", help="to commit to; main by default")
    parser.add_argument("--pull-request", action="store_true", help="open one with the commit")
    parser.add_argument(
        "--with-texts",
        action="store_true",
        help="upload the global view and the examples, too: they show texts of the data",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Evaluates the model for its card, uploads both, and prints the address of the commit."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress

    progress = Progress(sys.stderr)
    classifier = ICapsClassifier.load(options.model)
    address = classifier.push_to_hub(
        options.to,
        card=evaluated_card(classifier, options, progress),
        license=options.license,
        language=options.language,
        texts_from=options.model if options.with_texts else None,
        private=True if options.private else None,
        branch=options.branch,
        create_pr=options.pull_request,
    )
    print(address)
    return 0
