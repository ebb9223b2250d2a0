"""Run an action on Spark, report its progress, and cancel it if the caller is interrupted."""

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
    """Yield the rows of `action`, one per task, and call `tell` with the number of finished tasks, out of `tasks`.

    The tasks are cancelled if the wait for them ends with an exception: an interrupt, or an error of `tell`. A
    session in this process is polled for progress; a server of Spark Connect reports it every two seconds.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        yield from _on_connect(spark, action, tasks, tell)
        return
    for fetched, row in enumerate(_when_run(spark, action, tasks, tell)):
        if not fetched:  # without adaptive execution, the tasks run only now
            tell(tasks)
        yield row


class _Heard:
    """Handler of progress reports from a server, for the stage with `tasks` tasks, while one thread waits for the first
    row.

    Handlers belong to the session, so they also receive the progress of other threads.
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
    heard = cast("ProgressHandler", _Heard(tasks, tell))  # Spark wants a subclass, but only calls it
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
        with suppress(Exception):  # an unreachable server was reported already
            spark.interruptTag(tag)
        raise


def _when_run(spark: SparkSession, action: Callable[[], R], tasks: int, tell: Callable[[int], None]) -> R:
    """Run `action` in a new thread when the tasks of its stage have finished, and return its result."""
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
    """Return the number of finished tasks of the stage with `tasks` tasks."""
    tracker = spark.sparkContext.statusTracker()
    found = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in found if job is not None for stage in job.stageIds]
    return max((s.numCompletedTasks for s in stages if s is not None and s.numTasks == tasks), default=0)
