"""The judge of lifecycles finds what it is there to find, and lets pass what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import RepositoryState
from graveler_core.model.entry import Entry
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from tests.proofs.processes.journal import NEVER, Operation
from tests.proofs.processes.lifecycle_actor import COMMITTED, SOURCE, STAGED, moved, opened
from tests.proofs.processes.lifecycle_judge import LifecycleJudge, leftovers

NAME = "ann"


def birth(uid: str, began: int, ended: int, outcome: str = "done", verb: str = "create") -> Operation:
    actor = f"{verb}-{uid}"
    return Operation(actor, 0, verb, {"name": NAME, "mark": f"mark of {uid}"}, began, ended, outcome, uid)


def death(began: int, ended: int, outcome: str = "done") -> Operation:
    return Operation(f"d-{began}", 0, "delete", {"name": NAME}, began, ended, outcome)


FIRST, SECOND = birth("one", 10, 20), birth("two", 50, 60)


@pytest.mark.parametrize(
    ("operations", "allowed"),
    [
        ([FIRST], True),
        ([FIRST, SECOND], False),
        ([FIRST, death(30, 40), SECOND], True),
        ([FIRST, death(30, NEVER, "unknown"), SECOND], True),
        ([FIRST, death(30, 40, "refused"), SECOND], False),
        ([FIRST, death(70, 80), SECOND], False),
        ([FIRST, birth("two", 50, 60, "unknown")], True),
        ([FIRST, death(30, 40), birth("one", 50, 60, verb="undelete")], True),
        ([FIRST, birth("one", 50, 60, verb="undelete")], False),
    ],
)
def test_two_births_of_a_name_have_a_death_between_them(operations: list[Operation], allowed: bool) -> None:
    assert (not list(LifecycleJudge(operations).births_alternate())) is allowed


@pytest.mark.parametrize(
    ("operations", "uid", "allowed"),
    [
        ([FIRST], "one", True),
        ([FIRST], None, False),
        ([FIRST], "other", False),
        ([FIRST, death(30, 40)], None, True),
        ([FIRST, death(30, 40)], "one", False),
        ([FIRST, death(30, NEVER, "unknown")], "one", True),
        ([FIRST, death(30, NEVER, "unknown")], None, True),
        ([FIRST, death(30, 40, "refused")], None, False),
        ([birth("one", 10, NEVER, "unknown")], "any", True),
        ([FIRST, death(30, 40), SECOND], "two", True),
        ([FIRST, death(30, 40), SECOND], None, False),
    ],
)
def test_what_stands_was_created_and_not_deleted(operations: list[Operation], uid: str | None, allowed: bool) -> None:
    assert (not list(LifecycleJudge(operations).standing(NAME, uid))) is allowed


def test_an_operation_without_an_end_was_over_when_its_actor_went_on() -> None:
    killed = Operation("d0", 0, "delete", {"name": NAME}, 5, NEVER, "unknown")
    later = Operation("d0", 1, "delete", {"name": "bob"}, 8, 9, "done")
    assert list(LifecycleJudge([killed, later, FIRST]).standing(NAME, None))
    assert not list(LifecycleJudge([killed, FIRST]).standing(NAME, None))


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with closing(opened(f"sqlite:///{tmp_path}/kv.db?durability=process", tmp_path)) as made:
        yield made


def filled(stores: Stores, home: Path) -> list[Operation]:
    """A repository as a creator leaves it, and what the journal says of it."""
    made = Graveler(stores).create_repository(NAME, (home / "objects/ann").as_uri(), committer="mark")
    main = made.branch("main")
    main.put(COMMITTED, b"mark")
    main.commit("fill")
    main.stage(STAGED, Entry(address="data/x", size=1, checksum="mark"))
    said = {"name": NAME, "mark": "mark"}
    return [
        Operation("n0", 0, "create", said, 1, 2, "done", made.uid),
        Operation("n0", 1, "fill", said, 3, 4, "done", made.uid),
    ]


@pytest.mark.parametrize("harm", ["", "staged is lost", "another value", "a commit is lost", "begun by nobody"])
def test_what_was_filled_is_whole(stores: Stores, tmp_path: Path, harm: str) -> None:
    operations = filled(stores, tmp_path)
    repository = Graveler(stores).repository(NAME)
    main = repository.branch("main")
    if harm == "staged is lost":
        main.reset(STAGED)
    elif harm == "another value":
        main.stage(STAGED, Entry(address="data/x", size=1, checksum="of another"))
    elif harm == "a commit is lost":
        main.reset()
        main.hard_reset("main~1")
        main.stage(STAGED, Entry(address="data/x", size=1, checksum="mark"))
    elif harm == "begun by nobody":
        operations = operations[1:]
    assert bool(list(LifecycleJudge(operations).content(repository))) is bool(harm)


@pytest.mark.parametrize(("began", "ended", "allowed"), [(1, 2, True), (1, NEVER, True), (3, 4, False)])
def test_a_value_may_be_that_of_a_creator_who_was_late(
    stores: Stores, tmp_path: Path, began: int, ended: int, allowed: bool
) -> None:
    """It was filling an earlier repository of the name when this one was created."""
    operations = filled(stores, tmp_path)
    repository = Graveler(stores).repository(NAME)
    repository.branch("main").put(COMMITTED, b"late")
    said = {"name": NAME, "mark": "late"}
    late = Operation("n1", 0, "fill", said, began, ended, "refused", "uid of the earlier one")
    assert (not list(LifecycleJudge([*operations, late]).content(repository))) is allowed


@pytest.mark.parametrize("harm", ["", "another head", "no tag"])
def test_what_was_moved_is_what_its_source_was(stores: Stores, tmp_path: Path, harm: str) -> None:
    graveler = Graveler(stores)
    graveler.create_repository(SOURCE, (tmp_path / "objects" / SOURCE).as_uri())
    head = moved(graveler, tmp_path / "objects", 0)
    target = graveler.repository("moved-0")
    if harm == "another head":
        target.branch("main").put("more", b"x")
        target.branch("main").commit("more")
    elif harm == "no tag":
        target.delete_tag("moved-0")
        target.create_tag("moved-0", "main~1")
    move = Operation("m0", 0, "move", {"name": "moved-0"}, 1, 2, "done", head)
    assert bool(list(LifecycleJudge([move]).moves(graveler))) is bool(harm)


def test_leftovers_of_every_kind_are_seen(stores: Stores, tmp_path: Path) -> None:
    filled(stores, tmp_path)
    graveler, kv = Graveler(stores), stores.kv
    held = repositories.find(kv, RepositoryId(NAME))
    assert held is not None
    own = keys.partition(held.value)
    assert not list(leftovers(stores, [own]))
    assert list(leftovers(stores, [own, b"ann-of-before"])) == ["partition b'ann-of-before'"]
    initial = held.value.model_copy(update={"state": RepositoryState.INITIAL})
    access.write(kv, keys.repository(RepositoryId(NAME)), initial)
    assert list(leftovers(stores, [own])) == ["ann is initial"]
    access.write(kv, keys.repository(RepositoryId(NAME)), held.value.model_copy(update={"uid": RepositoryUid("new")}))
    assert any(found.startswith("claims") for found in leftovers(stores, []))
    access.write(kv, keys.repository(RepositoryId(NAME)), held.value)
    graveler.delete_repository(NAME)
    found = list(leftovers(stores, [own]))
    assert [what.split()[0] for what in found] == ["entry", "claims", "partition"]
