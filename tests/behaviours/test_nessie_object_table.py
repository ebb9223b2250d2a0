"""Nessie's behaviours of the table of objects (9-13, 16, 19-22), as the public reads of stored objects show them.

The flows of graveler are the only writers, so there is no public store, upsert or deletion of single objects (14, 17,
18). Left out: null inputs (11, 12: the types exclude them).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import sweep
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.stored_objects import ObjectType, StoredObject
from graveler_core.objects.objects import Objects
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.world import World, entry

pytestmark = pytest.mark.usefixtures("all_partitions")


@cache
def prepared() -> World:
    """Two repositories. The indexes of the first have runs."""
    made = World()
    for name in ("repo", "other"):
        made.repository(name)
        main = made.branch(repo=name)
        for number in range(100):
            main.stage(f"{number:03}", entry(number))
        main.commit("many")
        for number in range(16 if name == "repo" else 1):
            main.stage(f"{number * 6:03}", entry(1_000 + number))
            main.commit(f"commit {number}")
    return made


@pytest.fixture
def world() -> World:
    """The same again for each test."""
    return replace(prepared().fork(), clock=copy(prepared().clock))


def repo_of(world: World, name: str = "repo") -> Repository:
    return world.graveler().repository(name)


def all_of(repo: Repository, type: ObjectType) -> list[StoredObject]:
    return list(repo.stored_objects(f"{type}/"))


def test_9_every_type_comes_back_as_it_was_stored(world: World) -> None:
    repo = repo_of(world)
    for commit in repo.commits():
        header, layout = repo.read_objects([f"commit/{commit.id}", f"layout/{commit.id}"])
        assert header is not None
        assert layout is not None
        assert isinstance(header.content, Commit)
        assert isinstance(layout.content, Layout)
        assert (header.content.message, header.content.parents) == (commit.message, tuple(commit.parents))
        assert header.size == len(encode(header.content))
    runs = all_of(repo, ObjectType.RUN)
    assert runs
    assert repo.read_objects(run.key for run in runs) == runs
    assert all(isinstance(run.content, bytes) and run.referenced is not None for run in runs)


def test_10_and_11_a_store_says_which_objects_are_new(world: World) -> None:
    """A record, and a file. Storing again leaves what is stored readable and equal."""
    record = repo_of(world)._active()
    [first, *_] = all_of(repo_of(world, "other"), ObjectType.COMMIT)
    assert isinstance(first.content, Commit)
    where = keys.commits(record).at(first.id)
    assert [access.write_if_absent(world.kv, where, first.content) for _ in range(3)] == [True, False, False]
    assert repo_of(world).read_objects([first.key]) == [first]
    blobs = world.blobs.at(record.storage_namespace)
    assert [blobs.create("data/new", data) for data in (b"a", b"a", b"b")] == [True, False, False]
    assert blobs.read("data/new") == b"a"


def test_10_and_20_storing_again_renews_the_time_of_the_last_reference(world: World) -> None:
    repo, objects = repo_of(world), Objects(world.kv, repo_of(world)._active(), world.clock)
    run = all_of(repo, ObjectType.RUN)[0]
    assert isinstance(run.content, bytes)
    assert run.referenced is not None
    world.clock.time += timedelta(hours=5)
    id, write = objects.prepare(run.content)
    assert id == run.id
    world.kv.set(*write)
    [again] = repo.read_objects([run.key])
    assert again is not None
    assert again.content == run.content
    assert again.referenced is not None
    assert again.referenced - run.referenced >= timedelta(hours=5)


def test_11_reading_many_keeps_order_and_size(world: World) -> None:
    repo = repo_of(world)
    found = list(repo.stored_objects())
    wanted = [found[number * 7 % len(found)] for number in range(305)]
    assert repo.read_objects([each.key for each in wanted]) == wanted
    assert repo.read_objects([]) == []


@pytest.mark.parametrize("type", ObjectType)
def test_12_the_error_has_exactly_what_is_missing(world: World, type: ObjectType) -> None:
    repo = repo_of(world)
    known = all_of(repo, type)[0]
    absent = [f"{type}/{'0' * 64}", f"{type}/{'f' * 64}"]
    asked = [absent[0], known.key, absent[1], absent[0]]
    with pytest.raises(NotFound) as caught:
        repo.read_objects(asked)
    assert (caught.value.kind, caught.value.details["objects"]) == (Kind.ObjectNotFound, absent)
    assert repo.read_objects(asked, missing_ok=True) == [None, known, None, None]


def test_13_an_id_of_another_type_is_not_found(world: World) -> None:
    repo = repo_of(world)
    run, commit = all_of(repo, ObjectType.RUN)[0], all_of(repo, ObjectType.COMMIT)[0]
    assert repo.read_objects([f"run/{commit.id}", f"commit/{run.id}", f"layout/{run.id}"], missing_ok=True) == [
        None,
        None,
        None,
    ]
    for key in ("", "commit", "commit/", "blob/1", f"COMMIT/{commit.id}"):
        with pytest.raises(InvalidInput, match="must be commit, layout, run, a slash, and an id"):
            repo.read_objects([key], missing_ok=True)


def test_16_what_was_deleted_is_gone_and_can_be_stored_as_new(world: World) -> None:
    repo = repo_of(world)
    run = all_of(repo, ObjectType.RUN)[0]
    assert isinstance(run.content, bytes)
    objects = Objects(world.kv, repo._active(), world.clock)
    _, (partition, key, value) = objects.prepare(run.content)
    world.kv.delete(partition, key)
    world.kv.delete(partition, key)
    assert repo.read_objects([run.key], missing_ok=True) == [None]
    world.kv.set_if(partition, key, value, None)
    [again] = repo.read_objects([run.key])
    assert again is not None
    assert again.content == run.content


def test_19_a_scan_gives_all_objects_of_the_types_and_of_this_repository_alone(world: World) -> None:
    repo, other = repo_of(world), repo_of(world, "other")
    found = list(repo.stored_objects())
    assert [each.key for each in found] == sorted(each.key for each in found)
    by_type = [each for type in ObjectType for each in repo.stored_objects(f"{type}/")]
    assert by_type == found
    assert {each.id for each in found if each.type is ObjectType.COMMIT} == {commit.id for commit in repo.commits()}
    elsewhere = list(other.stored_objects())
    assert elsewhere
    assert not {each.key for each in elsewhere} & {each.key for each in found}
    assert other.read_objects([each.key for each in found], missing_ok=True) == [None] * len(found)


def test_a_scan_has_two_ends_and_resumes(world: World) -> None:
    """Also in the middle of a type, and of the partitions of runs."""
    repo = repo_of(world)
    found = list(repo.stored_objects())
    names = [each.key for each in found]
    for start in range(0, len(found), 5):
        for end in range(start, len(found), 3):
            assert list(repo.stored_objects(start=names[start], end=names[end])) == found[start:end]
        assert list(repo.stored_objects(after=names[start], limit=4)) == found[start + 1 : start + 5]
    for prefix in ("", "c", "commit", "lay", "layout/1", "m", "run/", names[-1][:8], "z"):
        assert list(repo.stored_objects(prefix)) == [each for each in found if each.key.startswith(prefix)]
        assert list(repo.stored_objects(prefix, start="layout", end="run/8")) == [
            each for each in found if each.key.startswith(prefix) and "layout" <= each.key < "run/8"
        ]


@pytest.mark.parametrize("type", ObjectType)
def test_damage_is_named(world: World, type: ObjectType) -> None:
    repo = repo_of(world)
    damaged = all_of(repo, type)[0]
    record = repo._active()
    place = {
        ObjectType.COMMIT: lambda: keys.commits(record).at(damaged.id),
        ObjectType.LAYOUT: lambda: keys.commit_layouts(record).at(damaged.id),
    }
    at = place[type]() if type in place else None
    partition, key = keys.stored_object(record, damaged.id) if at is None else (at.partition, at.key)  # type: ignore[arg-type]
    world.kv.set(partition, key, b"\x01damaged")
    for read in (lambda: repo.read_objects([damaged.key]), lambda: list(repo.stored_objects(f"{type}/"))):
        with pytest.raises(CorruptData, match=damaged.id):
            read()


@pytest.mark.parametrize("erased", [("repo",), ("repo", "third"), ("repo", "other", "third")])
def test_21_and_22_erasing_repositories_leaves_the_others(world: World, erased: tuple[str, ...]) -> None:
    """One call of the cleaner erases all of them. Nothing of them is left in any partition."""
    world.repository("third", adopt=True)
    g = world.graveler()
    uids = [g.repository(name).uid for name in erased]
    kept = {name: list(repo_of(world, name).stored_objects()) for name in ("repo", "other", "third")}
    for name in erased:
        g.delete_repository(name)
        with pytest.raises(NotFound):
            list(repo_of(world, name).stored_objects())
    g.clean(undelete_within=timedelta(0), late=timedelta(0))
    assert isinstance(world.kv, MemoryStore)
    partitions = [partition.decode() for partition, rows in world.kv._memory.partitions.items() if rows]
    assert not [partition for partition in partitions if any(uid in partition for uid in uids)]
    for name in kept.keys() - {*erased}:
        assert list(repo_of(world, name).stored_objects()) == kept[name]
    for name in erased:
        made = g.create_repository(name, world.namespace(f"again-{name}"), adopt=True, ephemeral=True)
        assert [each.type for each in made.stored_objects()] == [ObjectType.COMMIT, ObjectType.LAYOUT]


def test_reads_agree_with_a_sweep(world: World) -> None:
    repo = repo_of(world)
    before = {run.key for run in all_of(repo, ObjectType.RUN)}
    world.clock.time += timedelta(days=30)
    done = sweep(world.stores(), repo._active())
    after = {run.key for run in all_of(repo, ObjectType.RUN)}
    assert after <= before
    assert len(before) - len(after) == done.objects
