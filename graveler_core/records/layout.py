"""Every partition and key of the system, each built once, here. Source: seeds 000 and 001, `Suggested Key Schema`.

    partition  graveler                 repos/<repository>            RepositoryRecord
                                        namespaces/<uri>              NamespaceClaim
                                        abandoned/<uri>               AbandonedNamespace
    partition  graveler_deleted         repo/<repository>/<uid>       DeletedRepository
    partition  graveler_stats           <repository>/<branch>:<id of a layer>/<writer>  StagedCounts
    partition  <repository>-<uid>       branches/<branch>             BranchRecord
                                        tags/<tag>                    Tag
                                        commits/<id>                  Commit
                                        layouts/<id>                  Layout
                                        cleanup/<layer id>            Cleanup
                                        ops/<idempotency key>         Operation
                                        sweep                         Sweeping
                                        uploads/<id>                  Upload
                                        upload-parts/<id>/<number>    UploadPart
                                        collections                   Collections
                                        erasing                       Erasure that is under way
                                        erasures/<id>                 Erasure that has ended
                                        erased/<hash of an address>   ErasedContent
                                        data-checks                   DataChecks
                                        refs/int/refs                 InternalReference: the log of references
                                        refs/int/pending/<event id>   ReferenceEvent, not in the log yet
                                        refs/int/former/<commit id>   FormerHead
                                        refs/int/commits/<id>         Commit of that log
                                        refs/int/layouts/<id>         Layout of such a commit
                                        settings/compaction           CompactionSettings
                                        settings/retention            Retention
                                        settings/metadata             RepositoryMetadata
                                        checks/commits/<id>/<check>   CheckReport
                                        checks/trees/<id>/<check>     CheckReport
                                        hook-runs/<run id>            HookRun
                                        tasks/<id>                    Task
                                        compactions/<branch>          CompactionHistory
                                        restored                      Restoration
                                        migration                     Migration
                                        migrated/<id in the source>   MigratedCommit
                                        incomplete/<id in the source>  IncompleteCommit
                                        incomplete-changes/<id in the source>/<number>  IncompleteChanges
    partition  <repository>-<uid>-<byte of id>  objects/<id>      run of a commit index
    partition  <staging token>          key/<path>                    staged entry or tombstone
    partition  graveler_iam             users, groups and policies: see `iam_layout`
    partition  graveler_copy            into                          Copying

A name that people choose never decides a partition alone: the uid, fresh per creation, keeps what an earlier repository
of the same name left behind unreachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graveler_core.model.checks import CheckReport
from graveler_core.model.collection import Collections
from graveler_core.model.compaction import CompactionHistory, CompactionSettings, StagedCounts
from graveler_core.model.copying import Copying
from graveler_core.model.data_check import DataChecks
from graveler_core.model.dump import Restoration
from graveler_core.model.entities import (
    AbandonedNamespace,
    BranchRecord,
    Cleanup,
    Commit,
    DeletedRepository,
    Layout,
    NamespaceClaim,
    Operation,
    RepositoryRecord,
    Sweeping,
    Tag,
    Upload,
    UploadPart,
)
from graveler_core.model.erasure import ErasedContent, Erasure
from graveler_core.model.hook_runs import HookRun
from graveler_core.model.ids import (
    BranchId,
    CommitId,
    MetarangeId,
    ObjectId,
    RepositoryId,
    RepositoryUid,
    StagingToken,
    TagId,
)
from graveler_core.model.layers import SealedToken
from graveler_core.model.migration import IncompleteChanges, IncompleteCommit, MigratedCommit, Migration
from graveler_core.model.references import FormerHead, InternalReference, ReferenceEvent
from graveler_core.model.repository_metadata import RepositoryMetadata
from graveler_core.model.retention import Retention
from graveler_core.model.tasks import Task
from graveler_core.records.location import Folder, Location

GRAVELER = b"graveler"
DELETED = b"graveler_deleted"
STATS = b"graveler_stats"
IAM = b"graveler_iam"
COPY = b"graveler_copy"

REPOSITORIES = Folder(GRAVELER, b"repos/", RepositoryRecord)
NAMESPACES = Folder(GRAVELER, b"namespaces/", NamespaceClaim)
ABANDONED = Folder(GRAVELER, b"abandoned/", AbandonedNamespace)
DELETED_REPOSITORIES = Folder(DELETED, b"repo/", DeletedRepository)
COUNTS = Folder(STATS, b"", StagedCounts)


def repository(repo: RepositoryId) -> Location[RepositoryRecord]:
    """Return the key of the register that decides whether a repository exists, and which one has the name."""
    return REPOSITORIES.at(repo)


def namespace_claim(uri: str) -> Location[NamespaceClaim]:
    """Return the key of the owner of a storage namespace."""
    return NAMESPACES.at(uri)


def abandoned_namespace(uri: str) -> Location[AbandonedNamespace]:
    """Return the key of the record of a namespace whose repository was removed."""
    return ABANDONED.at(uri)


def deleted_repository(repo: RepositoryId, uid: RepositoryUid) -> Location[DeletedRepository]:
    """Return the key of the record of a deleted repository, for the cleaner."""
    return DELETED_REPOSITORIES.at(f"{repo}/{uid}")


def partition(repo: RepositoryRecord) -> bytes:
    """Return the partition of everything in a repository except its staged entries."""
    return f"{repo.id}-{repo.uid}".encode()


def branches(repo: RepositoryRecord) -> Folder[BranchRecord]:
    return Folder(partition(repo), b"branches/", BranchRecord)


def branch(repo: RepositoryRecord, name: BranchId) -> Location[BranchRecord]:
    return branches(repo).at(name)


def tags(repo: RepositoryRecord) -> Folder[Tag]:
    return Folder(partition(repo), b"tags/", Tag)


def tag(repo: RepositoryRecord, name: TagId) -> Location[Tag]:
    return tags(repo).at(name)


@dataclass(frozen=True, slots=True)
class CommitFolders:
    """Keys of the commits of one history."""

    headers: Folder[Commit]
    layouts: Folder[Layout]


def commits(repo: RepositoryRecord) -> Folder[Commit]:
    return Folder(partition(repo), b"commits/", Commit)


def commit(repo: RepositoryRecord, commit_id: CommitId) -> Location[Commit]:
    return commits(repo).at(commit_id)


def commit_layouts(repo: RepositoryRecord) -> Folder[Layout]:
    return Folder(partition(repo), b"layouts/", Layout)


def commit_layout(repo: RepositoryRecord, commit_id: CommitId) -> Location[Layout]:
    return commit_layouts(repo).at(commit_id)


def history(repo: RepositoryRecord) -> CommitFolders:
    """Return the keys of users' commits."""
    return CommitFolders(commits(repo), commit_layouts(repo))


def internal_history(repo: RepositoryRecord) -> CommitFolders:
    """Return the keys of graveler's own commits for its log of references. No commit id of a user and no prefix of one
    reaches them.
    """
    here = partition(repo)
    return CommitFolders(Folder(here, b"refs/int/commits/", Commit), Folder(here, b"refs/int/layouts/", Layout))


def reference_log(repo: RepositoryRecord) -> Location[InternalReference]:
    """Return the key of the head of the log of references."""
    return Location(partition(repo), b"refs/int/refs", InternalReference)


def pending_events(repo: RepositoryRecord) -> Folder[ReferenceEvent]:
    """Return the key of an event of a reference that is not yet in the log, or is about to happen."""
    return Folder(partition(repo), b"refs/int/pending/", ReferenceEvent)


def former_heads(repo: RepositoryRecord) -> Folder[FormerHead]:
    """Return the keys of the commits that a hard reset, an assignment or a deletion of a branch or tag has left."""
    return Folder(partition(repo), b"refs/int/former/", FormerHead)


def cleanups(repo: RepositoryRecord) -> Folder[Cleanup]:
    return Folder(partition(repo), b"cleanup/", Cleanup)


def cleanup(repo: RepositoryRecord, layer_id: str) -> Location[Cleanup]:
    return cleanups(repo).at(layer_id)


def operations(repo: RepositoryRecord) -> Folder[Operation]:
    return Folder(partition(repo), b"ops/", Operation)


def operation(repo: RepositoryRecord, key: str) -> Location[Operation]:
    return operations(repo).at(key)


def sweeping(repo: RepositoryRecord) -> Location[Sweeping]:
    """Return the key of the register of processes that delete or renew blobs by their age."""
    return Location(partition(repo), b"sweep", Sweeping)


def uploads(repo: RepositoryRecord) -> Folder[Upload]:
    """Return the key of attempts to store objects of user data that nothing names yet."""
    return Folder(partition(repo), b"uploads/", Upload)


def upload_parts(repo: RepositoryRecord) -> Folder[UploadPart]:
    """Return the keys of the parts of uploads, by the id of the upload and the number of the part."""
    return Folder(partition(repo), b"upload-parts/", UploadPart)


def upload_part(repo: RepositoryRecord, id: str, number: int) -> Location[UploadPart]:
    """Return the key of a part of an upload. Parts are ordered by number."""
    return upload_parts(repo).at(f"{id}/{number:05}")


def collections(repo: RepositoryId, uid: RepositoryUid) -> Location[Collections]:
    """Return the key of the condemned and deleted objects of user data."""
    return Location(f"{repo}-{uid}".encode(), b"collections", Collections)


def erasing(repo: RepositoryId, uid: RepositoryUid) -> Location[Erasure]:
    """Return the key of the erasure that is under way."""
    return Location(f"{repo}-{uid}".encode(), b"erasing", Erasure)


def erasures(repo: RepositoryId, uid: RepositoryUid) -> Folder[Erasure]:
    """Return the keys of the erasures that have ended, by their ids."""
    return Folder(f"{repo}-{uid}".encode(), b"erasures/", Erasure)


def erased(repo: RepositoryId, uid: RepositoryUid) -> Folder[ErasedContent]:
    """Return the keys of the marks of erased content, by a hash of the address, which may be longer than a key."""
    return Folder(f"{repo}-{uid}".encode(), b"erased/", ErasedContent)


def data_checks(repo: RepositoryRecord) -> Location[DataChecks]:
    """Return the key of the checks of user data."""
    return Location(partition(repo), b"data-checks", DataChecks)


def compaction_settings(repo: RepositoryRecord) -> Location[CompactionSettings]:
    return Location(partition(repo), b"settings/compaction", CompactionSettings)


def retention(repo: RepositoryRecord) -> Location[Retention]:
    return Location(partition(repo), b"settings/retention", Retention)


def repository_metadata(repo: RepositoryRecord) -> Location[RepositoryMetadata]:
    return Location(partition(repo), b"settings/metadata", RepositoryMetadata)


def tasks(repo: RepositoryRecord) -> Folder[Task]:
    """Return the keys of the tasks that run in the background, by their ids."""
    return Folder(partition(repo), b"tasks/", Task)


def compaction_histories(repo: RepositoryRecord) -> Folder[CompactionHistory]:
    return Folder(partition(repo), b"compactions/", CompactionHistory)


def compaction_history(repo: RepositoryRecord, name: BranchId) -> Location[CompactionHistory]:
    return compaction_histories(repo).at(name)


def commit_checks(repo: RepositoryRecord, commit_id: CommitId) -> Folder[CheckReport]:
    return Folder(partition(repo), b"checks/commits/" + commit_id.encode() + b"/", CheckReport)


def tree_checks(repo: RepositoryRecord, tree_id: MetarangeId | None = None) -> Folder[CheckReport]:
    """Return the keys of the reports on a tree, or on all trees."""
    below = b"" if tree_id is None else tree_id.encode() + b"/"
    return Folder(partition(repo), b"checks/trees/" + below, CheckReport)


def hook_runs(repo: RepositoryRecord) -> Folder[HookRun]:
    """Return the keys of the runs of hooks. The newest run is first."""
    return Folder(partition(repo), b"hook-runs/", HookRun)


def restoration(repo: RepositoryRecord) -> Location[Restoration]:
    """Return the key of the dump that is being, or was, restored into a repository."""
    return Location(partition(repo), b"restored", Restoration)


def migration(repo: RepositoryRecord) -> Location[Migration]:
    """Return the key of the state of a source that is being, or was, migrated into a repository."""
    return Location(partition(repo), b"migration", Migration)


def migrated_commits(repo: RepositoryRecord) -> Folder[MigratedCommit]:
    """Return the keys of migrated commits, by their ids in the source."""
    return Folder(partition(repo), b"migrated/", MigratedCommit)


def incomplete_commits(repo: RepositoryRecord) -> Folder[IncompleteCommit]:
    """Return the keys of commits without index, by their ids in the source."""
    return Folder(partition(repo), b"incomplete/", IncompleteCommit)


def incomplete_changes(repo: RepositoryRecord) -> Folder[IncompleteChanges]:
    """Return the keys of the changes that do not fit into the records of commits without index."""
    return Folder(partition(repo), b"incomplete-changes/", IncompleteChanges)


def incomplete_part(repo: RepositoryRecord, origin: str, number: int) -> Location[IncompleteChanges]:
    """Return the key of a part of the changes of a commit without index. Parts are ordered by number."""
    return incomplete_changes(repo).at(f"{origin}/{number:06}")


def counts_of_branch(repo: RepositoryId, name: BranchId) -> str:
    """Return the common prefix of the names of a branch's counters, which no other branch's counters have."""
    return f"{repo}/{name}:"


def counts_of_layer(repo: RepositoryId, name: BranchId, layer_id: str) -> str:
    """Return the common prefix of the names of a layer's counters. A staging token contains the branch in its id; a
    segment layer does not.
    """
    branch = counts_of_branch(repo, name)
    return f"{branch}{layer_id.removeprefix(branch)}/"


STAGED = b"key/"


def staging(token: StagingToken) -> bytes:
    """Return the partition of a staging token."""
    return token.encode()


def staging_token(repo: RepositoryRecord, name: BranchId, fresh: str) -> StagingToken:
    """Return a new staging token of a branch."""
    return StagingToken(f"{repo.id}/{name}:{fresh}")


def staged(path: bytes) -> bytes:
    """Return the key of a staged record."""
    return STAGED + path


OBJECTS = b"objects/"


def stored_object(repo: RepositoryRecord, object_id: ObjectId) -> tuple[bytes, bytes]:
    """Return the partition and key of an immutable object. Objects are spread over 256 partitions to avoid a hot
    one.
    """
    return f"{repo.id}-{repo.uid}-{object_id[:2]}".encode(), OBJECTS + object_id.encode()


def object_partitions(repo: RepositoryRecord) -> list[bytes]:
    """Return the partitions that a repository's objects are spread over."""
    return [f"{repo.id}-{repo.uid}-{byte:02x}".encode() for byte in range(256)]


def copying() -> Location[Copying]:
    """Return the key of the progress of a copy of another store into this one."""
    return Location(COPY, b"into", Copying)


def partitions(
    repo: RepositoryRecord, branches: Iterable[BranchRecord], cleanups: Iterable[Cleanup]
) -> Iterator[bytes]:
    """All partitions of a repository, each once, lazily: its own, then its objects', then those of what is staged.

    In memory are the names of the staging tokens of its branches.

    Args:
        branches: Its branches; asked for after its own partition was given.
        cleanups: Its cleanup records: layers that are about to leave their branch's record, or to enter it.
    """
    yield partition(repo)
    yield from object_partitions(repo)
    listed: set[StagingToken] = set()
    for branch in branches:
        sealed = (layer.token for layer in branch.sealed_tokens if isinstance(layer, SealedToken))
        for token in (branch.staging_token, *sealed):
            listed.add(token)
            yield staging(token)
    for cleanup in cleanups:
        if isinstance(cleanup.layer, SealedToken) and cleanup.layer.token not in listed:
            yield staging(cleanup.layer.token)
