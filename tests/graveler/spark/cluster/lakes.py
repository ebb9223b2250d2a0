"""Two repositories of one seed: `alone`, of the local engine in this process, and `spark`, of drivers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from graveler_core.engine.reading.view import commit_of
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Finding
from graveler_core.model.clock import SystemClock
from graveler_core.stores import Stores
from tests.graveler.spark.cluster.driver import BRANCH, REPOSITORY, SOURCE
from tests.graveler.spark.engines import OneSeed, table

ROWS = 200_000
"""Of most changes: some ranges in each task."""
THERE, HERE = range(2 * ROWS), range(2 * ROWS, 3 * ROWS)
"""What the two sides of a merge change."""
AGES = timedelta(days=8)
"""Longer than any grace."""


class Later(SystemClock):
    """The clock of a week from now."""

    def now(self) -> datetime:
        return super().now() + AGES


@dataclass(frozen=True)
class Lake:
    """Both repositories, on stores that other processes share."""

    stores: Stores
    alone: Repository
    spark: Repository

    @classmethod
    def new(cls, stores: Stores, namespace: str) -> Lake:
        """Both, empty, with their data below a namespace."""
        made = Graveler(replace(stores, ids=OneSeed()))
        alone = made.create_repository("alone", f"{namespace}/alone")
        return cls(stores, alone, made.create_repository(REPOSITORY, f"{namespace}/{REPOSITORY}"))

    @property
    def both(self) -> tuple[Repository, Repository]:
        return self.alone, self.spark

    def begun(self) -> Lake:
        """A commit on the branch, the same for both."""
        for repository in self.both:
            stage(repository.branch(BRANCH), 1, ROWS)
            repository.branch(BRANCH).commit("The first")
        return self

    def staged(self, seed: int = 2, rows: int = ROWS) -> Lake:
        """The same changes staged on both branches."""
        for repository in self.both:
            stage(repository.branch(BRANCH), seed, rows)
        return self

    def diverged(self) -> Lake:
        """Both sides changed since the first commit."""
        for repository in self.both:
            source = repository.create_branch(SOURCE, source=BRANCH)
            stage(source, 3, ROWS)
            source.commit("There")
            stage(repository.branch(BRANCH), 4, 1_500, HERE)
            repository.branch(BRANCH).commit("Here")
        return self

    def committed_there(self) -> Lake:
        """One more commit on the side that is merged."""
        for repository in self.both:
            stage(repository.branch(SOURCE), 6, 1_500)
            repository.branch(SOURCE).commit("There, later")
        return self

    def expected(self, verb: str) -> Lake:
        """What drivers are to do, done by the local engine."""
        if verb == "commit":
            self.alone.branch(BRANCH).commit("The one")
        else:
            self.alone.merge(SOURCE, BRANCH, message="The one")
        return self


def stage(branch: Branch, seed: int, rows: int, among: range = THERE) -> None:
    """Rows in bulk, and some removed one by one."""
    chance = random.Random(seed)
    branch.stage_many(table(chance.sample(among, rows), seed))
    removed = chance.sample(among, rows // 50)
    branch.remove_many([f"{number % 7}/{number:09}" for number in removed])


def wrong(lake: Lake) -> Iterator[str]:
    """What is not as it would be if the local engine had done everything, once: in words."""
    logs = (repository.log(BRANCH, first_parent=True) for repository in lake.both)
    expected, found = ([commit.message for commit in log] for log in logs)
    if found != expected:
        yield f"the commits are {found}, not {expected}"
    yield from (f"damage: {finding}" for finding in lake.spark.fsck(deep=True) if finding.damage)
    if lake.spark.at(f"{BRANCH}@").tree_id() != lake.alone.at(f"{BRANCH}@").tree_id():
        yield "another tree"
    for ref in (f"{BRANCH}@", BRANCH):
        if not lake.spark.at(ref).to_arrow().read_all().equals(lake.alone.at(ref).to_arrow().read_all()):
            yield f"{ref}: other entries"
    if _operations(lake, lake.spark) != _operations(lake, lake.alone):
        yield "other operations"


def left(repository: Repository) -> list[Finding]:
    """What is stored and named by nothing."""
    return [finding for finding in repository.fsck() if not finding.damage]


def collected(lake: Lake) -> int:
    """Clean and sweep, a week from now; gives how many objects and blobs the sweep deleted."""
    later = replace(lake.stores, clock=Later())
    graveler = Graveler(later)
    cleaned = graveler.clean(repository=REPOSITORY)
    assert not cleaned.failures
    swept = graveler.repository(REPOSITORY).sweep()
    assert not swept.rest
    return swept.blobs + swept.objects


def _operations(lake: Lake, repository: Repository) -> str:
    return commit_of(lake.stores, repository._active(), repository.commit(f"{BRANCH}@").id).header.operations
