"""Doing something on Spark while telling how far it is, and ending it when whoever waits is interrupted."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, cast

from pyspark.util import inheritable_thread_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

R = TypeVar("R")
_POLL_SECONDS: Final = 0.5


def watched(
    spark: SparkSession, action: Callable[[], Iterator[R]], tasks: int, tell: Callable[[int], None]
) -> Iterator[R]:
    """What `action` fetches, a row a task; on the way `tell` is given how many of the tasks, `tasks` in all, are done.

    The tasks are cancelled where waiting for them ends with an exception: an interrupt, or one of `tell`. A session in
    this process is asked how far they are, a server of Spark Connect tells it every two seconds.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        yield from _on_connect(spark, action, tasks, tell)
        return
    for fetched, row in enumerate(_when_run(spark, action, tasks, tell)):
        if not fetched:  # without adaptive execution the tasks run only now
            tell(tasks)
        yield row


class _Heard:
    """What a server tells of the stage that has so many tasks, while one thread waits for the first row.

    Handlers belong to the session: they also hear of what other threads wait for.
    """

    def __init__(self, tasks: int, tell: Callable[[int], None]) -> None:
        self._tasks, self._tell, self._thread = tasks, tell, threading.get_ident()

    def __call__(self, stages: Iterable[StageInfo] | None, done: bool, **_: object) -> None:
        if not done and threading.get_ident() == self._thread:
            ended = [stage.num_completed_tasks for stage in stages or () if stage.num_tasks == self._tasks]
            self._tell(max(ended, default=0))


def _on_connect(
    spark: SparkSession, action: Callable[[], Iterator[R]], tasks: int, tell: Callable[[int], None]
) -> Iterator[R]:
    tag = f"graveler-{uuid.uuid4().hex}"
    heard = cast("ProgressHandler", _Heard(tasks, tell))  # of which Spark wants subclasses, but only calls them
    try:
        spark.addTag(tag)
        spark.registerProgressHandler(heard)
        try:
            rows = action()
            first = list(islice(rows, 1))  # only this sends the request, with the tags of the thread
        finally:
            spark.removeProgressHandler(heard)
            spark.removeTag(tag)
        tell(tasks)
        yield from first
        yield from rows
    except BaseException:
        with suppress(Exception):  # a server that is away has said so already
            spark.interruptTag(tag)
        raise


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
