"""Conditional writes while another flow changes the same path: both are never acknowledged, in every order of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from graveler_core.errors import Conflict, DirtyBranch, OutcomeUnknown, PredicateFailed
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry

PATH = "d/a"
Act = Callable[[World, Branch], object]


def put(world: World, name: str) -> None:
    """Put the path by a transaction, over the entry that the head has."""
    repository = world.graveler().repository("repo")
    head = [held for held in repository.at(f"{name}@").list(PATH) if isinstance(held, Entry)]
    repository.branch(name).transact([Put(PATH, entry(2), head[0] if head else None)], message="put")


def merged(world: World, branch: Branch) -> None:
    world.graveler().repository("repo").merge("dev", "main", message="merge")


def imported(world: World, branch: Branch) -> None:
    world.graveler().repository("repo").import_prefix(lake({"a": b"theirs"}), "main", "d", message="import")


ACTS: dict[str, Act] = {
    "transaction": lambda world, branch: put(world, "main"),
    "merge": merged,
    "import": imported,
    "bulk write": lambda world, branch: branch.stage_many(table({PATH: 2})),
    "bulk removal": lambda world, branch: branch.remove_many([PATH, *(f"no/{n:03}" for n in range(100))]),
    "removal of a prefix": lambda world, branch: branch.remove_prefix("d/"),
}
STATES = ["nothing", "in the head", "staged", "sealed", "compacted"]
"""States of the path before the write."""
AFTER: dict[str, Act | None] = {
    "": None,
    "then a commit": lambda world, branch: branch.commit("after", allow_empty=True),
    "then another commit": lambda world, branch: branch.transact([Put("other", entry(5))], message="other"),
    "then a compaction": lambda world, branch: compacted(branch),
}


def compacted(branch: Branch) -> None:
    branch.stage("more", entry(6))
    branch.compact()


def begun(state: str) -> tuple[World, Entry | None]:
    """A world with the path in a state, and a branch `dev` that changes the path if it can be merged."""
    world = World()
    repository = world.repository()
    branch = world.branch()
    expected = None if state == "nothing" else branch.stage(PATH, entry(7))
    if state == "in the head":
        branch.commit("seven")
    elif state == "compacted":
        branch.compact()
    elif state == "sealed":
        branch.remove_prefix("q/")
    repository.create_branch("dev", "main")
    put(world, "dev")
    return world, expected


def shown(world: World) -> bytes | None:
    return next((item.identity for item in world.branch().list(PATH)), None)


def acknowledged(call: Callable[[], object]) -> bool:
    try:
        call()
    except (Conflict, DirtyBranch):
        return False
    return True


def numbers(state: str) -> int:
    """Number of calls of a conditional write that nobody disturbs."""
    world, expected = begun(state)
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    mine.get(PATH) if expected else None
    kv.reset()
    mine.stage_if(PATH, entry(1), expected)
    return len(kv.verbs)


def orders(state: str, after: Act | None) -> Iterator[tuple[int, int]]:
    """Calls before which the act comes, and what comes after it."""
    most = numbers(state)
    for act in range(most):
        yield from ((act, act + more) for more in range(4 if after else 1))


CASES = [(state, act, "") for state in STATES for act in ACTS if state != "nothing" or "removal" not in act]
CASES += [
    (state, act, after) for state in ("nothing", "in the head") for act in ("transaction",) for after in AFTER if after
]
CASES += [(state, "bulk write", "then a commit") for state in ("nothing", "in the head")]


@pytest.mark.parametrize(("state", "act", "after"), CASES)
def test_a_write_is_not_acknowledged_beside_another_change_of_its_path(state: str, act: str, after: str) -> None:
    then = AFTER[after]
    begin, expected = begun(state)
    for at, later in orders(state, then):
        world = begin.fork()
        kv = Interposed(world.kv)
        mine, other = world.branch(kv), world.branch()
        mine.get(PATH) if expected else None  # what it knows of the branch grows old
        kv.reset()
        theirs: list[bool] = []

        def interfere(world: World = world, other: Branch = other, theirs: list[bool] = theirs) -> None:
            theirs.append(acknowledged(lambda: ACTS[act](world, other)))

        def follow(world: World = world, other: Branch = other) -> None:
            assert then is not None
            acknowledged(lambda: then(world, other))

        def both(interfere: Callable[[], None] = interfere, follow: Callable[[], None] = follow) -> None:
            interfere()
            if then is not None:
                follow()

        kv.before[later] = follow
        kv.before[at] = both if later == at else interfere
        try:
            made = mine.stage_if(PATH, entry(1), expected)
        except (PredicateFailed, OutcomeUnknown):
            assert theirs == [True], (at, later)
        else:
            assert theirs == [False], (at, later)
            assert shown(world) == made.identity, (at, later)


WRITES: dict[str, Callable[[Branch], Entry]] = {
    "stage_if": lambda branch: branch.stage_if(PATH, entry(1), None),
    "stage_if over a row": lambda branch: branch.stage_if(PATH, entry(1), branch.stage(PATH, entry(7))),
    "put": lambda branch: branch.put(PATH, b"mine", if_absent=True),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_whose_branch_is_created_again_at_a_commit_with_its_entry_is_unknown(
    world: World, write: Callable[[Branch], Entry]
) -> None:
    """Nothing tells whether the condition held on the branch that was deleted."""
    world.graveler().repository("repo").create_branch("dev", "main")
    probe = world.fork()
    kv = Interposed(probe.kv)
    write(probe.branch(kv, "dev"))
    calls, after_set = len(kv.verbs), len(kv.verbs) - 1 - kv.verbs[::-1].index("set_if")
    assert calls - after_set > 1  # the closing re-read, at least
    for call in range(after_set + 1, calls):
        beside = world.fork()
        kv = Interposed(beside.kv)
        mine, repository = beside.branch(kv, "dev"), beside.graveler().repository("repo")

        def again(repository: Repository = repository) -> None:
            head = repository.branch("dev").commit("theirs").id
            repository.delete_branch("dev")
            repository.create_branch("dev", head)

        kv.before[call] = again
        with pytest.raises(OutcomeUnknown) as ended:
            write(mine)
        assert isinstance(ended.value.__cause__, PredicateFailed)
        assert not kv.before
