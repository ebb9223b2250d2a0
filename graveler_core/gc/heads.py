"""Check of the current and earlier heads of branches, for recovery. Reads only.

Each head is checked separately: its header, its layout and index, and the existence of the ranges to which they refer.
Source: seed 002, consistency of references. `fsck` checks everything else and reports details.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from graveler_core.codec.elements import decode_elements
from graveler_core.errors import CorruptData, NotFound
from graveler_core.gc.findings import Finding, Thing
from graveler_core.gc.inspection import Inspection, begun
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.past import CREATED, steps
from graveler_core.objects.commits import stored_commits
from graveler_core.records import layout as keys
from graveler_core.records.layout import CommitFolders
from graveler_core.stores import Stores


class Consistency(StrEnum):
    """Readable parts of a commit."""

    CONSISTENT = "consistent"
    CONTENT = "content inconsistent"
    """Its index is intact, but some ranges are missing."""
    INCONSISTENT = "inconsistent"
    """Its header, layout or a part of its index is lost or damaged."""


@dataclass(frozen=True, slots=True)
class HeadCheck:
    """Current or former head of a branch; without a name, the head of the log of references."""

    branch: str
    commit: CommitId
    left: datetime | None
    """Time at which the branch moved on; `None` for its current head."""
    state: Consistency
    why: str = ""


def check_heads(stores: Stores, repo: RepositoryRecord, progress: Progress = lambda more: None) -> Iterator[HeadCheck]:
    """Yield the heads of all branches, each followed by its recorded former heads, newest first; the log head is last.

    Lists the storage namespace once, and reads the nodes of each head.

    Args:
        progress: Called with the number of items examined since the last call.
    """
    look = begun(stores, repo, deep=False, progress=progress)
    list(look.names.read())  # fsck reports damaged records
    known: dict[CommitId, tuple[Consistency, str]] = {}
    for name, branch in look.names.branches.items():
        heads: list[tuple[CommitId, datetime | None]] = [(branch.commit_id, None)]
        heads += [(s.commit, s.time) for s in steps(branch.past, f"branch {name}") if s.mark != CREATED]
        for commit, left in heads:
            if commit not in known:
                known[commit] = _state(look, keys.history(repo), commit)
            yield HeadCheck(name, commit, left, *known[commit])
    for commit, _ in look.names.log():
        yield HeadCheck("", commit, None, *_state(look, keys.internal_history(repo), commit))


def _state(look: Inspection, folders: CommitFolders, commit: CommitId) -> tuple[Consistency, str]:
    try:
        (found,) = stored_commits(look.stores.kv, folders, [commit], f"repository {look.repository.id}")
        if found.layout.index.inline:
            decode_elements(found.layout.index.inline, f"commit {commit}")
    except (NotFound, CorruptData) as e:
        return Consistency.INCONSISTENT, e.message
    # A separate walk, because a missing item damages every head that refers to it.
    walk = replace(look.walk, blobs=set(), objects=set(), unread=set())
    wrong = list(walk.index(found.layout.index, f"commit {commit}"))
    worse = [finding for finding in wrong if finding.thing is not Thing.RANGE]
    if worse or wrong:
        state = Consistency.INCONSISTENT if worse else Consistency.CONTENT
        return state, _words((worse or wrong)[0])
    return Consistency.CONSISTENT, ""


def _words(finding: Finding) -> str:
    return f"{finding.thing} {finding.id}: {finding.why}"
