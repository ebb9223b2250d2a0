"""Commit what is staged on a branch, as a program: `spark-submit jobs/commit.py --repository … --branch … -m …`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from graveler_core.cli.views import commit_document
from jobs.program import Document, Program, commit_arguments, pairs, run

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


def arguments(parser: ArgumentParser) -> None:
    """What to commit."""
    parser.add_argument("--branch", required=True, metavar="NAME")
    parser.add_argument("--message", "-m", required=True, metavar="TEXT", help="what changed, and why")
    commit_arguments(parser)


def commit(graveler: Graveler, options: Namespace) -> Document:
    """The commit's document, as `graveler commit --json` writes it."""
    made = (
        graveler.repository(options.repository)
        .branch(options.branch)
        .commit(
            options.message,
            committer=options.committer,
            metadata=pairs("metadata", options.meta),
            allow_empty=options.allow_empty,
            idempotency_key=options.idempotency_key,
        )
    )
    return commit_document(made)


COMMIT = Program("commit", "Commit what is staged on a branch.", arguments, commit)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(COMMIT))


if __name__ == "__main__":
    main()
