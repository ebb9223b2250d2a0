"""The verbs that may outgrow one machine, as programs: for `spark-submit`, for `python -m`, and for Dagster Pipes.

What came of it is one JSON document on stdout; how far it is, is told on stderr. In a process that Dagster Pipes has
started, both go to Dagster too: a custom message, and lines of the log. Exit codes are those of `graveler`: 0 done; 1
an error, told in one line; 2 wrong usage; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dagster_pipes import PipesEnvVarParamsLoader, open_dagster_pipes
from pyspark.sql import SparkSession

from graveler_core.cli.terminal import visible
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.settings import Settings
from graveler_core.telemetry.secrets import without_passwords
from jobs.cluster import SparkCluster
from jobs.connection import Connection
from jobs.report import Report
from jobs.session import pin_worker_interpreter
from jobs.sizes import ROWS_PER_PIECE, THRESHOLD
from jobs.spark_errors import explained

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler

FAILED: Final = 1
INTERRUPTED: Final = 130
COMMITTER: Final = "spark"
Document = dict[str, Any]
_SHOWN: Final = 100
"""Conflicts that are shown; `graveler merge --dry-run` lists all."""


@dataclass(frozen=True, slots=True)
class Program:
    """One verb: what it is called with, and what it does, giving a document."""

    name: str
    description: str
    arguments: Callable[[ArgumentParser], None]
    work: Callable[[Graveler, Namespace], Document]


@dataclass(frozen=True, slots=True)
class _Audience:
    """Who is told: people, and Dagster if it listens."""

    say: Callable[[str], None]
    give: Callable[[Document], None]


def run(program: Program, arguments: Sequence[str] | None = None) -> int:
    """Run on the arguments of the process, or these; returns the exit code. Wrong usage raises `SystemExit`."""
    options = _parser(program).parse_args(arguments)
    with _audience() as audience:
        try:
            audience.give(_done(program, options, audience.say))
        except GravelerError as error:
            _tell(f"error: {error.message}")
            audience.give(_failure(error))
            return FAILED
        except KeyboardInterrupt:
            _tell("error: interrupted")
            return INTERRUPTED
    return 0


def pairs(what: str, given: Sequence[str]) -> dict[str, str]:
    """Keys and values of arguments like KEY=VALUE; `InvalidInput` for others."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidInput(f"{what} {text.partition('=')[0]!r}: must be KEY=VALUE with a key")
        found[key] = value
    return found


def commit_arguments(parser: ArgumentParser) -> None:
    """What every verb that makes a commit takes."""
    parser.add_argument("--committer", default=COMMITTER, metavar="NAME", help=f"who commits ({COMMITTER})")
    parser.add_argument(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="metadata of the commit; may be repeated"
    )
    parser.add_argument(
        "--idempotency-key",
        default="",
        metavar="KEY",
        help="a repeated call with this key finds the first one's commit",
    )
    parser.add_argument("--allow-empty", action="store_true", help="even if nothing changes")


def _done(program: Program, options: Namespace, say: Callable[[str], None]) -> Document:
    settings = Settings()
    connection = Connection(
        options.store or settings.store.get_secret_value(),
        pairs("storage option", options.storage_option),
        None if settings.cache_dir is None else str(settings.cache_dir),
        settings.cache_bytes,
        settings.credentials,
    )
    report = Report().begin(say, program.name)
    if options.start_spark:
        _session()
    cluster = SparkCluster(_session, connection.for_workers, options.rows_per_piece, options.threshold, report)
    with connection.connect(cluster) as graveler:
        return {"verb": program.name, **program.work(graveler, options), **report.facts()}


def _session() -> SparkSession:
    pin_worker_interpreter()
    with explained():
        return SparkSession.builder.getOrCreate()


def _parser(program: Program) -> ArgumentParser:
    parser = ArgumentParser(prog=f"jobs.{program.name}", description=program.description)
    parser.add_argument("--store", metavar="URL", help="the key-value store, else GRAVELER_STORE")
    parser.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of the object stores; may be repeated; secrets are better left to the environment of each machine",
    )
    parser.add_argument("--repository", required=True, metavar="NAME")
    program.arguments(parser)
    parser.add_argument("--threshold", type=int, default=THRESHOLD, metavar="ROWS", help="Spark from so many rows on")
    parser.add_argument("--rows-per-piece", type=int, default=ROWS_PER_PIECE, metavar="ROWS", help="rows of a task")
    parser.add_argument(
        "--start-spark", action="store_true", help="begin the session at once, as YARN's cluster mode demands"
    )
    return parser


@contextmanager
def _audience() -> Iterator[_Audience]:
    if not PipesEnvVarParamsLoader().is_dagster_pipes_process():  # type: ignore[no-untyped-call]
        yield _Audience(_tell, _show)
        return
    with open_dagster_pipes() as pipes:

        def say(said: str) -> None:
            _tell(said)
            pipes.log.info(said)

        def give(document: Document) -> None:
            _show(document)
            pipes.report_custom_message(document)

        yield _Audience(say, give)


def _failure(error: GravelerError) -> Document:
    """What a caller needs to decide whether to try again."""
    conflicts = [
        {"path": c.path, "kind": str(c.kind)} for c in error.details.get("conflicts", ()) if hasattr(c, "kind")
    ]
    shown = {"conflicts": conflicts[:_SHOWN]} if conflicts else {}
    return {"error": type(error).__name__, "kind": str(error.kind), "message": error.message, **shown}


def _tell(said: str) -> None:
    print(visible(without_passwords(said)), file=sys.stderr, flush=True)


def _show(document: Document) -> None:
    print(json.dumps(document), flush=True)
