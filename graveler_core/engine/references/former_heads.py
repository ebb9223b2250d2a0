"""Former heads: commits that branches and tags have left. It is possible that nothing else leads to them any more.

Commits that a reference has reached stay for ever, because other systems may know their ids. The heads of branches and
the commits of tags lead to most of them. A hard reset, an assignment and a deletion let a reference leave a commit to
which its new commit need not lead. Each of these flows records the commit before its swap or deletion ✓, or in the same
step. A record therefore never says anything wrong: the commit was the head when it was read, also if the swap fails.
Records of commits that a reference has reached are never removed. Commits to which no reference and no former head
leads were never reached, except those that references had left before versions with these records. A collection may
record commits that were never reached (`gc.unreached`, step 0), and deletes such records once the commits are removed.
If a person asks for it, the records of incomplete commits are deleted (`gc.half_written`).

All other flows that move a branch make a commit with the former head as its first parent, or move it to a descendant.
"""

from __future__ import annotations

from graveler_core.codec.records import encode
from graveler_core.engine.protocol.swap import Write
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.references import FormerHead
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def former_head(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> Write:
    """Return the write that is required before a reference leaves a commit."""
    where = keys.former_heads(repo).at(commit)
    return where.partition, where.key, encode(FormerHead(since=stores.moment()))
