"""Examination of a store within a time budget, the most likely problems first."""

from __future__ import annotations

from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.doctor.diagnosis import Examined, Severity
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import examine_branches
from graveler_core.diagnostics.doctor.of_content import data_checks, examine_content
from graveler_core.diagnostics.doctor.of_heads import examine_heads
from graveler_core.diagnostics.doctor.of_repositories import examine_repositories, require_known
from graveler_core.diagnostics.doctor.of_store import examine_store
from graveler_core.diagnostics.plan import DoctorPlan
from graveler_core.stores import Stores

_ORDER = list(Severity)


def examine(stores: Stores, plan: DoctorPlan | None = None) -> Examined:
    """Examine a store and its repositories. Changes nothing.

    Returns:
        The problems, the most severe first, and the incomplete checks.

    Raises:
        InvalidInput: The budget is not positive, or the repository name is invalid.
        NotFound: No existing or deleted repository has the name.
        Unavailable: The store cannot be read.
        SlowDown: The store is overloaded.
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
    for repo in active:
        data_checks(of, repo)
    found = sorted(of.found, key=lambda found: _ORDER.index(found.severity))
    return Examined(tuple(found), tuple(of.unseen), tuple(of.checked))
