"""The commits of an erasure have the committer who asked for it, whoever continues the erasure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.erasure.report import Erased
from graveler_core.erasure.standing import ErasurePlan, StandingErasure
from graveler_core.errors import InvalidInput, Kind, LimitExceeded
from graveler_core.model.commit_texts import MAX_TEXT_BYTES
from graveler_core.model.erasure import ErasureRule
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.erasure.lake import PREFIX, Lake

WHY = "request 17"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def committers(lake: Lake, done: Erased) -> list[str]:
    return [lake.repo.commit(commit).committer for _, commit in done.commits]


def test_commits_have_the_committer(lake: Lake) -> None:
    assert committers(lake, lake.repo.erase(prefix=PREFIX, why=WHY, committer="ada")) == ["ada", "ada"]
    lake.repo.create_branch("old", source=lake.first)
    again = lake.repo.erase(prefix=PREFIX, why=WHY, committer="eve")
    assert (again.objects, committers(lake, again)) == (0, ["eve"])


CONTINUATIONS: dict[str, Callable[[Lake], object]] = {
    "erase": lambda lake: lake.repo.erase(prefix=PREFIX, why="another", committer="eve"),
    "collect": lambda lake: lake.repo.collect(grace=timedelta(0), alone=True),
}


@pytest.mark.parametrize("how", CONTINUATIONS)
def test_an_erasure_that_others_continue_keeps_its_committer(lake: Lake, how: str) -> None:
    held = access.read(lake.world.kv, keys.repository(lake.repo.id))
    assert held is not None
    plan = ErasurePlan(ErasureRule(prefix=PREFIX), WHY, by="ada")
    assert StandingErasure(lake.world.stores(), held.value, lambda more: None).begin(plan)
    CONTINUATIONS[how](lake)
    for branch in ("main", "dev"):
        head = lake.repo.commit(branch)
        assert (head.committer, head.message) == ("ada", f"Erase prefix {PREFIX!r}: {WHY}")


def test_a_committer_that_no_commit_can_have_is_refused_before_anything_changes(lake: Lake) -> None:
    for committer, wrong, kind in (
        ("x" * MAX_TEXT_BYTES, LimitExceeded, Kind.MetadataTooLarge),
        ("\ud800", InvalidInput, Kind.InvalidValue),
    ):
        with pytest.raises(wrong) as caught:
            lake.repo.erase(prefix=PREFIX, why=WHY, committer=committer)
        assert caught.value.kind is kind
    assert lake.repo.erasures() == []
    assert lake.repo.erase(prefix=PREFIX, why=WHY).objects == 3
