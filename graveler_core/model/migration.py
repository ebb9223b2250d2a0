"""Records of the migration of a repository from a SQL database, from lakeFS or from Nessie."""

from __future__ import annotations

import operator
from datetime import datetime

from pydantic import Field

from graveler_core.model.dump import ForeignCommit
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
    """Id of a migrated commit in this store. The key of the record contains the id of the commit in the source."""

    commit_id: CommitId


class IncompleteCommit(Record):
    """Commit of an incomplete repository: the header and the changes of a foreign commit, without an index. The key of
    the record contains its foreign id, because its own id is computed with the index of its parent.
    """

    commit: ForeignCommit
    changes: bytes = Field(default=b"", repr=False)
    """Changes in the encoding of `codec.elements`. Empty if they are in parts."""
    parts: int = Field(default=0, ge=0, exclude_if=operator.not_)
    """Number of records that contain the changes."""


class IncompleteChanges(Record):
    """Part of the changes of an incomplete commit that are too large for its record."""

    changes: bytes = Field(repr=False)
