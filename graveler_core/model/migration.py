"""What a repository remembers of the SQL database that it was migrated from."""

from __future__ import annotations

from datetime import datetime

from graveler_core.model.entities import Record
from graveler_core.model.ids import CommitId


class Migration(Record):
    """Which state of a source is, or was, migrated into a repository: no other one ever is."""

    digest: str
    """64 hex digits: hash over the source's rows of the repository."""
    since: datetime


class MigratedCommit(Record):
    """What became of a commit of the source, under whose id this is kept."""

    commit_id: CommitId
