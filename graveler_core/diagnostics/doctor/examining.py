"""The doctor: all that can be looked at, within a time, the likely things first."""

from __future__ import annotations

from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.doctor.diagnosis import Examined, Severity
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import examine_branches
from graveler_core.diagnostics.doctor.of_content import examine_content
from graveler_core.diagnostics.doctor.of_heads import examine_heads
from graveler_core.diagnostics.doctor.of_repositories import examine_repositories, require_known
from graveler_core.diagnostics.doctor.of_store import examine_store
from graveler_core.diagnostics.plan import DoctorPlan
from graveler_core.stores import Stores

_ORDER = list(Severity)


def examine(stores: Stores, plan: DoctorPlan | None = None) -> Examined:
    """What is wrong with a store and its repositories, the worst first. Changes nothing.

    Raises:
        InvalidInput: the budget is nothing, or the name no repository's.
        NotFound: no repository bears, or bore, the name.
        Unavailable, SlowDown: the store cannot be read at all.
    """
    plan = plan or DoctorPlan()
    of = Examination(stores, plan, Budget(stores.clock, plan.budget), stores.clock.now())
    if plan.repository is not None:
        require_known(stores, plan.repository)
    examine_store(of)
    active = examine_repositories(of)
    for examine_part in (examine_branches, examine_heads, *([examine_content] if plan.deep else [])):
        for repo in active:
            examine_part(of, repo)
    found = sorted(of.found, key=lambda found: _ORDER.index(found.severity))
    return Examined(tuple(found), tuple(of.unseen))
