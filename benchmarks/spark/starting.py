"""Start-up time of a Spark session and its first workers, and the minimum time of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from pyspark.sql import SparkSession

from benchmarks.scenario import Measured, Place, scenario
from benchmarks.spark.engines import Engine, connected, engines, filled, in_a_process, session, stage_numbers, warm_up
from benchmarks.spark.processes import Spent, spent
from graveler_core.facade.repository import Repository

_NEXT = ("next-1", "next-2", "next-3")


def staged_little(place: Place) -> None:
    """Create repositories with several branches, each with staged entries."""

    def fill(repo: Repository) -> None:
        for name in _NEXT:
            stage_numbers(repo.create_branch(name, source="main"), place.size)

    filled(place, fill)


@scenario("spark", staged_little, sizes=(10_000,))
def start(place: Place) -> Iterator[Measured]:
    """Start a session, make the first commit with 16 tasks, and then commits with two tasks."""
    for engine in engines(place)[1:]:
        for name, taken in in_a_process(_begun, engine, place):
            yield from taken.rows(f"{name}, {engine.name}")


def _begun(engine: Engine, place: Place) -> list[tuple[str, Spent]]:
    own = engine.place(place)
    with ExitStack() as stack:
        sessions = list[SparkSession]()
        begun = spent(lambda: sessions.append(stack.enter_context(session(engine.master))))
        spark, application = sessions[0], sessions[0].sparkContext.applicationId
        found = [("session", begun), ("first commit", spent(lambda: warm_up(own, spark), application))]
        with connected(own, spark) as g:
            for name in _NEXT:
                branch = own.repo(g).branch(name)
                found.append(("next commit", spent(partial(branch.commit, "Next"), application)))
        return found
