"""Protected branches and read-only repositories: every verb against every rule, known at once or found out late."""

from __future__ import annotations

from typing import Any

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, OutcomeUnknown, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.model.protection import MAX_RULES, BranchAction
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry
from tests.unit.facade.verbs import BRANCH, HANDLES, REPOSITORY, STORE, VARIANTS, Verb

KINDS = {"branch": {**BRANCH, **VARIANTS}, "repository": REPOSITORY, "store": STORE}
ALL = {f"{kind}: {name}": verb for kind, verbs in KINDS.items() for name, verb in verbs.items()}
ACTING = sorted(name for name, verb in ALL.items() if verb.action is not None)
FORBIDDEN = sorted(name for name, verb in ALL.items() if verb.action is not None or verb.changes)
FREE = sorted(ALL.keys() - set(FORBIDDEN))


@pytest.fixture(scope="module")
def scenes() -> dict[bool, World]:
    """Without and with something staged."""
    clean = World()
    repo = clean.repository()
    main = repo.branch("main")
    main.put("content", b"bytes")
    for number in (1, 2):
        main.stage(f"p/{number}", entry(number))
        main.commit(f"main {number}")
    for name, path in (("dev", "d"), ("work", "w")):
        branch = repo.create_branch(name, "main")
        branch.stage(path, entry(3))
        branch.commit(name)
    repo.create_tag("v1", "main")
    repo.create_branch("gone", "main")
    repo.delete_branch("gone")
    staged = clean.fork()
    staged.branch(name="work").stage("s", entry(4))
    return {False: clean, True: staged}


def scene(scenes: dict[bool, World], verb: Verb) -> World:
    return scenes[verb.staged].fork()


def handle(world: World, name: str) -> Any:
    """What a verb is called on, by another process that has read the branch and knows what stands now."""
    g = world.graveler()
    repo = g.repository("repo")
    branch = repo.branch("work")
    branch.get("p/1")
    return {"branch": branch, "repository": repo, "store": g}[name.partition(":")[0]]


def rules(world: World) -> Repository:
    """The handle of the process that sets rules."""
    return world.graveler().repository("repo")


def stored(world: World) -> dict[tuple[bytes, bytes], bytes]:
    """All records, but for what an idempotency key notes before its call does anything."""
    assert isinstance(world.kv, MemoryStore)
    partitions = world.kv._memory.partitions.items()
    rows = {(at, key): value for at, partition in partitions for key, value in partition.values.items()}
    return {where: value for where, value in rows.items() if not where[1].startswith(b"ops/")}


@pytest.mark.parametrize("handle_of", HANDLES, ids=lambda cls: cls.__name__)
def test_every_verb_is_decided_on(handle_of: type) -> None:
    assert {name for name in dir(handle_of) if not name.startswith("_")} == HANDLES[handle_of].keys()


@pytest.mark.parametrize("blocked", BranchAction)
@pytest.mark.parametrize("name", ACTING)
def test_a_rule_forbids_what_it_blocks_and_nothing_else(
    scenes: dict[bool, World], name: str, blocked: BranchAction
) -> None:
    world = scene(scenes, ALL[name])
    rules(world).protect("w*k", [blocked])
    before = stored(world)
    used = handle(world, name)
    if ALL[name].action is not blocked:
        ALL[name].call(used)
        return
    with pytest.raises(PermissionDenied, match=r"branch 'work' is protected: the rule 'w\*k' blocks") as refused:
        ALL[name].call(used)
    assert refused.value.kind is Kind.BranchProtected
    assert refused.value.details == {"branch": "work", "pattern": "w*k", "action": str(blocked)}
    assert stored(world) == before


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_read_only_repository_forbids_every_change(scenes: dict[bool, World], name: str) -> None:
    world = scene(scenes, ALL[name])
    rules(world).set_read_only(True)
    before = stored(world)
    with pytest.raises(PermissionDenied, match="repository 'repo' is read-only") as refused:
        ALL[name].call(handle(world, name))
    assert refused.value.kind is Kind.RepositoryReadOnly
    assert stored(world) == before
    rules(world).set_read_only(False)
    ALL[name].call(handle(world, name))


@pytest.mark.parametrize("name", FREE)
def test_what_changes_nothing_that_is_seen_stays_allowed(scenes: dict[bool, World], name: str) -> None:
    world = scene(scenes, ALL[name])
    repo = rules(world)
    repo.protect("work", BranchAction)
    repo.set_read_only(True)
    shown = repo.at("work").tree_id()
    ALL[name].call(handle(world, name))
    assert repo.at("work").tree_id() == shown


@pytest.mark.parametrize("how", ["rule", "read-only"])
@pytest.mark.parametrize("name", ACTING)
def test_a_process_that_does_not_know_the_rule_yet_is_refused(scenes: dict[bool, World], name: str, how: str) -> None:
    """What ends in a swap changes nothing. What was staged before the re-read showed the rule may be seen."""
    verb = ALL[name]
    world = scene(scenes, verb)
    used = handle(world, name)
    forbid(world, how)
    before = stored(world)
    with pytest.raises(OutcomeUnknown if verb.single else PermissionDenied) as refused:
        verb.call(used)
    if verb.single:
        assert isinstance(refused.value.__cause__, PermissionDenied)
        assert stored(world) != before
        before = stored(world)
        with pytest.raises(PermissionDenied):
            verb.call(used)
    assert stored(world) == before


@pytest.mark.parametrize("name", ACTING)
def test_the_process_that_sets_a_rule_knows_it(scenes: dict[bool, World], name: str) -> None:
    world = scene(scenes, ALL[name])
    repo = rules(world)
    branch = repo.branch("work")
    branch.get("p/1")
    repo.protect("work", BranchAction)
    before = stored(world)
    with pytest.raises(PermissionDenied):
        ALL[name].call(branch if name.startswith("branch") else repo)
    assert stored(world) == before


@pytest.mark.parametrize("how", ["rule", "read-only"])
@pytest.mark.parametrize("name", ACTING)
def test_a_process_that_knows_a_rule_that_was_lifted_is_let_in(scenes: dict[bool, World], name: str, how: str) -> None:
    world = scene(scenes, ALL[name])
    forbid(world, how)
    used = handle(world, name)
    rules(world).set_protection({})
    rules(world).set_read_only(False)
    ALL[name].call(used)


def forbid(world: World, how: str) -> None:
    if how == "rule":
        rules(world).protect("work", BranchAction)
    else:
        rules(world).set_read_only(True)


def test_by_default_changes_come_in_by_merges_alone(scenes: dict[bool, World]) -> None:
    repo = rules(scenes[False].fork())
    assert repo.protect("work") == {"work": ("write", "commit", "force")}
    merged = repo.merge("dev", into="work")
    assert repo.branch("work").record().commit_id == merged.id


def test_rules_are_kept_by_pattern(scenes: dict[bool, World]) -> None:
    world = scenes[False].fork()
    repo = rules(world)
    assert repo.protection() == {}
    repo.protect("work", ["force"])
    repo.protect("release-*", ["merge", "write", "write"])
    assert repo.protect("work", "merge") == {"release-*": ("write", "merge"), "work": ("merge",)}
    assert [*rules(world).protection()] == ["release-*", "work"]
    assert repo.set_protection(repo.protection()) == repo.protection()
    assert repo.unprotect("release-*") == {"work": ("merge",)}
    with pytest.raises(InvalidInput, match="repository 'repo' has no rule with it"):
        repo.unprotect("release-*")
    assert repo.set_protection({}) == {}
    assert repo.default_branch == rules(world).default_branch


def test_of_several_rules_each_counts(scenes: dict[bool, World]) -> None:
    repo = rules(scenes[False].fork())
    repo.set_protection({"*": ["force"], "work": ["merge"], "[!w]*": ["write"]})
    with pytest.raises(PermissionDenied, match=r"the rule '\*' blocks force"):
        repo.delete_branch("work")
    with pytest.raises(PermissionDenied, match="the rule 'work' blocks merge"):
        repo.merge("dev", into="work")
    repo.branch("work").stage("n", entry(5))
    with pytest.raises(PermissionDenied, match=r"the rule '\[!w\]\*' blocks write"):
        repo.branch("dev").stage("n", entry(5))


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        ("main", ["main"], ["Main", "main2", "xmain"]),
        ("m*n", ["mn", "main", "m.n"], ["mains"]),
        ("x?", ["x1", "x."], ["x", "x10"]),
        ("v[0-2]x", ["v0x", "v2x"], ["v3x", "v01x"]),
        ("[!a-c]x", ["dx", "Ax"], ["ax", "cx"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_patterns(scenes: dict[bool, World], pattern: str, fits: list[str], others: list[str]) -> None:
    repo = rules(scenes[False].fork())
    repo.protect(pattern, ["force"])
    for name in [*fits, *others]:
        repo.create_branch(name, "dev") if name != "main" else None
    for name in fits:
        with pytest.raises(PermissionDenied):
            repo.branch(name).hard_reset("dev")
    for name in others:
        repo.branch(name).hard_reset("dev")


@pytest.mark.parametrize("pattern", ["", "a/b", "a[", "[]", "[!]", "ä", "a b", "x" * 256, None])
def test_a_pattern_that_fits_nothing_is_refused(scenes: dict[bool, World], pattern: Any) -> None:
    with pytest.raises(InvalidInput, match="pattern"):
        rules(scenes[False].fork()).protect(pattern)


@pytest.mark.parametrize("blocks", [[], ["read"], "everything", ["write", "Commit"]])
def test_what_is_blocked_must_be_known(scenes: dict[bool, World], blocks: Any) -> None:
    repo = rules(scenes[False].fork())
    with pytest.raises(InvalidInput, match="choose from write, commit, merge, force"):
        repo.protect("main", blocks)
    with pytest.raises(InvalidInput):
        repo.set_protection({"main": blocks})
    assert repo.protection() == {}


def test_there_are_so_many_rules_at_most(scenes: dict[bool, World]) -> None:
    repo = rules(scenes[False].fork())
    repo.set_protection({f"b{number}": ["merge"] for number in range(MAX_RULES)})
    with pytest.raises(InvalidInput, match="101 rules"):
        repo.protect("main")
    repo.protect("b7", ["force"])


def test_rules_that_are_set_at_once_all_stand(scenes: dict[bool, World]) -> None:
    world = scenes[False].fork()
    kv = Interposed(world.kv)
    repo = world.graveler(kv).repository("repo")
    kv.reset()
    kv.before[1] = lambda: rules(world).protect("other", ["force"])
    assert repo.protect("work", ["merge"]) == {"other": ("force",), "work": ("merge",)}
    kv.reset()
    kv.lose[1] = True
    assert repo.unprotect("other") == {"work": ("merge",)}


def test_a_read_only_repository_can_be_given_free_and_deleted(scenes: dict[bool, World]) -> None:
    world = scenes[False].fork()
    repo = rules(world)
    repo.set_read_only(True)
    assert rules(world).read_only
    repo.set_read_only(False)
    assert not rules(world).read_only
    world.graveler().delete_repository("repo")
    for late in (lambda: repo.protect("main"), lambda: repo.set_read_only(True), repo.protection):
        with pytest.raises(NotFound):
            late()


def test_a_repository_without_rules_is_stored_as_before(scenes: dict[bool, World]) -> None:
    world = scenes[False].fork()
    before = stored(world)
    repo = rules(world)
    repo.protect("work")
    repo.set_read_only(True)
    repo.unprotect("work")
    repo.set_read_only(False)
    (was,), (now,) = ([v for (_, key), v in rows.items() if key == b"repos/repo"] for rows in (before, stored(world)))
    assert len(was) == len(now)
    assert b"protection" not in now
    assert b"read_only" not in now
