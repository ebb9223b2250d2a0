"""Repositories, branches and tags: making, finding, listing and deleting them."""

from __future__ import annotations

from itertools import count

from tests.unit.engine.budgets.costs import Act, Cost, costs
from tests.unit.engine.budgets.measured import Measured
from tests.unit.engine.world import entry

_places = count()


@costs("create a branch", Cost((5, 0), (6, 0)))
def create_branch(m: Measured) -> Act:
    return lambda: m.repo.create_branch("new", "main")


@costs("delete a branch", Cost((4, 1), (7, 2)))
def delete_branch(m: Measured) -> Act:
    m.dev.stage("a", entry(1))
    return lambda: m.repo.delete_branch("dev")


@costs("a branch by name", Cost((2, 0), (2, 0)))
def branch(m: Measured) -> Act:
    return lambda: m.repo.branch("main")


@costs("page of branches or tags", Cost((1, 1), (1, 1)))
def branches(m: Measured) -> Act:
    return lambda: list(m.repo.branches())


@costs("create a tag", Cost((5, 0), (6, 0)))
def create_tag(m: Measured) -> Act:
    return lambda: m.repo.create_tag("v1", "main")


@costs("delete a tag", Cost((4, 0), (5, 0)))
def delete_tag(m: Measured) -> Act:
    m.unseen.create_tag("v1", "main")
    return lambda: m.repo.delete_tag("v1")


@costs("create a repository", Cost((6, 1), (7, 1), writes="1 node, 1 owner file, 1 namespace listed"))
def create_repository(m: Measured) -> Act:
    # Measured worlds share their objects.
    place = m.world.namespace(f"other-{next(_places)}")
    return lambda: m.graveler.create_repository("other", place, ephemeral=True)


@costs("a repository by name", Cost((1, 0), (1, 0)))
def repository(m: Measured) -> Act:
    return lambda: m.graveler.repository("repo")


@costs("page of repositories", Cost((0, 1), (0, 1)))
def repositories(m: Measured) -> Act:
    return lambda: list(m.graveler.list_repositories())


@costs("delete a repository", Cost((5, 0), (5, 0)))
def delete_repository(m: Measured) -> Act:
    return lambda: m.graveler.delete_repository("repo")
