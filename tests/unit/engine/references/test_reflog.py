"""A reflog contains the events of its own handle, whatever the background does with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import graveler_core
from graveler_core.engine.references import events
from graveler_core.engine.references.events import fold
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import Tag
from graveler_core.model.ids import TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Aside
from tests.unit.engine.cleaning.places import cleaned, of_repository
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import World, entry

CREATIONS = 300


@dataclass
class Later:
    """A background that does nothing until it is told to."""

    waiting: list[Callable[[], object]] = field(default_factory=list)

    def start(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)

    def close(self) -> None:
        """Nothing goes on by itself."""

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def repo(world: World, kv: Interposed, later: Later) -> Repository:
    """A handle of a process whose background waits."""
    return Graveler(replace(world.stores(kv), background=later)).repository("repo")


def told(repo: Repository) -> list[tuple[str, str]]:
    return [(event.kind.value, event.name) for event in repo.reflog()]


def pending(world: World, repo: Repository) -> int:
    return len(list(access.scan(world.kv, keys.pending_events(repo._record))))


EVENTS: dict[str, tuple[Callable[[Repository], object], tuple[str, str]]] = {
    "create branch": (lambda repo: repo.create_branch("dev", "main"), ("created", "dev")),
    "create tag": (lambda repo: repo.create_tag("v2", "main"), ("created", "v2")),
    "hard reset": (lambda repo: repo.branch("main").hard_reset("main~1"), ("assigned", "main")),
}


@pytest.mark.parametrize(("act", "event"), EVENTS.values(), ids=EVENTS)
def test_an_event_is_told_once_before_and_after_it_is_written(
    world: World, repo: Repository, later: Later, act: Callable[[Repository], object], event: tuple[str, str]
) -> None:
    repo.branch("main").stage("a", entry(1))
    repo.branch("main").commit("a")
    later.work()
    before = told(repo)
    act(repo)
    assert pending(world, repo) == 0
    assert told(repo) == [event, *before]
    later.work()
    assert pending(world, repo) == 1
    assert told(repo) == [event, *before]


def test_an_undeleted_branch_is_told_before_it_is_written(repo: Repository) -> None:
    repo.create_branch("dev", "main")
    repo.delete_branch("dev")
    repo.undelete_branch("dev")
    expected = [("created", "dev"), ("deleted", "dev"), ("created", "dev")]
    assert told(repo)[:3] == expected
    assert [(event.kind.value, event.name) for event in repo.reflog("dev")] == expected


def test_another_process_sees_an_event_once_it_is_written(world: World, repo: Repository, later: Later) -> None:
    others = world.graveler().repository("repo")
    repo.create_branch("dev", "main")
    assert ("created", "dev") not in told(others)
    assert [event.kind.value for event in others.reflog("dev")] == ["created"]
    later.work()
    assert ("created", "dev") in told(others)


def test_an_event_that_could_not_be_written_is_told(repo: Repository, kv: Interposed, later: Later) -> None:
    repo.create_branch("dev", "main")
    kv.reset()
    kv.fail[0] = unavailable()
    later.work()
    kv.reset()
    assert told(repo).count(("created", "dev")) == 1


@pytest.mark.usefixtures("all_partitions")
def test_an_event_is_not_written_into_a_repository_that_was_emptied(
    world: World, repo: Repository, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The background comes to it later. It would also fold."""
    monkeypatch.setattr(events, "SHARE", 1)
    repo = Graveler(replace(repo._stores, wall=lambda: world.clock.now().timestamp())).repository("repo")
    repo.create_branch("dev", "main")
    world.graveler().delete_repository("repo")
    assert cleaned(world).repositories == 1
    later.work()
    assert of_repository(world, repo._record) == set()


def test_a_written_event_is_not_kept_in_memory(repo: Repository, later: Later) -> None:
    repo.create_branch("dev", "main")
    assert len(repo._stores.noted.of(repo._record)) == 1
    later.work()
    assert repo._stores.noted.of(repo._record) == []


def test_a_reading_does_not_wait_for_the_background_and_may_be_part_of_it(world: World) -> None:
    """The background is at work on something that does not end before the reflog is read, in it and outside."""
    background, release, found = Aside(), threading.Event(), list[list[tuple[str, str]]]()
    repo = Graveler(replace(world.stores(), background=background)).repository("repo")
    background.start(lambda: release.wait(60))
    background.start(lambda: found.append(told(repo)))
    repo.create_branch("dev", "main")
    try:
        assert told(repo).count(("created", "dev")) == 1
    finally:
        release.set()
        background.close()
    assert found[0].count(("created", "dev")) == 1
    assert told(repo).count(("created", "dev")) == 1


def test_a_dump_contains_an_event_that_is_not_written_yet(world: World, repo: Repository) -> None:
    repo.create_branch("dev", "main")
    repo.dump_refs(f"memory://{world.name}-dumps/dump")
    g = world.graveler()
    g.create_bare_repository("copy", world.namespace("copy"))
    g.repository("copy").restore_refs(f"memory://{world.name}-dumps/dump")
    assert ("created", "dev") in told(g.repository("copy"))


@pytest.mark.parametrize("folds", [1, 2])
def test_tags_of_earlier_versions_on_one_commit_are_told_apart(world: World, repo: Repository, folds: int) -> None:
    """Their records do not contain their creation, so their uids are equal."""
    commit = repo.branch("main").record().commit_id
    for name in ("a", "b"):
        access.write(world.kv, keys.tag(repo._record, TagId(name)), Tag(id=TagId(name), commit_id=commit))
    repo.delete_tag("a")
    if folds == 2:
        fold(repo._stores, repo._record)
    repo.delete_tag("b")
    fold(repo._stores, repo._record)
    assert pending(world, repo) == 0
    assert told(repo)[:2] == [("deleted", "b"), ("deleted", "a")]


def test_no_creation_is_missed_on_sqlite(tmp_path: Path) -> None:
    with graveler_core.connect(f"sqlite:///{tmp_path}/meta.db?durability=process") as g:
        repo = g.create_repository("repo", f"file://{tmp_path}/data")
        for number in range(CREATIONS):
            repo.create_branch(f"b{number}", "main")
            assert f"b{number}" in [event.name for event in repo.reflog(limit=10)]
        created = [event.name for event in repo.reflog() if event.kind.value == "created"]
        assert sorted(name for name in created if name != "main") == sorted(f"b{number}" for number in range(CREATIONS))
