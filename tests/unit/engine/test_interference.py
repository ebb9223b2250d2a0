"""Before each call of a flow somebody else acts: what is seen is what one after the other would have given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest
from _pytest.mark import ParameterSet

from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, GravelerError, NoChanges, NotFound, NotUnique
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.examples import places
from tests.unit.engine.flows import FLOWS, prepared, raw, table
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry

Act = Callable[[Repository, Branch], object]
State = dict[str, object]


def again(repo: Repository, branch: Branch) -> None:
    """Delete the branch, create one of its name."""
    repo.delete_branch(branch.name)
    repo.create_branch(branch.name, "v1")


def elsewhere(repo: Repository, branch: Branch) -> None:
    """Delete the repository, create one of its name with a branch of the name."""
    g = Graveler(repo._stores)
    g.delete_repository(repo.id)
    made = g.create_repository(repo.id, f"{repo.storage_namespace}-{repo._stores.ids.fresh()}")
    if branch.name != "main":
        made.create_branch(branch.name, "main")


def commit_more(repo: Repository, branch: Branch) -> None:
    branch.stage("more", entry(7))
    branch.commit("more")


ON_A_BRANCH: dict[str, Act] = {
    "stage": lambda repo, branch: branch.stage("k", entry(5)),
    "remove": lambda repo, branch: branch.remove("x"),
    "stage few": lambda repo, branch: branch.stage_many(table({"k": 5, "p/1": 6})),
    "stage many": lambda repo, branch: branch.stage_many(table({"k": 5, "p/1": 6, "y": 7, "z": 8})),
    "remove prefix": lambda repo, branch: branch.remove_prefix("p/"),
    "reset": lambda repo, branch: branch.reset(),
    "reset prefix": lambda repo, branch: branch.reset("p/"),
    "commit": lambda repo, branch: branch.commit("m"),
    "empty commit": lambda repo, branch: branch.commit("m", allow_empty=True),
    "keyed commit": lambda repo, branch: branch.commit("m", idempotency_key="run"),
    "compact": lambda repo, branch: branch.compact(),
    "import": lambda repo, branch: repo.import_prefix(raw(), branch.name),
    "import replacing": lambda repo, branch: repo.import_prefix(raw(), branch.name, "p", mode="replace"),
    "merge": lambda repo, branch: repo.merge("dev", into=branch.name),
    "squash": lambda repo, branch: repo.merge("dev", into=branch.name, squash=True),
    "merge repeated": lambda repo, branch: repo.merge("dev", into=branch.name, replay=True),
    "hard reset": lambda repo, branch: branch.hard_reset("v1"),
    "list": lambda repo, branch: list(branch.list()),
    "branch off": lambda repo, branch: repo.create_branch("new", branch.name),
}
OTHERS: dict[str, Act] = {
    "stage": lambda repo, branch: branch.stage("other", entry(8)),
    "remove": lambda repo, branch: branch.remove("y"),
    "stage many": lambda repo, branch: branch.stage_many(table({"other": 8, "p/1": 9, "x": 10})),
    "remove prefix": lambda repo, branch: branch.remove_prefix("p/"),
    "reset": lambda repo, branch: branch.reset(),
    "reset prefix": lambda repo, branch: branch.reset("p/"),
    "commit": commit_more,
    "compact": lambda repo, branch: branch.compact(),
    "merge": lambda repo, branch: repo.merge("dev", into=branch.name, message="other"),
    "hard reset": lambda repo, branch: branch.hard_reset("v1"),
    "branch again": again,
    "repository again": elsewhere,
}


def look(world: World, name: str) -> State:
    """What a user sees of the branch."""
    repo = world.graveler().repository("repo")
    return {
        "branches": [branch.id for branch in repo.branches()],
        "staged": [(item.path, getattr(item, "size", None)) for item in repo.at(name).list()],
        "committed": [(item.path, getattr(item, "size", None)) for item in repo.at(f"{name}@").list()],
        "log": [commit.message for commit in repo.log(name)],
    }


def perform(act: Act, g: Graveler, name: str) -> GravelerError | None:
    """Do it; gives the error if there was one."""
    try:
        repo = g.repository("repo")
        act(repo, repo.branch(name))
    except (NoChanges, NotFound, NotUnique, Conflict) as e:
        return e
    return None


def one_by_one(name: str, *acts: Act) -> tuple[State, list[GravelerError | None]]:
    """What is seen after some acts in this order, and how they ended."""
    world = prepared()
    errors = [perform(act, world.graveler(), name) for act in acts]
    return look(world, name), errors


@pytest.fixture(autouse=True)
def _segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", 4)


@cache
def alone_of(name: str, other: str) -> State:
    """What is seen after the other alone."""
    return one_by_one(name, OTHERS[other])[0]


@cache
def ends_of(flow: str, name: str, other: str) -> tuple[State, State, State, bool]:
    """What is seen after the other alone, the flow first, the other first; and whether the flow, first, succeeds."""
    mine, theirs = ON_A_BRANCH[flow], OTHERS[other]
    first, (error, _) = one_by_one(name, mine, theirs)
    return alone_of(name, other), first, one_by_one(name, theirs, mine)[0], error is None


# These look first and swap later: what comes in between may count as after them although it was seen before.
COMMITS = {"commit", "empty commit", "keyed commit"}
WRITES = {"stage", "remove", "stage many", "remove prefix"}
LATER = {(flow, other) for flow in COMMITS | {"merge", "squash", "merge repeated", "hard reset"} for other in WRITES}
LATER |= {(flow, other) for flow in ("stage few", "stage many", "remove prefix", "reset prefix") for other in WRITES}
LATER |= {(flow, other) for flow in ("import", "import replacing") for other in WRITES}
LATER |= {("branch off", other) for other in OTHERS}


NEED_CLEAN = {"merge", "squash", "merge repeated", "hard reset", "import replacing"}
USUAL = {"stage", "reset prefix", "commit", "compact", "repository again"}


def cases() -> Iterator[ParameterSet]:
    """Every flow with every other on two branches; the telling ones always, the rest where there is time."""
    for flow, name, other in product(ON_A_BRANCH, ("main", "clean"), OTHERS):
        usual = other in USUAL and (name == "clean") == (flow in NEED_CLEAN) and flow != "keyed commit"
        yield pytest.param(flow, name, other, marks=() if usual else pytest.mark.slow)


@pytest.mark.parametrize(("flow", "name", "other"), list(cases()))
def test_as_if_one_after_the_other(flow: str, name: str, other: str) -> None:
    if name == "main" and other == "branch again":
        name = "dev"
    alone, first, then, succeeds = ends_of(flow, name, other)
    for number in places(50):
        world = prepared()
        kv = Interposed(world.kv)
        between: list[State] = []

        def step_in(world: World = world, between: list[State] = between) -> None:
            perform(OTHERS[other], world.graveler(), name)
            between.append(look(world, name))

        kv.before[number] = step_in
        error = perform(ON_A_BRANCH[flow], world.graveler(kv), name)
        if not between:
            break
        ends = []
        if between[0] == first or (flow, other) in LATER:
            ends += [first] if succeeds == (error is None) else []
        if between[0] == alone:
            ends.append(alone if error is not None else then)
        where = f"{flow} on {name}, {other} before call {number}: {kv.verbs}, {error!r}"
        assert between[0] in (first, alone), where
        assert look(world, name) in ends, where
    assert number > 1


def test_every_flow_is_named() -> None:
    """The flows that other tests break into are these, on one branch or another, and the ones on names."""
    assert set(FLOWS) - set(ON_A_BRANCH) == {
        "put", "remove what is staged", "create branch", "delete branch", "create tag", "delete tag",
        "create repository", "create bare", "delete repository",
    }  # fmt: skip
