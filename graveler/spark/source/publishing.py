"""Publish a write in one commit, made by the driver when all tasks are done: new files appear and old ones disappear in
one step.

The commit is a transaction. Nothing is staged, so changes that others have staged on the branch are neither
committed nor lost, and no reader sees an intermediate state. (A separate branch and a merge would not work,
because a merge refuses a branch with staged changes.) A transaction detects conflicts by
path, but two writers of one table have no path in common. So each write also replaces the marker `_SUCCESS`, which
Spark skips, and requires that it is unchanged. The second writer conflicts there, reads the content of the table
again, and retries.

An overwrite also depends on the absence of files: writers that do not use the marker may add files to the directory.
So it states the commit that it has read (`Basis`), and conflicts if the replaced directory has other content at the
swap. If the directory has staged changes, the overwrite is refused, and nothing is lost.

A write is committed exactly once, because the transaction has an idempotency key. If a commit with the key exists, it
is returned, and the new files of the repeated write are deleted. They are also deleted if the transaction is refused.
The uploads are announced before the transaction. Therefore a sweep that considers a task dead and a transaction that
refers to its files exclude each other, and files that remain after a crash are found (`graveler_core.objects.uploads`).

Idempotency keys are removed after some days, and a dump does not contain them. Spark may repeat the last batch of a
stream much later, so the marker also names the last batch of each stream. A batch that it names is not committed again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from graveler.spark.source.target import Target
from graveler.spark.source.upload import Uploaded, ids_of, upload_columns, uploads_of
from graveler_core.errors import Conflict, GravelerError, Kind, NotFound
from graveler_core.facade.history import CommitRecord
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.operations import Basis, Operation, Put, Remove

MARKER = "_SUCCESS"
_ATTEMPTS = 20
"""Maximum number of attempts, when other writers of the table commit in between."""
MAX_STREAMS = 100
"""Maximum number of streams whose last batches a marker names. Those that wrote last stay."""
_ANOTHER_CAME_FIRST = (Kind.TransactionConflict, Kind.LostRace)


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Batch of a stream."""

    query: str
    number: int

    @property
    def key(self) -> str:
        """Idempotency key of its commit."""
        return f"spark/{self.query}/{self.number}"

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of its commit."""
        return {"spark.query": self.query, "spark.batch": str(self.number)}


@dataclass(frozen=True, slots=True)
class Job:
    """Files to commit."""

    uploaded: Sequence[Uploaded]
    key: str
    """Idempotency key."""
    batch: StreamBatch | None = None
    """Batch of a stream that the files are."""


def publish(target: Target, job: Job) -> CommitRecord | None:
    """Commit the files of a write, and return the commit, or `None` if there is nothing to commit.

    There is nothing to commit if no rows are appended, or if the batch was committed before and its key is forgotten.

    Raises:
        DirtyBranch: Changes are staged where the write would take effect: commit or reset them first.
        Conflict: (`TransactionConflict`, `LostRace`) Others wrote into the directory during every attempt;
            (`Discarded`) the job took so long that a sweep considered it dead.
        PermissionDenied: The branch is protected, or the repository is read-only.
    """
    if not any(each.files for each in job.uploaded):
        if not target.overwrite:
            return None
        job = replace(job, uploaded=[] if target.folders else [upload_columns(target)])
    with target.connection.connect() as graveler:
        repository, uploads = graveler.repository(target.repository), uploads_of(target)
        with uploads.naming(ids_of(job.uploaded)) as named:
            commit = _commit(repository, target, job)
        first = next((file for each in job.uploaded for file in each.files), None)
        with suppress(GravelerError):  # the commit is made; a sweep finds the rest
            if commit is not None and (first is None or _holds(repository.at(commit.id), target.path_of(first.name))):
                uploads.settle(named)
            else:
                uploads.give_up(named, named)
    return commit


def _commit(repository: Repository, target: Target, job: Job) -> CommitRecord | None:
    branch, batch = repository.branch(target.branch), job.batch
    attempt = 0
    while True:
        attempt += 1
        at = repository.at(f"{target.branch}@")
        former = _entry(at, target.path_of(MARKER))
        if batch is not None and batch.number <= _batches(former).get(batch.query, -1):
            return None
        try:
            return branch.transact(
                _operations(at, target, job, former),
                message=target.message,
                committer=target.committer,
                metadata={**target.metadata, **(batch.metadata if batch else {})},
                on=Basis(at.commit_id, tuple(target.replaced())) if target.overwrite else None,
                idempotency_key=job.key,
            )
        except Conflict as e:
            if e.kind not in _ANOTHER_CAME_FIRST or attempt == _ATTEMPTS:
                raise


def _operations(at: Snapshot, target: Target, job: Job, former: Entry | None) -> list[Operation]:
    marker = target.path_of(MARKER)
    files = [file for each in job.uploaded for file in each.files]
    gone = [entry.path for each in target.replaced() for entry in at.list(each)] if target.overwrite else []
    return [
        *(Remove(path) for path in gone if path != marker),
        *(Put(target.path_of(file.name), file.entry()) for file in files),
        Put(marker, _marker(job, former), former),
    ]


def _marker(job: Job, former: Entry | None) -> Entry:
    batches = _batches(former)
    if job.batch is not None:
        batches.pop(job.batch.query, None)  # the last one of a dictionary is the one that was added last
        batches[job.batch.query] = job.batch.number
    data = json.dumps({"job": job.key, "batches": dict([*batches.items()][-MAX_STREAMS:])}).encode()
    marker = Entry(data=data, size=len(data), address_type=AddressType.INLINE, content_type="application/json")
    return marker if former is None else replace(marker, content_id=former.content_id, payload=former.payload)


def _batches(marker: Entry | None) -> dict[str, int]:
    """Return the number of the last batch of each stream that a marker names. Other programs write other markers."""
    data = None if marker is None else marker.data
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    batches = found.get("batches") if isinstance(found, dict) else None
    named = batches.items() if isinstance(batches, dict) else ()
    return {query: number for query, number in named if isinstance(number, int)}


def _holds(at: Snapshot, path: str) -> bool:
    return _entry(at, path) is not None


def _entry(at: Snapshot, path: str) -> Entry | None:
    try:
        return at.get(path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        return None
