"""Every key of the system, spelled out: a key that changes loses what is stored under it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graveler_core.model.ids import (
    BranchId,
    CommitId,
    GroupId,
    MetarangeId,
    PolicyId,
    RepositoryId,
    RepositoryUid,
    StagingToken,
    TagId,
    UserId,
)
from graveler_core.records import iam_layout as iam_keys
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder, Location
from tests.unit.records.iam_samples import KEY
from tests.unit.records.samples import RECORDS, REPOSITORY

LOCATIONS: list[tuple[Location[Any], bytes, bytes, str]] = [
    (keys.repository(RepositoryId("repo")), b"graveler", b"repos/repo", "repository"),
    (keys.namespace_claim("s3://b/d"), b"graveler", b"namespaces/s3://b/d", "namespace claim"),
    (
        keys.deleted_repository(RepositoryId("repo"), RepositoryUid("u1")),
        b"graveler_deleted",
        b"repo/repo/u1",
        "deleted repository",
    ),
    (keys.branch(REPOSITORY, BranchId("main")), b"repo-u1", b"branches/main", "branch"),
    (keys.tag(REPOSITORY, TagId("v1")), b"repo-u1", b"tags/v1", "tag"),
    (keys.commit(REPOSITORY, CommitId("c1")), b"repo-u1", b"commits/c1", "commit"),
    (keys.commit_layout(REPOSITORY, CommitId("c1")), b"repo-u1", b"layouts/c1", "layout"),
    (keys.cleanup(REPOSITORY, "repo/main:t1"), b"repo-u1", b"cleanup/repo/main:t1", "cleanup"),
    (keys.operation(REPOSITORY, "run 1"), b"repo-u1", b"ops/run 1", "operation"),
    (keys.restoration(REPOSITORY), b"repo-u1", b"restored", "restoration"),
    (keys.migration(REPOSITORY), b"repo-u1", b"migration", "migration"),
    (keys.migrated_commits(REPOSITORY).at("c1"), b"repo-u1", b"migrated/c1", "migrated commit"),
    (keys.incomplete_commits(REPOSITORY).at("c1"), b"repo-u1", b"incomplete/c1", "incomplete commit"),
    (
        keys.incomplete_part(REPOSITORY, "c1", 3),
        b"repo-u1",
        b"incomplete-changes/c1/000003",
        "incomplete changes",
    ),
    (keys.abandoned_namespace("s3://b/x"), b"graveler", b"abandoned/s3://b/x", "abandoned namespace"),
    (keys.sweeping(REPOSITORY), b"repo-u1", b"sweep", "sweeping"),
    (keys.collections(REPOSITORY.id, REPOSITORY.uid), b"repo-u1", b"collections", "collections"),
    (keys.erasing(REPOSITORY.id, REPOSITORY.uid), b"repo-u1", b"erasing", "erasure"),
    (keys.erasures(REPOSITORY.id, REPOSITORY.uid).at("e1"), b"repo-u1", b"erasures/e1", "erasure"),
    (keys.erased(REPOSITORY.id, REPOSITORY.uid).at("0a"), b"repo-u1", b"erased/0a", "erased content"),
    (keys.data_checks(REPOSITORY), b"repo-u1", b"data-checks", "data checks"),
    (keys.upload_part(REPOSITORY, "0a", 7), b"repo-u1", b"upload-parts/0a/00007", "upload part"),
    (keys.uploads(REPOSITORY).at("0a"), b"repo-u1", b"uploads/0a", "upload"),
    (keys.reference_log(REPOSITORY), b"repo-u1", b"refs/int/refs", "internal reference"),
    (keys.pending_events(REPOSITORY).at("e1"), b"repo-u1", b"refs/int/pending/e1", "reference event"),
    (keys.former_heads(REPOSITORY).at(CommitId("c1")), b"repo-u1", b"refs/int/former/c1", "former head"),
    (keys.internal_history(REPOSITORY).headers.at("c1"), b"repo-u1", b"refs/int/commits/c1", "commit"),
    (keys.internal_history(REPOSITORY).layouts.at("c1"), b"repo-u1", b"refs/int/layouts/c1", "layout"),
    (keys.COUNTS.at("repo/main:t1/w1"), b"graveler_stats", b"repo/main:t1/w1", "staged counts"),
    (keys.compaction_settings(REPOSITORY), b"repo-u1", b"settings/compaction", "compaction settings"),
    (keys.retention(REPOSITORY), b"repo-u1", b"settings/retention", "retention"),
    (keys.repository_metadata(REPOSITORY), b"repo-u1", b"settings/metadata", "repository metadata"),
    (keys.tasks(REPOSITORY).at("0a"), b"repo-u1", b"tasks/0a", "import task"),
    (
        keys.commit_checks(REPOSITORY, CommitId("c1")).at("rows"),
        b"repo-u1",
        b"checks/commits/c1/rows",
        "check report",
    ),
    (
        keys.tree_checks(REPOSITORY, MetarangeId("m1")).at("rows"),
        b"repo-u1",
        b"checks/trees/m1/rows",
        "check report",
    ),
    (keys.hook_runs(REPOSITORY).at("r1"), b"repo-u1", b"hook-runs/r1", "hook run"),
    (keys.copying(), b"graveler_copy", b"into", "copying"),
    (
        keys.compaction_history(REPOSITORY, BranchId("main")),
        b"repo-u1",
        b"compactions/main",
        "compaction history",
    ),
    (iam_keys.USERS.at("ada"), b"graveler_iam", b"users/ada", "user"),
    (iam_keys.GROUPS.at("Admins"), b"graveler_iam", b"groups/Admins", "group"),
    (iam_keys.POLICIES.at("ReadRaw"), b"graveler_iam", b"policies/ReadRaw", "policy"),
    (iam_keys.membership(UserId("ada"), GroupId("x")), b"graveler_iam", b"memberships/ada/x", "membership"),
    (iam_keys.user_policy(UserId("ada"), PolicyId("x")), b"graveler_iam", b"user_policies/ada/x", "attachment"),
    (iam_keys.group_policy(GroupId("g"), PolicyId("x")), b"graveler_iam", b"group_policies/g/x", "attachment"),
    (iam_keys.credential(KEY), b"graveler_iam", b"credentials/" + KEY.encode(), "credential"),
    (iam_keys.sealed_secret(KEY), b"graveler_iam", b"sealed_secrets/" + KEY.encode(), "sealed secret"),
    (
        iam_keys.user_credential(UserId("ada"), KEY),
        b"graveler_iam",
        b"user_credentials/ada/" + KEY.encode(),
        "user credential",
    ),
    (iam_keys.SETUP, b"graveler_iam", b"setup", "iam setup"),
    (iam_keys.CHANGE, b"graveler_iam", b"change", "access change"),
]


@pytest.mark.parametrize("location", LOCATIONS, ids=lambda case: case[3])
def test_where_records_are(location: tuple[Location[Any], bytes, bytes, str]) -> None:
    where, partition, key, name = location
    assert (where.partition, where.key) == (partition, key)
    assert where.model is type(RECORDS[name])
    assert where.name == f"{partition.decode()}/{key.decode()}"


def test_every_kind_of_record_has_a_place() -> None:
    assert {type(RECORDS[name]) for *_, name in LOCATIONS} == {type(record) for record in RECORDS.values()}


def test_every_place_has_a_sample() -> None:
    named = [value for module in (keys, iam_keys) for value in vars(module).values()]
    kinds = {value.model.__name__ for value in named if isinstance(value, Folder | Location)}
    for function in named:
        returned = str(getattr(function, "__annotations__", {}).get("return", ""))
        kinds.update(re.findall(r"^(?:Folder|Location)\[(\w+)\]$", returned))
    kinds.remove("Any")
    assert kinds == {type(record).__name__ for record in RECORDS.values()}


def test_staging() -> None:
    token = keys.staging_token(REPOSITORY, BranchId("main"), "f1")
    assert token == "repo/main:f1"
    assert keys.staging(token) == b"repo/main:f1"
    assert keys.staged("é/\x01".encode()) == "key/é/\x01".encode()
    assert keys.staging(StagingToken("x")) == b"x"
