"""A repository that a real lakeFS made comes over completely, refers to the same objects, and follows lakeFS."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound, NotUnique
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Trouble
from graveler_core.kv.backends.memory import open_memory
from graveler_core.transfer import migrated, restore
from graveler_core.transfer.lakefs import commits, metaranges, migration, references, verification
from tests.examples import places
from tests.foreign import fixtures
from tests.foreign.lakefs_history import REPOSITORY
from tests.integration.lakefs.states import SOURCE, differences, migrate, require_equal
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def graveler(world: World) -> Graveler:
    return world.graveler()


def ids(graveler: Graveler) -> dict[str, str]:
    return {item.origin: item.commit_id for item in graveler.migrated_ids(REPOSITORY)}


@pytest.mark.parametrize("state", ["first", "second"])
def test_everything_is_as_the_server_says(world: World, graveler: Graveler, state: str) -> None:
    done = migrate(graveler, state, world)
    said, made, repo = fixtures.expected(state), ids(graveler), graveler.repository(REPOSITORY)
    require_equal(repo, made, said["commits"])
    assert {branch.id: branch.commit_id for branch in repo.branches()} == {
        name: made[id] for name, id in said["branches"].items()
    }
    assert {tag.id: tag.commit_id for tag in repo.tags()} == {name: made[id] for name, id in said["tags"].items()}
    assert done.branches.created == tuple(sorted(said["branches"]))
    assert done.tags.created == tuple(sorted(said["tags"]))
    assert repo.default_branch == "main"
    assert repo.creation_date == min(repo.commit(id).creation_date for id in made.values())
    assert differences(graveler, state) == []


def test_commits_that_no_branch_reaches_come_over(world: World, graveler: Graveler) -> None:
    assert migrate(graveler, "first", world).commits == len(fixtures.expected("first")["commits"]) + 1
    repo = graveler.repository(REPOSITORY)
    messages = {repo.commit(id).message for id in ids(graveler).values()}
    assert "A commit that no branch reaches" in messages


def test_objects_are_read_where_lakefs_keeps_them(world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    repo = graveler.repository(REPOSITORY)
    assert repo.branch("main").read("raw/2024-05-01.csv") == b"carrier,flights\nAA,1000\n"
    assert repo.at("v1").read("raw/2024-05-01.csv") == b"carrier,flights\nAA,1\n"


def test_a_second_run_brings_only_what_is_new(world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    before = ids(graveler)
    done = migrate(graveler, "second", world)
    assert (done.commits, done.earlier_commits) == (1, len(before))
    assert (done.branches.created, done.branches.moved, done.branches.unchanged) == (("later",), ("main",), ("dev",))
    assert (done.tags.created, done.tags.unchanged) == (("v3",), ("v1", "v2"))
    assert before.items() < ids(graveler).items()
    assert differences(graveler, "second") == []
    again = migrate(graveler, "second", world)
    assert (again.commits, again.branches.unchanged, again.branches.moved) == (0, ("dev", "later", "main"), ())


def test_small_limits_give_the_same(world: World, graveler: Graveler, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(graveler, "second", world)
    expected, other = ids(graveler), World()
    for name in ("BATCH_COMMITS", "BATCH_BYTES"):
        monkeypatch.setattr(migrated, name, 1)
    for name in ("HELD_ENTRIES", "HELD_METARANGES"):
        monkeypatch.setattr(metaranges, name, 1)
    for module in (commits, migration, verification):
        monkeypatch.setattr(module, "PAGE_ENTRIES", 1)
    migrate(other.graveler(), "second", other)
    assert ids(other.graveler()) == expected
    assert differences(other.graveler(), "second") == []


def test_two_stores_get_the_same_ids(world: World, graveler: Graveler) -> None:
    other = World()
    migrate(graveler, "second", world)
    migrate(other.graveler(), "first", other)
    migrate(other.graveler(), "second", other)
    assert ids(graveler) == ids(other.graveler())


def test_a_branch_with_work_of_its_own_is_left_alone(world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    repo = graveler.repository(REPOSITORY)
    repo.branch("main").put("raw/own.csv", b"own")
    assert migrate(graveler, "second", world).branches.kept == ("main",)
    head = repo.branch("main").commit("Own work", committer="ada").id
    assert migrate(graveler, "second", world).branches.kept == ("main",)
    assert repo.commit("main").id == head
    found = differences(graveler, "second")
    assert len(found) == 1
    assert found[0].startswith("flights: branch main is changed: commit is ")


def test_names_that_lakefs_lacks_stay(world: World, graveler: Graveler) -> None:
    migrate(graveler, "second", world)
    assert migrate(graveler, "first", world).branches.kept == ()
    assert {branch.id for branch in graveler.repository(REPOSITORY).branches()} == {"dev", "later", "main"}
    found = differences(graveler, "first")
    assert "flights: branch later is surplus" in found
    assert "flights: tag v3 is surplus" in found


def test_a_dry_run_writes_nothing(world: World, graveler: Graveler) -> None:
    done = migrate(graveler, "first", world, dry_run=True)
    assert (done.commits, done.dry_run, done.branches.created) == (6, True, ())
    assert [*graveler.list_repositories()] == []


def test_the_index_is_sound(world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    migrate(graveler, "second", world)
    found = graveler.repository(REPOSITORY).fsck(deep=True)
    assert [each for each in found if each.trouble is not Trouble.UNREACHABLE] == []


@pytest.mark.ci
def test_each_run_that_dies_is_completed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrated, "BATCH_COMMITS", 2)
    whole = World()
    counted = Interposed(whole.kv)
    migrate(whole.graveler(counted), "first", whole)
    expected = ids(whole.graveler())
    writes = [number for number, verb in enumerate(counted.verbs) if verb in WRITES]
    assert len(writes) > 10
    for turn, number in enumerate(writes[place] for place in places(len(writes))):
        world = World()
        dying = Interposed(world.kv)
        dying.fail[number] = Crash()
        with pytest.raises(Crash):
            migrate(world.graveler(dying), "first", world)
        migrate(world.graveler(), "second" if turn % 2 else "first", world)
        assert expected.items() <= ids(world.graveler()).items()
        assert differences(world.graveler(), "second" if turn % 2 else "first") == []


def test_a_collection_never_deletes_what_lakefs_wrote(tmp_path: Path, world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    repo, before = graveler.repository(REPOSITORY), _files()
    for branch in ("main", "dev"):
        repo.branch(branch).remove_prefix("")
        repo.branch(branch).commit("Nothing", committer="ada")
    done = repo.collect(grace=timedelta(0), alone=True, foreign=True)
    assert (done.deleted, done.condemned) == (0, 0)
    repo.sweep(grace=timedelta(0), alone=True)
    graveler.delete_repository(REPOSITORY)
    graveler.clean(undelete_within=timedelta(0), late=timedelta(0))
    graveler.empty_namespaces()
    assert _files() == before


def _files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in fixtures.NAMESPACE.rglob("*") if path.is_file()}


@pytest.mark.parametrize("place", [SOURCE, f"{SOURCE}/graveler", fixtures.PLACE.as_uri()], ids=["same", "in", "above"])
def test_the_namespace_must_be_apart_from_that_of_lakefs(graveler: Graveler, place: str) -> None:
    with pytest.raises(InvalidInput, match="belongs to lakeFS") as refused:
        graveler.migrate_lakefs(REPOSITORY, SOURCE, place, manifest=fixtures.manifest("first"))
    assert refused.value.kind is Kind.NamespaceInUse


def test_the_namespace_of_another_store_is_taken_over_only_on_request(world: World, graveler: Graveler) -> None:
    other = replace(world, kv=open_memory("memory://")).graveler().create_repository("other", world.namespace("own"))
    with pytest.raises(NotUnique, match=rf"belongs to repository {other.uid} of another store"):
        migrate(graveler, "first", world)
    other.collect()
    migrate(graveler, "first", world, adopt=True)
    assert differences(graveler, "first") == []


def test_a_repository_from_elsewhere_is_not_touched(world: World, graveler: Graveler) -> None:
    graveler.create_repository(REPOSITORY, world.namespace("other"), ephemeral=True)
    with pytest.raises(NotUnique, match="was not migrated from"):
        migrate(graveler, "first", world)
    with pytest.raises(NotUnique, match="was not migrated from"):
        differences(graveler, "first")


def test_a_restored_repository_follows_lakefs(world: World, graveler: Graveler) -> None:
    migrate(graveler, "first", world)
    there = replace(world, kv=open_memory("memory://"))
    bare(there).restore_refs(dumped(world, graveler))
    assert ids(there.graveler()) == ids(graveler)
    assert differences(there.graveler(), "first") == []
    done = migrate(there.graveler(), "second", there)
    assert (done.commits, done.branches.created, done.branches.moved) == (1, ("later",), ("main",))
    assert differences(there.graveler(), "second") == []


def test_a_bare_repository_is_refused(world: World, graveler: Graveler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it has the records of the migration, if its restoration was interrupted."""
    migrate(graveler, "first", world)
    uri = dumped(world, graveler)
    there = replace(world, kv=open_memory("memory://"))
    repo = bare(there)

    def crash(*_: object) -> bool:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(restore, "adopt_collections", crash)
        with pytest.raises(Crash):
            repo.restore_refs(uri)
    with pytest.raises(NotUnique, match="is bare"):
        migrate(there.graveler(), "second", there)
    with pytest.raises(NotUnique, match="is bare"):
        differences(there.graveler(), "first")
    repo.restore_refs(uri)
    migrate(there.graveler(), "second", there)
    assert differences(there.graveler(), "second") == []


def dumped(world: World, graveler: Graveler) -> str:
    """The URI of a new dump of the repository."""
    uri = f"{world.namespace('dumps')}/{REPOSITORY}"
    return graveler.repository(REPOSITORY).dump_refs(uri).uri


def bare(world: World) -> Repository:
    """A bare repository over the storage namespace of the migrated one."""
    return world.graveler().create_bare_repository(REPOSITORY, world.namespace("own"), adopt=True)


def test_a_namespace_without_a_manifest_names_the_remedy(world: World, graveler: Graveler) -> None:
    with pytest.raises(NotFound, match="lakectl refs-dump"):
        graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"commits_meta_range_id": 1}'])
def test_a_file_that_is_no_manifest(world: World, graveler: Graveler, tmp_path: Path, text: str) -> None:
    (tmp_path / "refs.json").write_text(text)
    with pytest.raises(InvalidInput, match="is not a manifest"):
        graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"), manifest=(tmp_path / "refs.json").as_uri())


def test_a_missing_default_branch(world: World, graveler: Graveler) -> None:
    with pytest.raises(InvalidInput, match="no branch trunk; name one of dev, main"):
        migrate(graveler, "first", world, default_branch="trunk")
    migrate(graveler, "first", world, default_branch="dev")
    assert graveler.repository(REPOSITORY).default_branch == "dev"


def test_a_dump_without_commits(world: World, graveler: Graveler, tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text(json.dumps(dict.fromkeys(references._FIELDS, "")))
    with pytest.raises(InvalidInput, match="the source has no branch main or master; it has none"):
        graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"), manifest=(tmp_path / "refs.json").as_uri())


def test_a_missing_range_stops_the_run_and_a_later_one_completes_it(tmp_path: Path, world: World) -> None:
    place = tmp_path / "copy"
    for path in fixtures.NAMESPACE.rglob("*"):
        if path.is_file():
            (place / path.relative_to(fixtures.NAMESPACE)).parent.mkdir(parents=True, exist_ok=True)
            (place / path.relative_to(fixtures.NAMESPACE)).write_bytes(path.read_bytes())
    graveler = world.graveler()
    commit = fixtures.expected("first")["commits"][fixtures.expected("first")["branches"]["dev"]]
    lost = place / "_lakefs" / commit["meta_range_id"]
    data = lost.read_bytes()
    lost.unlink()

    def run(**options: str) -> None:
        manifest = fixtures.manifest("first")
        graveler.migrate_lakefs(REPOSITORY, place.as_uri(), world.namespace("own"), manifest=manifest, **options)

    with pytest.raises(CorruptData, match="it is missing"):
        run()
    assert [*graveler.list_repositories()] == []
    lost.write_bytes(data)
    with pytest.raises(InvalidInput, match="its migration began with the default branch 'main', not 'dev'"):
        run(default_branch="dev")
    run()
    assert graveler.repository(REPOSITORY).default_branch == "main"
    assert [*graveler.verify_lakefs(REPOSITORY, place.as_uri(), manifest=fixtures.manifest("first"))] == []
