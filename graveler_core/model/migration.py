"""Records of the migration of a repository from a SQL database or from lakeFS."""

from __future__ import annotations

from datetime import datetime

from graveler_core.model.entities import Record
from graveler_core.model.ids import CommitId

ORIGIN = "graveler.migrated-from"
"""Metadata key of the commit id in the source."""


class Migration(Record):
    """Register that names the state of the source that is being migrated, or was migrated. It never names another
    one.
    """

    digest: str
    """Hash over the source's rows of the repository, or over its location in lakeFS, 64 hexadecimal digits."""
    since: datetime


class MigratedCommit(Record):
    """New commit of a commit in the source. The key of the record contains the source's commit id."""

    commit_id: CommitId
