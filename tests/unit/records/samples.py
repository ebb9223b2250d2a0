"""One record of each kind, with every field filled."""

from __future__ import annotations

from datetime import UTC, datetime

from graveler_core.model.checks import CheckReport
from graveler_core.model.collection import (
    Collections,
    CollectionState,
    CondemnedSet,
    ExpiredCommits,
    RemovedCommits,
    SortedFile,
)
from graveler_core.model.compaction import Counted, StagedCounts
from graveler_core.model.copying import Copying
from graveler_core.model.data_check import CompleteCheck, DataChecks, UnfinishedCheck
from graveler_core.model.dump import ForeignCommit, Restoration
from graveler_core.model.entities import (
    AbandonedNamespace,
    BranchRecord,
    Cleanup,
    Commit,
    DeletedRepository,
    DeletedState,
    Layout,
    NamespaceClaim,
    Operation,
    Record,
    RepositoryRecord,
    RepositoryState,
    Superseded,
    Sweeping,
    Tag,
    Upload,
    UploadPart,
    UploadState,
)
from graveler_core.model.erasure import ErasedContent, Erasure, ErasureState
from graveler_core.model.hook_runs import HookRequest, HookRun, HookState
from graveler_core.model.ids import (
    BranchId,
    BranchUid,
    CommitId,
    LayerId,
    MetarangeId,
    Nonce,
    ObjectId,
    RepositoryId,
    RepositoryUid,
    StagingToken,
    TagId,
)
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.model.layers import PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.model.migration import IncompleteChanges, IncompleteCommit, MigratedCommit, Migration
from graveler_core.model.references import EventKind, FormerHead, InternalReference, ReferenceEvent, ReferenceType
from graveler_core.model.webhooks import HookEvent
from tests.unit.records.iam_samples import IAM_RECORDS
from tests.unit.records.settings_samples import SETTINGS_RECORDS

SINCE = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
REPOSITORY = RepositoryRecord(
    id=RepositoryId("repo"),
    uid=RepositoryUid("u1"),
    storage_namespace="s3://bucket/data",
    creation_date=SINCE,
    default_branch=BranchId("main"),
    state=RepositoryState.ACTIVE,
    boundary_seed=(1 << 64) - 1,
    nonce=Nonce("n1"),
    since=SINCE,
)
COMMITS = SortedFile(name="000000.parquet", first="c1", last="c9", count=3)
TOKEN = SealedToken(token=StagingToken("repo/main:t1"))
RECORDS: dict[str, Record] = {
    "internal reference": InternalReference(commit_id=CommitId("c3"), nonce=Nonce("n6")),
    "reference event": ReferenceEvent(
        time=SINCE,
        kind=EventKind.DELETED,
        type=ReferenceType.BRANCH,
        name="dev",
        uid="b2",
        step="of-n4",
        before=CommitId("c2"),
        past="2=5:c1,1>4:c0,0+3:c0",
        by="me",
        message="é",
    ),
    "former head": FormerHead(since=SINCE),
    "repository": REPOSITORY,
    "collected repository": REPOSITORY.model_copy(update={"addresses_checked": True, "former_heads": True}),
    "branch": BranchRecord(
        id=BranchId("main"),
        uid=BranchUid("b1"),
        epoch=2,
        commit_id=CommitId("c1"),
        staging_token=StagingToken("repo/main:t2"),
        sealed_tokens=(
            TOKEN,
            SegmentLayer(id=LayerId("l1"), count=3),
            PrefixRemoval(id=LayerId("l2"), prefix="é/"),
            PrefixRestoration(id=LayerId("l3"), prefix='"\x01'),
        ),
        compacted_metarange=MetarangeId("m1"),
        compaction_start_time=SINCE,
        nonce=Nonce("n4"),
    ),
    "tag": Tag(id=TagId("v1"), commit_id=CommitId("c1"), message="m", signature="s"),
    "annotated tag": Tag(
        id=TagId("v1"), commit_id=CommitId("c1"), tagger="ada", metadata={"é": "v", "b": ""}, past="0+64:c1"
    ),
    "tag of a tag": Tag(
        id=TagId("v2"),
        commit_id=CommitId("c1"),
        past="0+65:c1",
        tree=MetarangeId("m1"),
        tagged=Tag(id=TagId("v1"), commit_id=CommitId("c1"), message="é", past="0+64:c1", tree=MetarangeId("m1")),
    ),
    "commit": Commit(
        version=1,
        committer="me",
        message="first\n\U0001f600",
        creation_date=SINCE,
        parents=(CommitId("c1"), CommitId("c2")),
        metadata={"z": "1", "a": ""},
        generation=7,
        nonce=Nonce("n2"),
        consumed=("repo/main:t1", "l1"),
        operations="0f",
        idempotency_key="run 1",
    ),
    "commit of rule 2": Commit(
        committer="me",
        message="",
        creation_date=SINCE,
        parents=(),
        generation=1,
        nonce=Nonce("n2"),
        operations="0f" * 32,
    ),
    "layout": Layout(
        index=Index(
            metarange_id=MetarangeId("11" * 32),
            runs=(
                Run(id=ObjectId("22" * 32), place=RunLocation.OBJECT, elements=3, size=400),
                Run(id=ObjectId("33" * 32), place=RunLocation.BLOB, elements=70_000, size=9_000_000),
            ),
            inline=b"\x00\xff",
            own_run=True,
        ),
        superseded=(Superseded(index=Index(metarange_id=MetarangeId("44" * 32)), since=SINCE),),
    ),
    "deleted repository": DeletedRepository(
        repository=REPOSITORY, state=DeletedState.PURGING, nonce=Nonce("n3"), since=SINCE
    ),
    "namespace claim": NamespaceClaim(
        owner=RepositoryUid("u1"), repository=RepositoryId("repo"), nonce=Nonce("n4"), since=SINCE
    ),
    "cleanup": Cleanup(branch=BranchId("main"), layer=TOKEN, since=SINCE),
    "sweeping": Sweeping(nonce=Nonce("n5"), since=SINCE),
    "upload part": UploadPart(address="data/0a/0b", size=5, checksum="md5:0c", creation_date=SINCE),
    "upload": Upload(state=UploadState.NAMING, nonce=Nonce("n7"), since=SINCE),
    "staged counts": StagedCounts(
        repository=RepositoryId("repo"),
        uid=RepositoryUid("u1"),
        branch=BranchId("main"),
        layer="repo/main:t1",
        counted=Counted(writes=300, tombstones=7),
        since=SINCE,
        scanned_over={"w1": Counted(writes=256, tombstones=5)},
    ),
    "restoration": Restoration(digest="0a" * 32, since=SINCE),
    "migration": Migration(digest="0b" * 32, since=SINCE),
    "migrated commit": MigratedCommit(commit_id=CommitId("0c" * 32)),
    "incomplete commit": IncompleteCommit(
        commit=ForeignCommit(
            id="0d" * 32,
            metarange_id=MetarangeId(""),
            parents=("0c" * 32,),
            message="m",
            committer="ada",
            creation_date=SINCE,
            metadata={"k": "é"},
        ),
        changes=b"\x00\xfa\xff",
    ),
    "incomplete commit with parts": IncompleteCommit(
        commit=ForeignCommit(
            id="0d" * 32,
            metarange_id=MetarangeId(""),
            parents=(),
            message="",
            committer="",
            creation_date=SINCE,
        ),
        parts=2,
    ),
    "incomplete changes": IncompleteChanges(changes=b"\x00\xfa\xff" * 3),
    "copying": Copying(
        source="0f" * 32,
        run=Nonce("n6"),
        unit="repos/repo",
        partition=b"repo-u1",
        key="branches/é".encode(),
        compared=True,
    ),
    "erasure": Erasure(
        id="20260101T000000-1",
        state=ErasureState.DONE,
        paths=("a/é", "b"),
        why="a request",
        by="ada",
        shared=True,
        since=SINCE,
        rounds=("r1",),
        objects=2,
        size=300,
        ended=SINCE,
        nonce=Nonce("n9"),
    ),
    "erased content": ErasedContent(address="data/é", size=7, erasure="20260101T000000-1", round="r1"),
    "erased content of two rounds": ErasedContent(
        address="data/é", size=7, erasure="20260101T000000-1", round="r1", later_rounds=("r2",)
    ),
    "collections": Collections(
        current=CondemnedSet(
            id="s2",
            state=CollectionState.CONDEMNED,
            since=SINCE,
            files=(SortedFile(name="000000.parquet", first="data/0a", last="data/é", count=2),),
            objects=2,
            size=1 << 40,
        ),
        past=(CondemnedSet(id="s1", state=CollectionState.DELETED, since=SINCE, files=(), objects=0, size=0),),
        nonce=Nonce("n6"),
    ),
    "collections with commits": Collections(
        current=CondemnedSet(
            id="s3",
            state=CollectionState.CONDEMNED,
            since=SINCE,
            files=(),
            objects=0,
            size=0,
            expiring=(COMMITS,),
            revived=(CommitId("c2"),),
        ),
        expired=ExpiredCommits(id="s2", files=(COMMITS,)),
        forever=CondemnedSet(id="s1", state=CollectionState.DELETED, since=SINCE, files=(), objects=0, size=0),
        recording=SINCE,
        adopted=True,
        removed=RemovedCommits(id="s4", files=(COMMITS,), since=SINCE, done=True),
        nonce=Nonce("n6"),
    ),
    "collections with replaced sets": Collections(replaced={"s1": SINCE}, nonce=Nonce("n6")),
    "data checks": DataChecks(
        sizes=CompleteCheck(began=SINCE, problems=0),
        checksums=CompleteCheck(began=SINCE, problems=2),
        unfinished=UnfinishedCheck(began=SINCE, through="data/é", damaged=("data/0a",)),
        nonce=Nonce("n6"),
    ),
    "abandoned namespace": AbandonedNamespace(
        repository=RepositoryId("repo"), uid=RepositoryUid("u1"), nonce=Nonce("n6"), since=SINCE
    ),
    "operation": Operation(branch_uid=BranchUid("b1"), base=CommitId("c1"), since=SINCE),
    "check report": CheckReport(name="rows", passed=True, since=SINCE, url="https://ci/1", message="é", by="ada"),
    "hook run": HookRun(
        request=HookRequest(
            run_id="r1",
            event_type=HookEvent.POST_COMMIT,
            event_time=SINCE,
            hook_id="notify",
            repository_id="repo",
            branch_id="main",
            source_ref="c2",
            commit_id="c2",
            parents=(CommitId("c1"),),
            commit_message="é",
            committer="ada",
            commit_metadata={"k": "v"},
        ),
        state=HookState.FAILED,
        reference_uid="b1",
        epoch=2,
        due=SINCE,
        attempts=3,
        ended=SINCE,
        status=503,
        message="not now",
        nonce=Nonce("n6"),
    ),
    **SETTINGS_RECORDS,
    **IAM_RECORDS,
}
