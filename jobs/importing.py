"""Import what lies in an object store, as a program: `spark-submit jobs/importing.py --source … --branch …`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from graveler_core.cli.importing import imported_document
from graveler_core.model.importing import ImportMode
from jobs.program import Document, Program, commit_arguments, pairs, run

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


def arguments(parser: ArgumentParser) -> None:
    """What to import."""
    parser.add_argument("--source", required=True, metavar="URI", help="the place whose objects are imported")
    parser.add_argument("--inventory", metavar="URI", help="Parquet files that list them")
    parser.add_argument("--branch", required=True, metavar="NAME")
    parser.add_argument("--destination", default="", metavar="PATH", help="the directory that they come to")
    parser.add_argument(
        "--mode", choices=list(ImportMode), default=ImportMode.ADD, help="keep what else is there, or not"
    )
    parser.add_argument("--include", action="append", default=[], metavar="GLOB", help="only such keys")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="no such keys")
    parser.add_argument("--skip-invalid", action="store_true", help="leave out keys that are no paths")
    parser.add_argument("--message", "-m", default="", metavar="TEXT", help="else it names the source")
    commit_arguments(parser)


def import_place(graveler: Graveler, options: Namespace) -> Document:
    """What was imported, as `graveler import --json` writes it."""
    repository = graveler.repository(options.repository)
    asked: dict[str, Any] = {
        "mode": options.mode,
        "include": options.include,
        "exclude": options.exclude,
        "skip_invalid": options.skip_invalid,
        "message": options.message,
        "committer": options.committer,
        "metadata": pairs("metadata", options.meta),
        "allow_empty": options.allow_empty,
        "idempotency_key": options.idempotency_key,
    }
    where = options.source, options.branch, options.destination
    if options.inventory is None:
        return imported_document(repository.import_prefix(*where, **asked))
    return imported_document(repository.import_inventory(options.inventory, *where, **asked))


IMPORT = Program("importing", "Import what lies in an object store, copying nothing.", arguments, import_place)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(IMPORT))


if __name__ == "__main__":
    main()
