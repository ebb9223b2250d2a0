"""Only layouts that are damaged, and whose commits neither exist nor are named, are removed."""

from __future__ import annotations

from functools import partial

import pytest

from graveler_core.codec.records import encode
from graveler_core.engine.references.events import fold
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.gc.layout_removal import PAUSE, LayoutRemovals, remove_damaged_layouts
from graveler_core.gc.sweep import SweepPlan, sweep
from graveler_core.kv.store import Store
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.layout import CommitFolders
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.races import Interrupted
from tests.unit.gc.places import Place
from tests.unit.gc.test_fsck import rows

ID = CommitId("5" * 64)
NOTHING = LayoutRemovals((), ())


def histories(place: Place) -> list[CommitFolders]:
    return [keys.history(place.repo), keys.internal_history(place.repo)]


def damage(place: Place, id: CommitId = ID, history: int = 0) -> None:
    where = histories(place)[history].layouts.at(id)
    place.world.kv.set(where.partition, where.key, b"garbage")


def lose_header(place: Place, id: CommitId) -> None:
    where = keys.commit(place.repo, id)
    place.world.kv.delete(where.partition, where.key)


def removed(place: Place, kv: Store | None = None) -> LayoutRemovals:
    return remove_damaged_layouts(place.stores if kv is None else place.world.stores(kv), place.repo)


@pytest.mark.parametrize("history", [0, 1])
def test_a_damaged_layout_without_a_commit(place: Place, history: int) -> None:
    before = rows(place, b"")
    damage(place, history=history)
    plan = SweepPlan(dry_run=True)
    with pytest.raises(CorruptData):
        sweep(place.stores, place.repo, plan)
    assert removed(place) == LayoutRemovals((ID,), ())
    assert rows(place, b"") == before
    assert not place.damage(deep=True)
    sweep(place.stores, place.repo, plan)
    assert removed(place) == NOTHING


def test_a_repository_without_damage_is_not_changed_and_nothing_waits(place: Place) -> None:
    before, since = rows(place, b""), place.world.clock.monotonic()
    assert removed(place) == NOTHING
    assert rows(place, b"") == before
    assert place.world.clock.monotonic() - since < PAUSE


def test_an_intact_layout_without_a_commit_stays(place: Place) -> None:
    where = keys.commit_layout(place.repo, ID)
    place.world.kv.set(where.partition, where.key, encode(place.commit(place.handle.commit("dev").id).layout))
    assert removed(place) == NOTHING
    assert place.world.kv.get(where.partition, where.key) is not None


def test_a_damaged_layout_of_a_commit_stays(place: Place) -> None:
    damage(place, place.handle.commit("dev").id)
    assert removed(place) == NOTHING
    assert place.damage()


@pytest.mark.parametrize("name", ["dev", "dev~1", "v1", "former"])
def test_a_damaged_layout_of_a_commit_that_something_names_stays(place: Place, name: str) -> None:
    """Its header was lost, and can be restored from a copy, with the layout."""
    if name == "former":
        id = place.handle.commit("dev").id
        place.handle.branch("dev").hard_reset("dev~1")
        where = keys.former_heads(place.repo)
        assert any(place.world.kv.scan(where.partition, prefix=where.prefix))
        place.handle.branch("main").hard_reset("v1")
    else:
        id = place.handle.commit(name).id
    damage(place, id)
    lose_header(place, id)
    assert removed(place) == LayoutRemovals((), (id,))
    assert (keys.commit_layout(place.repo, id).key, b"garbage") in [row[1:] for row in rows(place, b"layouts/")]


def test_a_damaged_layout_of_the_head_of_the_log_stays(place: Place) -> None:
    place.handle.create_branch("logged", "main")
    fold(place.stores, place.repo)
    log = access.read(place.world.kv, keys.reference_log(place.repo))
    assert log is not None
    where = keys.internal_history(place.repo).headers.at(log.value.commit_id)
    place.world.kv.delete(where.partition, where.key)
    damage(place, log.value.commit_id, history=1)
    assert removed(place) == LayoutRemovals((), (log.value.commit_id,))


def test_a_damaged_header_stops_it(place: Place) -> None:
    """It is unknown which parents it names."""
    damage(place)
    where = keys.commit(place.repo, place.handle.commit("dev").id)
    place.world.kv.set(where.partition, where.key, b"garbage")
    with pytest.raises(CorruptData, match="no layout was removed"):
        removed(place)
    assert place.world.kv.get(keys.partition(place.repo), b"layouts/" + ID.encode()) is not None


def test_a_bare_repository_is_refused(place: Place) -> None:
    damage(place)
    with pytest.raises(InvalidInput, match="bare"):
        remove_damaged_layouts(place.stores, place.repo.model_copy(update={"bare": True}))


def test_others_may_write_the_commit_between_any_two_calls(place: Place) -> None:
    """A late layout, or header and layout: what can be read is kept."""
    head = place.commit(place.handle.commit("dev").id)
    header = head.header.model_copy(update={"nonce": "late"})
    where, at = keys.commit_layout(place.repo, ID), keys.commit(place.repo, ID)
    damage(place)
    counted = Interposed(place.world.kv)
    assert removed(place, counted).removed == (ID,)
    for call in range(len(counted.verbs)):
        for late in (where, at):
            damage(place)
            value = encode(head.layout if late is where else header)
            kv = Interposed(place.world.kv)
            kv.before[call] = partial(place.world.kv.set, late.partition, late.key, value)
            try:
                done = removed(place, kv)
            except CorruptData:  # this header does not match its id
                done = NOTHING
            if late is where:
                assert place.world.kv.get(where.partition, where.key).value == value  # type: ignore[union-attr]
                assert done == NOTHING
            elif call < len(counted.verbs) - 1:
                assert done == NOTHING
            place.world.kv.delete(at.partition, at.key)


def test_a_crash_at_any_call_is_repeated(place: Place) -> None:
    before = rows(place, b"")
    damage(place)
    counted = Interposed(place.world.kv)
    removed(place, counted)
    for call in range(len(counted.verbs)):
        damage(place)
        kv = Interposed(place.world.kv)
        kv.fail[call] = Crash()
        with pytest.raises(Crash):
            removed(place, kv)
        assert removed(place).removed == (ID,)
        assert rows(place, b"") == before


def test_a_commit_whose_header_is_written_during_the_pause_stays(place: Place) -> None:
    """A store has written the layout first, and it was damaged at once."""
    head = place.commit(place.handle.commit("dev").id)
    id = place.write(head.header.model_copy(update={"nonce": "flight"}), head.layout)
    where = keys.commit(place.repo, id)
    header = place.world.kv.get(where.partition, where.key)
    assert header is not None
    lose_header(place, id)
    damage(place, id)
    damage(place)

    def written() -> None:
        place.world.kv.set(where.partition, where.key, header.value)

    kv = Interrupted(place.world.kv, written, before=lambda call: call.verb == "scan" and call.key == b"commits/")
    assert removed(place, kv) == LayoutRemovals((ID,), (id,))
