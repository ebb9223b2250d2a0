"""What is wrong in one repository, as its records say: branches, layers that were left, keys, uploads, its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis, Severity
from graveler_core.diagnostics.doctor.examination import DAY, Examination
from graveler_core.diagnostics.doctor.of_repositories import clean_command
from graveler_core.engine import pressure
from graveler_core.engine.cleaning import CleaningPlan
from graveler_core.engine.reference_log import read_log
from graveler_core.engine.swap import lists
from graveler_core.errors import CorruptData, GravelerError
from graveler_core.gc.sweep import GRACE
from graveler_core.model.compaction import CompactionSettings
from graveler_core.model.entities import Branch, Cleanup, Repository
from graveler_core.model.ids import BranchId
from graveler_core.model.layers import MAX_LAYERS
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder

NEAR = MAX_LAYERS * 8 // 10
"""So many layers are near to where bulk writes are refused."""


def examine_branches(of: Examination, repo: Repository) -> None:
    """Look at the records of one repository."""
    where = f"graveler://{repo.id}"
    with of.looking(f"{where}: branches"):
        of.budget.tick()
        settings = pressure.settings_of(of.stores, repo)
        for branch in of.budget.over(branches(of, repo)):
            with of.looking(f"{where}/{branch.id}"):
                _branch(of, repo, branch, settings)
    with of.looking(f"{where}: layers that were left"):
        _layers_left(of, repo)
    with of.looking(f"{where}: idempotency keys"):
        _keys_old(of, repo)
    with of.looking(f"{where}: uploads"):
        _uploads_left(of, repo)
    with of.looking(f"{where}: log of references"):
        _log(of, repo)
    with of.looking(f"{where}: storage namespace"):
        _namespace(of, repo)


def branches(of: Examination, repo: Repository, *, tell: bool = True) -> Iterator[Branch]:
    """The branches that can be read.

    Args:
        tell: Tell of the others.
    """

    def damaged(e: CorruptData) -> None:
        if tell:
            of.damaged(f"graveler://{repo.id}", e)

    return (held.value for _, held in access.scan(of.stores.kv, keys.branches(repo), damaged=damaged))


def _branch(of: Examination, repo: Repository, branch: Branch, settings: CompactionSettings) -> None:
    where = f"graveler://{repo.id}/{branch.id}"
    layers = len(branch.sealed_tokens)
    found = pressure.of_record(of.stores, repo, branch, settings).pressure
    if layers >= NEAR:
        what, why = f"{layers} layers of {MAX_LAYERS}", "at the limit bulk writes and prefix operations are refused"
    elif found.over:
        what, why = ", ".join(found.reasons), "reads and listings ask all of it, and the next commit reads all of it"
    else:
        return
    ailment = Ailment.BRANCH_LAYERS if layers >= NEAR else Ailment.BRANCH_PRESSURE
    remedy = "compact the branch; the sensor of compactions does so by itself"
    of.tell(Diagnosis(ailment, Severity.WARNING, where, what, why, remedy, ("graveler", "compact", where)))


def _layers_left(of: Examination, repo: Repository) -> None:
    """Records of layers that left their branch, or never entered it: each commit leaves some to the cleaner."""
    plan = CleaningPlan()
    old = DAY + max(plan.late, plan.building)
    known: dict[BranchId, Branch | None] = {}
    left = 0
    for _, held in of.budget.over(_scanned(of, repo, keys.cleanups(repo))):
        cleanup: Cleanup = held.value
        if of.now - cleanup.since >= old and not _listed(of, repo, cleanup, known):
            left += 1
    if left:
        where = f"graveler://{repo.id}"
        of.tell(
            Diagnosis(
                Ailment.LAYERS_LEFT,
                Severity.NOTICE,
                where,
                f"{left:,} staged layers were left by commits, compactions or resets, or never entered a branch",
                "what they hold, and the records of them, take room",
                "run the cleaner, best every day",
                clean_command(of, repo.id),
            )
        )


def _listed(of: Examination, repo: Repository, cleanup: Cleanup, known: dict[BranchId, Branch | None]) -> bool:
    """Whether the branch still has the layer; read after the record, and once."""
    name = cleanup.branch
    if name not in known:
        held = access.read(of.stores.kv, keys.branch(repo, name))
        known[name] = None if held is None else held.value
    branch = known[name]
    return branch is not None and lists(branch, cleanup.layer.id)


def _keys_old(of: Examination, repo: Repository) -> None:
    kept = CleaningPlan().keys_for
    found = (held for _, held in of.budget.over(_scanned(of, repo, keys.operations(repo))))
    old = sum(of.now - held.value.since >= kept + DAY for held in found)
    if old:
        of.tell(
            Diagnosis(
                Ailment.KEYS_OLD,
                Severity.NOTICE,
                f"graveler://{repo.id}",
                f"{old:,} idempotency keys are older than {kept.days} days",
                "they take room, and repeat nothing any more",
                "run the cleaner, best every day",
                clean_command(of, repo.id),
            )
        )


def _uploads_left(of: Examination, repo: Repository) -> None:
    found = (held for _, held in of.budget.over(_scanned(of, repo, keys.uploads(repo))))
    old = sum(of.now - held.value.since >= GRACE + DAY for held in found)
    if old:
        where = f"graveler://{repo.id}"
        of.tell(
            Diagnosis(
                Ailment.UPLOADS_LEFT,
                Severity.NOTICE,
                where,
                f"{old:,} uploads of jobs that died, or never ended, more than {GRACE.days} days ago",
                "files that nothing names take room in the storage namespace",
                "collect them",
                ("graveler", "gc", where, "--uploads"),
            )
        )


def _log(of: Examination, repo: Repository) -> None:
    of.budget.tick()
    try:
        read_log(of.stores, repo)
    except CorruptData as e:
        of.tell(log_damaged(repo, e.message))


def log_damaged(repo: Repository, what: str) -> Diagnosis:
    """The log of references cannot be read."""
    where = f"graveler://{repo.id}"
    return Diagnosis(
        Ailment.REFERENCE_LOG_DAMAGED,
        Severity.WARNING,
        where,
        f"the log of branches and tags cannot be read: {what}",
        "reflogs and undeletions fail; branches and tags themselves are well",
        "set it back to the newest of its commits that is whole",
        ("graveler", "reflog", where, "--mend"),
    )


def _namespace(of: Examination, repo: Repository) -> None:
    of.budget.tick()
    try:
        blobs = of.stores.blobs.at(repo.storage_namespace)
        first = next(iter(blobs.list()), None)
        if first is not None and first.size:
            blobs.read_range(first.address, 0, 1)
    except GravelerError as e:
        of.tell(
            Diagnosis(
                Ailment.NAMESPACE_UNREADABLE,
                Severity.CRITICAL,
                f"graveler://{repo.id}",
                f"its storage namespace {repo.storage_namespace} cannot be read: {e.message}",
                "nothing that was committed can be read",
                "mend the way there: network, credentials, permissions, the directory or bucket itself",
            )
        )
        return
    if first is not None:
        of.ahead(f"{repo.storage_namespace}/{first.address}", first.mtime)


def _scanned(of: Examination, repo: Repository, folder: Folder[Any]) -> Iterator[tuple[str, access.Held[Any]]]:
    return access.scan(of.stores.kv, folder, damaged=lambda e: of.damaged(f"graveler://{repo.id}", e))
