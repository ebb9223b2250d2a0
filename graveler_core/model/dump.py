"""Records that exist only in dumps, and the register of a restoration."""

from __future__ import annotations

import operator
from datetime import datetime

from pydantic import Field

from graveler_core.model.entities import FORMAT_VERSION, Record
from graveler_core.model.ids import BranchId, BranchUid, CommitId, MetarangeId, RepositoryId
from graveler_core.model.protection import ProtectionRule, RequiredChecks
from graveler_core.model.repository_settings import DEFAULT_SIZES, IndexSizes


class DumpedRepository(Record):
    """The fields of the repository record that a restoration takes over."""

    id: RepositoryId
    """Name of the repository when it was dumped. A restored repository may have another name."""
    default_branch: BranchId
    boundary_seed: int = Field(ge=0, lt=1 << 64)
    format_version: int = Field(ge=1, le=FORMAT_VERSION)
    read_only: bool = Field(default=False, exclude_if=operator.not_)
    protection: tuple[ProtectionRule, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""
    required_checks: tuple[RequiredChecks, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""
    description: str = Field(default="", exclude_if=operator.not_)
    index_sizes: IndexSizes = Field(default=DEFAULT_SIZES, exclude_if=lambda sizes: sizes == DEFAULT_SIZES)


class DumpedBranch(Record):
    """A branch and its head. Staged changes are not in a dump."""

    id: BranchId
    commit_id: CommitId
    uid: BranchUid = Field(default=BranchUid(""), exclude_if=operator.not_)
    """Unique id of the branch in the log of references. Empty if the restored branch gets a new one."""
    past: str = Field(default="", exclude_if=operator.not_)
    """History of the branch in its record: see `model.past`."""


class ForeignCommit(Record):
    """Commit made by another tool. It has no generation, operations digest or layout; a restoration computes them."""

    id: str = Field(min_length=1, max_length=255)
    """Id by which branches, tags and child commits in the same dump refer to the commit. The restored commit gets a new
    id.
    """
    metarange_id: MetarangeId
    """Content of the commit: a metarange in the storage namespace."""
    parents: tuple[str, ...]
    """Foreign commits that precede this one in the dump."""
    message: str
    committer: str
    creation_date: datetime
    metadata: dict[str, str] = Field(default_factory=dict)


class DumpEnd(Record):
    """Last record of a dump. A reader that reaches it has read the whole dump unchanged."""

    rows: dict[str, int]
    """Number of rows of each kind, by the name of the kind."""
    digest: str
    """Hash over all rows before this one, 64 hexadecimal digits."""


class Restoration(Record):
    """Register that names the dump that is being restored, or was restored, into a repository. It never names another
    one.
    """

    digest: str
    since: datetime
