"""Events stay until they are written, by repository, and not without limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType
from graveler_core.stores.noted_events import NotedEvents
from tests.unit.engine.world import World


def event(number: int) -> ReferenceEvent:
    return ReferenceEvent(
        time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        kind=EventKind.CREATED,
        type=ReferenceType.BRANCH,
        name=f"b{number}",
        uid=f"{number:032x}",
        step="0",
    )


def test_an_event_stays_until_it_is_removed() -> None:
    repo, noted = World().repository()._record, NotedEvents()
    noted.add(repo, event(1))
    noted.add(repo, event(2))
    assert noted.of(repo) == [event(1), event(2)]
    for _ in range(2):
        noted.remove(repo, event(1))
        assert noted.of(repo) == [event(2)]


def test_repositories_are_told_apart_by_their_uids() -> None:
    repo, other, noted = World().repository()._record, World().repository()._record, NotedEvents()
    other = other.model_copy(update={"uid": "f" * 32})
    noted.add(repo, event(1))
    assert noted.of(other) == []
    noted.remove(other, event(1))
    assert noted.of(repo) == [event(1)]


def test_the_oldest_are_forgotten_first() -> None:
    repo, noted = World().repository()._record, NotedEvents(capacity=2)
    for number in range(4):
        noted.add(repo, event(number))
    assert noted.of(repo) == [event(2), event(3)]
