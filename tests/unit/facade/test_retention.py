"""Retention rules are set as a whole, and their record shows who has set which, and when."""

from __future__ import annotations

from functools import partial

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.facade.repository import Repository
from graveler_core.model.references import ReferenceType
from graveler_core.model.retention import REMEMBERED_RULES, RetentionRules
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def repo(world: World) -> Repository:
    return world.repository()


def test_content_is_kept_for_ever_without_rules(repo: Repository) -> None:
    assert repo.retention() == RetentionRules()
    assert repo.retention_versions() == [RetentionRules()]
    assert not repo.retention().expires


def test_rules_have_versions(world: World, repo: Repository) -> None:
    first = repo.set_retention(30, {"main": None, "dev-*": 7})
    assert (first.days, first.branches, first.version, first.by) == (30, {"dev-*": 7, "main": None}, 1, "")
    assert first.since is not None
    assert first.since <= world.clock.now()
    second = repo.set_retention(branches={"main": 365})
    assert (second.days, second.branches, second.version) == (None, {"main": 365}, 2)
    assert repo.retention() == second
    assert repo.retention_versions() == [second, first, RetentionRules()]
    repo.set_retention()
    assert not repo.retention().expires


def test_each_change_is_in_the_reflog(repo: Repository) -> None:
    repo.set_retention(30)
    repo.set_retention(10)
    with pytest.raises(Conflict):
        repo.set_retention(5, if_version=1)
    found = [event for event in repo.reflog() if event.type is ReferenceType.SETTING]
    assert [(event.name, event.message) for event in found] == [
        ("retention", "version 1 -> version 2"),
        ("retention", "version 0 -> version 1"),
    ]


def test_former_versions_are_forgotten_in_the_end(repo: Repository) -> None:
    for days in range(REMEMBERED_RULES + 5):
        repo.set_retention(days)
    found = repo.retention_versions()
    assert [rules.version for rules in found] == list(range(REMEMBERED_RULES + 5, 4, -1))


def test_rules_can_be_changed_however_long_they_are(repo: Repository) -> None:
    """Former versions that do not fit into the record any more are forgotten."""
    rules = {f"{'x' * 90}-{number:03}": number for number in range(100)}
    for days in range(20):
        repo.set_retention(days, rules)
    found = repo.retention_versions()
    assert found[0].version == 20
    assert 3 < len(found) < 20


def test_a_version_can_be_required(repo: Repository) -> None:
    assert repo.set_retention(30, if_version=0).version == 1
    with pytest.raises(Conflict, match="have version 1, not 0") as caught:
        repo.set_retention(10, if_version=0)
    assert (caught.value.kind, caught.value.details) == (Kind.LostRace, {"expected": 0, "actual": 1})
    assert repo.retention().days == 30


def test_bad_rules_change_nothing(repo: Repository) -> None:
    with pytest.raises(InvalidInput, match="-1 must be a number of days"):
        repo.set_retention(-1)
    with pytest.raises(InvalidInput, match="pattern ''"):
        repo.set_retention(1, {"": 1})
    assert repo.retention() == RetentionRules()


def test_two_changes_at_once_are_both_recorded(world: World, repo: Repository) -> None:
    at = 0
    while True:
        kv = Interposed(world.kv)
        kv.before[at] = partial(repo.set_retention, 10 + at)
        before = repo.retention().version
        made = world.graveler(kv).repository("repo").set_retention(100 + at)
        if len(kv.verbs) <= at:
            break
        days = {rules.days for rules in repo.retention_versions() if rules.version > before}
        assert days == {10 + at, 100 + at}, at
        assert repo.retention().version == before + 2
        assert made in repo.retention_versions()
        at += 1
    assert at >= 4
