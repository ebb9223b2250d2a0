"""Flows that make a commit, and those that find that there is none to make."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from graveler_core.errors import NoChanges
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put
from tests.unit.engine.budgets.costs import Act, Cost, costs
from tests.unit.engine.budgets.measured import Measured, path
from tests.unit.engine.flows import table
from tests.unit.engine.races import Interrupted
from tests.unit.engine.world import entry

SOME = path(150)
ONE = "1 range, 1 node per level"


def committed(repo: Repository, branch: str, number: int) -> None:
    """One change, committed."""
    work = repo.branch(branch)
    work.stage(path(number), entry(999))
    work.commit(f"change {number}")


def in_vain(make: Act) -> Act:
    """A call that makes no commit."""

    def act() -> None:
        with suppress(NoChanges):
            make()

    return act


@costs("commit, one change", Cost((4, 2), (8, 3), ONE))
def commit(m: Measured) -> Act:
    m.main.stage(SOME, entry(999))
    return lambda: m.main.commit("m")


@costs("commit, 10 changes far apart", Cost((4, 2), (17, 3), "10 ranges, 18 nodes"))
def commit_more(m: Measured) -> Act:
    for number in range(15, 300, 30):
        m.main.stage(path(number), entry(999))
    return lambda: m.main.commit("m")


@costs("commit, 5 sealed tokens", Cost((9, 8), (18, 14), ONE))
def commit_sealed_tokens(m: Measured) -> Act:
    for number in range(5):
        m.main.stage(SOME, entry(900 + number))
        m.main.remove_prefix("p/")
    m.main.stage(SOME, entry(999))
    return lambda: m.main.commit("m")


@costs("commit, nothing staged", Cost((2, 1), (4, 1)))
def commit_nothing(m: Measured) -> Act:
    return in_vain(lambda: m.main.commit("m"))


@costs("commit, nothing staged, `allow_empty`", Cost((2, 1), (5, 1), "1 node"))
def commit_empty(m: Measured) -> Act:
    return lambda: m.main.commit("m", allow_empty=True)


@costs("commit, staged entries already committed", Cost((4, 2), (6, 3), ONE))
def commit_no_change(m: Measured) -> Act:
    m.main.stage(SOME, entry(150))
    return in_vain(lambda: m.main.commit("m"))


@costs("commit, absorbed by another process", Cost((5, 2), (11, 2), ONE))
def commit_absorbed(m: Measured) -> Act:
    m.main.stage(SOME, entry(999))
    kv = Interrupted(m.stores.kv, lambda: None, lambda: m.other().branch("main").commit("other"))
    branch = Branch(replace(m.stores, kv=kv), m.repo._record, m.main.name)
    return in_vain(lambda: branch.commit("m"))


@costs("commit under an idempotency key", Cost((8, 2), (13, 3), ONE))
def commit_keyed(m: Measured) -> Act:
    m.main.stage(SOME, entry(999))
    return lambda: m.main.commit("m", idempotency_key="run 1")


@costs("commit of a compacted branch", Cost((2, 1), (5, 1), "2 ranges, 2 nodes per level", "1 node"))
def commit_compacted(m: Measured) -> Act:
    m.unseen.branch("main").stage(SOME, entry(999))
    m.unseen.branch("main").compact()
    return lambda: m.main.commit("m")


@costs("transact, one put", Cost((3, 0), (7, 0), ONE))
def transact(m: Measured) -> Act:
    return lambda: m.main.transact([Put(SOME + "x", entry(1))], message="m")


@costs("merge, one change on either side", Cost((3, 1), (7, 1), ONE))
def merge(m: Measured) -> Act:
    committed(m.unseen, "dev", 150)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.merge("dev", into="main")


@costs("merge with `unchanged`, one change on either side", Cost((3, 1), (7, 1), ONE))
def merge_unchanged(m: Measured) -> Act:
    committed(m.unseen, "dev", 150)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.merge("dev", into="main", unchanged=["k/01", "absent/"])


@costs("merge with `unchanged`, 100 changes elsewhere", Cost((3, 1), (7, 1), "3 ranges, 14 nodes"))
def merge_unchanged_elsewhere(m: Measured) -> Act:
    committed(m.unseen, "dev", 150)
    work = m.unseen.branch("main")
    work.stage_many(table({path(number): number + 1 for number in range(200, 300)}))
    work.commit("many")
    return lambda: m.repo.merge("dev", into="main", unchanged=["k/01"])


@costs("check of a merge, one change on either side", Cost((2, 1), (4, 1), ONE))
def check_merge(m: Measured) -> Act:
    committed(m.unseen, "dev", 150)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.check_merge("dev", into="main")


@costs("merge, nothing new", Cost((3, 1), (6, 1)))
def merge_nothing(m: Measured) -> Act:
    return in_vain(lambda: m.repo.merge("dev", into="main"))


@costs("merge with `replay=True`, 3 commits", Cost((5, 1), (11, 1), "3 ranges, 11 nodes"))
def merge_repeated(m: Measured) -> Act:
    for number in (50, 150, 250):
        committed(m.unseen, "dev", number)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.merge("dev", into="main", replay=True)


@costs("cherry-pick, one change", Cost((3, 1), (7, 1), ONE))
def cherry_pick(m: Measured) -> Act:
    committed(m.unseen, "dev", 150)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.cherry_pick("dev", onto="main")


@costs("revert, one change", Cost((3, 1), (7, 1), ONE))
def revert(m: Measured) -> Act:
    committed(m.unseen, "main", 150)
    committed(m.unseen, "main", 20)
    return lambda: m.repo.revert("main~1", onto="main")
