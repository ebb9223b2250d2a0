"""The one commit of a write, made by the driver when all tasks are done: files appear, and former ones go, in one step.

It is a transaction: nothing is staged, so what others have staged on the branch is neither committed nor lost, and no
reader sees a moment in between. (A branch of its own and a merge would not do: a merge refuses a branch with staged
changes, and would let two overwrites both win.) A transaction decides by paths, and two writers of one table share
none; so each write also puts the marker `_SUCCESS`, which Spark passes by, over the very one that it saw. Whoever comes
second conflicts there, looks again at what the table holds, and tries anew.

An overwrite also depends on what it did not see: others may put files into the directory who know no marker. So it says
on which commit it looked (`Basis`), and conflicts if what it replaces holds anything else at the swap. What is staged
there is somebody's who has not published it: the overwrite is refused, and nothing is thrown away.

Exactly once: a transaction has an idempotency key. One that was made under the key before is given back, and the files
of the repetition, which it does not name, are deleted; so they are where the transaction is refused. The uploads are
announced before: a sweep that took a task for dead and one that names its files exclude each other, and what a crash
leaves is found (`graveler_core.objects.uploads`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from graveler_core.errors import Conflict, GravelerError, Kind, NotFound
from graveler_core.facade.history import CommitRecord
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.operations import Basis, Operation, Put, Remove
from jobs.source.target import Target
from jobs.source.upload import Uploaded, ids_of, upload_columns, uploads_of

MARKER = "_SUCCESS"
_ATTEMPTS = 20
"""Writers of one table that may come in between."""
_ANOTHER_CAME_FIRST = (Kind.TransactionConflict, Kind.LostRace)


@dataclass(frozen=True, slots=True)
class Job:
    """What is committed, under which key, and what its metadata say besides those of the target."""

    uploaded: Sequence[Uploaded]
    key: str
    metadata: dict[str, str]


def publish(target: Target, job: Job) -> CommitRecord | None:
    """Commit the files of a write; None where there is nothing to append.

    Raises:
        DirtyBranch: something is staged where the write would take effect: commit or reset it first.
        Conflict: (`TransactionConflict`, `LostRace`) others wrote into the directory in between, again and again;
            (`Discarded`) the job took so long that a sweep took it for dead.
        PermissionDenied: the branch is protected, or the repository read-only.
    """
    if not any(each.files for each in job.uploaded):
        if not target.overwrite:
            return None
        job = Job([upload_columns(target)] if not target.folders else [], job.key, job.metadata)
    with target.connection.connect() as graveler:
        repository, uploads = graveler.repository(target.repository), uploads_of(target)
        with uploads.naming(ids_of(job.uploaded)) as named:
            commit = _commit(repository, target, job)
        first = next((file for each in job.uploaded for file in each.files), None)
        held = first is None or _holds(repository.at(commit.id), target.path_of(first.name))
        with suppress(GravelerError):  # the commit is made; what is left a sweep finds
            if held:
                uploads.settle(named)
            else:
                uploads.give_up(named, named)
    return commit


def _commit(repository: Repository, target: Target, job: Job) -> CommitRecord:
    branch = repository.branch(target.branch)
    for attempt in range(_ATTEMPTS):
        at = repository.at(f"{target.branch}@")
        try:
            return branch.transact(
                _operations(at, target, job),
                message=target.message,
                committer=target.committer,
                metadata={**target.metadata, **job.metadata},
                on=Basis(at.commit_id, tuple(target.replaced())) if target.overwrite else None,
                idempotency_key=job.key,
            )
        except Conflict as e:
            if e.kind not in _ANOTHER_CAME_FIRST or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt raises")


def _operations(at: Snapshot, target: Target, job: Job) -> list[Operation]:
    marker = target.path_of(MARKER)
    former = _entry(at, marker)
    files = [file for each in job.uploaded for file in each.files]
    gone = [entry.path for each in target.replaced() for entry in at.list(each)] if target.overwrite else []
    return [
        *(Remove(path) for path in gone if path != marker),
        *(Put(target.path_of(file.name), file.entry()) for file in files),
        Put(marker, _marker(job, former), former),
    ]


def _marker(job: Job, former: Entry | None) -> Entry:
    data = json.dumps({"job": job.key}).encode()
    marker = Entry(data=data, size=len(data), address_type=AddressType.INLINE, content_type="application/json")
    return marker if former is None else replace(marker, content_id=former.content_id, payload=former.payload)


def _holds(at: Snapshot, path: str) -> bool:
    return _entry(at, path) is not None


def _entry(at: Snapshot, path: str) -> Entry | None:
    try:
        return at.get(path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        return None
