"""Branch protection, required checks and read-only repositories: changes of the repository record.

✓ One swap of the record that was read: the same state and state time, with a fresh nonce. A crash before the swap
changes nothing, and after it there is nothing left to do. A call that loses the race against another change is
evaluated again on the new record, so two rules that are added concurrently are both kept. Deletion swaps the same
record; after it there is nothing left to protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import Conflict, InvalidInput, PredicateFailed
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.model.protection import ProtectionRule, RequiredChecks, protection_rules, required_check_rules
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def set_protection(
    stores: Stores,
    repo: RepositoryId,
    rules: Iterable[ProtectionRule],
    expected: Callable[[RepositoryRecord], bool] = lambda now: True,
) -> RepositoryRecord:
    """Replace all rules. Raise `Conflict` if the record from which they are replaced is not the expected one."""
    checked = protection_rules(rules)

    def replaced(now: RepositoryRecord) -> dict[str, object]:
        if not expected(now):
            raise _changed("protection", repo)
        return {"protection": checked}

    return change_settings(stores, repo, replaced)


def protect(stores: Stores, repo: RepositoryId, rule: ProtectionRule) -> RepositoryRecord:
    """Add a rule, or replace the rule with the same pattern."""

    def added(now: RepositoryRecord) -> dict[str, object]:
        kept = [known for known in now.protection if known.pattern != rule.pattern]
        return {"protection": protection_rules([*kept, rule])}

    return change_settings(stores, repo, added)


def unprotect(stores: Stores, repo: RepositoryId, pattern: str) -> RepositoryRecord:
    """Remove the rule with a pattern. Raises `InvalidInput` if there is none."""

    def left(now: RepositoryRecord) -> dict[str, object]:
        kept = tuple(rule for rule in now.protection if rule.pattern != pattern)
        if len(kept) == len(now.protection):
            raise InvalidInput(f"pattern {pattern!r}: repository {repo!r} has no rule with it", pattern=pattern)
        return {"protection": kept}

    return change_settings(stores, repo, left)


def require_checks(
    stores: Stores,
    repo: RepositoryId,
    rule: RequiredChecks,
    expected: Callable[[RepositoryRecord], bool] = lambda now: True,
    *,
    dry_run: bool = False,
) -> RepositoryRecord:
    """Set the checks that a pattern of branches requires. A rule without checks removes the rule of the pattern.

    Raises `Conflict` if the record in which they are set is not the expected one. `dry_run` is as in `change_settings`.
    """

    def changed(now: RepositoryRecord) -> dict[str, object]:
        if not expected(now):
            raise _changed("required checks", repo)
        kept = [known for known in now.required_checks if known.pattern != rule.pattern]
        return {"required_checks": required_check_rules([*kept, rule])}

    return change_settings(stores, repo, changed, dry_run=dry_run)


def set_read_only(stores: Stores, repo: RepositoryId, *, read_only: bool) -> RepositoryRecord:
    """Make a repository read-only for its users, or writable again. Raises `InvalidInput` if the value is not a
    bool.
    """
    if not isinstance(read_only, bool):
        raise InvalidInput(f"read_only {read_only!r}: must be True or False")
    return change_settings(stores, repo, lambda now: {"read_only": read_only})


def change_settings(
    stores: Stores,
    repo: RepositoryId,
    change: Callable[[RepositoryRecord], dict[str, object]],
    *,
    dry_run: bool = False,
) -> RepositoryRecord:
    """Swap the record of a repository for one with other settings.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        change: Function that returns the fields to change, for the record of one attempt.
        dry_run: Only check the new record.

    Returns:
        The new record.

    Raises:
        LimitExceeded: The record would be too large.
    """
    where = keys.repository(repo)

    def attempt() -> RepositoryRecord | None:
        held = repositories.find(stores.kv, repo)
        now = repositories.usable(repo, held)
        assert held is not None  # noqa: S101 - else it is not usable
        nonce = Nonce(stores.ids.fresh())
        record = now.model_copy(update={**change(now), "nonce": nonce})
        repositories.require_room(record, now)
        if dry_run:
            return record
        try:
            changed = access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce)).value
        except PredicateFailed:
            return None
        stores.registers.forget_all(repo)  # so that this process sees the change at once
        return changed

    return retry(stores, f"settings of repository {repo}", attempt)


def _changed(what: str, repo: RepositoryId) -> Conflict:
    return Conflict(f"{what} of repository {repo!r}: the rules have changed; read them again, then repeat the change")


def _bears(nonce: Nonce, current: RepositoryRecord) -> bool:
    return current.nonce == nonce
