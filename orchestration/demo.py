"""`./run demo`: runs the main job on real data, as a user would.

    python -m orchestration.demo [--months N] [--spark-from ROWS] [--store URL]

The demo creates `.graveler/` in the working directory, publishes real flights through the real job, and shows the
result: history, diffs, time travel, a broken delivery that never reaches `main`, a commit and a merge on Spark, and an
import without copying. When it is called again, it publishes a later edition of a month.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestration import local
from orchestration.assets.flights import MONTHS
from orchestration.progress import JobRequest, committing, failed_checks, importing, merging, publication, run_job

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository

REPOSITORY = "flights"
MAIN = "main"
SHOWN_TABLE = "cleaned_flights"
TIMETABLE = "timetable"
SMALL: dict[str, Any] = {"url": {"env": "GRAVELER_STORE"}, "threshold": 10_000, "rows_per_task": 10_000}
"""Configuration of the resource `graveler` with low thresholds, so that Spark is used for little data."""


@dataclass(frozen=True, slots=True)
class Demo:
    """Objects shared by the chapters of the demo."""

    installation: local.Installation
    instance: dg.DagsterInstance
    console: Console
    months: tuple[str, ...]
    spark_from: int

    def open(self) -> Graveler:
        """Open a handle of the store."""
        from graveler_core import connect

        return connect(self.installation.store)

    def repository(self) -> Repository | None:
        """Return the repository, or `None` before the first run."""
        from graveler_core.errors import NotFound

        try:
            return self.open().repository(REPOSITORY)
        except NotFound:
            return None


def publications(demo: Demo) -> list[JobRequest]:
    """Return the publications of this call: the months that `main` lacks, the last of them separately. If it lacks
    none, return a later edition of one month.
    """
    from orchestration.assets.flights import DIRECTORIES

    repository = demo.repository()
    paths = [e.path for e in repository.at(MAIN).list(f"{SHOWN_TABLE}/")] if repository else []
    missing = sorted(set(demo.months) - {path.split("/")[1].removeprefix(f"{DIRECTORIES}=") for path in paths})
    if repository is not None and not missing:
        edition = sum(1 for _ in repository.log(MAIN, first_parent=True))
        month = demo.months[edition % len(demo.months)]
        return [publication(month, month, f"Flights of {month}, edition {edition}", {"correction": edition})]
    *earlier, last = missing
    requests = [publication(last, last, f"Flights of {last}", {})]
    if earlier:
        what = earlier[0] if len(earlier) == 1 else f"{earlier[0]} to {earlier[-1]}"
        requests.insert(0, publication(earlier[0], earlier[-1], f"Flights of {what}", {}))
    return requests


def publish(demo: Demo, request: JobRequest) -> None:
    """Run the job. It must succeed."""
    demo.console.rule(f"[bold]Publish: {escape(request.message)}", align="left")
    run = run_job(demo.instance, request, demo.console)
    if not run.is_success:
        raise SystemExit(f"the run {run.run_id} failed: ./run ui shows why")


def show_history(demo: Demo, repository: Repository) -> None:
    """Show the log of `main`, along first parents."""
    demo.console.rule("[bold]The log of main", align="left")
    table = Table(box=None, header_style="dim")
    for name in ("commit", "by", "when", "message"):
        table.add_column(name)
    for commit in repository.log(MAIN, first_parent=True, limit=6):
        when = commit.creation_date.strftime("%Y-%m-%d %H:%M:%S")
        table.add_row(f"[yellow]{commit.id[:12]}[/]", escape(commit.committer), when, escape(commit.message))
    demo.console.print(table)


def show_diff(demo: Demo, repository: Repository) -> None:
    """Show the changes of the last publication."""
    demo.console.rule("[bold]What the last publication changed: diff main~1 main", align="left")
    colours = {"added": "green", "changed": "yellow", "removed": "red"}
    for change in repository.diff(f"{MAIN}~1", MAIN):
        size = change.after.size if change.after else 0
        kind = f"[{colours[change.kind]}]{change.kind:<8}[/]"
        demo.console.print(f"  {kind} {escape(change.path)}  [dim]{size:,} bytes[/]", highlight=False)


def show_time_travel(demo: Demo, repository: Repository) -> None:
    """Ask the same table the same question at two commits."""
    import polars as pl

    from orchestration.display.tables import read_small_table

    demo.console.rule("[bold]Time travel: the same query at two commits", align="left")
    table = Table(box=None, header_style="dim")
    table.add_column("at")
    for name in ("flights", "cancelled", "arrival delays, total minutes"):
        table.add_column(name, justify="right")
    for ref in (f"{MAIN}~1", MAIN):
        rows = read_small_table(repository.at(ref), SHOWN_TABLE)
        if rows.is_empty():
            table.add_row(ref, "0", "0", "0")
            continue
        totals = rows.select(pl.len(), pl.col("cancelled").sum(), pl.col("arr_delay").sum()).row(0)
        table.add_row(ref, *(f"{value:,.0f}" for value in totals))
    demo.console.print(table)


def show_bad_batch(demo: Demo, repository: Repository, month: str) -> None:
    """Publish a broken delivery: the checks hold it back, `main` does not move, and the branch stays for inspection."""
    demo.console.rule("[bold]A broken delivery: flights given twice, absurd delays", align="left")
    before = repository.at(MAIN).commit_id
    request = publication(month, month, f"Flights of {month}, broken", {"spoil": True})
    run = run_job(demo.instance, request, demo.console)
    failed = failed_checks(demo.instance, run)
    if run.is_success or not failed or repository.at(MAIN).commit_id != before:
        raise SystemExit("the broken delivery was not held back: that is a bug")
    found = {name: value.value for name, value in failed[0].metadata.items()}
    rows, keys, most = found["rows"], found["distinct_keys"], found["most"]
    demo.console.print(f"  {rows:,} rows, {keys:,} different keys; delays up to {most:,.0f} minutes", highlight=False)
    branch = next(b.id for b in repository.branches() if b.id == f"run-{run.run_id[:13]}")
    demo.console.print(f"  main is where it was, at [yellow]{before[:12]}[/].", highlight=False)
    demo.console.print(f"  The batch stays on branch [cyan]{branch}[/], for people to look at.", highlight=False)


def show_spark(demo: Demo, repository: Repository, month: str) -> None:
    """Commit and merge as many changes as a month has flights, with a threshold that runs them on Spark."""
    from graveler_core.errors import NotUnique
    from orchestration.assets.flights import DIRECTORIES
    from orchestration.display.tables import read_small_table

    demo.console.rule(f"[bold]Many changes: each flight of {month} an entry of its own", align="left")
    entries = one_by_one(read_small_table(repository.at(MAIN), f"{SHOWN_TABLE}/{DIRECTORIES}={month}"))
    with demo.open() as graveler:
        with suppress(NotUnique):
            graveler.create_repository(TIMETABLE, f"{demo.installation.data}/{TIMETABLE}")
        timetable = graveler.repository(TIMETABLE)
        with suppress(NotUnique):
            timetable.create_branch(month, source=MAIN)
        timetable.branch(month).stage_many(entries)
    demo.console.print(f"  {entries.num_rows:,} staged on branch {month} of {TIMETABLE}", highlight=False)
    what: dict[str, Any] = {"repository": TIMETABLE, "message": f"Each flight of {month}"}
    steps = {"commit": (committing, {"branch": month}), "merge": (merging, {"source": month, "into": MAIN})}
    for op, (job, where) in steps.items():
        config = {"ops": {op: {"config": {**what, **where}}}, "resources": {"graveler": {"config": SMALL}}}
        run = run_job(demo.instance, JobRequest(job, config=config), demo.console)
        if not run.is_success:
            raise SystemExit(f"the run {run.run_id} failed: ./run ui shows why")
    demo.console.print(
        f"  Spark from {SMALL['threshold']:,} changes on, for these two; elsewhere from {demo.spark_from:,}.",
        highlight=False,
    )


def one_by_one(flights: pl.DataFrame) -> pa.Table:
    """Return each row of `cleaned_flights` as an entry: airport, day and flight are its path, the row as JSON is its
    content.
    """
    import polars as pl

    key = pl.format("{}/{}/{}{}-{}", "origin", "flight_date", "carrier", "flight", "sched_dep_time")
    row = pl.struct(pl.all()).struct.json_encode().cast(pl.Binary)
    return flights.select(key=key, data=row).to_arrow(compat_level=pl.CompatLevel.oldest())


def show_import(demo: Demo, repository: Repository) -> None:
    """Import existing files into `main` without copying them."""
    from jobs.nycflights import reference_files

    incoming = demo.installation.incoming
    demo.console.rule("[bold]Import: what was delivered stays where it is", align="left")
    for file in reference_files():
        if not (incoming / file.name).exists():
            shutil.copy(file, incoming / file.name)
    run = run_job(demo.instance, JobRequest(importing), demo.console)
    if not run.is_success:
        raise SystemExit(f"the run {run.run_id} failed: ./run ui shows why")
    for entry in repository.at(MAIN).list("incoming/"):
        demo.console.print(f"  {escape(entry.path)}", highlight=False)


def show_next(demo: Demo) -> None:
    """Show the next steps."""
    cli = Path(sys.executable).with_name("graveler")
    shown = cli.relative_to(Path.cwd()) if cli.is_relative_to(Path.cwd()) else cli
    demo.console.rule("[bold]Where to look next", align="left")
    if demo.installation.other_store:
        demo.console.print("  Give ./run ui and these commands the same --store.", highlight=False)
    demo.console.print("  ./run ui   the runs, checks, tables and plots in the Dagster UI", highlight=False)
    for command in ("log graveler://flights/main", "ls graveler://flights/main/", "branch list graveler://flights"):
        demo.console.print(f"  {shown} {command}", highlight=False)
    demo.console.print("  ./run demo again: it publishes a later edition of a month", highlight=False)


def main(arguments: list[str] | None = None) -> None:
    """Run all chapters."""
    parser = argparse.ArgumentParser(prog="./run demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--months", type=int, default=12, choices=range(1, 13), help="number of months to publish (default 12)"
    )
    local.add_spark_from(parser)
    local.add_store(parser)
    options = parser.parse_args(arguments)

    installation = local.here(options.store)
    installation.enter(options.spark_from)
    console = _console()
    console.print("Git for data, on the flights that left New York in 2013.")
    console.print(f"[dim]Everything goes to {escape(str(installation.root))}[/]", highlight=False, soft_wrap=True)
    _send_errors_to(installation.root / "demo.log")
    instance = dg.DagsterInstance.get()
    months = tuple(MONTHS.get_partition_keys()[: options.months])
    demo = Demo(installation, instance, console, months, options.spark_from)

    for request in publications(demo):
        publish(demo, request)
    repository = demo.repository()
    if repository is None:
        raise SystemExit("nothing was published: that is a bug")
    show_history(demo, repository)
    show_diff(demo, repository)
    show_time_travel(demo, repository)
    show_bad_batch(demo, repository, demo.months[-1])
    show_spark(demo, repository, demo.months[0])
    show_import(demo, repository)
    show_next(demo)


def _console() -> Console:
    """Return a console on a descriptor that Dagster does not capture while steps run."""
    return Console(file=open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, buffering=1))


def _send_errors_to(log: Path) -> None:
    """Redirect descriptor 2, which the JVM inherits, to a file, so that messages of Spark and Dagster do not mix with
    the output.
    """
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main()
