"""Settings of a repository: changed under a version, logged, and with a default branch that exists.

The interleavings of `engine.references.repository_settings`: another process deletes the branch, moves the default
branch or changes the settings before each call of a flow.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import pytest

from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind, NotFound, OutcomeUnknown, SlowDown
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Predicate
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, Nonce
from graveler_core.model.repository_settings import IndexSizes
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from tests.unit.engine.interposed import WRITES, Crash, Interposed, denied, unavailable
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo(world: World) -> Repository:
    made = world.graveler().repository("repo")
    made.create_branch("dev", "main")
    return made


def reopened(world: World) -> Repository:
    return world.graveler().repository("repo")


def test_25_settings_change_together_and_others_stay(world: World, repo: Repository) -> None:
    before = repo.settings()
    assert (before.default_branch, before.description, before.index_sizes) == ("main", "", IndexSizes())
    sizes = IndexSizes(inline_bytes=1_024, fan_out=4)
    after = repo.update_settings(default_branch="dev", description="Flights of 2026", index_sizes=sizes)
    assert (after.default_branch, after.description, after.index_sizes) == ("dev", "Flights of 2026", sizes)
    assert repo.update_settings(description="Flights").default_branch == "dev"
    assert reopened(world).settings() == repo.settings() != before
    assert repo.default_branch == reopened(world).default_branch == "dev"
    assert (repo.creation_date, repo.uid) == (reopened(world).creation_date, reopened(world).uid)


def test_a_change_is_made_only_under_the_expected_version(repo: Repository) -> None:
    version = repo.settings().version
    now = repo.update_settings(description="first", expected=version)
    with pytest.raises(Conflict) as caught:
        repo.update_settings(description="second", expected=version)
    assert caught.value.details == {"expected": version, "actual": now.version}
    assert repo.settings() == now
    assert repo.update_settings(description="", expected=now.version).version == version, (
        "equal settings, equal version"
    )
    repo.protect("main")
    assert repo.settings().version == version, "protection is no part of it"


def test_each_change_is_in_the_reflog(world: World, repo: Repository) -> None:
    repo.update_settings(default_branch="dev", by="ada", message="moved")
    repo.update_settings(description="d", index_sizes=IndexSizes(fan_out=4), by="bob")
    repo.update_settings(description="d")
    told = [(event.kind, event.type, event.name, event.by, event.message) for event in repo.reflog()]
    assert sorted(told[:2]) == [
        ("assigned", "setting", "description", "bob", ""),
        ("assigned", "setting", "index_sizes", "bob", "{} -> {'fan_out': 4}"),
    ]
    assert told[2] == ("assigned", "setting", "default_branch", "ada", "main -> dev: moved")
    assert len(told) == 4, "and the creation of dev"
    assert [(event.kind, event.type) for event in repo.reflog("dev")] == [("created", "branch")]
    assert list(reopened(world).reflog())[:3] == list(repo.reflog())[:3]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"default_branch": "a/b"}, "a/b"),
        ({"description": "x" * 4_097}, "4,096"),
        ({"index_sizes": {"fan_out": 3}}, "IndexSizes"),
    ],
)
def test_invalid_values(repo: Repository, given: dict[str, object], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        repo.update_settings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("inline_bytes", 1), ("object_bytes", 1 << 20), ("fan_out", "8")])
def test_index_sizes_have_limits(name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=name):
        IndexSizes(**{name: value})


def test_a_branch_that_does_not_exist_is_no_default(repo: Repository) -> None:
    with pytest.raises(NotFound) as caught:
        repo.update_settings(default_branch="none", description="x")
    assert caught.value.kind is Kind.BranchNotFound
    assert (repo.settings().default_branch, repo.settings().description) == ("main", "")


def test_the_default_branch_cannot_be_deleted_and_the_former_one_can(repo: Repository) -> None:
    repo.update_settings(default_branch="dev")
    repo.update_settings(default_branch="main")
    with pytest.raises(InvalidInput) as caught:
        repo.delete_branch("main")
    assert caught.value.kind is Kind.DefaultBranch
    repo.delete_branch("dev")
    assert [branch.id for branch in repo.branches()] == ["main"]
    assert list(repo.fsck(deep=True)) == []


def calls(world: World, act: Callable[[Repository], object]) -> list[str]:
    """The calls that a flow makes when nobody disturbs it."""
    kv = Interposed(world.fork().kv)
    handle = world.graveler(kv).repository("repo")
    kv.reset()
    act(handle)
    return kv.verbs


def interrupted(
    world: World, number: int, act: Callable[[Repository], object], other: Callable[[Repository], object]
) -> tuple[Repository, bool, bool]:
    """Both flows, one of them before a call of the other: the repository afterwards, and which of them succeeded."""
    fork = world.fork()
    kv = Interposed(fork.kv)
    handle = fork.graveler(kv).repository("repo")
    kv.reset()
    succeeded: list[bool] = []

    def tried(call: Callable[[], object]) -> bool:
        try:
            call()
        except (NotFound, InvalidInput, Conflict):
            return False
        return True

    kv.before[number] = lambda: succeeded.append(tried(lambda: other(reopened(fork))))
    mine = tried(lambda: act(handle))
    return reopened(fork), mine, succeeded == [True]


def default_to_dev(repo: Repository) -> object:
    return repo.update_settings(default_branch="dev")


def delete_dev(repo: Repository) -> object:
    return repo.delete_branch("dev")


@pytest.mark.parametrize("marked", [False, True], ids=["never the default", "the default before"])
@pytest.mark.parametrize("first", ["deletion", "setting"])
def test_a_deletion_beside_a_new_default_branch(world: World, repo: Repository, first: str, *, marked: bool) -> None:
    """In every order of calls, at most one of them succeeds, and the default branch exists."""
    if marked:
        repo.update_settings(default_branch="dev")
        repo.update_settings(default_branch="main")
    act, other = (delete_dev, default_to_dev) if first == "deletion" else (default_to_dev, delete_dev)
    seen = set()
    for number in range(len(calls(world, act))):
        after, mine, others = interrupted(world, number, act, other)
        assert after.settings().default_branch in [branch.id for branch in after.branches()], (number, mine, others)
        assert not (mine and others), number
        seen.add((mine, others))
    assert {(True, False), (False, True)} & seen


def test_settings_beside_other_changes_of_the_record(world: World, repo: Repository) -> None:
    """Before each call, others change another setting or a rule: nothing is lost."""
    changes: list[Callable[[Repository], object]] = [
        lambda r: r.protect("x*"),
        lambda r: r.update_settings(description="by others"),
    ]
    for other in changes:
        for number in range(len(calls(world, default_to_dev))):
            after, mine, others = interrupted(world, number, default_to_dev, other)
            assert mine
            assert others
            assert after.settings().default_branch == "dev"
            assert after.settings().description == "by others" or "x*" in after.protection()


def test_an_expected_version_holds_in_every_order(world: World, repo: Repository) -> None:
    version = repo.settings().version

    def act(handle: Repository) -> object:
        return handle.update_settings(default_branch="dev", expected=version)

    for number in range(len(calls(world, act))):
        after, mine, _ = interrupted(world, number, act, lambda r: r.update_settings(description="others"))
        assert after.settings().description == "others"
        assert (after.settings().default_branch == "dev") is mine


@pytest.mark.parametrize("done", [True, False])
def test_lost_replies(world: World, repo: Repository, *, done: bool) -> None:
    for number in (number for number, verb in enumerate(calls(world, default_to_dev)) if verb in WRITES):
        fork = world.fork()
        kv = Interposed(fork.kv)
        handle = fork.graveler(kv).repository("repo")
        kv.reset()
        kv.lose[number] = done
        try:
            default_to_dev(handle)
        except OutcomeUnknown:
            continue
        except GravelerError as error:
            raise AssertionError(number) from error
        assert reopened(fork).settings().default_branch == "dev"


REFUSALS = [unavailable(), SlowDown("busy"), denied()]


@pytest.mark.parametrize("refusal", REFUSALS, ids=["unavailable", "slow down", "denied"])
def test_a_refused_call(world: World, repo: Repository, refusal: GravelerError) -> None:
    """The refusal is raised if nothing was changed; after the change is visible, the outcome is unknown."""
    verbs = calls(world, all_to_dev)
    _, swapped, *_ = (number for number, verb in enumerate(verbs) if verb == "set_if")
    for number in range(len(verbs)):
        fork = world.fork()
        kv = Interposed(fork.kv)
        handle = fork.graveler(kv).repository("repo")
        kv.reset()
        kv.fail[number] = refusal
        error = None
        try:
            all_to_dev(handle)
        except GravelerError as raised:
            error = type(raised)
        if number <= swapped:
            assert error is type(refusal), number
        else:
            assert error is (None if verbs[number] == "set" else OutcomeUnknown), number
        changed = reopened(fork).settings().default_branch == "dev"
        assert changed is (number > swapped), number
        names = {event.name for event in handle.reflog() if event.type == "setting"}
        assert names == ({"default_branch", "description"} if changed else set()), number


# A deletion of the new default branch that is under way: it read the branch before the default branch changed


class DiesBeforeDeletion(Interposed):
    """A process that dies before it deletes its first record."""

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        raise Crash


@dataclass
class Undo:
    """What happened to a change of the default branch to `dev` while `dev` was deleted."""

    world: World
    error: GravelerError | None
    calls: int
    """Number of calls from step 3 of the change on."""

    @property
    def repo(self) -> Repository:
        return reopened(self.world)


def undo(
    world: World,
    act: Callable[[Repository], object],
    others: dict[int, Callable[[World], object]] | None = None,
    lose: dict[int, bool] | None = None,
    fail: dict[int, BaseException] | None = None,
) -> Undo:
    """Change the default branch to `dev`, while another process deletes `dev`.

    The deletion removes the mark and reads the record between steps 1 and 2, and deletes it between steps 2 and 3.
    `others` run before calls of the rest, numbered from 0. The replies of the calls `lose` are lost, and `fail` are
    raised instead of calls.
    """
    fork = world.fork()
    kv = Interposed(fork.kv)
    handle = fork.graveler(kv).repository("repo")
    kv.reset()
    where = keys.branch(handle._record, BranchId("dev"))
    _, swapped, *_ = (number for number, verb in enumerate(calls(world, act)) if verb == "set_if")
    read: list[Held[BranchRecord]] = []

    def begin() -> None:
        with pytest.raises(Crash):
            fork.graveler(DiesBeforeDeletion(fork.kv)).repository("repo").delete_branch("dev")
        held = access.read(fork.kv, where)
        assert held is not None
        assert not held.value.marked_default
        read.append(held)

    def end() -> None:
        assert access.remove(fork.kv, where, read[0])
        (others or {}).get(0, bool)(fork)

    first = swapped + 1
    kv.before = {first + number: partial(other, fork) for number, other in (others or {}).items()}
    kv.before |= {swapped: begin, first: end}
    kv.lose = {first + number: done for number, done in (lose or {}).items()}
    kv.fail = {first + number: error for number, error in (fail or {}).items()}
    try:
        act(handle)
    except GravelerError as error:
        return Undo(fork, error, len(kv.verbs) - first)
    return Undo(fork, None, len(kv.verbs) - first)


def by_others(act: Callable[[Repository], object]) -> Callable[[World], object]:
    return lambda world: act(reopened(world))


def exists(repo: Repository) -> bool:
    return repo.settings().default_branch in [branch.id for branch in repo.branches()]


def all_to_dev(repo: Repository) -> object:
    return repo.update_settings(default_branch="dev", description="by this call", by="ada")


def test_a_change_to_a_branch_that_is_deleted_is_undone(world: World, repo: Repository) -> None:
    before = repo.settings()
    done = undo(world, all_to_dev)
    assert isinstance(done.error, NotFound)
    assert done.error.kind is Kind.BranchNotFound
    assert done.repo.settings() == before
    told = [(event.name, event.by, event.message) for event in done.repo.reflog(limit=4)]
    assert sorted(told) == [
        ("default_branch", "ada", "dev -> main: undone: branch 'dev' was deleted"),
        ("default_branch", "ada", "main -> dev"),
        ("description", "ada", ""),
        ("description", "ada", "undone: branch 'dev' was deleted"),
    ]


CHANGES: dict[str, tuple[Callable[[Repository], object], Callable[[Repository], bool]]] = {
    "protection": (lambda r: r.protect("x*"), lambda r: "x*" in r.protection()),
    "description": (
        lambda r: r.update_settings(description="by others"),
        lambda r: r.settings().description == "by others",
    ),
    "default branch": (
        lambda r: r.update_settings(default_branch="third"),
        lambda r: r.settings().default_branch == "third",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_record_before_any_call_of_an_undo(world: World, repo: Repository, change: str) -> None:
    """It stays, the default branch exists, and nothing of the call that failed is left."""
    repo.create_branch("third", "main")
    other, stays = CHANGES[change]
    for number in range(undo(world, all_to_dev).calls):
        done = undo(world, all_to_dev, {number: by_others(other)})
        assert isinstance(done.error, NotFound), number
        assert stays(done.repo), number
        assert exists(done.repo), number
        assert done.repo.settings().description in ("", "by others"), number


def delete_main(repo: Repository) -> None:
    with suppress(InvalidInput):
        repo.delete_branch("main")


@pytest.mark.parametrize("then", [None, "protection"])
def test_a_deletion_of_the_former_default_branch_before_any_call_of_an_undo(
    world: World, repo: Repository, then: str | None
) -> None:
    """If no branch is left to go back to, the outcome is unknown, and another default branch can be set."""
    outcomes = set()
    for number in range(undo(world, default_to_dev).calls):
        others = {number: by_others(delete_main)}
        if then is not None:
            others[number + 1] = by_others(CHANGES[then][0])
        done = undo(world, default_to_dev, others)
        outcomes.add(type(done.error))
        if not isinstance(done.error, OutcomeUnknown):
            assert exists(done.repo), number
            assert done.repo.settings().default_branch == "main", number
            continue
        assert "set the default branch to a branch that exists" in done.error.message
        assert not exists(done.repo), number
        done.repo.undelete_branch("dev")
        done.repo.update_settings(default_branch="dev")
        assert exists(done.repo)
    assert outcomes == {NotFound, OutcomeUnknown}


def test_a_deletion_of_the_former_default_branch_that_was_under_way(world: World, repo: Repository) -> None:
    """It read the record before the undo marked it, and deletes it before any later call."""
    where = keys.branch(repo._record, BranchId("main"))
    read: list[Held[BranchRecord]] = []

    def begin(fork: World) -> None:
        held = access.read(fork.kv, where)
        assert held is not None
        unmarked = held.value.model_copy(update={"marked_default": False, "nonce": Nonce("unmarked")})
        read.append(access.replace(fork.kv, where, held, unmarked))

    def end(fork: World) -> None:
        access.remove(fork.kv, where, read[-1])

    outcomes = set()
    count = undo(world, default_to_dev).calls
    for first, second in combinations(range(count), 2):
        done = undo(world, default_to_dev, {first: begin, second: end})
        outcomes.add(type(done.error))
        assert exists(done.repo) is isinstance(done.error, NotFound), (first, second)
    assert outcomes == {NotFound, OutcomeUnknown}


@pytest.mark.parametrize("change", [None, "protection"])
def test_a_creation_of_the_branch_before_any_call_of_an_undo(
    world: World, repo: Repository, change: str | None
) -> None:
    """Either the change stays or it is undone, and the default branch exists."""
    outcomes = set()

    def other(repo: Repository) -> None:
        repo.create_branch("dev", "main")
        if change is not None:
            CHANGES[change][0](repo)

    for number in range(undo(world, default_to_dev).calls):
        done = undo(world, default_to_dev, {number: by_others(other)})
        assert exists(done.repo), number
        assert done.repo.settings().default_branch == ("dev" if done.error is None else "main"), number
        outcomes.add(type(done.error))
    assert outcomes == {type(None), NotFound}


@pytest.mark.parametrize("again", [False, True])
def test_a_deletion_of_the_repository_before_any_call_of_an_undo(
    world: World, repo: Repository, *, again: bool
) -> None:
    """Another repository with its name is not changed."""

    def other(number: int, fork: World) -> None:
        fork.graveler().delete_repository("repo")
        if again:
            fork.graveler().create_repository("repo", fork.namespace(f"another-{number}"), ephemeral=True)

    for number in range(undo(world, all_to_dev).calls):
        done = undo(world, all_to_dev, {number: partial(other, number)})
        assert done.error is None or isinstance(done.error, NotFound | OutcomeUnknown), number
        if again:
            assert (done.repo.settings().default_branch, done.repo.settings().description) == ("main", "")


@pytest.mark.parametrize("happened", [True, False])
def test_a_lost_reply_anywhere_in_an_undo(world: World, repo: Repository, *, happened: bool) -> None:
    for number in range(undo(world, all_to_dev).calls):
        done = undo(world, all_to_dev, lose={number: happened})
        assert isinstance(done.error, NotFound | OutcomeUnknown), number
        if isinstance(done.error, NotFound):
            assert done.repo.settings() == repo.settings(), number


@pytest.mark.parametrize("refusal", REFUSALS, ids=["unavailable", "slow down", "denied"])
def test_a_refused_call_anywhere_in_an_undo(world: World, repo: Repository, refusal: GravelerError) -> None:
    for number in range(undo(world, all_to_dev).calls):
        done = undo(world, all_to_dev, fail={number: refusal})
        assert isinstance(done.error, NotFound | OutcomeUnknown), number
        if isinstance(done.error, NotFound):  # only the event for the reflog was refused
            assert done.repo.settings() == repo.settings(), number


def test_index_sizes_apply_to_later_commits_of_every_process(world: World, repo: Repository) -> None:
    """Commits with other sizes have the same content; a smaller inline index makes runs earlier."""

    def runs(handle: Repository, name: str) -> int:
        branch = handle.create_branch(name, "main")
        for number in range(12):
            branch.stage(f"{name}/{number}", entry(number))
            branch.commit(str(number))
        layout = commit_of(stores, handle._record, branch.record().commit_id).layout
        return len(layout.index.runs)

    stores = world.stores()
    assert stores.sizes_of(repo._record) == stores.sizes
    small = repo.update_settings(index_sizes=IndexSizes(inline_bytes=256, fan_out=64, fold_elements=1_000_000))
    now = reopened(world)
    sizes = stores.sizes_of(now._record)
    assert (sizes.inline_bytes, sizes.fan_out, sizes.fold_elements) == (256, 64, 1_000_000)
    assert sizes.object_bytes == stores.sizes.object_bytes
    with_small = runs(now, "small")
    now.update_settings(index_sizes=IndexSizes(inline_bytes=60_000), expected=small.version)
    with_large = runs(reopened(world), "large")
    assert with_large == 0 < with_small
    for name in ("small", "large"):
        assert [item.size for item in now.branch(name).list(f"{name}/")] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
