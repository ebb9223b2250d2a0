"""One record of each kind of settings and background tasks of a repository, with every field filled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from graveler_core.model.compaction import (
    CompactionHistory,
    CompactionOutcome,
    CompactionRun,
    CompactionSettings,
    Thresholds,
)
from graveler_core.model.entities import Record
from graveler_core.model.ids import BranchId, BranchUid, CommitId, Nonce
from graveler_core.model.repository_metadata import RepositoryMetadata
from graveler_core.model.retention import Retention, RetentionRules
from graveler_core.model.tasks import DumpTask, ImportTask, RestoreTask, Task, TaskState

SINCE = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
SETTINGS_RECORDS: dict[str, Record] = {
    "compaction settings": CompactionSettings(
        thresholds=Thresholds(tombstones=1, layers=2, staged=3, age=timedelta(hours=4)),
        branches={BranchId("main"): Thresholds()},
    ),
    "compaction history": CompactionHistory(uid=BranchUid("b1"))
    .with_run(
        CompactionRun(began=SINCE, seconds=0.25, outcome=CompactionOutcome.COMPACTED, layers=2, records=9, tombstones=4)
    )
    .with_run(CompactionRun(began=SINCE, seconds=0.0, outcome=CompactionOutcome.BUSY)),
    "retention": Retention(
        rules=RetentionRules(days=30, branches={"main": None, "test/*": 7}, version=2, since=SINCE, by="ada"),
        past=(RetentionRules(days=90, version=1, since=SINCE),),
        nonce=Nonce("n6"),
    ),
    "repository metadata": RepositoryMetadata(values={"owner": "é", "tier": "gold"}, nonce=Nonce("n6")),
    "import task": Task(
        id="0a",
        user="ada",
        work=ImportTask(
            into=BranchId("main"),
            destination="raw/",
            objects={"raw/é": "s3://other/é", "raw/2013/": "s3://other/2013/"},
            message="Import",
            metadata={"k": "v"},
        ),
        state=TaskState.DONE,
        begun=SINCE,
        renewed=SINCE,
        objects=7,
        commit_id=CommitId("c1"),
        nonce=Nonce("n6"),
    ),
    "import task with its branch": Task(
        id="0d",
        work=ImportTask(into=BranchId("main"), uri="s3://other/raw/"),
        begun=SINCE,
        epoch=0,
        nonce=Nonce("n6"),
    ),
    "dump task": Task(id="0b", work=DumpTask(dump_below="s3://bucket/data/dumps"), begun=SINCE, nonce=Nonce("n6")),
    "restore task": Task(
        id="0c",
        work=RestoreTask(restore="s3://bucket/data/dumps/0b"),
        state=TaskState.FAILED,
        begun=SINCE,
        renewed=SINCE,
        error="é",
        nonce=Nonce("n6"),
    ),
}
