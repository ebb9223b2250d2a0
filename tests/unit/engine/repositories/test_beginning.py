"""Creating a repository where an earlier one left its files: refused, unless it is said to take them over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from graveler_core.errors import Kind, NotUnique
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry


def anew(world: World) -> World:
    """Another store, which knows nothing, beside the same objects."""
    return replace(world, kv=open_memory("memory://"))


def addresses(world: World) -> list[str]:
    """Those of all objects but the files of owners."""
    found = [blob.address for blob in world.blobs.at(world.namespace()).list()]
    return [address for address in found if not address.startswith(owner_files.PREFIX)]


@pytest.fixture
def left() -> World:
    """A namespace with files of a repository that no store knows, made by a version that wrote no owner file."""
    world = World()
    repo = world.graveler().create_repository("first", world.namespace())
    main = repo.branch("main")
    for number in range(20):
        main.stage(f"p/{number}", entry(number))
    main.commit("some")
    repo.at("main").tree_id()
    owner_files.remove(world.blobs.at(world.namespace()), RepositoryUid(repo.uid))
    return anew(world)


@pytest.mark.parametrize("bare", [False, True])
def test_files_of_an_earlier_one_are_refused(left: World, bare: bool) -> None:
    g = left.graveler()
    create = g.create_bare_repository if bare else g.create_repository
    before = addresses(left)
    with pytest.raises(NotUnique, match="adopt=True") as caught:
        create("repo", left.namespace())
    assert caught.value.kind is Kind.NamespaceInUse
    assert addresses(left) == before
    assert not list(left.kv.scan(keys.GRAVELER))
    assert g.create_repository("repo", left.namespace("elsewhere")).id == "repo"
    assert create("other", left.namespace(), adopt=True).id == "other"
    assert set(addresses(left)) >= set(before)


def test_adopting_is_for_files_not_for_claims(left: World) -> None:
    g = left.graveler()
    g.create_repository("repo", left.namespace(), adopt=True)
    for place in ("data", "data/inside", ""):
        with pytest.raises(NotUnique):
            g.create_repository("second", left.namespace(place), adopt=True)
    assert [uri for uri, _ in access.scan(left.kv, keys.NAMESPACES)] == [left.namespace()]


def test_what_is_adopted_is_collected_when_nothing_names_it(left: World) -> None:
    repo = left.graveler().create_repository("repo", left.namespace(), adopt=True)
    assert len(addresses(left)) > 3
    left.clock.time = datetime.now(UTC) + timedelta(hours=1)
    repo.sweep(grace=timedelta(0), alone=True)
    assert len(addresses(left)) == 1


def test_what_a_creation_leaves_hinders_nobody() -> None:
    """Whatever it came to before it crashed, once a cleaner has run."""
    for number in range(40):
        world = World()
        kv = Interposed(world.kv)
        kv.fail[number] = Crash()
        with suppress(Crash):
            world.graveler(kv).create_repository("repo", world.namespace())
        for _ in range(2):
            world.clock.time += timedelta(minutes=11)
            world.graveler().clean()
        if number >= len(kv.verbs):
            break
        assert anew(world).graveler().create_repository("repo", world.namespace()).id == "repo"
    assert number > 5


def test_files_of_others_hinder_nobody() -> None:
    world = World()
    world.blobs.at(world.namespace()).create("data/of/users", b"x")
    world.blobs.at(world.namespace()).create("_gravelers", b"x")
    assert world.graveler().create_repository("repo", world.namespace()).id == "repo"
