"""Runs of hooks: what a hook was told about a change, and the result.

See `engine.protocol.hooks` for the steps.
"""

from __future__ import annotations

import operator
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.entities import Record
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.webhooks import HookEvent

MAX_HOOK_TEXT = 500
"""Number of characters that are kept of the answer of a hook."""


class HookState(StrEnum):
    """State of one call of a hook."""

    PENDING = "pending"
    """The change was about to happen. The hook is called once it has."""
    PASSED = "passed"
    """The hook was called and succeeded."""
    FAILED = "failed"
    """A hook after a change failed. The change stands."""
    REFUSED = "refused"
    """A hook before a change refused it, or could not be called. The change did not happen."""
    UNCERTAIN = "uncertain"
    """The process ended during the change, and the branch does not show any more if it happened. The hook was not
    called.
    """


class HookRequest(BaseModel):
    """The change that a hook is told about. The field names of the JSON document are those of lakeFS."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    event_type: HookEvent
    event_time: datetime
    hook_id: str
    """Name of the hook."""
    repository_id: str
    branch_id: str = ""
    tag_id: str = ""
    source_ref: str = ""
    """Commit from which the content after the change can be read. Before a commit or a merge, no branch shows it."""
    commit_id: str = ""
    """The new head of the branch, or the commit of the branch or tag that is created or deleted."""
    parents: tuple[CommitId, ...] = ()
    merge_source: str = ""
    """Second parent of a merge commit."""
    commit_message: str = ""
    committer: str = ""
    commit_metadata: dict[str, str] = Field(default_factory=dict)


class HookRun(Record):
    """One call of a hook: what it was told, and its result."""

    request: HookRequest
    state: HookState
    is_function: bool = Field(default=False, exclude_if=operator.not_)
    """True for a function of the process that made the change, which no other process can call."""
    reference_uid: str = ""
    """Uid of the branch or tag that was changed."""
    epoch: int = 0
    """Number of resets of the branch before the change. For a tag: number of moves after its assignment."""
    due: datetime | None = None
    """While pending: time from which another process may call the hook."""
    attempts: int = 0
    """Number of attempts to call the hook. The first one is counted before it is made, once the change has happened."""
    ended: datetime | None = None
    status: int | None = None
    """Status code of the last HTTP answer."""
    message: str = Field(default="", exclude_if=operator.not_)
    """Beginning of the answer, or the error."""
    nonce: Nonce

    @property
    def shown(self) -> str:
        """Message for people. If the answer had no text and did not accept, it is the status code."""
        accepted = self.status is None or self.status // 100 == 2
        return self.message or ("" if accepted else f"status {self.status}")
