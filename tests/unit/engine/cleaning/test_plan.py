"""A plan for one deletion alone, and what several calls of a cleaner did together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from graveler_core.engine.cleaning import Cleaned
from graveler_core.engine.cleaning.plan import MAX_FAILURES
from graveler_core.errors import InvalidInput
from tests.unit.engine.world import World, entry

NOW: Any = {"undelete_within": timedelta(0), "late": timedelta(0)}


def test_of_several_deletions_of_a_name_one_is_emptied(world: World) -> None:
    g = world.graveler()
    uids = []
    for number in range(3):
        if number:
            g.create_repository("repo", world.namespace(f"again-{number}"))
        uids.append(g.repository("repo").uid)
        g.repository("repo").branch("main").stage("a", entry(number))
        g.delete_repository("repo")
    standing = g.create_repository("repo", world.namespace("standing"))
    standing.branch("main").stage("a", entry(1))
    done = g.clean(repository="repo", uid=uids[1], **NOW)
    assert (done.repositories, done.waiting, done.late, done.next) == (1, 0, 0, None)
    assert {e.repository.uid for e in g.deleted_repositories()} == {uids[0], uids[2]}
    assert [item.path for item in standing.branch("main").list()] == ["a"]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_calls_for_one_deletion_go_on(world: World, limit: int) -> None:
    g = world.graveler()
    uid = g.repository("repo").uid
    g.delete_repository("repo")
    done = g.clean(uid=uid, limit=limit, **NOW)
    assert done.next is not None
    done = done.plus(g.clean(uid=uid, after=done.next, **NOW))
    assert (done.repositories, done.next) == (1, None)
    token = '["live",""]'
    with pytest.raises(InvalidInput, match="must be a token of an earlier call"):
        g.clean(uid=uid, after=token)
    g.clean(after=token)


@pytest.mark.parametrize(
    "token",
    ["", "live", "[]", '["live"]', '["live",1]', '["dead","a"]', '["live","a","b"]', '["live","\\ud800"]', "[" * 9_999],
)
def test_other_tokens_are_refused(world: World, token: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot continue after .{2,80}: must be a token of an earlier call"):
        world.graveler().clean(after=token)


def test_calls_add_up() -> None:
    first = Cleaned(repositories=1, rows=5, waiting=2, failed=1, failures=[("a", "why")], next="token")
    second = Cleaned(rows=3, layers=2, failed=1, failures=[("b", "too")])
    assert first.plus(second) == Cleaned(
        repositories=1, layers=2, rows=8, waiting=2, failed=2, failures=[("a", "why"), ("b", "too")]
    )
    many = Cleaned(failures=[("a", "why")] * MAX_FAILURES, dry_run=True)
    both = many.plus(Cleaned(failures=[("b", "too")], dry_run=True))
    assert both.dry_run
    assert both.failures == many.failures
