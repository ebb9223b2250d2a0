"""Repositories come over whole: every entity, from both kinds of database."""

from __future__ import annotations

from graveler_core.model.migration import ORIGIN
from graveler_core.transfer.migration.report import Result
from tests.integration.migration.histories import Lake, commit_id, flights


def test_everything_comes_over(lake: Lake) -> None:
    made = flights(lake)
    (outcome,) = lake.migrate().outcomes
    assert (outcome.result, outcome.resumed, outcome.error) == (Result.MIGRATED, False, None), outcome
    assert (outcome.amounts.branches, outcome.amounts.tags, outcome.amounts.commits) == (3, 2, 6)
    assert outcome.amounts.staged == 4
    made.assert_migrated()
    repo = made.migrated()
    new = {item.origin: item.commit_id for item in lake.graveler().migrated_ids("flights")}
    merge = repo.commit(new[commit_id(1)])
    assert merge.parents == (new[commit_id(5)], new[commit_id(4)])
    assert merge.generation == 4
    assert merge.metadata == {"number": "1", "é": "ü", ORIGIN: commit_id(1)}
    assert repo.commit("main").parents == (new[commit_id(1)], new[commit_id(4)])
    assert [change.path for change in repo.branch("main").uncommitted()] == ["a/001", "new", "ü"]
    main = repo.branch("main")
    main.commit("go on")
    main.put("more", b"x")
    assert main.commit("and on").generation == 7
