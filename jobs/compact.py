"""Fold what is staged on a branch into one tree, as a program: `spark-submit jobs/compact.py --branch …`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from datetime import timedelta
from typing import TYPE_CHECKING

from graveler_core.cli.staged_views import compacted_document
from jobs.program import Document, Program, run

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


def arguments(parser: ArgumentParser) -> None:
    """What to compact."""
    parser.add_argument("--branch", required=True, metavar="NAME")
    parser.add_argument(
        "--every-minutes", type=float, default=0.0, metavar="N", help="give way to a compaction that began so lately"
    )


def compact(graveler: Graveler, options: Namespace) -> Document:
    """What was folded, as `graveler compact --json` writes it."""
    branch = graveler.repository(options.repository).branch(options.branch)
    return compacted_document(branch.compact(every=timedelta(minutes=options.every_minutes)))


COMPACT = Program("compact", "Fold what is staged on a branch into one tree.", arguments, compact)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(COMPACT))


if __name__ == "__main__":
    main()
