"""Every listing of the façade, in pages of any size: each token resumes behind its page, also after removals."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import graveler_core.facade
from graveler_core.codec.records import encode
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.facade.access import Access
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.listing import Listing
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import BranchId, CommitId, RepositoryId
from graveler_core.model.migration import MigratedCommit
from graveler_core.records import layout as keys
from graveler_core.staging.write_counts import BranchLayer, Due
from graveler_core.stores import Hook, Hooks
from tests.unit.engine.world import World, entry

NAMES = [f"n{number}" for number in range(9)]
Open = Callable[[World, str], Listing[Any]]
"""The listing behind a token, opened by another process."""
Remove = Callable[[World, Sequence[Any]], object]


@dataclass(frozen=True)
class Case:
    """A listing of nine items."""

    prepare: Callable[[World], object]
    open: Open
    remove: Remove
    """Takes some items away."""
    stay: bool = False
    """What was taken away is not what the listing shows: a branch, say, of a log that goes on without it."""


def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def main(world: World) -> Branch:
    return world.branch()


def repositories(world: World) -> None:
    for name in NAMES:
        world.repository(f"repo-{name}")


def migrated(world: World) -> None:
    world.repository()
    for number, name in enumerate(NAMES):
        partition, key = _migrated_at(world, name)
        world.kv.set(partition, key, encode(MigratedCommit(commit_id=CommitId(f"{number:064x}"))))


def _migrated_at(world: World, origin: str) -> tuple[bytes, bytes]:
    where = keys.migrated_commits(repo(world)._record).at(origin)
    return where.partition, where.key


def deleted(world: World) -> None:
    repositories(world)
    for name in NAMES:
        world.graveler().delete_repository(f"repo-{name}")


def events(world: World) -> None:
    made = world.repository()
    for name in NAMES[:4]:
        made.create_branch(name, "main")
        made.delete_branch(name)
    made.create_tag(NAMES[4], "main")


def moves(world: World) -> None:
    """The newest eight of more, and the creation."""
    world.repository()
    for number in range(12):
        main(world).stage("x", entry(number))
        main(world).commit(str(number))


def branches(world: World) -> None:
    """Nine branches with main, on three heads."""
    made = world.repository()
    for number, name in enumerate(NAMES[1:]):
        made.create_branch(name, "main")
        if number % 3 == 2:
            main(world).stage(name, entry(1))
            main(world).commit(name)


def counted(world: World) -> None:
    branches(world)
    stores = world.stores()
    for name in ("main", *NAMES[1:]):
        now = fresh(stores, RepositoryId("repo"), BranchId(name))
        place = BranchLayer(now.repository, BranchId(name), now.branch.staging_token)
        counting.write_down(stores, [Due(place, 0.0, 2_000, 1_000)])


def compacted(world: World) -> None:
    branches(world)
    for name in ("main", *NAMES[1:]):
        world.branch(name=name).stage("x", entry(7))
        world.branch(name=name).compact()


def hooked(world: World) -> None:
    """Nine runs of a function."""
    world.repository()
    hook = Hook("yes", lambda request, _: None, ("pre-create-tag",))
    made = Graveler(replace(world.stores(), hooks=Hooks(functions=(hook,)))).repository("repo")
    for name in NAMES:
        made.create_tag(name, "main")


def tags(world: World) -> None:
    made = world.repository()
    for name in NAMES:
        made.create_tag(name, "main")


def commits(world: World) -> None:
    """Nine in a line, on a branch that may go."""
    dev = world.repository().create_branch("dev", "main")
    for name in NAMES[1:]:
        dev.stage(name, entry(1))
        dev.commit(name)


def ends(world: World) -> None:
    """Nine branches with a commit of their own; their common parent is no end."""
    made = world.repository()
    for name in NAMES:
        made.create_branch(name, "main").stage("x", entry(1))
        world.branch(name=name).commit(name)


def staged(world: World) -> None:
    world.repository()
    for name in NAMES:
        main(world).stage(f"{name}/x", entry(1))


def committed(world: World) -> None:
    staged(world)
    main(world).commit("all")


def diverged(world: World) -> None:
    """The same paths on dev, with other content, and nothing on main before."""
    made = world.repository()
    made.create_branch("dev", "main")
    for name, number in (("dev", 2), ("main", 1)):
        for path in NAMES:
            world.branch(name=name).stage(path, entry(number))
        world.branch(name=name).commit(name)


def only_dev(world: World) -> None:
    made = world.repository()
    dev = made.create_branch("dev", "main")
    for path in NAMES:
        dev.stage(path, entry(2))
    dev.commit("dev")


def tied(world: World) -> None:
    """Nine users, groups and policies; the first user is in all groups, all users in the first, and so on."""
    iam = world.graveler().iam
    for name in NAMES:
        iam.create_user(name)
        iam.create_group(name)
        iam.create_policy(name, [{"effect": "allow", "actions": ["*"], "resources": ["*"]}])
    for name in NAMES:
        iam.add_member(name, NAMES[0])
        iam.add_member(NAMES[0], name)
        iam.attach_policy(name, user=NAMES[0])
        iam.attach_policy(name, group=NAMES[0])


def keyed(world: World) -> None:
    world.graveler().iam.create_user("ada")
    for _ in NAMES:
        world.graveler().iam.create_credential("ada")


def paths(items: Sequence[Any]) -> list[str]:
    return [item.path for item in items]


def remove_staged(world: World, items: Sequence[Any]) -> None:
    for path in paths(items):
        main(world).remove_prefix(path) if path.endswith("/") else main(world).remove(path)


def agree(world: World, items: Sequence[Any]) -> None:
    for path in paths(items):
        world.branch(name="dev").stage(path, entry(1))
    world.branch(name="dev").commit("agreed")


def leave(world: World, items: Sequence[Any]) -> None:
    for path in paths(items):
        world.branch(name="dev").remove(path)
    world.branch(name="dev").commit("left")


def delete_branches(world: World, items: Sequence[Any]) -> None:
    made = repo(world)
    for item in items:
        name = item.branch if isinstance(getattr(item, "branch", None), str) else getattr(item, "branch", item).id
        if name != "main":
            made.delete_branch(name)


def delete_commits(world: World, items: Sequence[Any]) -> None:
    """As nobody does."""
    record = world.graveler().repository("repo")._record
    for item in items:
        where = keys.commit(record, item.id)
        world.kv.delete(where.partition, where.key)


def delete_layouts(world: World, items: Sequence[Any]) -> None:
    record = world.graveler().repository("repo")._record
    for item in items:
        where = keys.commit_layout(record, item.id)
        world.kv.delete(where.partition, where.key)


def without_dev(world: World, items: Sequence[Any]) -> None:
    repo(world).delete_branch("dev")


CASES: dict[tuple[str, str], Case] = {
    ("Graveler.list_repositories", ""): Case(
        repositories,
        lambda w, after: w.graveler().list_repositories(after=after),
        lambda w, items: [w.graveler().delete_repository(item.id) for item in items],
    ),
    ("Graveler.deleted_repositories", ""): Case(
        deleted,
        lambda w, after: w.graveler().deleted_repositories(after=after),
        lambda w, items: [w.graveler().undelete_repository(item.repository.id) for item in items],
    ),
    ("Graveler.migrated_ids", ""): Case(
        migrated,
        lambda w, after: w.graveler().migrated_ids("repo", after=after),
        lambda w, items: [w.kv.delete(*_migrated_at(w, item.origin)) for item in items],
    ),
    ("Graveler.pressures", ""): Case(counted, lambda w, after: w.graveler().pressures(after=after), delete_branches),
    ("Repository.branches", "id"): Case(branches, lambda w, after: repo(w).branches(after=after), delete_branches),
    ("Repository.branches", "commit_id"): Case(
        branches, lambda w, after: repo(w).branches(after=after, order_by="commit_id"), delete_branches
    ),
    ("Repository.tags", ""): Case(
        tags,
        lambda w, after: repo(w).tags(after=after),
        lambda w, items: [repo(w).delete_tag(item.id) for item in items],
    ),
    ("Repository.reflog", "all"): Case(
        events, lambda w, after: repo(w).reflog(after=after), lambda w, items: None, stay=True
    ),
    ("Repository.reflog", "of a name"): Case(
        moves, lambda w, after: repo(w).reflog("main", after=after), lambda w, items: None, stay=True
    ),
    ("Repository.log", ""): Case(
        commits, lambda w, after: repo(w).log("dev", after=after or None), without_dev, stay=True
    ),
    ("Repository.commits", "all"): Case(commits, lambda w, after: repo(w).commits(after=after), delete_commits),
    ("Repository.stored_objects", ""): Case(
        commits, lambda w, after: repo(w).stored_objects("layout/", after, 9), delete_layouts
    ),
    ("Repository.commits", "not first parents"): Case(
        ends, lambda w, after: repo(w).commits(after=after, not_first_parent=True), delete_commits
    ),
    ("Repository.diff", ""): Case(only_dev, lambda w, after: repo(w).diff("main", "dev", after=after), leave),
    ("Repository.conflicts", ""): Case(
        diverged, lambda w, after: repo(w).conflicts("dev", into="main", after=after), agree
    ),
    ("Repository.compactions", ""): Case(compacted, lambda w, after: repo(w).compactions(after=after), delete_branches),
    ("Branch.list", ""): Case(committed, lambda w, after: main(w).list(after=after), remove_staged),
    ("Branch.list", "by prefix"): Case(
        staged, lambda w, after: main(w).list(after=after, delimiter="/"), remove_staged
    ),
    ("Branch.uncommitted", ""): Case(staged, lambda w, after: main(w).uncommitted(after=after), remove_staged),
    ("Branch.staged", ""): Case(staged, lambda w, after: main(w).staged(after=after), remove_staged),
    ("Snapshot.list", "of a branch"): Case(
        staged, lambda w, after: repo(w).at("main").list(after=after), remove_staged
    ),
    ("Snapshot.list", "of a commit"): Case(
        committed, lambda w, after: repo(w).at("main@").list(after=after), remove_staged, stay=True
    ),
    ("Access.users", ""): Case(
        tied,
        lambda w, after: w.graveler().iam.users(after=after),
        lambda w, items: [w.graveler().iam.delete_user(item.id) for item in items],
    ),
    ("Access.groups", ""): Case(
        tied,
        lambda w, after: w.graveler().iam.groups(after=after),
        lambda w, items: [w.graveler().iam.delete_group(item.id) for item in items],
    ),
    ("Access.policies", ""): Case(
        tied,
        lambda w, after: w.graveler().iam.policies(after=after),
        lambda w, items: [w.graveler().iam.delete_policy(item.id) for item in items],
    ),
    ("Access.members", ""): Case(
        tied,
        lambda w, after: w.graveler().iam.members(NAMES[0], after=after),
        lambda w, items: [w.graveler().iam.remove_member(NAMES[0], item.id) for item in items],
    ),
    ("Access.groups_of", ""): Case(
        tied,
        lambda w, after: w.graveler().iam.groups_of(NAMES[0], after=after),
        lambda w, items: [w.graveler().iam.delete_group(item.id) for item in items],
    ),
    ("Access.policies_of", "user"): Case(
        tied,
        lambda w, after: w.graveler().iam.policies_of(user=NAMES[0], after=after),
        lambda w, items: [w.graveler().iam.detach_policy(item.id, user=NAMES[0]) for item in items],
    ),
    ("Access.policies_of", "group"): Case(
        tied,
        lambda w, after: w.graveler().iam.policies_of(group=NAMES[0], after=after),
        lambda w, items: [w.graveler().iam.delete_policy(item.id) for item in items],
    ),
    ("Access.credentials", ""): Case(
        keyed,
        lambda w, after: w.graveler().iam.credentials("ada", after=after),
        lambda w, items: [w.graveler().iam.delete_credential("ada", item.access_key_id) for item in items],
    ),
    ("Repository.hook_runs", ""): Case(
        hooked,
        lambda w, after: repo(w).hook_runs(after=after),
        lambda w, items: [_hook_runs_at(w, item.request.run_id) for item in items],
    ),
    ("LogEntry.changes", ""): Case(
        only_dev,
        lambda w, after: next(entry for entry in repo(w).log("main" if _moved(w) else "dev")).changes(after=after),
        lambda w, items: main(w).hard_reset("dev") and repo(w).delete_branch("dev"),
        stay=True,
    ),
}


def _hook_runs_at(world: World, run_id: str) -> None:
    where = keys.hook_runs(repo(world)._record).at(run_id)
    world.kv.delete(where.partition, where.key)


def _moved(world: World) -> bool:
    return [branch.id for branch in repo(world).branches()] == ["main"]


def shown(items: Sequence[Any]) -> list[Any]:
    """What tells items apart: handles and pressures, which have an age, by their names."""
    named = {Repository: "id", BranchPressure: "token"}
    return [getattr(item, named[type(item)]) if type(item) in named else item for item in items]


@pytest.fixture(params=CASES.values(), ids=[" ".join(key).strip() for key in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def world(case: Case) -> World:
    made = World()
    case.prepare(made)
    return made


def test_no_listing_is_forgotten() -> None:
    """A method that gives a listing has a case here."""
    there = set()
    for module in pkgutil.iter_modules(graveler_core.facade.__path__, "graveler_core.facade."):
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__.startswith("graveler_core.facade") and name not in PARTS:
                methods = inspect.getmembers(kind, inspect.isfunction)
                there |= {
                    f"{name}.{of}" for of, it in methods if str(it.__annotations__.get("return")).startswith("Listing[")
                }
    assert there == {name for name, _ in CASES}


def gives_a_listing(method: Callable[..., Any]) -> bool:
    return str(method.__annotations__.get("return")).startswith("Listing[")


PARTS = {base.__name__ for kind in (Repository, Graveler, Branch, Access) for base in kind.__mro__[1:]}
"""Base classes of the handles."""


@pytest.mark.parametrize("size", [1, 2, 7])
def test_every_token_resumes_behind_its_page(case: Case, world: World, size: int) -> None:
    whole = shown(list(case.open(world, "")))
    assert len(whole) == len(NAMES)
    pages = list(case.open(world, "").pages(size))
    assert [item for page in pages for item in shown(page.items)] == whole
    seen = 0
    for page in pages:
        seen += len(page.items)
        assert (page.next is None) == (seen == len(whole))
        if page.next is not None:
            resumed = case.open(world, page.next)
            assert shown(next(resumed.pages(size)).items) == whole[seen : seen + size]
            assert shown(list(resumed)) == whole[min(seen + 2 * size, len(whole)) :]


def test_tokens_outlive_what_they_name(case: Case, world: World) -> None:
    """The item that the token was made of, and others before and behind it, are taken away."""
    whole = list(case.open(world, ""))
    token = next(case.open(world, "").pages(3)).next
    assert token is not None
    gone = [whole[0], whole[2], whole[3], whole[7]]
    case.remove(world, gone)
    left = shown(whole) if case.stay else shown(list(case.open(world, "")))
    assert case.stay or len(left) < len(whole)
    assert shown(list(case.open(world, token))) == [item for item in shown(whole)[3:] if item in left]
