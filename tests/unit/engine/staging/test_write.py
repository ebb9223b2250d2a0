"""Single writes: acknowledged where they count, unknown where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from graveler_core.blobs.port import Blobs
from graveler_core.engine.staging import write
from graveler_core.engine.staging.content import Content
from graveler_core.engine.staging.remove import remove
from graveler_core.errors import GravelerError, InvalidInput, NotFound, OutcomeUnknown, PermissionDenied, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.store import Item
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores.registers import LATE, RegisterCache
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.interposed import Interposed, denied, unavailable
from tests.unit.engine.world import World, entry


def test_a_write_is_not_repeated_while_its_first_request_may_come_late(world: World, kv: Interposed) -> None:
    """If the call was acknowledged, the request could replace what others have written since."""
    mine = world.branch(kv)
    mine.stage("y", entry(1))
    kv.reset()
    mine.stage("z", entry(1))
    at = kv.verbs.index("set_many")
    kv.reset()
    kv.lose[at] = False
    kv.before[at + 1] = lambda: world.graveler().repository("repo").protect("other")
    with pytest.raises(OutcomeUnknown, match="may take effect later"):
        mine.stage("a", entry(1))
    assert kv.verbs.count("set_many") == 1


def test_a_repository_created_anew_is_never_mistaken_for_the_old_one(world: World, kv: Interposed) -> None:
    """A writer that knows the old uid writes again, into the new repository, before it acknowledges."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    g = world.graveler()
    g.delete_repository("repo")
    g.create_repository("repo", world.namespace("new"))
    mine.stage("b", entry(2))
    assert [item.path for item in world.branch().list()] == ["b"]
    put = mine.put("c", b"content")
    assert world.branch().read("c") == b"content"
    assert put.path == "c"


WRITES: dict[str, Callable[[Branch], object]] = {
    "put": lambda branch: branch.put("b", b"content"),
    "stage": lambda branch: branch.stage("b", entry(2)),
    "remove": lambda branch: branch.remove("a"),
}


def seen(branch: Branch) -> set[str]:
    return {item.path for item in branch.list()}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_under_way_when_its_repository_is_deleted_is_unknown(
    world: World, kv: Interposed, write: Callable[[Branch], object]
) -> None:
    """The record was set in the old token, and the restored repository has that token again."""
    world.branch().stage("a", entry(1))
    world.branch().commit("a")
    mine = world.branch(kv)
    mine.get("a")
    world.graveler().delete_repository("repo")
    with pytest.raises(OutcomeUnknown, match="may be visible if the repository is restored") as told:
        write(mine)
    assert isinstance(told.value.__cause__, NotFound)
    assert told.value.details == {"repository": "repo", "branch": "main"}
    world.graveler().undelete_repository("repo")
    assert seen(world.branch()) == (set() if write is WRITES["remove"] else {"a", "b"})


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_knows_of_the_deletion_sets_nothing(
    world: World, kv: Interposed, write: Callable[[Branch], object]
) -> None:
    world.branch().stage("a", entry(1))
    mine = world.branch(kv)
    mine.get("a")
    world.graveler().delete_repository("repo")
    for _ in range(2):
        with pytest.raises(NotFound):
            mine.get("a")
        with pytest.raises(NotFound):
            write(mine)
    world.graveler().undelete_repository("repo")
    assert seen(world.branch()) == {"a"}


def test_a_write_that_a_commit_took_before_the_branch_was_deleted_is_unknown(world: World, kv: Interposed) -> None:
    """The branch comes back with a new staging token, but its head holds the write."""
    repo = world.graveler().repository("repo")
    repo.create_branch("dev", "main")
    mine = world.branch(kv, "dev")
    mine.stage("a", entry(1))

    def committed_and_deleted() -> None:
        repo.branch("dev").commit("takes both")
        repo.delete_branch("dev")

    kv.reset()
    kv.before[1] = committed_and_deleted
    with pytest.raises(OutcomeUnknown, match="a commit may contain the write") as told:
        mine.stage("b", entry(2))
    assert isinstance(told.value.__cause__, NotFound)
    repo.undelete_branch("dev")
    assert seen(repo.branch("dev")) == {"a", "b"}


def test_a_write_after_its_branch_was_deleted_is_not_in_the_branch_that_comes_back(
    world: World, kv: Interposed
) -> None:
    repo = world.graveler().repository("repo")
    repo.create_branch("dev", "main")
    mine = world.branch(kv, "dev")
    mine.stage("a", entry(1))
    repo.delete_branch("dev")
    with pytest.raises(OutcomeUnknown):
        mine.stage("b", entry(2))
    with pytest.raises(NotFound):
        mine.stage("b", entry(2))
    repo.undelete_branch("dev")
    assert seen(repo.branch("dev")) == set()


def test_a_branch_created_anew_is_never_mistaken_for_the_old_one(world: World, kv: Interposed) -> None:
    repo = world.graveler().repository("repo")
    repo.create_branch("dev", "main")
    mine = world.branch(kv, "dev")
    mine.stage("a", entry(1))
    repo.delete_branch("dev")
    repo.create_branch("dev", "main")
    mine.stage("b", entry(2))
    assert [item.path for item in repo.branch("dev").list()] == ["b"]


def test_written_but_not_confirmed_is_unknown(world: World, kv: Interposed) -> None:
    """The closing re-read fails: the write may count, so the answer must not be that nothing happened."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.fail[1] = unavailable()
    with pytest.raises(OutcomeUnknown):
        mine.stage("b", entry(2))
    assert world.branch().get("b").size == 2


@pytest.mark.parametrize("happened", [True, False])
def test_a_lost_answer_and_then_no_answer_at_all_is_unknown(world: World, kv: Interposed, happened: bool) -> None:
    """A store that goes down takes the answer of the write with it, and the closing re-read after it."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.lose[0] = happened
    kv.fail[1] = unavailable()
    with pytest.raises(OutcomeUnknown):
        mine.stage("b", entry(2))


@pytest.mark.parametrize("refusal", [unavailable(), denied()], ids=["unavailable", "denied"])
def test_half_of_several_is_unknown(world: World, kv: Interposed, refusal: GravelerError) -> None:
    """On a store that writes them one by one, the second does not arrive."""
    world.branch().stage("b", entry(2))
    stores = world.stores(PlainStore(kv))
    remove(stores, RepositoryId("repo"), BranchId("main"), ["c"])
    kv.reset()
    kv.fail[1] = refusal
    with pytest.raises(OutcomeUnknown):
        remove(stores, RepositoryId("repo"), BranchId("main"), ["b", "c"])
    with pytest.raises(NotFound):
        world.branch().get("b")


def test_contents_of_which_the_store_has_refused_the_second_have_an_unknown_outcome(
    world: World, kv: Interposed
) -> None:
    """The credentials expire between two requests of one call, and the first content is visible."""
    mine = world.branch(PlainStore(kv))
    mine.put("a", b"content")
    kv.reset()
    kv.fail[1] = denied()
    with pytest.raises(OutcomeUnknown, match="the credentials have expired"):
        mine.put_many({"b": b"first", "c": b"second"})
    assert seen(world.branch()) == {"a", "b"}


def test_a_single_content_that_the_store_refuses_has_no_effect(world: World, kv: Interposed) -> None:
    mine = world.branch(PlainStore(kv))
    mine.put("a", b"content")
    kv.reset()
    kv.fail[0] = denied()
    with pytest.raises(PermissionDenied):
        mine.put("b", b"content")
    assert seen(world.branch()) == {"a"}


def test_not_written_is_said_so(world: World, kv: Interposed) -> None:
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.fail[0] = unavailable()
    with pytest.raises(Unavailable):
        mine.stage("b", entry(2))
    with pytest.raises(NotFound):
        world.branch().get("b")


def test_an_error_of_a_stale_record_is_not_raised(world: World, kv: Interposed) -> None:
    """The write went wrong where it no longer belongs; where it belongs it goes right."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    world.branch().commit("other")
    kv.reset()
    kv.fail[0] = unavailable()
    mine.stage("b", entry(2))
    assert world.branch().get("b").size == 2


def test_contents_replace_paths_in_one_step(world: World) -> None:
    main = world.branch()
    main.stage("old/1", entry(1))
    main.stage("old/2", entry(2))
    main.commit("old")
    staged = main.put_many(
        {"new/1": b"one", "old/2": iter([b"tw", b"o"])}, remove=["old/1", "old/2", "none"], content_type="text/plain"
    )
    assert [(each.path, each.size, each.content_type) for each in staged] == [
        ("new/1", 3, "text/plain"),
        ("old/2", 3, "text/plain"),
    ]
    assert seen(main) == {"new/1", "old/2"}
    assert main.read("old/2") == b"two"
    assert main.record().sealed_tokens == ()


def test_contents_are_staged_together_or_not_at_all(world: World, kv: Interposed) -> None:
    main = world.branch(kv)
    with pytest.raises(InvalidInput, match="of type int"):
        main.put_many({"a": b"one", "b": iter([1])})
    with pytest.raises(InvalidInput, match="path ''"):
        main.put_many({"a": b"one", "": b"two"})
    with pytest.raises(InvalidInput, match="path ''"):
        main.put_many({"a": b"one"}, remove=[""])
    assert seen(world.branch()) == set()


def test_a_failed_upload_is_reported_although_a_commit_came_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt cannot read the first content again. It reports the error of the first attempt."""
    mine, real = world.branch(), write.upload
    mine.put("x", b"staged")

    def upload(blobs: Blobs, address: str, content: Content) -> object:
        if content.source == b"2":
            world.branch().commit("x")
            raise Unavailable("the store is gone")
        return real(blobs, address, content)

    monkeypatch.setattr(write, "upload", upload)
    with pytest.raises(Unavailable, match="the store is gone"):
        mine.put_many({"a": iter([b"content"]), "b": b"2"})
    assert seen(world.branch()) == {"x"}


def test_a_long_upload_leaves_nothing_in_a_token_that_is_forgotten(world: World) -> None:
    """The commit drops the token while the content is uploaded, and the cleaner forgets it."""
    slow = Graveler(replace(world.stores(), registers=RegisterCache(now=world.clock.monotonic)))
    mine = slow.repository("repo").branch("main")
    mine.put("a", b"content")
    token = mine.record().staging_token

    def content() -> Iterator[bytes]:
        yield b"begun"
        world.branch().commit("a")
        world.clock.sleep(2 * LATE.total_seconds())
        world.graveler().clean()
        assert not rows(world, token)
        yield b" and ended"

    mine.put("b", content())
    assert not rows(world, token)
    assert world.branch().read("b") == b"begun and ended"
    assert [item.path for item in world.branch().uncommitted()] == ["b"]


class Slow(PlainStore):
    """A store that writes two rows and pauses for eleven minutes, in which others act, before it writes more."""

    def __init__(self, world: World, others: Callable[[], object]) -> None:
        super().__init__(world.kv)
        self.world, self.others = world, others
        self.written: list[int] = []

    def set_many(self, items: Sequence[Item]) -> None:
        self.written.append(len(items))
        for number, (partition, key, value) in enumerate(items, 1):
            self.set(partition, key, value)
            if number == 2:
                self.world.clock.sleep(1.1 * LATE.total_seconds())
                self.others()


def test_a_long_write_leaves_nothing_in_a_token_that_is_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit takes the first portion, and the cleaner forgets the token before the second one."""
    monkeypatch.setattr(write, "MOST_ROWS", 2)
    paths = [f"p{number}" for number in range(5)]
    world.branch().put_many(dict.fromkeys(paths, b"content"))
    world.branch().commit("all")
    token = world.branch().record().staging_token

    def others() -> None:
        if len(slow.written) == 1:
            world.branch().commit("others")
            world.clock.sleep(2 * LATE.total_seconds())
            world.graveler().clean()
            assert not rows(world, token)

    slow = Slow(world, others)
    stores = replace(world.stores(slow), registers=RegisterCache(now=world.clock.monotonic))
    Graveler(stores).repository("repo").branch("main").put_many({}, remove=paths)
    assert not rows(world, token)
    assert seen(world.branch()) == set()
    assert slow.written == [2, 2, 2, 1]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6])
def test_records_in_portions_are_all_staged(
    world: World, kv: Interposed, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Portions cost no further reads while the records in the cache are fresh."""
    contents = {f"p{number}": b"%d" % number for number in range(6)}
    mine = world.branch(PlainStore(kv))
    mine.put("old", b"content")
    kv.reset()
    monkeypatch.setattr(write, "MOST_ROWS", most)
    mine.put_many(contents, remove=["old"])
    assert kv.verbs == ["set"] * 7 + ["get"] * 2
    assert seen(world.branch()) == contents.keys()


def test_an_atomic_write_is_one_portion(world: World, kv: Interposed, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = world.branch(kv)
    mine.put("old", b"content")
    kv.reset()
    monkeypatch.setattr(write, "MOST_ROWS", 1)
    mine.put_many({"a": b"1", "b": b"2"}, remove=["old"])
    assert kv.verbs == ["set_many", "get_many"]


def test_a_write_whose_second_portion_is_refused_has_an_unknown_outcome(
    world: World, kv: Interposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = world.branch(PlainStore(kv))
    mine.put("old", b"content")
    kv.reset()
    kv.fail[1] = unavailable()
    monkeypatch.setattr(write, "MOST_ROWS", 1)
    with pytest.raises(OutcomeUnknown):
        mine.put_many({"a": b"1", "b": b"2"})


def test_a_write_does_not_use_an_older_token_that_the_cache_has_got_meanwhile(world: World) -> None:
    """A swap whose response was late puts its record into the cache, although others have moved the branch since."""
    stores = world.stores()
    mine = Graveler(stores).repository("repo").branch("main")
    mine.put("a", b"content")
    late = access.read(world.kv, keys.branch(world.graveler().repository("repo")._record, BranchId("main")))
    assert late is not None

    def content() -> Iterator[bytes]:
        yield b"begun"
        stores.registers.replace("repo", "main", late)
        yield b" and ended"

    world.branch().commit("a")
    assert mine.read("a") == b"content"
    mine.put("b", content())
    assert world.branch().read("b") == b"begun and ended"
    assert not rows(world, late.value.staging_token)


def rows(world: World, token: str) -> list[bytes]:
    return [row.key for row in world.kv.scan(keys.staging(token))]
