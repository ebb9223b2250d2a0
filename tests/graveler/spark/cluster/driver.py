"""A driver: one commit or merge on a cluster, in a process of its own that may be killed, or kills itself.

`python -m tests.graveler.spark.cluster.driver ORDERS`, a JSON object. Prints the commit's id and the
engine that did the work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from graveler.spark import cluster as fetching
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.report import Report
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.stores import Turns
from graveler_core.wiring.opening import open_stores
from tests.graveler.spark.cluster.marks import Marked, Marks, die

T = TypeVar("T")
BRANCH, SOURCE = "main", "dev"
REPOSITORY = "spark"
TASK_ROWS = 20_000
"""Rows of a task, as far as it can be cut: a commit of `lakes.ROWS` is four."""


@dataclass(frozen=True)
class Orders:
    """What a driver does."""

    store: str
    master: str
    marks: str
    """The directory of its marks."""
    verb: str
    """`commit` or `merge`."""
    key: str
    """The call's idempotency key."""
    dies: str = ""
    """Where it kills itself: `<stage>.<task>`, or `before swap`, `after swap`."""
    turns: bool = True
    """Whether it takes turns with others."""
    marked: bool = True
    """Whether its workers mark what they do; they need the tests for that."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of its Spark session, besides those that all have."""

    def text(self) -> str:
        return json.dumps(asdict(self))


class Dying(Passing):
    """A store whose process dies around the swap that makes its verb visible: the first one of the branch's record
    after the tasks of its tree were handed over."""

    def __init__(self, inner: Store, orders: Orders) -> None:
        super().__init__(inner)
        self._moment, self._handed = orders.dies, Path(orders.marks) / "handed.applying.0"

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        branch = call.verb in ("set_if", "write_and_swap") and call.key.endswith(f"branches/{BRANCH}".encode())
        if not branch or not self._handed.exists():
            return work()
        if self._moment == "before swap":
            die()
        done = work()
        if self._moment == "after swap":
            die()
        return done


def session(orders: Orders) -> SparkSession:
    builder = SparkSession.builder.master(orders.master).appName(orders.key)
    small = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    settings = {
        "spark.driver.extraJavaOptions": small,
        "spark.executor.extraJavaOptions": small,
        "spark.sql.codegen.wholeStage": "false",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        **orders.settings,
    }
    return builder.config(map=settings).getOrCreate()


def run(orders: Orders) -> dict[str, object]:
    """Do what was ordered; a session is begun when there is work for one."""
    fetching._AT_ONCE = 1  # so that some results are fetched when others have been handed over
    report = Report()
    spark = SparkCluster(lambda: session(orders), Connection(orders.store), TASK_ROWS, 2 * TASK_ROWS, report)
    stores = open_stores(orders.store)
    stores = replace(
        stores,
        kv=Dying(stores.kv, orders),
        turns=stores.turns if orders.turns else Turns(),
        cluster=Marked(spark, Marks(Path(orders.marks)), orders.dies) if orders.marked else spark,
    )
    with Graveler(stores) as graveler:
        lake = graveler.repository(REPOSITORY)
        (Path(orders.marks) / "began").touch()
        if orders.verb == "commit":
            made = lake.branch(BRANCH).commit("The one", idempotency_key=orders.key)
        else:
            made = lake.merge(SOURCE, BRANCH, message="The one", idempotency_key=orders.key)
    return {"id": made.id, **report.facts()}


if __name__ == "__main__":
    print(json.dumps(run(Orders(**json.loads(sys.argv[1])))))
