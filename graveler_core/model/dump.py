"""The records of a dump that stand nowhere else, and the register of a restoration."""

from __future__ import annotations

import operator
from datetime import datetime

from pydantic import Field

from graveler_core.model.entities import FORMAT_VERSION, Record
from graveler_core.model.ids import BranchId, BranchUid, CommitId, MetarangeId, RepositoryId
from graveler_core.model.protection import ProtectionRule


class DumpedRepository(Record):
    """What of a repository's record a restored one must agree with."""

    id: RepositoryId
    """Its name when it was dumped. A restored one may have another."""
    default_branch: BranchId
    boundary_seed: int = Field(ge=0, lt=1 << 64)
    format_version: int = Field(ge=1, le=FORMAT_VERSION)
    read_only: bool = Field(default=False, exclude_if=operator.not_)
    protection: tuple[ProtectionRule, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""


class DumpedBranch(Record):
    """A branch by its head. What was staged on it is not in a dump."""

    id: BranchId
    commit_id: CommitId
    uid: BranchUid = Field(default=BranchUid(""), exclude_if=operator.not_)
    """As the log of references knows it; nothing for a fresh one."""
    past: str = Field(default="", exclude_if=operator.not_)
    """What its record remembers of itself: see `model.past`."""


class ForeignCommit(Record):
    """A commit that something else made: without generation, operations and layout, which a restoration computes."""

    id: str = Field(min_length=1, max_length=255)
    """As branches, tags and children of the same dump name it. Its commit gets another one."""
    metarange_id: MetarangeId
    """All of its content: a tree in the storage namespace."""
    parents: tuple[str, ...]
    """Foreign commits that stand before it in the dump."""
    message: str
    committer: str
    creation_date: datetime
    metadata: dict[str, str] = Field(default_factory=dict)


class DumpEnd(Record):
    """What closes a dump: whoever reads it has read all of it, as it was written."""

    rows: dict[str, int]
    """How many there are of each kind, by its name."""
    digest: str
    """64 hex digits: hash over all rows before it."""


class Restoration(Record):
    """Which dump is, or was, restored into a repository: no other one ever is."""

    digest: str
    since: datetime
