"""What a repository's own record forbids: changes of a protected branch, and any change of a read-only repository.

The rules and the flag stand in the repository's record, because every flow reads that record anyway: at its start if it
ends in a swap, in its closing re-read if it does not. So asking costs no call, and an operation that begins after a
rule was set obeys it, in whatever process. One that was under way may still end, as if it had come before.

A write may begin on a cached copy of the record. Its closing re-read compares the record's nonce, so a rule that was
set in between is seen, the write is evaluated anew, and refused; but it was staged by then, and is not taken back: a
staged entry tells nobody whose it is. Such a refusal is told as an unknown outcome (`engine.write`). It happens once
for each copy: afterwards the process knows the rule.

What the engine does by itself is not asked about, nor is compaction: it changes nothing that anybody sees.
"""

from __future__ import annotations

from graveler_core.errors import Kind, PermissionDenied
from graveler_core.model.ids import BranchId
from graveler_core.model.protection import Action, ProtectionRule, blocking
from graveler_core.refs import repositories
from graveler_core.stores import Registers


def permits(now: Registers, action: Action) -> bool:
    """Whether the repository's record, as it was read, lets an action be done to the branch."""
    repository = now.repository
    return not repository.read_only and blocking(repository.protection, now.branch.id, action) is None


def require_permitted(now: Registers, action: Action) -> None:
    """Refuse an action on a branch.

    Raises:
        PermissionDenied: (`RepositoryReadOnly`) the repository is read-only; (`BranchProtected`) a rule blocks the
            action: `details` has `branch`, `pattern`, `action`.
    """
    repositories.require_changeable(now.repository)
    rule = blocking(now.repository.protection, now.branch.id, action)
    if rule is not None:
        raise _protected(now.branch.id, rule, action)


def _protected(branch: BranchId, rule: ProtectionRule, action: Action) -> PermissionDenied:
    return PermissionDenied(
        f"branch {branch!r} is protected: the rule {rule.pattern!r} blocks {action}",
        kind=Kind.BranchProtected,
        branch=branch,
        pattern=rule.pattern,
        action=str(action),
    )
