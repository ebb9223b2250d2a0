"""Drivers that are killed at any moment and run again under the same key: one commit; what is left is collected."""

from __future__ import annotations

import pytest

from graveler_core.gc.findings import Thing
from tests.graveler.spark.cluster.conftest import Driver, Drivers
from tests.graveler.spark.cluster.lakes import Lake, collected, left, wrong

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]

COMMIT = ["at work: applying", "applying.2", "before swap", "after swap"]
MERGE = ["at work: judging", "applying.0", "before swap", "after swap"]


def killed(drivers: Drivers, verb: str, moment: str) -> None:
    """A driver that died at a moment."""
    marks = drivers.marks()
    _, at_work, stage = moment.partition("at work: ")
    if not at_work:
        drivers.start(verb, dies=moment).died()
        return
    marks.hold("before", stage, 1)
    driver = drivers.start(verb)
    driver.until(lambda: bool(marks.attempts(stage, 1)), f"a worker is at {stage}")
    driver.process.kill()
    driver.died()


def again(drivers: Drivers, verb: str, after_swap: bool) -> Driver:
    """A second run under the key, which has work to do if the first one made nothing visible."""
    driver = drivers.start(verb)
    assert driver.ended()["engine"] == ("local" if after_swap else "spark")
    return driver


@pytest.mark.parametrize("moment", COMMIT)
def test_within_a_commit(lake: Lake, drivers: Drivers, moment: str) -> None:
    """Others stage meanwhile: it goes into the commit that is yet to be made, or stays staged on the one that was."""
    lake.begun().staged()
    done = moment == "after swap"
    killed(drivers, "commit", moment)
    if done:
        lake.expected("commit")
    lake.staged(seed=5, rows=1_500)
    again(drivers, "commit", done)
    if not done:
        lake.expected("commit")
    _judge(lake, moment)


@pytest.mark.parametrize("moment", MERGE)
def test_within_a_merge(lake: Lake, drivers: Drivers, moment: str) -> None:
    """Others commit to the source meanwhile; it is merged if the first merge made nothing visible."""
    lake.begun().diverged()
    done = moment == "after swap"
    killed(drivers, "merge", moment)
    if done:
        lake.expected("merge")
    lake.committed_there()
    again(drivers, "merge", done)
    if not done:
        lake.expected("merge")
    _judge(lake, moment)


def _judge(lake: Lake, moment: str) -> None:
    """What a driver wrote of a tree goes when it is old. A commit is written together with the swap that puts it on the
    branch, so none is left."""
    written = moment.startswith("applying.")
    assert not list(wrong(lake))
    assert Thing.COMMIT not in {finding.thing for finding in left(lake.spark)}
    young = lake.spark.sweep()
    assert (young.blobs, young.objects) == (0, 0)
    assert young.young or not written
    assert collected(lake) >= written
    assert not list(wrong(lake))
    assert not left(lake.spark)
