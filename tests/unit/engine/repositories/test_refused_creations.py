"""Creations that are refused with a way out: content that would be lost, and places of deleted repositories."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

import graveler
from graveler_core.engine.repositories import deletion
from graveler_core.errors import InvalidInput, Kind, NotFound, NotUnique, OutcomeUnknown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.backends.memory import open_memory
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import World


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """URL of a store that outlives the process."""
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.mark.parametrize("create", ["create_repository", "create_bare_repository"])
def test_content_in_memory_is_refused_where_the_records_are_kept(kept: str, create: str, tmp_path: Path) -> None:
    place = f"memory://{create}-refused/lake"
    with graveler.connect(kept) as g:
        for _ in range(2):
            with pytest.raises(InvalidInput, match="lost when this process ends") as refused:
                getattr(g, create)("lake", place)
            assert refused.value.kind is Kind.InvalidNamespace
            assert "ephemeral=True" in refused.value.message
        assert list(g.list_repositories()) == []
        assert getattr(g, create)("lake", place, ephemeral=True).id == "lake"
        assert getattr(g, create)("files", tmp_path.as_uri()).id == "files"


def test_both_in_memory_go_together() -> None:
    with graveler.connect("memory://") as g:
        assert g.create_repository("lake", "memory://both-in-memory").id == "lake"
    assert not Counting(open_memory("memory://")).persists()


def refused_place(g: Graveler, name: str, place: str) -> str:
    with pytest.raises(NotUnique) as refused:
        g.create_repository(name, place)
    assert refused.value.kind is Kind.NamespaceInUse
    return refused.value.message


@pytest.mark.parametrize("below", ["", "/inside", "/.."])
def test_a_place_of_a_deleted_repository_names_the_ways_out(below: str) -> None:
    world = World()
    g = world.graveler()
    place = world.namespace("a/b")
    g.create_repository("gone", place)
    wanted = place.rpartition("/")[0] if below == "/.." else place + below
    assert "belongs to another repository" in refused_place(g, "other", wanted)
    g.delete_repository("gone")
    message = refused_place(g, "other", wanted)
    assert "belongs to the deleted repository 'gone'" in message
    for way in ("`graveler repo undelete graveler://gone`", "(undelete_repository)", "--adopt (adopt=True)"):
        assert way in message
    assert "`graveler clean graveler://gone --undelete-within 0d` (clean with undelete_within=timedelta(0))" in message
    assert " UTC on, or with --alone (late=timedelta(0)) now if no process uses it" in message
    world.clock.sleep(660)
    assert "removes its data; then create it with --adopt" in refused_place(g, "other", wanted)
    g.clean(undelete_within=timedelta(0), late=timedelta(0))
    assert g.create_repository("other", wanted, adopt=True).id == "other"


def test_the_name_is_free_at_once_and_a_deletion_that_did_not_end_says_how_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    g = world.graveler()
    g.create_repository("gone", world.namespace("first"))

    def fails(*_: object) -> None:
        raise Unavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(deletion, "_hand_over", fails)
        with pytest.raises(OutcomeUnknown):
            g.delete_repository("gone")
    with pytest.raises(NotFound, match=re.escape("delete it again to free the name")) as refused:
        g.create_repository("gone", world.namespace("second"))
    assert refused.value.kind is Kind.RepositoryDeleting
    assert "graveler repo undelete" in refused.value.message
    assert "graveler clean" in refused.value.message
    g.delete_repository("gone")
    assert g.create_repository("gone", world.namespace("second")).id == "gone"
