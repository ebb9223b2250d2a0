"""Merge a ref into a branch, as a program: `spark-submit jobs/merge.py --repository … --source … --into …`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from graveler_core.cli.views import commit_document
from graveler_core.model.changes import MergeStrategy
from jobs.program import Document, Program, commit_arguments, pairs, run

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


def arguments(parser: ArgumentParser) -> None:
    """What to merge."""
    parser.add_argument("--source", required=True, metavar="REF", help="what is merged")
    parser.add_argument("--into", required=True, metavar="BRANCH", help="what it is merged into")
    parser.add_argument("--message", "-m", default="", metavar="TEXT", help="else it names both")
    parser.add_argument("--strategy", choices=list(MergeStrategy), help="who wins where both changed a path")
    parser.add_argument("--no-squash", action="store_true", help="repeat the source's commits")
    commit_arguments(parser)


def merge(graveler: Graveler, options: Namespace) -> Document:
    """The merge commit's document, as `graveler merge --json` writes it."""
    made = graveler.repository(options.repository).merge(
        options.source,
        options.into,
        message=options.message,
        committer=options.committer,
        metadata=pairs("metadata", options.meta),
        strategy=options.strategy,
        squash=not options.no_squash,
        allow_empty=options.allow_empty,
        idempotency_key=options.idempotency_key,
    )
    return commit_document(made)


MERGE = Program("merge", "Merge a ref into a branch.", arguments, merge)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(MERGE))


if __name__ == "__main__":
    main()
