"""Commit: what is in it, what it refuses, and the races that interleavings alone would not name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from graveler_core.engine.committing import commit as committing
from graveler_core.engine.committing import seal
from graveler_core.engine.staging import layer_room
from graveler_core.engine.staging.layer_room import MAX_LAYER_BYTES
from graveler_core.errors import (
    Conflict,
    InvalidInput,
    Kind,
    LimitExceeded,
    NoChanges,
    NotFound,
    PermissionDenied,
    SlowDown,
)
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.model.ids import LayerId
from graveler_core.model.layers import PrefixRemoval
from graveler_core.model.names import MAX_REF_NAME
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Hook, Hooks
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import World, entry


def before_call(kv: Interposed, verb: str, nth: int) -> int:
    """The number of the n-th call of a verb in what was recorded."""
    return [number for number, called in enumerate(kv.verbs) if called == verb][nth]


def remove_prefixes(branch: Branch, prefixes: list[str]) -> None:
    for prefix in prefixes:
        branch.remove_prefix(prefix)


def recorded(world: World, kv: Interposed) -> None:
    """What a commit calls, learned on a copy."""
    copied = Interposed(world.fork().kv)
    branch = world.branch(copied)
    copied.reset()
    branch.commit("rehearsal")
    kv.verbs[:] = copied.verbs


@pytest.fixture
def main(world: World) -> Branch:
    return world.branch()


def test_a_commit_names_what_it_took(main: Branch) -> None:
    main.stage("a", entry(1))
    made = main.commit("m", committer="me", metadata={"z": "1", "a": "2"})
    assert (made.message, made.committer, dict(made.metadata)) == ("m", "me", {"a": "2", "z": "1"})
    assert main.record().commit_id == made.id
    assert main.record().sealed_tokens == ()


def test_a_commit_can_be_dated(main: Branch) -> None:
    main.stage("a", entry(1))
    date = datetime(1999, 12, 31, 23, 0, tzinfo=timezone(timedelta(hours=-1)))
    assert main.commit("m", date=date).creation_date == datetime(2000, 1, 1, tzinfo=UTC)
    main.stage("a", entry(2))
    with pytest.raises(InvalidInput, match="time zone"):
        main.commit("m", date=datetime(2000, 1, 1))
    assert [change.path for change in main.uncommitted()] == ["a"]


def test_nothing_staged_seals_nothing(main: Branch) -> None:
    before = main.record()
    with pytest.raises(NoChanges) as caught:
        main.commit("m")
    assert main.record() == before
    assert caught.value.details["commit"] == before.commit_id


def test_what_changes_nothing_leaves_the_record(main: Branch) -> None:
    main.stage("a", entry(1))
    head = main.commit("m").id
    main.stage("a", entry(1, mtime=1))
    main.remove("absent")
    main.remove_prefix("nothing/")
    with pytest.raises(NoChanges) as caught:
        main.commit("again")
    assert caught.value.details["commit"] == head
    assert main.record().sealed_tokens == ()
    assert main.get("a") == next(main.list())


@pytest.mark.parametrize("beside", [False, True])
def test_a_commit_shows_the_committed_time_and_address_of_what_changes_nothing(main: Branch, beside: bool) -> None:
    """Staged, the same content shows its own; the commit drops it, with nothing else to commit or beside a change."""
    main.stage("a", entry(1))
    main.commit("m")
    again = replace(entry(1, mtime=1), address="data/copy")
    main.stage("a", again)
    assert (main.get("a").mtime, main.get("a").address) == (again.mtime, again.address)
    if beside:
        main.stage("b", entry(2))
        main.commit("b")
    else:
        with pytest.raises(NoChanges):
            main.commit("again")
    assert (main.get("a").mtime, main.get("a").address) == (entry(1).mtime, entry(1).address)


def test_back_to_the_head_over_a_compacted_tree_is_no_change(main: Branch) -> None:
    """Equal by identity is equal, also where the compacted tree holds something else and the mtime differs."""
    main.stage("k", entry(0))
    main.commit("head")
    main.stage("k", entry(1))
    main.compact()
    main.stage("k", entry(0, mtime=1))
    with pytest.raises(NoChanges):
        main.commit("back")
    assert main.get("k").mtime == entry(0).mtime


def test_the_digest_fixes_the_content_over_a_compacted_tree(world: World, main: Branch) -> None:
    """A new mtime alone, beside a real change, is not smuggled past the operations digest."""
    main.stage("k", entry(0))
    main.commit("head")
    main.stage("k", entry(1))
    main.compact()
    main.stage("k", entry(0, mtime=1))
    main.stage("other", entry(2))
    compacted = main.commit("over a compacted tree").id
    main.hard_reset("main~1")
    main.stage("k", entry(0, mtime=1))
    main.stage("other", entry(2))
    main.commit("over the head")
    repo = world.graveler().repository("repo")
    assert repo.at(compacted).tree_id() == repo.at("main@").tree_id()


def test_an_empty_commit_on_a_moving_branch_is_made(world: World, main: Branch) -> None:
    """Nothing was staged, so nothing was absorbed or discarded by what came first: it is built again."""
    kv = Interposed(world.kv)
    mine = world.branch(kv)

    def others() -> None:
        main.stage("a", entry(1))
        main.commit("other")
        main.reset()

    kv.reset()
    kv.before[3] = others
    made = mine.commit("empty", allow_empty=True)
    assert not kv.before
    assert [c.message for c in world.graveler().repository("repo").log("main")] == [
        "empty",
        "other",
        "Repository created",
    ]
    assert main.record().commit_id == made.id


def test_another_commit_took_it(world: World, main: Branch) -> None:
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    main.stage("a", entry(1))
    recorded(world, kv)
    advance = before_call(kv, "write_and_swap", 0)
    kv.reset()
    taken = []

    def others() -> None:
        main.stage("b", entry(2))
        taken.append(main.commit("other").id)

    kv.before[advance] = others
    with pytest.raises(NoChanges) as caught:
        mine.commit("mine")
    assert caught.value.details["commit"] == taken[0]


def test_another_commit_took_it_and_empty_ones_are_allowed(world: World, main: Branch) -> None:
    """Whoever asks for a commit whatever there is gets one, also when the changes went elsewhere."""
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    main.stage("a", entry(1))
    recorded(world, kv)
    advance = before_call(kv, "write_and_swap", 0)
    kv.reset()
    kv.before[advance] = lambda: main.commit("other")
    made = mine.commit("mine", allow_empty=True)
    assert not kv.before
    assert [c.message for c in world.graveler().repository("repo").log("main")][:2] == ["mine", "other"]
    assert main.record().commit_id == made.id
    assert main.get("a").size == 1


def test_a_reset_took_it(world: World, main: Branch) -> None:
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    main.stage("a", entry(1))
    recorded(world, kv)
    advance = before_call(kv, "write_and_swap", 0)
    kv.reset()
    kv.before[advance] = main.reset
    with pytest.raises(Conflict) as caught:
        mine.commit("mine")
    assert caught.value.kind is Kind.Discarded


def test_a_reset_took_it_and_another_commit_took_what_was_staged_later(
    world: World, main: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit starts again on what a compaction left, and loses that too: its own changes are gone all the same."""
    install = committing._install
    others = [lambda: main.commit("other"), lambda: (main.reset(), main.stage("b", entry(2)), main.compact())]

    def interrupted(*args: Any) -> Any:
        monkeypatch.setattr(committing, "_install", install)
        others.pop()()
        if others:
            monkeypatch.setattr(committing, "_install", interrupted)
        return install(*args)

    main.stage("a", entry(1))
    monkeypatch.setattr(committing, "_install", interrupted)
    with pytest.raises(Conflict) as caught:
        world.branch().commit("mine")
    assert caught.value.kind is Kind.Discarded
    assert others == []
    assert [c.message for c in world.graveler().repository("repo").log("main")][:1] == ["other"]


@pytest.mark.parametrize("what", [{"prefix": "p/"}, {"path": "p/1"}])
def test_a_reset_of_a_prefix_or_a_path_is_not_undone(world: World, main: Branch, what: dict[str, str]) -> None:
    """The restoration stands above what is being committed, so the commit is built again with it."""
    main.stage("p/1", entry(1))
    main.commit("base")
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    main.stage("p/1", entry(2))
    main.stage("q", entry(3))
    recorded(world, kv)
    advance = before_call(kv, "write_and_swap", 0)
    kv.reset()
    kv.before[advance] = lambda: main.reset(**what)
    mine.commit("mine")
    assert main.get("p/1").size == 1
    assert world.graveler().repository("repo").at("main@").get("p/1").size == 1
    assert world.graveler().repository("repo").at("main@").get("q").size == 3


def test_a_commit_is_made_although_its_layers_cannot_be_dropped(world: World, main: Branch) -> None:
    """The answer is the commit's; what is left is for the cleaner, who has a record of it."""
    kv = Interposed(world.kv)
    mine = world.branch(kv)
    main.stage("a", entry(1))
    recorded(world, kv)
    drop = before_call(kv, "drop_partition", 0)
    kv.reset()
    kv.fail[drop] = unavailable()
    made = mine.commit("mine")
    assert main.record().commit_id == made.id
    assert any(True for _ in world.kv.scan(world_partition(world), prefix=b"cleanup/"))


def world_partition(world: World) -> bytes:
    record = world.graveler().repository("repo")._record
    return f"{record.id}-{record.uid}".encode()


def test_a_commit_twice_under_one_key_is_one(main: Branch) -> None:
    main.stage("a", entry(1))
    first = main.commit("m", idempotency_key="run 1")
    main.stage("b", entry(2))
    assert main.commit("m", idempotency_key="run 1") == first
    assert main.get("b").size == 2
    assert main.commit("m", idempotency_key="run 2").parents == (first.id,)


def test_a_key_of_another_branch_is_refused(world: World, main: Branch) -> None:
    dev = world.graveler().repository("repo").create_branch("dev", "main")
    main.stage("a", entry(1))
    main.commit("m", idempotency_key="run 1")
    dev.stage("a", entry(1))
    with pytest.raises(InvalidInput, match="run 1"):
        dev.commit("m", idempotency_key="run 1")
    assert dev.get("a").size == 1


@pytest.mark.parametrize(
    "draft",
    [
        {"message": "m" * 40_000},
        {"message": "\x01" * 10_000},
        {"message": "\ud800"},
        {"message": 5},
        {"message": "m", "metadata": {"k": None}},
        {"message": "m", "committer": "\udfff"},
        {"message": "m", "metadata": {"k": "v" * 40_000}},
    ],
    ids=["long", "long when escaped", "surrogate", "number", "null", "committer", "metadata"],
)
def test_bad_texts_are_refused_before_anything_happens(main: Branch, draft: dict[str, object]) -> None:
    main.stage("a", entry(1))
    before = main.record()
    with pytest.raises(InvalidInput):
        main.commit(**draft)  # type: ignore[arg-type]
    assert main.record() == before


def test_a_key_too_long_for_the_store_changes_nothing(main: Branch) -> None:
    main.stage("a", entry(1))
    before = main.record()
    with pytest.raises(LimitExceeded):
        main.commit("m", idempotency_key="k" * 2_000)
    assert main.record() == before


def test_layers_are_bounded_and_a_commit_always_fits(main: Branch) -> None:
    """By number, and by bytes: long prefixes must not grow the record until no token can be sealed into it."""
    with pytest.raises(SlowDown) as caught:
        remove_prefixes(main, [f"{number:03}" + "\x01" * 900 for number in range(200)])
    assert caught.value.kind is Kind.TooManyLayers
    assert 5 < len(main.record().sealed_tokens) < 100
    assert len(main.record().model_dump_json()) < MAX_LAYER_BYTES + 8_000
    main.stage("a", entry(1))
    main.commit("m")
    assert main.record().sealed_tokens == ()


def test_too_many_layers(main: Branch) -> None:
    with pytest.raises(SlowDown) as caught:
        remove_prefixes(main, [f"{number}/" for number in range(101)])
    assert caught.value.kind is Kind.TooManyLayers
    assert len(main.record().sealed_tokens) == 99
    main.stage("a", entry(1))
    main.commit("m")
    main.remove_prefix("a")


def test_a_branch_that_is_gone(world: World, main: Branch) -> None:
    dev = world.graveler().repository("repo").create_branch("dev", "main")
    dev.stage("a", entry(1))
    world.graveler().repository("repo").delete_branch("dev")
    with pytest.raises(NotFound) as caught:
        dev.commit("m")
    assert caught.value.kind is Kind.BranchNotFound


@pytest.mark.parametrize("relief", ["commit", "compact"])
@pytest.mark.parametrize(("limit", "value"), [("MAX_LAYERS", 12), ("_CROWDED_BYTES", 5_000)])
def test_refused_commits_do_not_fill_the_record(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, relief: str
) -> None:
    """Each leaves a sealed token."""
    monkeypatch.setattr(layer_room, limit, value)
    monkeypatch.setattr(seal, "REPORTED_LAYERS", 9)
    name = "b" * MAX_REF_NAME

    def refuse(*_: object) -> None:
        raise ValueError("not today")

    hooks = Hooks(functions=(Hook("refuses", refuse, ("pre-commit",)),))
    repo = world.graveler().repository("repo")
    repo.create_branch(name, "main")
    refused = Graveler(replace(world.stores(), hooks=hooks)).repository("repo").branch(name)
    layers, paths = [], [f"p{number:02}" for number in range(30)]
    for number, path in enumerate(paths):
        refused.stage(path, entry(number))
        with pytest.raises(PermissionDenied):
            refused.commit("m")
        layers.append(len(refused.record().sealed_tokens))
        if layers[-1] >= 10:
            assert [each.branch.id for each in world.graveler().pressures()] == [name]
    assert 10 <= max(layers) <= 15
    assert layers.index(max(layers)) < 20
    branch = world.branch(name=name)
    if relief == "compact":
        branch.compact()
    assert [each.path for each in repo.at(branch.commit("at last").id).list()] == paths
    assert branch.record().sealed_tokens == ()


def test_a_compaction_of_a_crowded_branch_leaves_the_staging_token(world: World, main: Branch) -> None:
    main.stage("a", entry(1))
    main.commit("a")
    layers = tuple(PrefixRemoval(id=LayerId(f"{number}"), prefix=f"{number}/") for number in range(101))
    held = access.read(world.kv, keys.branch(world.graveler().repository("repo")._record, main.id))
    assert held is not None
    record = held.value.model_copy(update={"sealed_tokens": layers})
    access.replace(world.kv, keys.branch(world.graveler().repository("repo")._record, main.id), held, record)
    branch = world.branch()
    branch.stage("b", entry(2))
    token = branch.record().staging_token
    assert branch.compact().layers == 101
    assert branch.record().staging_token == token
    assert [change.path for change in branch.uncommitted()] == ["b"]
    assert branch.compact().layers == 1
