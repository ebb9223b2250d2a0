"""Count what differs between two refs, as a program: `spark-submit jobs/diff.py --repository … --left … --right …`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from graveler_core.cli.views import summary_document
from jobs.program import Document, Program, run

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


def arguments(parser: ArgumentParser) -> None:
    """What to compare."""
    parser.add_argument("--left", required=True, metavar="REF")
    parser.add_argument("--right", required=True, metavar="REF")
    parser.add_argument("--prefix", default="", metavar="PATH", help="only paths that begin so")
    parser.add_argument("--since-merge-base", action="store_true", help="what the right would bring into the left")


def diff(graveler: Graveler, options: Namespace) -> Document:
    """`added`, `changed`, `removed`: numbers of paths."""
    repository = graveler.repository(options.repository)
    return summary_document(
        repository.diff_summary(options.left, options.right, options.prefix, since_merge_base=options.since_merge_base)
    )


DIFF = Program("diff", "Count the paths that differ between two refs.", arguments, diff)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(DIFF))


if __name__ == "__main__":
    main()
