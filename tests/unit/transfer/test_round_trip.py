"""Tests of dump and restore: equal content in every store, and an equal file when it is dumped again."""

from __future__ import annotations

from graveler_core.kv.store import Store
from graveler_core.refs import repositories
from tests.golden.history import NAME
from tests.unit.engine.world import entry
from tests.unit.transfer.moves import Original, bare, content, elsewhere, fresh_uri, require_alike, shown


def test_there_and_back(made: Original, kv: Store) -> None:
    """From memory into the store and back."""
    there = elsewhere(made, kv)
    restored = bare(there).restore_refs(made.dumped.uri)
    assert (restored.branches, restored.tags, restored.commits) == (4, 1, made.dumped.commits)
    assert (restored.objects, restored.digest, restored.renamed) == (made.dumped.objects, made.dumped.digest, {})
    require_alike(made, there.graveler().repository(NAME))
    ids = [*made.world.graveler().migrated_ids(NAME)]
    assert len(ids) == 3
    assert [*there.graveler().migrated_ids(NAME)] == ids
    again = there.graveler().repository(NAME).dump_refs(fresh_uri())
    assert content(there, again.uri) == made.data
    assert (again.digest, again.dirty) == (made.dumped.digest, 0)
    back = elsewhere(made)
    bare(back).restore_refs(again.uri)
    require_alike(made, back.graveler().repository(NAME))


def test_it_is_a_repository_like_any_other(made: Original) -> None:
    world = elsewhere(made)
    repo = bare(world)
    assert repositories.get(world.kv, world.clock, world.ids, repo.id).bare
    repo.restore_refs(made.dumped.uri)
    record = repositories.get(world.kv, world.clock, world.ids, repo.id)
    theirs = repositories.get(made.world.kv, world.clock, world.ids, repo.id)
    assert (record.bare, record.boundary_seed, record.format_version) == (False, theirs.boundary_seed, 1)
    main = repo.branch("main")
    before = shown(repo, "main")
    main.stage("new", entry(77))
    main.commit("today")
    assert shown(repo, "main@") == before | {"new": 77}
    repo.branch("side").stage("there", entry(78))
    repo.branch("side").commit("on the side")
    repo.merge("side", into="main")
    assert shown(repo, "main") == before | {"new": 77, "there": 78}
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]


def test_what_is_staged_is_counted_and_left_out(made: Original) -> None:
    assert (made.dumped.branches, made.dumped.dirty) == (4, 2)
    world = elsewhere(made)
    repo = bare(world)
    repo.restore_refs(made.dumped.uri)
    assert not [change for name in ("work", "compacted") for change in repo.branch(name).uncommitted()]


def test_commits_that_nothing_leads_to_are_dumped(made: Original) -> None:
    world = elsewhere(made, made.world.fork().kv)
    repo = world.graveler().repository(NAME)
    side = repo.create_branch("gone", "main")
    side.stage("only/here", entry(5))
    lost = side.commit("soon forgotten")
    repo.delete_branch("gone")
    dumped = repo.dump_refs(fresh_uri())
    assert dumped.commits == made.dumped.commits + 1
    there = elsewhere(made)
    bare(there).restore_refs(dumped.uri)
    assert there.graveler().repository(NAME).at(lost.id).get("only/here").size == 5
