"""Doing something on Spark while telling how far it is, and ending it when whoever waits is interrupted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.util import inheritable_thread_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

R = TypeVar("R")
_POLL_SECONDS: Final = 0.5


def watched(
    spark: SparkSession, action: Callable[[], Iterator[R]], tasks: int, tell: Callable[[int], None]
) -> Iterator[R]:
    """What `action` fetches, a row a task; on the way `tell` is given how many of the tasks, `tasks` in all, are done.

    A session in this process is asked while the tasks run, and they are cancelled where waiting for them ends with an
    exception: an interrupt, or one of `tell`. Spark Connect says nothing of them: it is told what has been fetched.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        for fetched, row in enumerate(action(), 1):
            tell(fetched)
            yield row
        return
    for fetched, row in enumerate(_when_run(spark, action, tasks, tell)):
        if not fetched:  # without adaptive execution the tasks run only now
            tell(tasks)
        yield row


def _when_run(spark: SparkSession, action: Callable[[], R], tasks: int, tell: Callable[[int], None]) -> R:
    """What `action` gives, on a thread of its own, when the tasks of its stage have run."""
    group = f"graveler-{uuid.uuid4().hex}"

    def run() -> R:
        spark.sparkContext.setJobGroup(group, "graveler")
        return action()

    with ThreadPoolExecutor(1, thread_name_prefix="graveler-spark") as pool:
        running: Future[R] = pool.submit(inheritable_thread_target(spark)(run))
        try:
            while not wait([running], timeout=_POLL_SECONDS).done:
                tell(_tasks_done(spark, group, tasks))
            return running.result()
        except BaseException:
            spark.sparkContext.cancelJobGroup(group)
            raise


def _tasks_done(spark: SparkSession, group: str, tasks: int) -> int:
    """Of the stage that has so many of them."""
    tracker = spark.sparkContext.statusTracker()
    found = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in found if job is not None for stage in job.stageIds]
    return max((s.numCompletedTasks for s in stages if s is not None and s.numTasks == tasks), default=0)
