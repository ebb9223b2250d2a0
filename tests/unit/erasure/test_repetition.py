"""A call of `erase` first completes the erasure that somebody has left, and then erases what it was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graveler_core.erasure.standing import ErasurePlan, StandingErasure
from graveler_core.errors import Conflict, Kind, NotFound
from graveler_core.model.erasure import Erasure, ErasureRule, ErasureState
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.erasure.lake import PATH, PREFIX, Lake

WHY = "request 17"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def left_withdrawn(lake: Lake, prefix: str = PREFIX) -> None:
    """Leave an erasure in the state `withdrawn`, which is not entered as ended yet."""
    now = lake.world.clock.now()
    fields = {"prefix": prefix, "why": WHY, "since": now, "nonce": Nonce("1")}
    erasure = Erasure(id="20200101T000000-left", state=ErasureState.WITHDRAWN, **fields)  # type: ignore[arg-type]
    access.create(lake.world.kv, keys.erasing(lake.repo.id, lake.repo.uid), erasure)


def share_old_content(lake: Lake) -> None:
    lake.branch().stage("q", replace(lake.old, path=""))
    lake.branch().commit("shares")


def test_content_that_is_newer_than_the_erasure_is_erased_too(lake: Lake) -> None:
    lake.leave_while_deleting()
    lake.branch().put(PATH, b"newer")
    newer = lake.branch().commit("newer").id
    done = lake.repo.erase(prefix=PREFIX, why="again")
    assert (done.objects, len(lake.objects)) == (1, 2)
    with pytest.raises(NotFound, match="again"):
        lake.repo.at(newer).read(PATH)
    assert [erasure.why for erasure in lake.repo.erasures()] == [WHY, "again"]
    assert not lake.broken()


def test_a_repetition_reports_the_erasure_that_it_has_completed(lake: Lake) -> None:
    lake.leave_while_deleting()
    done = lake.repo.erase(prefix=PREFIX, why="again")
    (erasure,) = lake.repo.erasures()
    assert (done.erasure, done.objects, erasure.why) == (erasure.id, 3, WHY)


def test_so_does_one_of_paths_that_were_only_staged(lake: Lake) -> None:
    lake.branch().put("w/x", b"staged")
    lake.leave_while_deleting("w/")
    assert lake.repo.erase(prefix="w/", why=WHY).objects == 1
    with pytest.raises(NotFound, match="has ever had"):
        lake.repo.erase(prefix="w/", why=WHY)


def test_shared_content_is_erased_on_request_after_a_withdrawal(lake: Lake) -> None:
    share_old_content(lake)
    left_withdrawn(lake)
    with pytest.raises(Conflict) as caught:
        lake.repo.erase(prefix=PREFIX, why=WHY)
    assert caught.value.kind is Kind.ContentShared
    left_withdrawn(lake)
    assert lake.repo.erase(prefix=PREFIX, why=WHY, shared=True).objects == 3


def test_an_erasure_of_other_paths_that_is_withdrawn_refuses_nothing(lake: Lake) -> None:
    """Its commits are not reported, either."""
    lake.branch().put("w/x", b"committed")
    lake.branch().commit("w")
    share_old_content(lake)
    held = access.read(lake.world.kv, keys.repository(lake.repo.id))
    assert held is not None
    plan = ErasurePlan(ErasureRule(prefix=PREFIX), WHY)
    assert StandingErasure(lake.world.stores(), held.value, lambda more: None).begin(plan)
    done = lake.repo.erase(prefix="w/", why="another")
    assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.WITHDRAWN, ErasureState.DONE]
    assert [lake.repo.commit(commit).message for _, commit in done.commits] == ["Erase prefix 'w/': another"]
