"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console

from benchmarks.rows import print_table
from benchmarks.run import BenchmarkRequest, StepFailed, rows
from benchmarks.scenario import Scenario, suite
from benchmarks.servers import SERVERS

SUITES = (
    "core",
    "protocol",
    "committed",
    "compaction",
    "imports",
    "lifecycle",
    "iam",
    "files",
    "spark",
    "simulation",
    "stores",
    "server",
    "content_generator",
    "endurance",
)
DURABILITIES = ("process", "power")


def main() -> None:
    """Run the suite that the arguments name. Results go to standard output, progress to standard error."""
    asked = _parser().parse_args()
    known = suite(asked.suite)
    unknown = [name for name in asked.only or () if name not in known]
    if unknown:
        sys.exit(f"benchmarks: {asked.suite} has no scenario {unknown[0]!r}; it has {', '.join(known)}")
    requests = [_request(asked, store, [known[name] for name in asked.only or known]) for store in _stores(asked)]
    progress = Console(stderr=True)
    found = chain.from_iterable(
        rows(request, lambda text: progress.print(text, style="dim", highlight=False)) for request in requests
    )
    try:
        if asked.json:
            for row in found:
                print(row.line(), flush=True)
        else:
            print_table(list(found), Console(width=None if sys.stdout.isatty() else 180))
    except StepFailed as e:
        sys.exit(f"benchmarks: {e}")


def _stores(asked: argparse.Namespace) -> Sequence[str]:
    """Return the store that the user names, or the default of the suite."""
    if asked.store:
        return [asked.store]
    defaults = {"simulation": ["memory"], "stores": ["sqlite", *SERVERS], "server": ["postgresql"]}
    return defaults.get(asked.suite, ["sqlite"])


def _request(asked: argparse.Namespace, store: str, scenarios: Sequence[Scenario]) -> BenchmarkRequest:
    # Only SQLite and local files distinguish the two durabilities. Servers sync each write to disk.
    durabilities = ("power",) if asked.suite == "stores" else DURABILITIES
    return BenchmarkRequest(
        suite=asked.suite,
        scenarios=scenarios,
        store=store,
        durabilities=asked.durability or (durabilities if store == "sqlite" else ("-",)),
        sizes=asked.size,
        runs=asked.runs,
        directory=asked.directory,
        commits=asked.commits,
        namespace=asked.namespace,
        cluster=asked.cluster,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run bench", description="Measure graveler.")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument(
        "--size",
        type=int,
        action="append",
        help="number of entries (or of milliseconds, layers, histories); default: set by each scenario; repeatable",
    )
    parser.add_argument(
        "--commits", type=int, help="number of commits in scenarios that make many; default: set by each scenario"
    )
    parser.add_argument("--only", action="append", metavar="SCENARIO", help="run only this scenario; repeatable")
    parser.add_argument("--runs", type=int, help="number of runs of each scenario; default: set by each scenario")
    parser.add_argument(
        "--durability", choices=DURABILITIES, action="append", help="default: both on SQLite; repeatable"
    )
    parser.add_argument(
        "--store",
        help=f"sqlite (default), memory (default of simulation), {', '.join(SERVERS)} (starts a server), or a URL; "
        "default of stores: sqlite and each server",
    )
    parser.add_argument(
        "--directory", type=Path, help="directory for all files; default: the system's temporary directory"
    )
    parser.add_argument(
        "--namespace",
        default="",
        metavar="URI",
        help="URI below which each run stores its objects in a directory of its own; default: below --directory",
    )
    parser.add_argument(
        "--cluster",
        default="",
        metavar="MASTER",
        help="Spark master of the suite spark; default: local[1] and local[2]",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line instead of a table")
    return parser
