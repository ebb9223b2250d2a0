"""Problems in the records of one repository: branches, leftover layers, idempotency keys, uploads, the log of
references.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.diagnostics.doctor.examination import DAY, Examination
from graveler_core.diagnostics.doctor.of_repositories import clean_command
from graveler_core.engine.cleaning import CleaningPlan
from graveler_core.engine.protocol.swap import lists
from graveler_core.engine.references.log import read_log
from graveler_core.engine.repositories import tasks
from graveler_core.engine.staging import pressure
from graveler_core.errors import CorruptData, GravelerError, NotFound
from graveler_core.gc.sweep import GRACE
from graveler_core.model.compaction import CompactionSettings
from graveler_core.model.counting import counted
from graveler_core.model.entities import BranchRecord, Cleanup, RepositoryRecord
from graveler_core.model.ids import BranchId
from graveler_core.model.layers import MAX_LAYERS
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder

NEAR = MAX_LAYERS * 8 // 10
"""Number of layers from which on a branch is close to the limit for bulk writes."""


def examine_branches(of: Examination, repo: RepositoryRecord) -> None:
    """Examine the records of one repository."""
    where = f"graveler://{repo.id}"
    with of.looking(f"{where}: branches"):
        of.budget.tick()
        settings = pressure.settings_of(of.stores, repo)
        for branch in of.budget.over(branches(of, repo)):
            with of.looking(f"{where}/{branch.id}"):
                _branch(of, repo, branch, settings)
    with of.looking(f"{where}: leftover layers"):
        _layers_left(of, repo)
    with of.looking(f"{where}: idempotency keys"):
        _keys_old(of, repo)
    with of.looking(f"{where}: uploads"):
        _uploads_left(of, repo)
    with of.looking(f"{where}: log of references"):
        _log(of, repo)
    with of.looking(f"{where}: storage namespace"):
        _namespace(of, repo)


def branches(of: Examination, repo: RepositoryRecord, *, tell: bool = True) -> Iterator[BranchRecord]:
    """Yield the branches whose records can be read.

    Args:
        of: The examination.
        repo: The repository.
        tell: True to report the others as findings.
    """

    def damaged(e: CorruptData) -> None:
        if tell:
            of.damaged(f"graveler://{repo.id}", e)

    return (held.value for _, held in access.scan(of.stores.kv, keys.branches(repo), damaged=damaged))


def _branch(of: Examination, repo: RepositoryRecord, branch: BranchRecord, settings: CompactionSettings) -> None:
    where = f"graveler://{repo.id}/{branch.id}"
    layers = len(branch.sealed_tokens)
    found = pressure.of_record(of.stores, repo, branch, settings, partial(of.damaged, where)).pressure
    if layers >= NEAR:
        of.tell(Ailment.BRANCH_LAYERS, where, f"{layers} layers of {MAX_LAYERS}", "graveler", "compact", where)
    elif found.over:
        of.tell(Ailment.BRANCH_PRESSURE, where, ", ".join(found.reasons), "graveler", "compact", where)


def _layers_left(of: Examination, repo: RepositoryRecord) -> None:
    """Examine cleanup records of layers. Each commit leaves some for the cleaner."""
    plan = CleaningPlan()
    old = DAY + max(plan.late, plan.building)
    known: dict[BranchId, BranchRecord | None] = {}
    left = 0
    for _, held in of.budget.over(_scanned(of, repo, keys.cleanups(repo))):
        cleanup: Cleanup = held.value
        if of.now - cleanup.since >= old and not _listed(of, repo, cleanup, known):
            left += 1
    if left:
        what = (
            f"{counted(left, 'staged layer is', 'staged layers are')} left over from commits, compactions, "
            "resets or interrupted writes"
        )
        of.tell(Ailment.LAYERS_LEFT, f"graveler://{repo.id}", what, *clean_command(of, repo.id))


def _listed(
    of: Examination, repo: RepositoryRecord, cleanup: Cleanup, known: dict[BranchId, BranchRecord | None]
) -> bool:
    """Return true if the branch still lists the layer. The branch is read after the cleanup record, and only once."""
    name = cleanup.branch
    if name not in known:
        held = access.read(of.stores.kv, keys.branch(repo, name))
        known[name] = None if held is None else held.value
    branch = known[name]
    return branch is not None and lists(branch, cleanup.layer.id)


def _keys_old(of: Examination, repo: RepositoryRecord) -> None:
    kept = CleaningPlan().keys_for
    found = of.budget.over(_scanned(of, repo, keys.operations(repo)))
    names = [name for name, held in found if of.now - held.value.since >= kept + DAY]
    old = len(names) - len(tasks.in_use(of.stores, repo, names))
    if old:
        what = f"{counted(old, 'idempotency key is', 'idempotency keys are')} older than {counted(kept.days, 'day')}"
        of.tell(Ailment.KEYS_OLD, f"graveler://{repo.id}", what, *clean_command(of, repo.id))


def _uploads_left(of: Examination, repo: RepositoryRecord) -> None:
    found = (held for _, held in of.budget.over(_scanned(of, repo, keys.uploads(repo))))
    old = sum(of.now - held.value.since >= GRACE + DAY for held in found)
    if old:
        where = f"graveler://{repo.id}"
        what = (
            f"{counted(old, 'upload of a job has', 'uploads of jobs have')} not been completed for more than "
            f"{GRACE.days} days"
        )
        of.tell(Ailment.UPLOADS_LEFT, where, what, "graveler", "gc", where, "--uploads", "--yes")


def _log(of: Examination, repo: RepositoryRecord) -> None:
    of.budget.tick()
    try:
        read_log(of.stores, repo)
    except CorruptData as e:
        log_damaged(of, repo, e.message)
    damaged: list[CorruptData] = []
    pending = of.budget.over(access.scan(of.stores.kv, keys.pending_events(repo), damaged=damaged.append))
    intact = sum(1 for _ in pending)
    if damaged:
        what = f"{len(damaged)} of {intact + len(damaged)} events that wait for the log of branches and tags"
        _log_finding(of, repo, f"{what} cannot be read: {damaged[0].message}")


def log_damaged(of: Examination, repo: RepositoryRecord, why: str) -> None:
    """Add the finding that the log of references cannot be read."""
    _log_finding(of, repo, f"the log of branches and tags cannot be read: {why}")


def _log_finding(of: Examination, repo: RepositoryRecord, what: str) -> None:
    where = f"graveler://{repo.id}"
    of.tell(Ailment.REFERENCE_LOG_DAMAGED, where, what, "graveler", "reflog", where, "--mend")


def _namespace(of: Examination, repo: RepositoryRecord) -> None:
    of.budget.tick()
    try:
        blobs = of.stores.blobs.at(repo.storage_namespace)
        first = next(iter(blobs.list()), None)
        if first is not None and first.size:
            with suppress(NotFound):  # a sweep may have deleted it since
                blobs.read_range(first.address, 0, 1)
    except GravelerError as e:
        what = f"its storage namespace {repo.storage_namespace} cannot be read: {e.message}"
        of.tell(Ailment.NAMESPACE_UNREADABLE, f"graveler://{repo.id}", what)
        return
    if first is not None:
        of.ahead(f"{repo.storage_namespace}/{first.address}", first.mtime)


def _scanned(of: Examination, repo: RepositoryRecord, folder: Folder[Any]) -> Iterator[tuple[str, access.Held[Any]]]:
    return access.scan(of.stores.kv, folder, damaged=lambda e: of.damaged(f"graveler://{repo.id}", e))
