"""Doing something on Spark while telling how far it is, and ending it when whoever waits is interrupted."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.util import inheritable_thread_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

R = TypeVar("R")
_POLL_SECONDS: Final = 0.5


def watched(spark: SparkSession, action: Callable[[], R], tasks: int, tell: Callable[[int], None]) -> R:
    """Run `action` on a thread of its own, and tell how many of its stage's tasks, `tasks` in all, are done.

    Spark Connect does not say before the end. Where waiting ends with an exception (an interrupt, or one of `tell`),
    the jobs of `action` are cancelled.
    """
    kind = _ConnectJobs if type(spark).__module__.startswith("pyspark.sql.connect") else _ClassicJobs
    jobs = kind(spark, f"graveler-{uuid.uuid4().hex}")

    def run() -> R:
        jobs.begin()
        return action()

    with ThreadPoolExecutor(1, thread_name_prefix="graveler-spark") as pool:
        running: Future[R] = pool.submit(inheritable_thread_target(spark)(run))
        try:
            while not wait([running], timeout=_POLL_SECONDS).done:
                tell(jobs.done(tasks))
            result = running.result()
        except BaseException:
            jobs.cancel()
            raise
    tell(tasks)
    return result


@dataclass(frozen=True, slots=True)
class _ClassicJobs:
    """A group of jobs of a session in this process."""

    spark: SparkSession
    name: str

    def begin(self) -> None:
        self.spark.sparkContext.setJobGroup(self.name, "graveler")

    def done(self, tasks: int) -> int:
        tracker = self.spark.sparkContext.statusTracker()
        found = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.name)]
        stages = [tracker.getStageInfo(stage) for job in found if job is not None for stage in job.stageIds]
        return max((s.numCompletedTasks for s in stages if s is not None and s.numTasks == tasks), default=0)

    def cancel(self) -> None:
        self.spark.sparkContext.cancelJobGroup(self.name)


@dataclass(frozen=True, slots=True)
class _ConnectJobs:
    """What a session on a server elsewhere does under a tag."""

    spark: SparkSession
    name: str

    def begin(self) -> None:
        self.spark.addTag(self.name)

    def done(self, tasks: int) -> int:
        return 0

    def cancel(self) -> None:
        self.spark.interruptTag(self.name)
