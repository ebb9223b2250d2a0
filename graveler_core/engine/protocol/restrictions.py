"""Restrictions in the repository record: protected branches, required checks and read-only repositories.

The rules and the read-only flag are in the repository record, because every flow reads that record anyway: at its
start if it ends in a swap, in its closing re-read if it does not. The check therefore costs no call. An operation
that begins after a rule was set obeys the rule, in every process. An operation that was already running may still
complete, as if it had run before.

A write may begin on a cached copy of the record. Its closing re-read compares the nonce of the record, so it detects
a rule that was set in the meantime. The write is evaluated again and refused. By then it is already staged, and it
is not taken back, because a staged entry does not say which writer staged it. Such a refusal is reported as an
unknown outcome (`engine.staging.write`). This happens once for each cached copy: afterwards the process knows the
rule.

Internal operations of the engine are not checked. Compaction is not checked either, because it changes nothing that
is visible.
"""

from __future__ import annotations

from graveler_core.errors import Kind, PermissionDenied
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId
from graveler_core.model.protection import DIRECT, BranchAction, ProtectionRule, RequiredChecks, blocking, requiring
from graveler_core.refs import repositories
from graveler_core.stores import Registers


def permits(now: Registers, action: BranchAction) -> bool:
    """Return `True` if the repository record that was read permits an action on the branch."""
    repository = now.repository
    return not repository.read_only and _blocking(repository, now.branch.id, action) is None


def require_permitted(now: Registers, action: BranchAction) -> None:
    """Refuse an action on a branch if the repository record forbids it.

    Raises:
        PermissionDenied: The repository is read-only (`RepositoryReadOnly`), or a rule blocks the action
            (`BranchProtected`). In the second case `details` has `branch`, `pattern` and `action`.
    """
    repositories.require_changeable(now.repository)
    rule = _blocking(now.repository, now.branch.id, action)
    if rule is not None:
        raise _protected(now.branch.id, rule, action)


def _blocking(
    repository: RepositoryRecord, branch: BranchId, action: BranchAction
) -> ProtectionRule | RequiredChecks | None:
    """Return the first rule that blocks an action on a branch. Required checks block direct changes."""
    rule = blocking(repository.protection, branch, action)
    if rule is None and action in DIRECT:
        return next(requiring(repository.required_checks, branch), None)
    return rule


def _protected(branch: BranchId, rule: ProtectionRule | RequiredChecks, action: BranchAction) -> PermissionDenied:
    kind = "required checks rule" if isinstance(rule, RequiredChecks) else "rule"
    return PermissionDenied(
        f"branch {branch!r} is protected: the {kind} {rule.pattern!r} blocks {action}",
        kind=Kind.BranchProtected,
        branch=branch,
        pattern=rule.pattern,
        action=str(action),
    )
